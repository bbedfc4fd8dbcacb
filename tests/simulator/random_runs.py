"""Random configurations, step times and workloads, small enough to be stepped through."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from hypothesis import strategies as st

from simulator import (
    Admission,
    BlockHashes,
    EngineConfig,
    Fleet,
    HostSwap,
    KvGroup,
    Pool,
    Speculation,
    StepTime,
    Transfer,
    Workload,
)
from simulator.admission import NO_LIMITS
from simulator.fleet import ANY_LENGTH, Router
from simulator.transfer import Link, Role, Side

MAX_LENGTH = 48
MAX_OUTPUT = 25


@st.composite
def schedulers(
    draw: st.DrawFn, *, chunked: bool, paged: bool, drafts: bool, among: Sequence[str] = ()
) -> dict[str, Any]:
    """A scheduler (of some, if they are told) and the knobs that only it has."""
    names = ["vllm_v1", "vllm_v0", "tensorrt_llm", "static"]
    name = draw(st.sampled_from(among or (["vllm_v1", *names, "sglang"] if paged else names)))
    knobs: dict[str, Any] = {"scheduler": name, "max_new_tokens": draw(st.sampled_from([None, MAX_OUTPUT, 40]))}
    if name not in ("vllm_v0", "static"):
        knobs["overlap_scheduling"] = draw(st.booleans())
    if name == "sglang":
        knobs["mixed_chunk"] = chunked and not drafts and draw(st.booleans())
        knobs["schedule_conservativeness"] = draw(st.sampled_from([0.0, 1.0, 0.3, 2.0]))
    if name == "tensorrt_llm":
        knobs["capacity_policy"] = draw(st.sampled_from(["guaranteed_no_evict", "max_utilization"]))
    if name in ("vllm_v1", "vllm_v0") and paged and draw(st.booleans()):
        knobs["swap"] = HostSwap(
            host_blocks=draw(st.sampled_from([1, 5, 100])),
            block_out_ps=draw(st.sampled_from([0, 7, 1000])),
            block_in_ps=draw(st.sampled_from([0, 3, 1000])),
            overlapped=draw(st.booleans()),
        )
    return knobs


@st.composite
def configs(draw: st.DrawFn, caching: bool | None = None, among: Sequence[str] = ()) -> EngineConfig:
    seats = draw(st.sampled_from([4, 3, 6, 2, 1, 5]))
    block_size = draw(st.sampled_from([1, 2, 4]))
    chunked = draw(st.booleans())
    cached = draw(st.booleans()) if caching is None else caching
    groups, freeing = draw(st.one_of(st.just((KvGroup(),)), kv_groups())), draw(st.integers(0, 4)) > 0
    windowed = freeing and any(group.window_tokens for group in groups)
    paged = bool(cached or "sglang" in among or draw(st.integers(0, 4)))
    speculation = draw(st.one_of(st.none(), st.none(), speculations()))
    knobs = draw(schedulers(chunked=chunked, paged=paged, drafts=speculation is not None, among=among))
    least = seats * (1 + speculation.draft_tokens) if speculation and knobs["scheduler"] == "sglang" else seats
    return EngineConfig(
        **knobs,
        max_num_seqs=seats,
        max_num_batched_tokens=draw(st.integers(least if chunked else max(least, MAX_LENGTH), 64)),
        num_blocks=max(1, draw(st.one_of(st.integers(44, 70), st.integers(20, 120))) // block_size),
        block_size=block_size,
        max_model_len=MAX_LENGTH,
        enable_chunked_prefill=chunked,
        enable_prefix_caching=cached,
        partial_block_hits=cached and not windowed and draw(st.booleans()),
        isolate_tenants=cached and draw(st.integers(0, 3)) == 0,
        reserve_full_isl=draw(st.booleans()),
        watermark_ratio=draw(st.sampled_from([0.0, 0.05, 0.3])),
        kv_allocation="paged" if paged else "contiguous",
        kv_groups=groups,
        free_outside_window=freeing,
        speculation=speculation,
        **draw(orders(knobs["scheduler"], chunked, cached)),
    )


@st.composite
def speculations(draw: st.DrawFn) -> Speculation:
    """Few drafts or many, kept always, never or now and then."""
    count = draw(st.integers(1, 5))
    ratio = st.sampled_from([0.0, 0.5, 0.8, 1.0])
    each = draw(st.booleans())
    return Speculation(
        draft_tokens=count,
        acceptance_ratio=tuple(draw(ratio) for _ in range(count)) if each else draw(ratio),
        lookahead=draw(st.booleans()),
    )


@st.composite
def orders(draw: st.DrawFn, scheduler: str, chunked: bool, cached: bool) -> dict[str, Any]:
    """Who is let in next, and a cap on long prompts, where the engine can have them."""
    settings: dict[str, Any] = {}
    if scheduler != "static" and draw(st.booleans()):
        settings["order"] = draw(st.sampled_from(["priority", "fair", "longest_prefix" if cached else "priority"]))
    if settings.get("order") == "fair":
        settings["tenant_weights"] = tuple(draw(st.lists(st.integers(1, 4), max_size=3)))
    if scheduler == "vllm_v1" and chunked and draw(st.integers(0, 2)) == 0:
        settings["long_prefill_token_threshold"] = draw(st.integers(1, 12))
    return settings


@st.composite
def admissions(draw: st.DrawFn, step_time: StepTime) -> Admission:
    """Limits that some requests exceed."""

    def maybe(values: st.SearchStrategy[Any]) -> Any:
        return draw(values) if draw(st.integers(0, 2)) == 0 else None

    step_ps = max(1, int(step_time.tokens_ps.mean()))
    return Admission(
        max_waiting=maybe(st.integers(1, 6)),
        max_kv_ratio=maybe(st.sampled_from([0.1, 0.5, 0.9, 1.0])),
        deadlines=draw(st.booleans()),
        timeout_ps=maybe(st.integers(0, 40).map(lambda steps: steps * step_ps)),
        tenant_cap=maybe(st.integers(1, 3)),
        tenant_caps=maybe(st.lists(st.integers(1, 3), max_size=2).map(tuple)) or (),
        over_cap=draw(st.sampled_from(["reject", "hold"])),
    )


@st.composite
def owned(draw: st.DrawFn, workload: Workload, step_time: StepTime) -> Workload:
    """The workload with tenants, priorities and deadlines."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count, step_ps = len(workload), max(1, int(step_time.tokens_ps.mean()))
    return replace(
        workload,
        tenant=rng.integers(0, 4, count),
        priority=rng.integers(0, 3, count),
        deadline_ps=rng.integers(0, 1 + draw(st.sampled_from([10, 100])) * step_ps, count),
    )


