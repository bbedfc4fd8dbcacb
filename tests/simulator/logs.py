"""Event logs made by hand, and a replica whose every step takes the same time."""

import numpy as np
import numpy.typing as npt

from simulator import EngineConfig, EventLog, ReplicaTotals, Series, StepTime
from simulator.records import itl_bin, itl_upper_ps

MS = 10**9
NO_SERIES = Series(1, *(np.zeros(0),) * 6)


def log_of(
    arrival_ms: npt.ArrayLike,
    first_ms: npt.ArrayLike,
    finish_ms: npt.ArrayLike,
    output: npt.ArrayLike,
    itl: dict[float, int] | None = None,
    request_ms: float = 0.0,
) -> EventLog:
    """A finished run with these times; `itl` maps gaps in ms to how many there were."""
    arrival, first, finish = (
        np.rint(np.asarray(t, float) * MS).astype(np.int64) for t in (arrival_ms, first_ms, finish_ms)
    )
    outputs = np.asarray(output, np.int64)
    zeros, small = np.zeros(arrival.size, np.int64), np.zeros(arrival.size, np.int8)
    gaps = itl or {}
    end_ps = int(finish.max())
    totals = ReplicaTotals(
        pool=0, steps=1, busy_ps=end_ps, seat_ps=int((finish - arrival).sum()), kv_block_ps=0, kv_token_ps=0,
        kv_peak_blocks=0, kv_peak_tokens=0, prefill_tokens=int(outputs.sum()), num_blocks=1, block_size=16,
        max_num_seqs=1, paid_ps=end_ps,
    )  # fmt: skip
    return EventLog(
        arrival, arrival, first, finish, outputs, outputs, outputs, zeros, zeros, zeros, zeros, zeros, zeros, zeros,
        small, small, end_ps=end_ps, request_ps=int(request_ms * MS), request_token_ps=0, waiting_ps=0,
        transfer_wait_ps=0,
        replicas=(totals,), starts=(), series=NO_SERIES,
        itl_slice=np.full(len(gaps), 19, np.int64),
        itl_upper_ps=itl_upper_ps(np.array([itl_bin(round(gap * MS)) for gap in gaps], np.int64)),
        itl_count=np.array(list(gaps.values()), np.int64),
    )  # fmt: skip


def even_replica(
    step_ps: int, seats: int = 1, blocks: int = 10_000, **settings: object
) -> tuple[EngineConfig, StepTime]:
    """Every step lasts `step_ps`, whatever is in it."""
    budget = int(settings.pop("max_num_batched_tokens", 100_000))
    config = EngineConfig(
        max_num_seqs=seats, max_num_batched_tokens=budget, num_blocks=blocks, max_model_len=50_000, **settings
    )
    zeros = np.zeros(seats + 1, np.int64)
    return config, StepTime(np.full(budget + 1, step_ps), zeros, zeros)
