"""Many clients of one service: a few heavy ones and a long tail, each with its own bursts and its own lengths.

After ServeGen (Xiang et al., "Workload Characterization and Generation of Large Language Model Serving in Production",
NSDI '26, arXiv 2505.09999, data at github.com/alibaba/ServeGen, Apache-2.0, read 2026-11-30): client rates are skewed,
a few top clients make the total bursty and let it shift, most clients are stable; gaps fit gamma or Weibull
distributions (client 0 of `m-large`: CV 3 to 17 over ten minutes at a time), prompts a mixture of Pareto and
lognormal, outputs an exponential. The numbers here are the caller's: nothing is fitted to that record.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simulator.checks import as_array, check_fields, checked, number_array
from simulator.errors import SimulatorError, require_int, require_number
from simulator.steptime import IntArray
from simulator.traffic.arrivals import BLOCK_REQUESTS
from simulator.traffic.gaps import MAX_CV, MIN_CV, FloatArray
from simulator.traffic.prefixes import zipf_shares
from simulator.traffic.rates import MAX_TIME_S, RateCurve, whole_ps
from simulator.traffic.streams import Source
from simulator.workload import MAX_TOKENS, Workload

MIN_SHARE = 1e-18
MIN_TOKENS = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Clients:
    """One entry per client.

    share                 of all requests, above 0, sum 1
    cv                    coefficient of variation of its gamma distributed gaps
    prompt_tokens_median  of its lognormal prompts, whose logarithms have the standard deviation `prompt_sigma`
    output_tokens_mean    of its exponential outputs
    """

    share: FloatArray
    cv: FloatArray
    prompt_tokens_median: FloatArray
    output_tokens_mean: FloatArray
    prompt_sigma: float

    def __post_init__(self) -> None:
        check_fields(self)
        limits = {
            "share": (MIN_SHARE, 1.0),
            "cv": (MIN_CV, MAX_CV),
            "prompt_tokens_median": (MIN_TOKENS, float(MAX_TOKENS)),
            "output_tokens_mean": (MIN_TOKENS, float(MAX_TOKENS)),
        }
        size = as_array("share", self.share).size
        for name, (least, most) in limits.items():
            values = number_array(name, getattr(self, name))
            if values.ndim != 1 or values.size != size or size == 0:
                raise SimulatorError("shape", name, "must be a list with one entry per client, at least one")
            if not ((values >= least) & (values <= most)).all():
                raise SimulatorError("out_of_range", name, f"entries must lie in {least:g}..{most:g}")
            object.__setattr__(self, name, values)
        if abs(float(self.share.sum()) - 1.0) > 1e-9:
            raise SimulatorError("out_of_range", "share", "must sum to 1")
        require_number("prompt_sigma", self.prompt_sigma, 0.0, 5.0)

    def __len__(self) -> int:
        return int(self.share.size)


@checked
def pareto_shares(count: int, tail_index: float, rng: np.random.Generator) -> FloatArray:
    """`count` shares of independent Pareto distributed rates, the largest first: P(rate > x) = x^-tail_index.

    Near a tail index of 1 a few clients hold most of the traffic, and how much differs from draw to draw;
    `zipf_shares` gives the fixed shares of the same kind.
    """
    index = require_number("tail_index", tail_index, 0.01, 100.0)
    exponents = rng.standard_exponential(require_int("count", count, 1, 10**6)) / index
    rates = np.sort(np.exp(exponents - exponents.max()))[::-1]
    rates = np.maximum(rates, MIN_SHARE)
    return np.asarray(rates / rates.sum(), np.float64)


@checked
def draw_clients(
    count: int,
    rng: np.random.Generator,
    *,
    prompt_tokens_median: float,
    output_tokens_mean: float,
    exponent: float = 1.0,
    cv_median: float = 1.0,
    cv_sigma: float = 0.0,
    client_sigma: float = 0.0,
    prompt_sigma: float = 1.0,
) -> Clients:
    """`count` clients with `zipf_shares(count, exponent)`, the rest lognormal around what is typical.

    cv_sigma, client_sigma: standard deviation of the logarithm over clients of their CV, and of their median prompt and
    (independently) mean output. Values are kept within 0.05 <= CV <= 20 and 1 <= tokens <= 10^7.
    """
    size = require_int("count", count, 1, 10**6)

    def around(field: str, typical: float, sigma: float, low: float, high: float) -> FloatArray:
        middle = require_number(field, typical, low, high)
        spread = require_number("sigma", sigma, 0.0, 5.0)
        return np.clip(middle * np.exp(spread * rng.standard_normal(size)), low, high)

    return Clients(
        share=zipf_shares(size, exponent),
        cv=around("cv_median", cv_median, cv_sigma, 0.05, 20.0),
        prompt_tokens_median=around("prompt_tokens_median", prompt_tokens_median, client_sigma, 1.0, 1e7),
        output_tokens_mean=around("output_tokens_mean", output_tokens_mean, client_sigma, 1.0, 1e7),
        prompt_sigma=prompt_sigma,
    )


@checked
def client_requests(clients: Clients, curve: RateCurve, max_model_len: int) -> Source:
    """The requests of all clients, `tenant` being the client's number; their total follows the rate curve.

    Every client is a stationary renewal process with gamma gaps in operational time (requests expected in total), its
    first gap drawn from the distribution of what is left of a gap at a random moment, so that its rate is right from
    the start. Lengths are rounded, at least 1, and cut to `max_model_len`.
    """
    limit = require_int("max_model_len", max_model_len, 2)

    def blocks(rng: np.random.Generator) -> Iterator[Workload]:
        gap_rng, length_rng = rng.spawn(2)
        renewals = _Renewals(clients, gap_rng)
        end = 0.0
        while True:
            end += BLOCK_REQUESTS
            times, owner = renewals.until(end)
            times_s = curve.time_s(times)
            inside = int(np.searchsorted(times_s, MAX_TIME_S))
            if inside:
                tokens = _lengths(clients, owner[:inside], limit, length_rng)
                yield Workload(whole_ps(times_s[:inside]), *tokens, tenant=owner[:inside])
            if curve.time_s(end) > MAX_TIME_S:
                return

    return blocks


def _lengths(clients: Clients, owner: IntArray, limit: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    prompts = clients.prompt_tokens_median[owner] * np.exp(clients.prompt_sigma * rng.standard_normal(owner.size))
    outputs = clients.output_tokens_mean[owner] * rng.standard_exponential(owner.size)
    prompt = np.clip(np.rint(prompts), 1, limit - 1).astype(np.int64)
    return prompt, np.clip(np.rint(outputs), 1, limit - prompt).astype(np.int64)


class _Renewals:
    """All clients' renewal processes, advanced together from window to window."""

    def __init__(self, clients: Clients, rng: np.random.Generator) -> None:
        self._shape, self._share, self._rng = 1.0 / clients.cv**2, clients.share, rng
        # What is left of a gap at a random moment: a uniform part of a gap picked by its length, gamma of shape + 1.
        whole = rng.standard_gamma(self._shape + 1.0) / self._shape
        self._next = rng.random(len(clients)) * whole / self._share

    def until(self, end: float) -> tuple[FloatArray, IntArray]:
        """(time, client) of all renewals before `end`, sorted; windows must come in order."""
        times, owners = [np.zeros(0)], [np.zeros(0, np.int64)]
        active = np.flatnonzero(self._next < end)
        while active.size:
            found, owner = self._advance(active, end)
            times.append(found)
            owners.append(owner)
            active = active[self._next[active] < end]
        time, owner = np.concatenate(times), np.concatenate(owners)
        order = np.argsort(time, kind="stable")
        return time[order], owner[order]

    def _advance(self, active: IntArray, end: float) -> tuple[FloatArray, IntArray]:
        """Draw about as many gaps as the window has room for; what falls beyond it is not needed, except the first."""
        room = self._share[active] * (end - self._next[active])
        draws = np.ceil(room + 2.0 * np.sqrt(room / self._shape[active])).astype(np.int64) + 1
        first = np.concatenate(([0], np.cumsum(draws)[:-1]))
        owner = np.repeat(active, draws)
        sums = np.cumsum(self._rng.standard_gamma(self._shape[owner]) / (self._shape[owner] * self._share[owner]))
        before = np.concatenate(([0.0], sums))[first]
        after = np.repeat(self._next[active] - before, draws) + sums
        inside = after < end
        count = np.add.reduceat(inside, first)
        unseen = np.minimum(count, draws - 1)
        inside[(first + draws - 1)[count == draws]] = False  # known, but what follows it is not: it opens the next draw
        times = np.concatenate((self._next[active], after[inside]))
        self._next[active] = after[first + unseen]
        return times, np.concatenate((active, owner[inside]))