@st.composite
def kv_groups(draw: st.DrawFn) -> tuple[KvGroup, ...]:
    """One group, with a window or without, or a few."""
    windows = st.one_of(st.none(), st.integers(2, 30))
    return tuple(draw(st.lists(st.builds(KvGroup, windows, st.integers(1, 2)), min_size=1, max_size=2)))


@st.composite
def step_times(draw: st.DrawFn, config: EngineConfig) -> StepTime:
    """Tables that need not be linear or rising: only the formula counts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    top = draw(st.sampled_from([3, 1000, 10**9]))
    window = draw(st.sampled_from([0, 0, 0, 1, 7, 20]))
    return StepTime(
        tokens_ps=rng.integers(0, top, config.max_num_batched_tokens + 1),
        seats_ps=rng.integers(0, top, config.max_num_seqs + 1),
        context_ps=rng.integers(0, draw(st.sampled_from([1, 3, 1000])), config.max_num_seqs + 1),
        prefill_pair_ps=draw(st.integers(0, 50)),
        prefill_seq_ps=draw(st.integers(0, 50)),
        prefill_step_ps=draw(st.sampled_from((0, 0, 7))),
        window_tokens=window,
        window_context_ps=rng.integers(0, 1000, config.max_num_seqs + 1) if window else None,
        draft_ps=rng.integers(0, 1000, config.max_num_seqs + 1) if draw(st.booleans()) else None,
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
    output = rng.integers(1, draw(st.sampled_from([1, 4, MAX_OUTPUT, MAX_OUTPUT])) + 1, count)
    group = tokens = hashes = None
    content = draw(st.sampled_from(["none", "groups", "hashes"]))
    if content == "groups":
        group = rng.integers(-1, 3, count)
        tokens = np.minimum(prompt, rng.integers(0, 3, count) * 5 + group + 1)
    if content == "hashes":
        answers = output * draw(st.integers(0, 1))
        hashes = recorded(rng, prompt + answers, config.block_size * draw(st.integers(1, 2)))
    concurrency = draw(st.one_of(st.none(), st.integers(1, 8)))
    think = rng.integers(0, 2 * mean_gap + 1, count) if concurrency and draw(st.booleans()) else None
    front = None
    if draw(st.integers(0, 5)) == 0:
        front = rng.integers(0, 2, count) * np.minimum(1, prompt - (0 if tokens is None else tokens))
    workload = Workload(
        arrival, prompt, output, group, tokens, hashes, concurrency,
        think_ps=think, front_tokens=front, recorded_tokens=None if hashes is None else prompt + answers,
    )  # fmt: skip
    return draw(owned(workload, step_time)) if draw(st.booleans()) else workload


def recorded(rng: np.random.Generator, lengths: np.ndarray, block_tokens: int) -> BlockHashes:
    """Each request follows one of two chains for a while, then goes its own way."""
    ids: list[int] = []
    offsets = [0]
    for number, tokens in enumerate(lengths):
        blocks = -(-int(tokens) // block_tokens)
        common = int(rng.integers(0, blocks + 1))
        chain = int(rng.integers(0, 2)) * 100
        ids += [chain + i if i < common else 1000 + number * 100 + i for i in range(blocks)]
        offsets.append(len(ids))
    return BlockHashes(np.array(offsets), np.array(ids, np.int64), block_tokens)


@st.composite
def runs(
    draw: st.DrawFn, caching: bool | None = None, among: Sequence[str] = ()
) -> tuple[EngineConfig, StepTime, Workload]:
    config = draw(configs(caching, among))
    step_time = draw(step_times(config))
    return config, step_time, draw(workloads(config, step_time))


@st.composite
def layered_runs(draw: st.DrawFn, caching: bool | None = None) -> tuple[EngineConfig, StepTime, Workload]:
    """Several block tables, and a pool that is short with them, under vLLM V1's scheduler or in static batches."""
    config, step_time, workload = draw(runs(caching))
    others = {"overlap_scheduling": False, "mixed_chunk": False, "schedule_conservativeness": 1.0, "swap": None}
    groups = draw(kv_groups().filter(lambda groups: groups != (KvGroup(),)))
    tables = sum(group.pool_blocks for group in groups)
    windowed = any(group.window_tokens for group in groups)
    layered = replace(
        config,
        **others,
        scheduler=config.scheduler if config.scheduler == "static" else "vllm_v1",
        capacity_policy="guaranteed_no_evict",
        order="fcfs" if config.order == "priority" else config.order,
        kv_groups=groups,
        num_blocks=config.num_blocks * tables,
        partial_block_hits=config.partial_block_hits and not windowed,
    )
    return layered, step_time, workload


