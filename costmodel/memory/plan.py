"""Where a GPU's memory goes: the subtraction line by line, and the KV pool, blocks, tokens and sequences it leaves."""

from __future__ import annotations

from dataclasses import dataclass

from costmodel.deployment.deployment import Deployment
from costmodel.deployment.feasibility import fit_problem
from costmodel.deployment.problems import Problem
from costmodel.memory.stage import MeasuredMemory, MemoryLine, StageMemory, stage_memory


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Memory of one GPU of the tightest pipeline stage, and what its KV pool holds.

    Counts are per data-parallel rank. `kv_tokens` is what the engine logs: blocks x block size, or for windowed and
    recurrent models the maximum concurrency x `max_model_len`. `kv_bytes_per_token` is per GPU and multiplies out:
    one sequence of `max_model_len` over its tokens; `kv_growth_bytes_per_token` is the part that grows with context.
    `fits` is false when `problem` says why the engine would not start.
    """

    deployment: Deployment
    stage: int
    lines: tuple[MemoryLine, ...]
    kv_pool_bytes: int
    kv_blocks: int
    kv_tokens: int
    kv_bytes_per_token: float
    kv_growth_bytes_per_token: float
    max_concurrency: float
    fits: bool
    problem: Problem | None
    stages: tuple[StageMemory, ...]

    @property
    def kv_pool_gib(self) -> float:
        return self.lines[-1].gib

    @property
    def weights_gib(self) -> float:
        return self.stages[self.stage].weights_gib

    def concurrency_at(self, context_tokens: float) -> float:
        """Sequences of that context (rounded up to whole tokens) in the pool, as a real number."""
        context = max(1, -int(-context_tokens // 1))
        return max(0.0, min(stage.sequences(context) for stage in self.stages))

    def sequences_at(self, context_tokens: float) -> int:
        """Whole sequences of that context in the pool of one data-parallel rank."""
        held = self.concurrency_at(context_tokens)
        return self.deployment.max_num_seqs if held == float("inf") else int(held + 1e-9)

    def blocks_at(self, context_tokens: float) -> int:
        """Blocks of a plain block pool that holds as many sequences of that context.

        For windowed and recurrent models this depends on the context (windows and states weigh more on short ones);
        for the rest it is `kv_blocks`.
        """
        context = max(1, -int(-context_tokens // 1))
        per_sequence = -(-context // self.deployment.block_size)
        held = self.concurrency_at(context)
        return int(min(held, 1e9) * per_sequence + 1e-9)


def memory_plan(deployment: Deployment, measured: MeasuredMemory | None = None) -> MemoryPlan:
    """The subtraction for every stage; the stage that holds the fewest sequences is shown.

    Never raises for a deployment that `make_deployment` accepted: what does not fit is told in `problem`.
    """
    given = measured or MeasuredMemory()
    stages = tuple(stage_memory(deployment, stage, given) for stage in range(deployment.parallelism.pp))
    tight = min(stages, key=lambda stage: (stage.start_up_sequences(deployment.max_model_len), stage.kv_pool_bytes))
    problem = fit_problem(deployment, stages, measured)
    blocks, tokens, most = _capacity(deployment, tight)
    full = tight.reserved.sequence_bytes(deployment.max_model_len)
    uniform = _is_uniform(tight)
    per_token = tight.cache.bytes_per_token if uniform else full / deployment.max_model_len
    return MemoryPlan(
        deployment=deployment,
        stage=tight.stage,
        lines=tight.lines,
        kv_pool_bytes=int(tight.kv_pool_bytes),
        kv_blocks=blocks,
        kv_tokens=tokens,
        kv_bytes_per_token=per_token,
        kv_growth_bytes_per_token=tight.cache.bytes_per_token,
        max_concurrency=most,
        fits=problem is None,
        problem=problem,
        stages=stages,
    )


def _is_uniform(stage: StageMemory) -> bool:
    return not stage.cache.windows and stage.cache.state_bytes == 0


def _capacity(deployment: Deployment, stage: StageMemory) -> tuple[int, int, float]:
    """Blocks, tokens and maximum concurrency as the engine would log them."""
    block, limit = deployment.block_size, deployment.max_model_len
    if _is_uniform(stage):
        blocks = kv_blocks(stage.kv_pool_bytes, stage.cache.bytes_per_token, block)
        return blocks, blocks * block, blocks * block / limit
    most = min(stage.start_up_sequences(limit), 1e9)
    tokens = int(most * limit)
    return tokens // block, tokens, most


def kv_blocks(pool_bytes: float, bytes_per_token: float, block_size: int) -> int:
    """Whole blocks in a pool: floor(pool / (block size x bytes per token)); 0 for an empty or negative pool."""
    return max(0, int(pool_bytes // (block_size * bytes_per_token))) if bytes_per_token > 0 else 0
