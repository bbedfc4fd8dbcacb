"""Random configurations, step times and workloads, small enough to be stepped through."""

import numpy as np
from hypothesis import strategies as st

from simulator import BlockHashes, EngineConfig, StepTime, Workload

MAX_LENGTH = 48


@st.composite
def configs(draw: st.DrawFn, caching: bool | None = None) -> EngineConfig:
    seats = draw(st.sampled_from([4, 3, 6, 2, 1, 5]))
    block_size = draw(st.sampled_from([1, 2, 4]))
    chunked = draw(st.booleans())
    cached = draw(st.booleans()) if caching is None else caching
    return EngineConfig(
        scheduler=draw(st.sampled_from(["vllm_v1", "vllm_v1", "vllm_v1", "static"])),
        max_num_seqs=seats,
        max_num_batched_tokens=draw(st.integers(seats if chunked else max(seats, MAX_LENGTH), 64)),
        num_blocks=max(1, draw(st.one_of(st.integers(44, 70), st.integers(20, 120))) // block_size),
        block_size=block_size,
        max_model_len=MAX_LENGTH,
        enable_chunked_prefill=chunked,
        enable_prefix_caching=cached,
        reserve_full_isl=draw(st.booleans()),
        watermark_ratio=draw(st.sampled_from([0.0, 0.05, 0.3])),
        kv_allocation="paged" if cached or draw(st.integers(0, 4)) else "contiguous",
    )


@st.composite
def step_times(draw: st.DrawFn, config: EngineConfig) -> StepTime:
    """Tables that need not be linear or rising: only the formula counts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    top = draw(st.sampled_from([3, 1000, 10**9]))
    return StepTime(
        tokens_ps=rng.integers(0, top, config.max_num_batched_tokens + 1),
        seats_ps=rng.integers(0, top, config.max_num_seqs + 1),
        context_ps=rng.integers(0, draw(st.sampled_from([1, 3, 1000])), config.max_num_seqs + 1),
        prefill_pair_ps=draw(st.integers(0, 50)),
        prefill_seq_ps=draw(st.integers(0, 50)),
    )


@st.composite
def workloads(draw: st.DrawFn, config: EngineConfig, step_time: StepTime) -> Workload:
    """Arrivals as dense as steps are long; some requests too long to serve; some beginnings shared."""
    count = draw(st.one_of(st.integers(20, 40), st.integers(1, 30)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    mean_gap = draw(st.sampled_from([1, 0, 1, 8])) * max(1, int(step_time.tokens_ps.mean()))
    arrival = np.cumsum(rng.integers(0, 2 * mean_gap + 1, count))
    longest = draw(st.sampled_from([4, 10, 20, 30]))
    prompt = rng.integers(1, longest + 1, count)
    output = rng.integers(1, draw(st.sampled_from([1, 4, 25, 25])) + 1, count)
    group = tokens = hashes = None
    content = draw(st.sampled_from(["none", "groups", "hashes"]))
    if content == "groups":
        group = rng.integers(-1, 3, count)
        tokens = np.minimum(prompt, rng.integers(0, 3, count) * 5 + group + 1)
    if content == "hashes":
        hashes = recorded(rng, prompt, config.block_size * draw(st.integers(1, 2)))
    concurrency = draw(st.one_of(st.none(), st.integers(1, 8)))
    think = rng.integers(0, 2 * mean_gap + 1, count) if concurrency and draw(st.booleans()) else None
    return Workload(arrival, prompt, output, group, tokens, hashes, concurrency, think)


def recorded(rng: np.random.Generator, prompt: np.ndarray, block_tokens: int) -> BlockHashes:
    """Each prompt follows one of two chains for a while, then goes its own way."""
    ids: list[int] = []
    offsets = [0]
    for number, tokens in enumerate(prompt):
        blocks = -(-int(tokens) // block_tokens)
        common = int(rng.integers(0, blocks + 1))
        chain = int(rng.integers(0, 2)) * 100
        ids += [chain + i if i < common else 1000 + number * 100 + i for i in range(blocks)]
        offsets.append(len(ids))
    return BlockHashes(np.array(offsets), np.array(ids, np.int64), block_tokens)


@st.composite
def runs(draw: st.DrawFn, caching: bool | None = None) -> tuple[EngineConfig, StepTime, Workload]:
    config = draw(configs(caching))
    step_time = draw(step_times(config))
    return config, step_time, draw(workloads(config, step_time))