@st.composite
def gangs(draw: st.DrawFn, config: EngineConfig) -> EngineConfig:
    """The same engine alone, as ranks in lock step, or as a pipeline."""
    kind = draw(st.sampled_from(["alone", "ranks", "pipeline"]))
    members = draw(st.integers(2, 3))
    if kind == "ranks":
        return replace(config, attention_dp_ranks=members)
    host_blocks = config.swap.host_blocks if config.swap else config.num_blocks
    if kind == "pipeline" and members <= min(config.max_num_seqs, config.num_blocks, host_blocks):
        return replace(config, pipeline_stages=members)
    return config


@st.composite
def pools(draw: st.DrawFn, caching: bool | None = None, weighted: bool = True) -> Pool:
    config = draw(gangs(draw(configs(caching))))
    low = draw(st.sampled_from([1, 1, 1, 8]))
    return Pool(
        config,
        draw(step_times(config)),
        replicas=draw(st.integers(1, 3)),
        weight=draw(st.integers(1, 3)) if weighted else 1,
        min_prompt_tokens=low,
        max_prompt_tokens=draw(st.sampled_from([ANY_LENGTH, ANY_LENGTH, 12])),
    )


@st.composite
def fleet_runs(draw: st.DrawFn, caching: bool | None = None) -> tuple[Fleet, Workload]:
    """Unequal pools, gangs, every router; recorded blocks that every pool's block size divides."""
    router: Router = draw(st.sampled_from(get_args(Router)))
    several = tuple(draw(pools(caching, weighted=router != "kv_aware")) for _ in range(draw(st.integers(1, 3))))
    admission = draw(admissions(several[0].step_time)) if draw(st.booleans()) else NO_LIMITS
    fleet = Fleet(several, router, **draw(thresholds()), admission=admission)
    return fleet, draw(fleet_workloads(several))


@st.composite
def limited_runs(draw: st.DrawFn) -> tuple[Fleet, Workload]:
    """One replica or a fleet, with limits, deadlines and several tenants."""
    if draw(st.booleans()):
        config, step_time, workload = draw(runs())
        fleet = Fleet((Pool(config, step_time),))
    else:
        fleet, workload = draw(fleet_runs())
    step_time = fleet.pools[0].step_time
    return replace(fleet, admission=draw(admissions(step_time))), draw(owned(workload, step_time))


@st.composite
def ordered_runs(draw: st.DrawFn) -> tuple[Fleet, Workload]:
    """One replica or a fleet in which not those who came first are let in first."""
    if draw(st.booleans()):
        config, step_time, workload = draw(runs())
        fleet = Fleet((Pool(config, step_time),))
    else:
        fleet, workload = draw(fleet_runs())
    pools = []
    for pool in fleet.pools:
        config = replace(pool.config, order="fcfs", tenant_weights=())
        if config.scheduler != "static":
            orders = ["priority", "fair", "longest_prefix" if config.enable_prefix_caching else "priority"]
            config = replace(config, order=draw(st.sampled_from(orders)))
        if config.order == "fair":
            config = replace(config, tenant_weights=tuple(draw(st.lists(st.integers(1, 4), max_size=3))))
        pools.append(replace(pool, config=config))
    return replace(fleet, pools=tuple(pools)), draw(owned(workload, fleet.pools[0].step_time))


