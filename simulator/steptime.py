"""How long one engine step lasts, in whole picoseconds."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.checks import as_array, check_fields, checked
from simulator.config import EngineConfig
from simulator.errors import SimulatorError, require_int

PS_PER_S = 10**12
PS_PER_MS = 10**9
MAX_STEP_PS = 2**52  # 75 minutes: longer steps are a slip of units, and sums of them could leave 64 bits

HORIZON_PS = 2**62  # 53 days: no run goes beyond it, so no sum of it leaves 64 bits

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StepTime:
    """Tables that give the time of a step with T tokens, n decoding and m prefilling sequences:

        tokens_ps[T] + seats_ps[n] + context_ps[n]*S + prefill_pair_ps*P + prefill_seq_ps*m + (prefill_step_ps if m > 0)

    and more where tables are given for it: window_context_ps[n]*W, and draft_ps[n] where the engine speculates (the
    time in which the draft proposes tokens to n sequences; verifying them is in tokens_ps).

    S is the sum over the scheduled sequences of the tokens computed before the step; P is the sum over prefill chunks
    of c*p + c(c+1)/2 for a chunk of c tokens after p computed ones. A request whose prompt is being computed, or
    computed again, is prefilling, also when its chunk is one token. `request_ps` (HTTP), and `request_token_ps` for
    each token of its prompt (tokenizer), lie outside the engine: metrics add them to TTFT and E2E. No step takes less
    than 1 ps, so that time passes.

    tokens_ps has at least `max_num_batched_tokens + 1` entries, the other tables `max_num_seqs + 1`; all ≥ 0.
    """

    tokens_ps: IntArray
    seats_ps: IntArray
    context_ps: IntArray
    prefill_pair_ps: int = 0
    prefill_seq_ps: int = 0
    prefill_step_ps: int = 0
    request_ps: int = 0
    request_token_ps: int = 0
    window_tokens: int = 0
    window_context_ps: IntArray | None = None
    draft_ps: IntArray | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        for field in ("tokens_ps", "seats_ps", "context_ps"):
            object.__setattr__(self, field, _table(field, getattr(self, field)))
        for field in ("prefill_pair_ps", "prefill_seq_ps", "prefill_step_ps", "request_ps", "request_token_ps"):
            object.__setattr__(self, field, require_int(field, getattr(self, field), 0, MAX_STEP_PS))
        object.__setattr__(self, "window_tokens", require_int("window_tokens", self.window_tokens, 0))
        for field in ("window_context_ps", "draft_ps"):
            if getattr(self, field) is not None:
                object.__setattr__(self, field, _table(field, getattr(self, field)))
        if (self.window_context_ps is None) != (self.window_tokens == 0):
            raise SimulatorError("ambiguous", "window_tokens", "window_tokens and window_context_ps belong together")

    def step_ps(
        self,
        tokens: int,
        decode_seqs: int,
        context_tokens: int,
        prefill_pairs: int,
        prefill_seqs: int,
        window_context_tokens: int = 0,
        drafting: bool = False,
    ) -> int:
        """Duration in picoseconds of one step (the formulas above)."""
        draft_ps = int(self.draft_ps[decode_seqs]) if drafting and self.draft_ps is not None else 0
        window_ps = 0 if self.window_context_ps is None else int(self.window_context_ps[decode_seqs])
        duration_ps = (
            int(self.tokens_ps[tokens])
            + int(self.seats_ps[decode_seqs])
            + int(self.context_ps[decode_seqs]) * context_tokens
            + self.prefill_pair_ps * prefill_pairs
            + self.prefill_seq_ps * prefill_seqs
            + (self.prefill_step_ps if prefill_seqs else 0)
            + window_ps * window_context_tokens
            + draft_ps
        )
        return max(1, duration_ps)

    def longest_step_ps(self, config: EngineConfig) -> int:
        """An upper bound of any step under `config`; raises SimulatorError where tables are short or steps too long."""
        if len(self.tokens_ps) <= config.max_num_batched_tokens:
            raise SimulatorError("table_too_short", "tokens_ps", "needs max_num_batched_tokens + 1 entries")
        for field in ("seats_ps", "context_ps", "window_context_ps", "draft_ps"):
            table = getattr(self, field)
            if table is not None and len(table) <= config.max_num_seqs:
                raise SimulatorError("table_too_short", field, "needs max_num_seqs + 1 entries")
        window_ps, draft_ps = (
            0 if table is None else int(table.max()) for table in (self.window_context_ps, self.draft_ps)
        )
        seats, length = config.max_num_seqs, config.max_model_len
        longest = (
            int(self.tokens_ps.max())
            + int(self.seats_ps.max())
            + int(self.context_ps.max()) * seats * length
            + self.prefill_pair_ps * config.max_num_batched_tokens * length
            + self.prefill_seq_ps * seats
            + self.prefill_step_ps
            + window_ps * seats * min(self.window_tokens, length)
            + draft_ps
            + (0 if config.swap is None else config.num_blocks * max(config.swap.block_out_ps, config.swap.block_in_ps))
        )
        if longest > MAX_STEP_PS:
            raise SimulatorError(
                "step_too_long", "step_time", f"a step could last {longest / PS_PER_S:.0f} s; check the units"
            )
        return longest


@checked
def linear_step_time(
    config: EngineConfig,
    *,
    step_ps: int,
    decode_seq_ps: int = 0,
    prefill_token_ps: int = 0,
    context_token_ps: int = 0,
    prefill_pair_ps: int = 0,
    prefill_seq_ps: int = 0,
    request_ps: int = 0,
) -> StepTime:
    """Step time that is linear in decoding sequences, prefill tokens and context: for examples, tests and benchmarks.

    A step of T tokens, n of them decoding, lasts
    step_ps + decode_seq_ps*n + prefill_token_ps*(T - n) + context_token_ps*S.
    Where a decoding sequence costs less than a prefill token, step_ps must cover the difference for all seats.

    Raises SimulatorError for times that are no whole picoseconds, are negative, or make a step last too long.
    """
    times = {"step_ps": step_ps, "decode_seq_ps": decode_seq_ps, "prefill_token_ps": prefill_token_ps}
    times |= {"context_token_ps": context_token_ps}
    whole = {field: require_int(field, value, 0, MAX_STEP_PS) for field, value in times.items()}
    step_ps, decode_seq_ps, prefill_token_ps, context_token_ps = whole.values()
    longest = step_ps + decode_seq_ps * config.max_num_seqs + prefill_token_ps * config.max_num_batched_tokens
    if longest > MAX_STEP_PS:
        raise SimulatorError(
            "step_too_long", "step_time", f"a step could last {longest / PS_PER_S:.0f} s; check the units"
        )
    tokens = np.arange(config.max_num_batched_tokens + 1, dtype=np.int64)
    seats = np.arange(config.max_num_seqs + 1, dtype=np.int64)
    per_seat = seats * (decode_seq_ps - prefill_token_ps)
    carried = int(max(0, -per_seat.min()))
    if carried > step_ps:
        raise SimulatorError("too_small", "step_ps", "must cover max_num_seqs * (prefill_token_ps - decode_seq_ps)")
    return StepTime(
        tokens_ps=tokens * prefill_token_ps + (step_ps - carried),
        seats_ps=per_seat + carried,
        context_ps=np.full(config.max_num_seqs + 1, context_token_ps, dtype=np.int64),
        prefill_pair_ps=prefill_pair_ps,
        prefill_seq_ps=prefill_seq_ps,
        request_ps=request_ps,
    )


def _table(field: str, values: object) -> IntArray:
    array = as_array(field, values)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise SimulatorError("not_an_integer", field, "must be a one-dimensional array of whole picoseconds")
    if array.min() < 0 or array.max() > MAX_STEP_PS:
        raise SimulatorError("out_of_range", field, f"entries must lie in 0..{MAX_STEP_PS} ps")
    return np.ascontiguousarray(array, dtype=np.int64)
