"""What one replica's engine is told: scheduler limits, KV pool and policies."""

from dataclasses import dataclass
from typing import Literal, get_args

from simulator.errors import SimulatorError, require_int, require_number

Scheduler = Literal["vllm_v1", "static"]
KvAllocation = Literal["paged", "contiguous"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """Scheduler and KV pool of one replica; the knobs keep the names that vLLM gives them.

    scheduler               `vllm_v1`: running requests first, then waiting ones, under one token budget. `static`: a
                            batch starts together, nobody enters until all of it have finished; its members' final
                            lengths are reserved together
    max_num_seqs            sequences running at once (seats)
    max_num_batched_tokens  token budget of one step; at least `max_num_seqs`, and at least `max_model_len` when
                            prompts are not chunked (a prompt must fit into one step)
    num_blocks, block_size  KV pool: blocks that sequences can use, and tokens per block
    max_model_len           prompt plus output of one request, in tokens
    enable_chunked_prefill  split a prompt that exceeds the rest of the budget; else it waits for a step it fits into
    enable_prefix_caching   keep full blocks by chained hash, evict the least recently used first
    reserve_full_isl        admission asks for room for the whole prompt, not only for its first chunk
    watermark_ratio         share of the pool that admission leaves free (not applied when nothing is running)
    kv_allocation           `paged`: blocks on demand. `contiguous`: `max_model_len` reserved at admission
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    num_blocks: int
    max_model_len: int
    scheduler: Scheduler = "vllm_v1"
    block_size: int = 16
    enable_chunked_prefill: bool = True
    enable_prefix_caching: bool = False
    reserve_full_isl: bool = True
    watermark_ratio: float = 0.0
    kv_allocation: KvAllocation = "paged"

    def __post_init__(self) -> None:
        for field in ("max_num_seqs", "max_num_batched_tokens", "num_blocks", "max_model_len", "block_size"):
            object.__setattr__(self, field, require_int(field, getattr(self, field), 1))
        require_number("watermark_ratio", self.watermark_ratio, 0.0, 1.0)
        if self.scheduler not in get_args(Scheduler):
            allowed = ", ".join(get_args(Scheduler))
            raise SimulatorError("unknown_policy", "scheduler", f"must be one of {allowed}, got {self.scheduler!r}")
        if self.kv_allocation not in ("paged", "contiguous"):
            raise SimulatorError(
                "unknown_policy", "kv_allocation", f"must be paged or contiguous, got {self.kv_allocation!r}"
            )
        self._check_budget()

    def _check_budget(self) -> None:
        if self.max_num_batched_tokens < self.max_num_seqs:
            raise SimulatorError(
                "budget_below_seats",
                "max_num_batched_tokens",
                f"must be at least max_num_seqs ({self.max_num_seqs}), got {self.max_num_batched_tokens}",
            )
        if not self.enable_chunked_prefill and self.max_num_batched_tokens < self.max_model_len:
            raise SimulatorError(
                "budget_below_prompt",
                "max_num_batched_tokens",
                f"must be at least max_model_len ({self.max_model_len}) when prompts are not chunked",
            )
        if self.enable_prefix_caching and self.kv_allocation == "contiguous":
            raise SimulatorError("incompatible", "enable_prefix_caching", "needs paged KV allocation")

    @property
    def watermark_blocks(self) -> int:
        """Blocks that admission leaves free while something is running."""
        return int(self.watermark_ratio * self.num_blocks)

    def blocks_for(self, tokens: int) -> int:
        """Blocks that hold `tokens` tokens."""
        return -(-tokens // self.block_size)

    def final_blocks(self, prompt_tokens: int, output_tokens: int) -> int:
        """Blocks a request holds at its end: the last token it emits is never computed, so it needs no place."""
        if self.kv_allocation == "contiguous":
            return self.blocks_for(self.max_model_len)
        return self.blocks_for(prompt_tokens + output_tokens - 1)