@st.composite
def thresholds(draw: st.DrawFn) -> dict[str, int]:
    """What routers compare with."""
    return {
        "overlap_percent": draw(st.sampled_from([0, 50, 100, 300])),
        "match_percent": draw(st.sampled_from([0, 30, 60])),
        "imbalance_requests": draw(st.integers(0, 4)),
        "imbalance_percent": draw(st.sampled_from([0, 150])),
    }


@st.composite
def fleet_workloads(draw: st.DrawFn, several: tuple[Pool, ...]) -> Workload:
    coarsest = max(several, key=lambda pool: pool.config.block_size)
    workload = draw(workloads(coarsest.config, coarsest.step_time))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return replace(workload, session=rng.integers(-1, 5, len(workload)))


@st.composite
def transfers(draw: st.DrawFn, step_time: StepTime) -> Transfer:
    """From none to several steps a request."""
    step_ps = max(1, int(step_time.tokens_ps.mean()))
    return Transfer(
        token_ps=draw(st.sampled_from([0, 1, step_ps // 20, step_ps // 4])),
        latency_ps=draw(st.sampled_from([0, 1, step_ps, 4 * step_ps])),
        link=draw(st.sampled_from(get_args(Link))),
        first_output=draw(st.sampled_from(get_args(Side))),
        local_prefill_max_tokens=draw(st.sampled_from([0, 0, 3, 12])),
    )


@st.composite
def disaggregated_runs(draw: st.DrawFn, caching: bool | None = None) -> tuple[Fleet, Workload]:
    """One or two prefill pools and one or two decode pools, as unequal as other pools, in any order."""
    router: Router = draw(st.sampled_from(get_args(Router)))
    roles: list[Role] = draw(
        st.permutations(["prefill", "decode", *draw(st.sampled_from([[], ["prefill"], ["decode"]]))])
    )
    several = []
    for role in roles:
        pool = draw(pools(caching, weighted=router != "kv_aware"))
        scheduler = "vllm_v1" if pool.config.scheduler == "static" else pool.config.scheduler
        times = replace(pool.step_time, tokens_ps=pool.step_time.tokens_ps + 1)
        several.append(replace(pool, config=replace(pool.config, scheduler=scheduler), step_time=times, role=role))
    several = _of_like_pace(several)
    fleet = Fleet(
        tuple(several),
        router,
        **draw(thresholds()),
        transfer=draw(transfers(several[0].step_time)),
        admission=draw(admissions(several[0].step_time)) if draw(st.booleans()) else NO_LIMITS,
    )
    return fleet, draw(fleet_workloads(fleet.pools))


def _of_like_pace(several: list[Pool]) -> list[Pool]:
    """No pool's steps are a hundred times as long as another's: a prompt that does not fit beside blocks whose KV has
    not left yet falls and begins anew in every step until then, which could be thousands of millions of steps."""
    paces = [pool.step_time.tokens_ps.mean() for pool in several]
    factors = [max(1, int(max(paces) / (100 * pace))) for pace in paces]
    return [
        replace(pool, step_time=replace(pool.step_time, tokens_ps=pool.step_time.tokens_ps * factor))
        for pool, factor in zip(several, factors, strict=True)
    ]


@st.composite
def crowded_disaggregated_runs(draw: st.DrawFn) -> tuple[Fleet, Workload]:
    """As above, with pools that hold hardly more than the longest request, bursts, and prompts that share much."""
    fleet, workload = draw(disaggregated_runs(draw(st.sampled_from([None, True]))))
    several = tuple(
        replace(
            pool,
            config=replace(
                pool.config,
                num_blocks=(-(-MAX_LENGTH // pool.config.block_size) + draw(st.integers(0, 4)))
                * pool.config.pipeline_stages,
                reserve_full_isl=True,  # else prompts that begin too early fall, and begin, until KV has left
            ),
            min_prompt_tokens=1,
            max_prompt_tokens=ANY_LENGTH,
        )
        for pool in fleet.pools
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = len(workload)
    prompt, output = rng.integers(8, 25, count), rng.integers(1, draw(st.sampled_from([3, 24])) + 1, count)
    workload = replace(
        workload,
        arrival_ps=workload.arrival_ps // draw(st.sampled_from([1, 10])),
        prompt_tokens=prompt,
        output_tokens=output,
        prefix_group=rng.integers(0, 2, count),
        prefix_tokens=prompt - rng.integers(0, 8, count),
        block_hashes=None,
        front_tokens=None,
    )
    return replace(fleet, pools=several), workload
