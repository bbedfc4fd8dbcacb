"""Step time as integer picosecond arrays, the form in which a simulator reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costmodel.deployment.deployment import Deployment
from costmodel.steptime.calibrated import deployment_constants
from costmodel.steptime.constants import StepConstants
from costmodel.steptime.physics import (
    CONTEXT_PARTS,
    PAIR_PARTS,
    PREFILL_PARTS,
    PREFILL_STEP_PARTS,
    SEAT_PARTS,
    TOKEN_PARTS,
    Load,
    Value,
    total_s,
)
from costmodel.steptime.shape import StepShape, step_shape

PS_PER_S = 1e12


@dataclass(frozen=True, slots=True)
class StepTimeTables:
    """Step time of one rank in whole picoseconds.

    step = tokens_ps[T] + seats_ps[n] + context_ps[n]·S + prefill_pair_ps·P + prefill_seq_ps·m, and prefill_step_ps
    where m > 0, with T tokens in the step, n decoding sequences, S tokens of context already computed over all
    scheduled sequences, P query-key pairs of prefill and m prefilling sequences. `tokens_ps` has
    max_num_batched_tokens + 1 values, the other two max_num_seqs + 1; all are int64. `request_ps`, and
    `request_token_ps` for each token of the prompt, are outside the step, once per request.
    """

    tokens_ps: NDArray[np.int64]
    seats_ps: NDArray[np.int64]
    context_ps: NDArray[np.int64]
    prefill_pair_ps: int
    prefill_seq_ps: int
    prefill_step_ps: int
    request_ps: int
    request_token_ps: int

    def step_ps(
        self, *, tokens: int, decode_seqs: int, context_tokens: int, prefill_pairs: int, prefill_seqs: int
    ) -> int:
        """Time of one step in picoseconds."""
        return (
            int(self.tokens_ps[tokens])
            + int(self.seats_ps[decode_seqs])
            + int(self.context_ps[decode_seqs]) * context_tokens
            + self.prefill_pair_ps * prefill_pairs
            + self.prefill_seq_ps * prefill_seqs
            + (self.prefill_step_ps if prefill_seqs else 0)
        )


def step_time_tables(deployment: Deployment, constants: dict[str, Any] | None = None) -> StepTimeTables:
    """Tables of a deployment from the shipped constants, or from a document of the same form, with the factors of the
    deployment's calibration.

    Raises ValueError when the catalog lacks a rate that the model needs.
    """
    shape = step_shape(deployment)
    resolved = deployment_constants(deployment, constants)
    return tables_from(shape, resolved, deployment.max_num_batched_tokens, deployment.max_num_seqs)


def tables_from(shape: StepShape, c: StepConstants, max_tokens: int, max_seats: int) -> StepTimeTables:
    """Tables for up to `max_tokens` tokens and `max_seats` sequences a step; a step of no tokens takes no time."""
    tokens_ps = _ps(total_s(TOKEN_PARTS, shape, c, Load(tokens=np.arange(max_tokens + 1, dtype=np.float64))))
    tokens_ps[0] = 0
    seats = np.arange(max_seats + 1, dtype=np.float64)
    context_ps = int(_ps(total_s(CONTEXT_PARTS, shape, c, Load(tokens=0.0, context=1.0))))
    return StepTimeTables(
        tokens_ps=tokens_ps,
        seats_ps=_ps(total_s(SEAT_PARTS, shape, c, Load(tokens=0.0, seats=seats))),
        context_ps=np.full(max_seats + 1, context_ps, dtype=np.int64),
        prefill_pair_ps=int(_ps(total_s(PAIR_PARTS, shape, c, Load(tokens=0.0, pairs=1.0)))),
        prefill_seq_ps=int(_ps(total_s(PREFILL_PARTS, shape, c, Load(tokens=0.0, prefills=1.0)))),
        prefill_step_ps=int(_ps(total_s(PREFILL_STEP_PARTS, shape, c, Load(tokens=0.0, prefill_steps=1.0)))),
        request_ps=int(_ps(c.request_s)),
        request_token_ps=int(_ps(c.request_token_s)),
    )


def _ps(seconds: Value) -> NDArray[np.int64]:
    return np.rint(np.asarray(seconds, dtype=np.float64) * PS_PER_S).astype(np.int64)
