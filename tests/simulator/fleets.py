"""Fleets small enough to be worked out by hand, and how to run them on either engine."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator import EngineConfig, EventLog, Fleet, Pool, StepTime, Workload, simulate_fleet

Row = tuple[int, int, int]


def pool_of(
    replicas: int = 1, *, base_ps: int = 100, token_ps: int = 0, pool: dict[str, int] | None = None, **config: Any
) -> Pool:
    """Steps last base + token x tokens in the step; `pool`: weight and prompt lengths; the rest is the engine's."""
    settings = EngineConfig(
        **(
            {"max_num_seqs": 4, "max_num_batched_tokens": 64, "num_blocks": 100, "max_model_len": 64, "block_size": 4}
            | config
        )
    )
    zeros = np.zeros(settings.max_num_seqs + 1, np.int64)
    times = StepTime(base_ps + token_ps * np.arange(settings.max_num_batched_tokens + 1), zeros, zeros)
    return Pool(settings, times, replicas, **(pool or {}))


def workload_of(rows: Sequence[Row], **columns: npt.ArrayLike) -> Workload:
    """Rows of arrival, prompt and output; further columns by name."""
    arrival, prompt, output = (np.array(column) for column in zip(*rows, strict=True))
    return Workload(arrival, prompt, output, **{name: np.asarray(values) for name, values in columns.items()})


def run_fleet(engine: str, fleet: Fleet, workload: Workload, **options: Any) -> EventLog:
    """A run with seed 1."""
    rng = np.random.default_rng(1)
    return simulate_fleet(fleet, workload, rng=rng, engine=engine, **options)  # type: ignore[arg-type]
