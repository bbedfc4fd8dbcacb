"""How a measured row's run responds to the parts of its step time, exactly.

In a closed loop, a burst or a static batch a request is sent at once or when another ends, never at a given time. So
which steps are made, and of what, does not depend on how long they take, and every time of the run is a sum of step
times: linear in the entries of the step-time tables. One run for each part, with all the others at nothing, gives the
factors; after that any constants are tried without simulating. `tokens_ps` is taken as straight between KNOTS of the
number of tokens, which is as good as exact for its smooth curve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from costmodel.steptime import constant_keys, resolve_constants
from planner.planning.fitting.priors import Document, values_of, with_values
from planner.planning.validation.runs import lane_run, lane_share, predict
from planner.planning.validation.setups import RowSetup
from simulator import EngineConfig, EventLog, StepTime, Workload, simulate
from simulator.records import FINISHED

Floats = NDArray[np.float64]

TIMES = ("makespan", "ttft", "tpot")
OTHER_PARTS = ("seat", "context_token", "prefill_pair", "prefill_sequence", "prefill_step")
KNOTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 513, 768, 1024, 1536, 2048, 3072, 4096)
KNOT_RATIO = 1.4
UNIT_PS = {
    "tokens": 10**9,
    "seat": 10**6,
    "context_token": 10**3,
    "prefill_pair": 10**4,
    "prefill_sequence": 10**9,
    "prefill_step": 10**9,
}
PROBE_LOG = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Response:
    """One row's run.

    knots            int64 [k], numbers of tokens, rising, those only that a step of the run comes near
    per_knot         float64 [k, 3], seconds of each of TIMES per second that a step of so many tokens takes
    per_part         float64 [5, 3], the same per second of each of OTHER_PARTS: for each decoding sequence, token of
                     context, query-key pair of prefill, prefilling sequence, and step that prefills
    prompt_tokens    mean length of its prompts
    median_ratio     float64 [3], median over mean of each of TIMES, by the step times it was made with
    tokens           output tokens of the row's whole run, over all lanes
    """

    knots: NDArray[np.int64]
    per_knot: Floats
    per_part: Floats
    median_ratio: Floats
    tokens: int
    prompt_tokens: float


@dataclass(frozen=True, slots=True, eq=False)
class OpenResponse:
    """The run of an open loop, whose steps do depend on how long they take: straightened about one set of constants.

    ttft_ms, tpot_ms   means of the run; the TTFT as a client sees it
    slopes             float64 [2, c], the logarithm of either per that of each free constant
    about              float64 [c], the free constants that it was made with
    """

    ttft_ms: float
    tpot_ms: float
    slopes: Floats
    about: Floats


def open_response(setup: RowSetup, document: Document) -> OpenResponse:
    """The response of an open loop's run about the constants of `document`. Raises Unusable."""
    values = values_of(document)
    keys = constant_keys(setup.deployment)
    known = resolve_constants(keys, document)
    middle = predict(setup, document)
    slopes = np.zeros((2, len(values)))
    for number in range(len(values)):
        moved = with_values(document, np.where(np.arange(len(values)) == number, values * np.exp(PROBE_LOG), values))
        if resolve_constants(keys, moved) != known:
            there = predict(setup, moved)
            slopes[:, number] = (
                np.log([there.ttft_ms / middle.ttft_ms, _ratio(there.tpot_ms, middle.tpot_ms)]) / PROBE_LOG
            )
    return OpenResponse(middle.ttft_ms, middle.tpot_ms or 0.0, slopes, values)


def _ratio(one: float | None, other: float | None) -> float:
    return one / other if one and other else 1.0


def response(setup: RowSetup) -> Response:
    """The response of a row's run in a closed loop, burst or static batch. Raises Unusable."""
    share = lane_share(setup)
    config, step_time, stream = lane_run(setup, share)
    knots = _knots(config.max_num_batched_tokens)
    rows = [_alone(config, stream, tokens=_hat(knots, index, config)) for index in range(len(knots))]
    met = [index for index, row in enumerate(rows) if row.any()]
    return Response(
        knots=knots[met],
        per_knot=np.array([rows[index] for index in met]),
        per_part=np.array([_alone(config, stream, part=part) for part in OTHER_PARTS]),
        median_ratio=_median_ratio(simulate(config, step_time, stream)),
        tokens=int(stream.output_tokens.sum()) * share.lanes,
        prompt_tokens=float(stream.prompt_tokens.mean()),
    )


def _knots(most: int) -> NDArray[np.int64]:
    knots = [knot for knot in KNOTS if knot < most]
    while knots[-1] * KNOT_RATIO < most:
        knots.append(int(knots[-1] * KNOT_RATIO))
    return np.array([*knots, most] if knots[-1] < most else knots, np.int64)


def _hat(knots: NDArray[np.int64], index: int, config: EngineConfig) -> NDArray[np.int64]:
    """Step time of one unit at one knot, falling to nothing at the next ones."""
    height = np.interp(np.arange(config.max_num_batched_tokens + 1), knots, np.eye(len(knots))[index])
    height[0] = 0.0
    heights: NDArray[np.int64] = np.rint(height * UNIT_PS["tokens"]).astype(np.int64)
    return heights


def _alone(
    config: EngineConfig, stream: Workload, *, tokens: NDArray[np.int64] | None = None, part: str = "tokens"
) -> Floats:
    """TIMES of the run in which only one part takes time, per unit of it."""
    seats = np.arange(config.max_num_seqs + 1, dtype=np.int64)
    nothing = np.zeros_like(seats)
    unit = UNIT_PS[part]
    step_time = StepTime(
        tokens_ps=np.zeros(config.max_num_batched_tokens + 1, np.int64) if tokens is None else tokens,
        seats_ps=seats * unit if part == "seat" else nothing,
        context_ps=nothing + unit if part == "context_token" else nothing,
        prefill_pair_ps=unit if part == "prefill_pair" else 0,
        prefill_seq_ps=unit if part == "prefill_sequence" else 0,
        prefill_step_ps=unit if part == "prefill_step" else 0,
    )
    log = simulate(config, step_time, stream)
    means = np.array([times.mean() if times.size else 0.0 for times in _times(log)])
    means[means <= log.steps] = 0.0
    return means / unit


def _times(log: EventLog) -> tuple[Floats, Floats, Floats]:
    """Makespan, TTFT and TPOT of the served requests, picoseconds."""
    served = log.outcome == FINISHED
    several = served & (log.output_tokens > 1)
    first = (log.first_token_ps - log.arrival_ps)[served].astype(np.float64)
    gaps = (log.finish_ps - log.first_token_ps)[several] / (log.output_tokens[several] - 1)
    return np.array([float(log.end_ps)]), first, gaps


def _median_ratio(log: EventLog) -> Floats:
    return np.array([np.median(times) / times.mean() if times.size and times.mean() else 1.0 for times in _times(log)])
