"""What one replica's engine is told: scheduler limits, KV pool and policies."""

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import Literal, get_args

from simulator.checks import check_fields
from simulator.errors import SimulatorError, require_int, require_number
from simulator.kv import KvGroup, check_groups, most_blocks
from simulator.speculation import Speculation

Scheduler = Literal["vllm_v1", "vllm_v0", "sglang", "tensorrt_llm", "static"]
KvAllocation = Literal["paged", "contiguous"]
Order = Literal["fcfs", "priority", "longest_prefix", "fair"]
MAX_GANG = 256
MAX_TENANT_WEIGHT = 1000
LONGEST_PREFIX_REQUESTS = 128  # SGLang matches no prefixes for more waiting requests than that
FAIR_SCALE = 720_720  # a token counts FAIR_SCALE // weight: exact for weights up to 16, within 0.14 % up to 1000
CapacityPolicy = Literal["guaranteed_no_evict", "max_utilization"]
MAX_BLOCK_PS = 10**12  # a second for one block: slower links are a slip of units


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSwap:
    """Preemption by swap: the victim's blocks move to host memory and back, and nothing is computed again.

    host_blocks    room in host memory, in blocks; a victim that does not fit is computed again
    block_out_ps, block_in_ps   time of one block over the link in each direction
    overlapped     False: transfers lengthen the step in which they are scheduled. True: they run beside the steps, one
                   after the other in both directions; who is swapped in joins when all its blocks have come
    """

    host_blocks: int
    block_out_ps: int
    block_in_ps: int
    overlapped: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "host_blocks", require_int("host_blocks", self.host_blocks, 1))
        for field in ("block_out_ps", "block_in_ps"):
            object.__setattr__(self, field, require_int(field, getattr(self, field), 0, MAX_BLOCK_PS))


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """Scheduler and KV pool of one replica; the knobs keep the names that the engines give them.

    scheduler               `vllm_v1`: running requests first, then waiting ones, under one token budget. `vllm_v0`:
                            whole prompts before decodes, which stall meanwhile; with chunked prefill decodes first.
                            `sglang`: prompts before decodes, admission by an estimate of future output. `tensorrt_llm`:
                            as vllm_v1, admission by `capacity_policy`. `static`: a batch starts together, nobody enters
                            until all of it have finished; its members' final lengths are reserved together
    max_num_seqs            sequences running at once (seats)
    max_num_batched_tokens  token budget of one step; at least `max_num_seqs`, and at least `max_model_len` when
                            prompts are not chunked (a prompt must fit into one step)
    num_blocks, block_size  KV pool: blocks that sequences can use, and tokens per block
    max_model_len           prompt plus output of one request, in tokens
    enable_chunked_prefill  split a prompt that exceeds the rest of the budget; else it waits for a step it fits into
    enable_prefix_caching   keep full blocks by chained hash, evict the least recently used first
    partial_block_hits      a hit may end inside a block, whose beginning is copied (TensorRT-LLM, and radix trees)
    isolate_tenants         tenants do not find each other's blocks (a cache salt each)
    reserve_full_isl        vllm_v1: admission asks for room for the whole prompt, not only for its first chunk
    watermark_ratio         vllm_v1, vllm_v0: share of the pool that admission leaves free (not applied when nothing is
                            running)
    kv_allocation           `paged`: blocks on demand. `contiguous`: `max_model_len` reserved at admission
    order                   who is let in next. `fcfs`; `priority`: by priority class, then arrival, and in `vllm_v1`
                            the last of the worst class is preempted (else the tail of the running list);
                            `longest_prefix`: by cached prefix (SGLang's lpm); `fair`: the tenant that was served the
                            fewest tokens for its weight. Preempted ones stand before others of their class or tenant
    tenant_weights          `fair`: the weight of tenant 0, 1, ..., 1 for those beyond its end
    long_prefill_token_threshold   `vllm_v1`: most tokens of one prompt in one step; 0: no limit but the budget. So
                            several prompts may be partly computed at once (vLLM V1 has no other limit on them)
    attention_dp_ranks      engines that make up a replica and step together, each with a waiting line, seats and a KV
                            pool of its own: max_num_seqs, max_num_batched_tokens and num_blocks are of one rank
    pipeline_stages         stages that a step passes through, with as many micro-batches in flight: seats and blocks
                            are shared out among them, see `member`
    kv_groups               the model's layer groups; one group of full attention unless said otherwise
    free_outside_window     blocks behind a group's window are freed; without (engines that keep one block table for all
                            layers) a window saves no memory
    speculation             draft tokens proposed to decoding sequences; None: one token a step
    max_new_tokens          greatest output that requests ask for, as the engine knows it; real outputs stop earlier.
                            None: the engine knows each request's own output
    overlap_scheduling      vllm_v1, sglang, tensorrt_llm: a step is scheduled before the results of the one before are
                            known, so a finished request keeps seat and blocks for one more step, and who arrives during
                            a step is seen by the step after the next
    mixed_chunk             sglang: decodes run along with prompts
    schedule_conservativeness   sglang: scales the estimate of future output
    capacity_policy         tensorrt_llm: `guaranteed_no_evict` admits what fits with the greatest output of all;
                            `max_utilization` admits by present need, and the latest fall when the pool is full
    swap                    vllm_v1, vllm_v0: preempt by swap to host memory (None: by computing again)
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    num_blocks: int
    max_model_len: int
    scheduler: Scheduler = "vllm_v1"
    block_size: int = 16
    enable_chunked_prefill: bool = True
    enable_prefix_caching: bool = False
    partial_block_hits: bool = False
    isolate_tenants: bool = False
    reserve_full_isl: bool = True
    watermark_ratio: float = 0.0
    kv_allocation: KvAllocation = "paged"
    order: Order = "fcfs"
    tenant_weights: tuple[int, ...] = ()
    long_prefill_token_threshold: int = 0
    attention_dp_ranks: int = 1
    pipeline_stages: int = 1
    kv_groups: tuple[KvGroup, ...] = (KvGroup(),)
    free_outside_window: bool = True
    speculation: Speculation | None = None
    max_new_tokens: int | None = None
    overlap_scheduling: bool = False
    mixed_chunk: bool = False
    schedule_conservativeness: float = 1.0
    capacity_policy: CapacityPolicy = "guaranteed_no_evict"
    swap: HostSwap | None = None

    def __post_init__(self) -> None:
        check_fields(self)
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
        object.__setattr__(self, "kv_groups", tuple(self.kv_groups))
        check_groups(self.kv_groups)
        if self.capacity_policy not in get_args(CapacityPolicy):
            allowed = ", ".join(get_args(CapacityPolicy))
            raise SimulatorError(
                "unknown_policy", "capacity_policy", f"must be one of {allowed}, got {self.capacity_policy!r}"
            )
        if self.max_new_tokens is not None:
            object.__setattr__(self, "max_new_tokens", require_int("max_new_tokens", self.max_new_tokens, 1))
        require_number("schedule_conservativeness", self.schedule_conservativeness, 0.0, 1000.0)
        self._check_budget()
        self._check_cache()
        self._check_order()
        self._check_scheduler()
        self._check_gang()

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

    def _check_cache(self) -> None:
        if self.enable_prefix_caching and self.kv_allocation == "contiguous":
            raise SimulatorError("incompatible", "enable_prefix_caching", "needs paged KV allocation")
        for field in ("partial_block_hits", "isolate_tenants"):
            if getattr(self, field) and not self.enable_prefix_caching:
                raise SimulatorError("incompatible", field, "needs enable_prefix_caching")
        if self.partial_block_hits and set(self.windows) != {None}:
            raise SimulatorError("incompatible", "partial_block_hits", "blocks of a window are found whole or not")

    def _check_order(self) -> None:
        if self.order not in get_args(Order):
            allowed = ", ".join(get_args(Order))
            raise SimulatorError("unknown_policy", "order", f"must be one of {allowed}, got {self.order!r}")
        if self.order == "longest_prefix" and not self.enable_prefix_caching:
            raise SimulatorError("incompatible", "order", "longest_prefix needs enable_prefix_caching")
        if self.order != "fcfs" and self.scheduler == "static":
            raise SimulatorError("incompatible", "order", "static batches are formed first come first served")
        weights = tuple(require_int("tenant_weights", weight, 1, MAX_TENANT_WEIGHT) for weight in self.tenant_weights)
        object.__setattr__(self, "tenant_weights", weights)
        if weights and self.order != "fair":
            raise SimulatorError("incompatible", "tenant_weights", "are for the order fair")
        limit = require_int("long_prefill_token_threshold", self.long_prefill_token_threshold, 0)
        object.__setattr__(self, "long_prefill_token_threshold", limit)
        if limit and (self.scheduler != "vllm_v1" or not self.enable_chunked_prefill):
            raise SimulatorError("incompatible", "long_prefill_token_threshold", "is for vllm_v1 with chunked prefill")

    @property
    def longest_chunk(self) -> int:
        """Most tokens of one prompt in one step."""
        return self.long_prefill_token_threshold or self.max_num_batched_tokens

    def _check_gang(self) -> None:
        for field in ("attention_dp_ranks", "pipeline_stages"):
            object.__setattr__(self, field, require_int(field, getattr(self, field), 1, MAX_GANG))
        if self.attention_dp_ranks > 1 and self.pipeline_stages > 1:
            raise SimulatorError("incompatible", "pipeline_stages", "attention-DP ranks are not pipelined here")
        if self.pipeline_stages > min(self.max_num_seqs, self.num_blocks):
            raise SimulatorError("incompatible", "pipeline_stages", "each micro-batch needs a seat and a block")
        if self.swap is not None and self.pipeline_stages > self.swap.host_blocks:
            raise SimulatorError("incompatible", "pipeline_stages", "each micro-batch needs a block in host memory")

    @property
    def gang(self) -> int:
        """Engines that make up one replica: attention-DP ranks or pipeline lanes; most replicas are one engine."""
        return self.attention_dp_ranks * self.pipeline_stages

    @property
    def member(self) -> "EngineConfig":
        """The configuration of one engine of a gang. A pipeline lane gets an equal share of seats and blocks (rounded
        down), but the whole token budget: the budget is of one micro-batch.
        """
        stages = self.pipeline_stages
        swap = self.swap and replace(self.swap, host_blocks=self.swap.host_blocks // stages)
        return replace(
            self,
            swap=swap,
            max_num_seqs=self.max_num_seqs // stages,
            num_blocks=self.num_blocks // stages,
            attention_dp_ranks=1,
            pipeline_stages=1,
        )

    def _check_scheduler(self) -> None:
        """Knobs of other schedulers than the one chosen are refused: they would do nothing."""
        knobs: tuple[tuple[str, bool, tuple[Scheduler, ...]], ...] = (
            ("overlap_scheduling", self.overlap_scheduling, ("vllm_v1", "sglang", "tensorrt_llm")),
            ("mixed_chunk", self.mixed_chunk, ("sglang",)),
            ("schedule_conservativeness", self.schedule_conservativeness != 1.0, ("sglang",)),
            ("capacity_policy", self.capacity_policy != "guaranteed_no_evict", ("tensorrt_llm",)),
            ("swap", self.swap is not None, ("vllm_v1", "vllm_v0")),
        )
        for knob, chosen, schedulers in knobs:
            if chosen and self.scheduler not in schedulers:
                raise SimulatorError("incompatible", knob, f"needs the scheduler {' or '.join(schedulers)}")
        if self.mixed_chunk and (not self.enable_chunked_prefill or self.speculation is not None):
            raise SimulatorError("incompatible", "mixed_chunk", "needs chunked prefill, and no speculation")
        if self.scheduler == "sglang" and self.max_num_batched_tokens < self.max_num_seqs * self.decode_tokens:
            raise SimulatorError(
                "budget_below_seats", "max_num_batched_tokens", "must hold a step of all seats' drafts"
            )
        if self.kv_allocation == "contiguous" and (self.scheduler == "sglang" or self.swap is not None):
            raise SimulatorError("incompatible", "kv_allocation", "sglang and swap need paged KV allocation")

    @property
    def watermark_blocks(self) -> int:
        """Blocks that admission leaves free while something is running."""
        return int(self.watermark_ratio * self.num_blocks)

    @property
    def windows(self) -> tuple[int | None, ...]:
        """The window of each block table of a sequence: one for every block that `block_size` tokens take of the pool.

        None: the table's blocks are held to the end.
        """
        return tuple(
            group.window_tokens if self.free_outside_window else None
            for group in self.kv_groups
            for _ in range(group.pool_blocks)
        )

    @property
    def lookahead_tokens(self) -> int:
        """Places that a running sequence takes beyond those of a step's tokens."""
        return 0 if self.speculation is None else self.speculation.lookahead_tokens

    @property
    def decode_tokens(self) -> int:
        """Tokens of a decoding sequence in one step."""
        return 1 if self.speculation is None else 1 + self.speculation.draft_tokens

    def table_blocks(self, tokens: int, window_tokens: int | None) -> int:
        """Most blocks that one table (see `windows`) of a sequence of `tokens` tokens holds at a time."""
        return most_blocks(tokens, window_tokens, self.block_size, self.max_num_batched_tokens + self.lookahead_tokens)

    def blocks_for(self, tokens: int) -> int:
        """Most blocks that a sequence of `tokens` tokens holds at a time, over all layer groups."""
        return sum(self.table_blocks(tokens, window) for window in self.windows)

    def max_new(self, prompt_tokens: int, output_tokens: int) -> int:
        """Greatest output of a request as the engine knows it: what is asked for, cut to what the context leaves.

        SGLang also cuts it to what the pool leaves, less one token.
        """
        if self.max_new_tokens is None:
            return output_tokens
        return min(self.max_new_tokens, self.longest_asked - prompt_tokens)

    @property
    def longest_asked(self) -> int:
        """Most tokens of a prompt and its greatest output."""
        if self.scheduler != "sglang":
            return self.max_model_len
        room = self.num_blocks * self.block_size
        return bisect_left(range(self.max_model_len + 1), room, lo=1, key=self.places) - 1

    def places(self, tokens: int) -> int:
        """Most tokens of the pool that a sequence of `tokens` tokens takes, over all layer groups.

        Tokens behind a window give their place back, except those that blocks and steps keep there for a while.
        """
        return sum(
            min(tokens, self.table_blocks(self.max_model_len, window) * self.block_size) for window in self.windows
        )

    def final_blocks(self, prompt_tokens: int, output_tokens: int) -> int:
        """Most blocks a request holds."""
        if self.kv_allocation == "contiguous":
            return self.blocks_for(self.max_model_len)
        return self.blocks_for(self.final_tokens(prompt_tokens, output_tokens))

    def final_tokens(self, prompt_tokens: int, output_tokens: int) -> int:
        """Tokens of a request that ever need a place: the last one it emits is never computed, so it needs none.

        Draft tokens, and look-ahead beyond them, need theirs even where they go beyond the request's end.
        """
        beyond = self.decode_tokens - 1 + self.lookahead_tokens
        return min(prompt_tokens + output_tokens - 1 + beyond, self.max_model_len)

    def pool_holds(self, prompt_tokens: int, output_tokens: int) -> bool:
        """Whether the empty pool can take a request to its end under the scheduler's rules.

        TensorRT-LLM's guarantee asks for room for the greatest output; SGLang keeps one token of the pool free.
        """
        if (
            self.scheduler == "sglang"
            and self.places(prompt_tokens + output_tokens) >= self.num_blocks * self.block_size
        ):
            return False
        if self.scheduler == "tensorrt_llm" and self.capacity_policy == "guaranteed_no_evict":
            output_tokens = self.max_new(prompt_tokens, output_tokens) + 1
        return self.final_blocks(prompt_tokens, output_tokens) <= self.num_blocks
