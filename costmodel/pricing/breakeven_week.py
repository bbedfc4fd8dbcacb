"""Where a fleet that is not always on and an API cost the same: any bill that is even between known volumes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from costmodel.pricing.breakeven import CROSSINGS_SHOWN, BreakEven, Crossing, crossings_sentence
from costmodel.pricing.money import Number, exact

FarEnough = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of mean rates in which the fleet's month is a straight line from low_usd to high_usd; it jumps between
    pieces."""

    from_rps: float
    to_rps: float
    low_usd: float
    high_usd: float


def pieces_of(month_usd: Callable[[float], float], edges_rps: Sequence[float]) -> tuple[Piece, ...]:
    """Pieces between no load and the last edge. month_usd is continuous from below at the edges (whole replicas are
    just enough there) and straight between them; a month at half a piece tells its slope."""
    out, start = [], 0.0
    for end in sorted(set(edges_rps)):
        if end <= start:
            continue
        high = month_usd(end)
        middle = month_usd((start + end) / 2)
        out.append(Piece(start, end, max(0.0, 2 * middle - high), high))
        start = end
    return tuple(out)


def piecewise_break_even(
    pieces: Sequence[Piece],
    usd_per_request: Number,
    *,
    seconds_per_month: Number,
    tokens_per_request: Number,
    limit_usd_per_request: Number,
    minimum_usd: Number = 0,
) -> BreakEven:
    """Every crossing up to the end of the last piece. minimum_usd: the API bills a month at least so much, so that its
    line is even up to where the requests come to that.

    limit_usd_per_request: what the fleet costs per request at a load without end, its lowest. never: no crossing, and
    the API is not above that limit.
    """
    seconds, tokens, line = exact(seconds_per_month), exact(tokens_per_request), exact(usd_per_request)
    slope, least = float(line * seconds), float(exact(minimum_usd))

    def api_usd(rate: float) -> float:
        return max(least, slope * rate)

    places: list[tuple[float, bool, bool]] = []  # rate, self-hosting cheaper above, at a jump
    if least and slope:
        pieces = _split_at(pieces, least / slope)
    ahead = least > pieces[0].low_usd if least else False
    for piece in pieces:
        low = api_usd(piece.from_rps) > piece.low_usd
        high = api_usd(piece.to_rps) > piece.high_usd
        if low != ahead:
            places.append((piece.from_rps, low, True))
        if high != low:
            wide = piece.to_rps - piece.from_rps
            rise = (piece.high_usd - piece.low_usd) / wide
            api_rise = (api_usd(piece.to_rps) - api_usd(piece.from_rps)) / wide
            met = piece.from_rps + (piece.low_usd - api_usd(piece.from_rps)) / (api_rise - rise)
            places.append((min(piece.to_rps, max(piece.from_rps, met)), high, False))
        ahead = high
    crossings = [
        Crossing(
            mean_rps=exact(rate),
            tokens_per_month=exact(rate) * seconds * tokens,
            cheaper_below="api" if above else "self_host",
            cheaper_above="self_host" if above else "api",
            at_step=jump,
        )
        for rate, above, jump in places
    ]
    total = len(crossings)
    shown = crossings if total <= CROSSINGS_SHOWN else [*crossings[: CROSSINGS_SHOWN - 1], crossings[-1]]
    end = pieces[-1].to_rps
    always = not crossings and ahead
    limit = exact(limit_usd_per_request)
    sentence = _sentence(crossings, line, limit, end)
    if always:
        sentence = f"Self-hosting is cheaper at any volume up to {end:.3g} requests per second on average."
    elif least and crossings and crossings[0].cheaper_above == "api":
        changes = "once" if total == 1 else f"{total:,} times"
        sentence = (
            f"The API bills at least ${least:,.0f} a month, so that self-hosting is cheaper at the smallest volumes; "
            f"up to {end:.3g} requests per second on average the lead changes {changes}."
        )
    return BreakEven(
        tuple(shown), total, never=not crossings and not ahead and line <= limit, always=always, sentence=sentence
    )


def _split_at(pieces: Sequence[Piece], rate_rps: float) -> tuple[Piece, ...]:
    """The same pieces with one more edge."""
    out: list[Piece] = []
    for piece in pieces:
        if not piece.from_rps < rate_rps < piece.to_rps:
            out.append(piece)
            continue
        share = (rate_rps - piece.from_rps) / (piece.to_rps - piece.from_rps)
        middle = piece.low_usd + share * (piece.high_usd - piece.low_usd)
        out.append(Piece(piece.from_rps, rate_rps, piece.low_usd, middle))
        out.append(Piece(rate_rps, piece.to_rps, middle, piece.high_usd))
    return tuple(out)


def _sentence(crossings: Sequence[Crossing], line: Fraction, limit: Fraction, end_rps: float) -> str:
    reach = f"up to {end_rps:.3g} requests per second on average"
    if not crossings:
        if line <= limit:
            return "Self-hosting is never cheaper: even at a load without end a request costs more than at the API."
        return f"Self-hosting is not cheaper {reach}; beyond that it becomes so."
    if crossings[-1].cheaper_above == "api":
        return f"Self-hosting is cheaper only between some volumes {reach}: the lead changes {len(crossings):,} times."
    return crossings_sentence(crossings, len(crossings))
