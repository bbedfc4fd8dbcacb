"""What a file of recorded traffic says, one figure at a time."""

from collections.abc import Iterator, Mapping
from typing import Any

from planner.reports.numbers import number, percent, requests_per_s, significant
from planner.reports.parts import Fact

Told = Mapping[str, Any]
CLOCKS = {"wall": "dates and times", "offset": "seconds from a start", "none": "none"}
H_S, DAY_S = 3600, 86_400
LEAST_VARIATION = 0.001
"""Of gaps; what is less comes from the rounding of their times."""


def trace_facts(told: Told) -> Iterator[Fact]:
    """Of requests, of totals of usage or of rates, whichever the file holds."""
    yield from _requests(told.get("reading") or {}, told.get("profile"))
    yield from _usage(told.get("usage"))
    yield from _rates(told.get("rates"))


def duration(seconds: float) -> str:
    """ "58 minutes", "3.2 hours", "14 days"."""
    for limit, size, unit in ((2 * DAY_S, DAY_S, "days"), (2 * H_S, H_S, "hours"), (120, 60, "minutes")):
        if seconds >= limit:
            return f"{significant(seconds / size)} {unit}"
    return f"{significant(seconds)} seconds"


def _requests(reading: Told, profile: Told | None) -> Iterator[Fact]:
    rows = reading.get("rows", {})
    if rows.get("read"):
        yield Fact("Rows used", f"{number(rows['used'])} of {number(rows['read'])}")
    if reading.get("clock"):
        yield Fact("Times", CLOCKS.get(reading["clock"], str(reading["clock"])))
    if not profile:
        return
    yield Fact("Recorded over", duration(profile["span_s"]))
    rates, gaps, lengths = profile.get("rates"), profile.get("gaps"), profile.get("lengths")
    if rates:
        yield Fact("Mean rate", requests_per_s(rates["mean_rps"]), "req/s")
        peaks = (("Busiest minute ÷ mean", "peak_minute_to_mean"), ("Busiest hour ÷ mean", "peak_hour_to_mean"))
        for label, key in peaks:
            if rates.get(key):
                yield Fact(label, significant(rates[key]))
        yield from _burstiness(rates)
    if gaps and gaps.get("cv") is not None and not gaps.get("is_quantised"):
        shown = significant(gaps["cv"]) if gaps["cv"] >= LEAST_VARIATION else "0"
        yield Fact("Variation of the gaps", shown, note="1 is random, above 1 comes in bursts")
    for label, key in (("Prompt tokens", "prompt_tokens"), ("Output tokens", "output_tokens")):
        if lengths:
            told = lengths[key]
            yield Fact(
                f"{label}, mean", number(told["mean"]), note=f"p95 {number(told['p95'])}, max {number(told['max'])}"
            )
    if lengths and lengths.get("correlation_of_logs") is not None:
        correlation = significant(lengths["correlation_of_logs"], 2)
        yield Fact("Correlation of prompt and output", correlation, note="of their logarithms; 0 is none, 1 is full")
    if lengths and lengths.get("cached_token_ratio") is not None:
        yield Fact("Cached prompt tokens", percent(lengths["cached_token_ratio"]))
    yield from _shared(profile)


def _usage(usage: Told | None) -> Iterator[Fact]:
    """What the totals of a billing export say."""
    if not usage:
        return
    yield Fact("Covers", duration(usage["span_s"]))
    for label, key in (
        ("Requests", "requests"),
        ("Prompt tokens", "prompt_tokens"),
        ("Output tokens", "output_tokens"),
    ):
        if usage.get(key) is not None:
            yield Fact(label, number(usage[key]))
    if usage.get("mean_rps") is not None:
        yield Fact("Mean rate", requests_per_s(usage["mean_rps"]), "req/s")
    if usage.get("peak_to_mean") is not None:
        yield Fact("Busiest bucket ÷ mean", significant(usage["peak_to_mean"]))


def _rates(rates: Told | None) -> Iterator[Fact]:
    """What rates of clients by window say."""
    if not rates:
        return
    windows = f"{number(rates['windows'])} windows of {duration(rates['window_s'])}"
    yield Fact("Covers", duration(rates["span_s"]), note=windows)
    share = rates.get("top_tenth_of_clients_share")
    note = f"the busiest tenth sends {percent(share)}" if share is not None else ""
    yield Fact("Clients", number(rates["clients"]), note=note)
    yield Fact("Mean rate", requests_per_s(rates["mean_rps"]), "req/s")
    if rates.get("peak_to_mean") is not None:
        yield Fact("Busiest window ÷ mean", significant(rates["peak_to_mean"]))
    if rates.get("rate_weighted_gap_cv") is not None:
        yield Fact("Variation of the gaps", significant(rates["rate_weighted_gap_cv"]), note="of each client, by rate")


def _burstiness(rates: Told) -> Iterator[Fact]:
    """How much more than by chance the counts of windows differ, at several scales; and growth."""
    scales = (("1", "1 s"), ("60", "1 min"), ("3600", "1 h"))
    told = [(name, rates["dispersion_by_scale_s"].get(scale)) for scale, name in scales]
    known = [f"{significant(value)} in {name}" for name, value in told if value is not None]
    if known:
        yield Fact("Burstiness", " · ".join(known), note="variance ÷ mean of the counts; 1 is random")
    if rates.get("growth_per_week") is not None:
        yield Fact("Growth", percent(rates["growth_per_week"], 1), "a week")


def _shared(profile: Told) -> Iterator[Fact]:
    """Conversations, clients, and what of the prompts came before."""
    talks, clients, prefix = (profile.get(name) for name in ("conversations", "clients", "prefix"))
    if talks:
        turns = f"{significant(talks['turns_mean'])} turns on average"
        again = talks.get("next_turn_p50_s")
        later = f", the next after {duration(again)}" if again is not None else ""
        yield Fact("Conversations", number(talks["conversations"]), note=turns + later)
    if clients:
        shares = f"the largest sends {percent(clients['largest_share'])}, the busiest tenth "
        yield Fact("Clients", number(clients["clients"]), note=shares + percent(clients["top_tenth_share"]))
    if prefix:
        by_size = prefix["reusable_token_ratio_by_cache_tokens"]
        sizes = (("262144", "256 Ki"), ("4194304", "4 Mi"))
        caches = ", ".join(f"{percent(by_size[key])} with {name} tokens" for key, name in sizes if key in by_size)
        label = "Prompt tokens that came before"
        yield Fact(label, percent(by_size["unbounded"]), note=f"in a cache without limit; {caches}")
