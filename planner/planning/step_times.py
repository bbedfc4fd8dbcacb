"""The cost model's step-time tables in the simulator's form, and slower or faster ones."""

from __future__ import annotations

import numpy as np

from costmodel.steptime import StepTimeTables
from simulator import StepTime


def simulator_step_time(tables: StepTimeTables) -> StepTime:
    """The same picoseconds; the two packages do not know each other's classes."""
    return StepTime(
        tokens_ps=tables.tokens_ps,
        seats_ps=tables.seats_ps,
        context_ps=tables.context_ps,
        prefill_pair_ps=tables.prefill_pair_ps,
        prefill_seq_ps=tables.prefill_seq_ps,
        prefill_step_ps=tables.prefill_step_ps,
        request_ps=tables.request_ps,
        request_token_ps=tables.request_token_ps,
    )


def scaled(step_time: StepTime, ratio: float) -> StepTime:
    """Every part of the step time multiplied by `ratio`, in whole picoseconds."""
    return StepTime(
        tokens_ps=np.rint(step_time.tokens_ps * ratio).astype(np.int64),
        seats_ps=np.rint(step_time.seats_ps * ratio).astype(np.int64),
        context_ps=np.rint(step_time.context_ps * ratio).astype(np.int64),
        prefill_pair_ps=round(step_time.prefill_pair_ps * ratio),
        prefill_seq_ps=round(step_time.prefill_seq_ps * ratio),
        prefill_step_ps=round(step_time.prefill_step_ps * ratio),
        request_ps=round(step_time.request_ps * ratio),
        request_token_ps=round(step_time.request_token_ps * ratio),
    )
