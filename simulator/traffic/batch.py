"""Work with a deadline but no hurry: N requests placed where interactive traffic leaves room."""

import numpy as np

from simulator.checks import checked, number_array
from simulator.errors import SimulatorError, require_int, require_number
from simulator.steptime import IntArray
from simulator.traffic.gaps import FloatArray
from simulator.traffic.rates import MAX_TIME_S, RateCurve, whole_ps


@checked
def water_level(load: FloatArray, width: FloatArray, work: float) -> float:
    """The lowest level L up to which bins of these loads and widths must be filled to take `work`:

        Σ width_i · max(0, L - load_i) = work

    Water filling: with the loads sorted, L = (work + Σ width·load over the k lowest) / Σ width over them, for the first
    k whose L does not exceed the next load.

    Raises SimulatorError unless loads and widths are finite, as many, and the widths above 0, and for negative work.
    """
    load, width = number_array("load", load), number_array("width", width)
    if load.ndim != 1 or load.size == 0 or load.shape != width.shape:
        raise SimulatorError("shape", "width", "give as many widths as loads, at least one")
    if not (np.isfinite(load).all() and np.isfinite(width).all() and (width > 0).all()):
        raise SimulatorError("out_of_range", "width", "loads must be finite, and widths finite and above 0")
    work = require_number("work", work, 0.0)
    order = np.argsort(load, kind="stable")
    sorted_load, sorted_width = load[order], width[order]
    levels = (work + np.cumsum(sorted_width * sorted_load)) / np.cumsum(sorted_width)
    fits = levels <= np.append(sorted_load[1:], np.inf)
    return float(levels[int(np.argmax(fits))])


@checked
def trough_arrivals_ps(
    count: int,
    load: RateCurve,
    deadline_s: float,
    *,
    level_rps: float | None = None,
    work_per_request: float = 1.0,
    rng: np.random.Generator | None = None,
) -> IntArray:
    """`count` batch arrivals before `deadline_s` that fill the troughs of the interactive `load`.

    Without `level_rps` the sum of both is raised to the lowest level that brings all in by the deadline
    (`water_level`), so the peak rises as little as it can. With it (a capacity, or a target for the sum) the load is
    filled up to that level from the start until all are placed: done as early as the level allows.
    A batch request counts as `work_per_request` interactive ones, where it is larger or smaller than they.

    The added rate is constant within each of the load's bins. Without `rng` the k-th request comes where k - 1/2 are
    expected; with it the times are independent draws from the added rate.

    Raises SimulatorError `over_capacity` where fewer than `count` fit under the level by the deadline.
    """
    requests = require_int("count", count, 1, 10**9)
    work = require_number("work_per_request", work_per_request, 0.0, 1e9, exclusive=True)
    deadline = require_number("deadline_s", deadline_s, 0.0, MAX_TIME_S, exclusive=True)
    rates = load.rates_until(deadline)
    width = np.minimum(load.bin_s, deadline - np.arange(rates.size) * load.bin_s)
    if level_rps is None:
        level = water_level(rates, width, requests * work)
    else:
        level = require_number("level_rps", level_rps, 0.0, 1e9)
        room = int(np.floor(float((width * np.maximum(0.0, level - rates)).sum()) / work * (1.0 + 1e-12)))
        if room < requests:
            raise SimulatorError("over_capacity", "level_rps", f"only {room} of {requests} fit by the deadline")
    added = RateCurve(np.maximum(0.0, level - rates) / work, load.bin_s, False)
    places = np.arange(requests) + 0.5 if rng is None else np.sort(rng.random(requests)) * requests
    return whole_ps(np.minimum(added.time_s(places), deadline))
