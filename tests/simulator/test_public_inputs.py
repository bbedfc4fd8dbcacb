"""Every public function and configuration refuses what it cannot work with by a SimulatorError, and by nothing else."""

import collections.abc
import dataclasses
import inspect
import math
import tracemalloc
import types
from collections.abc import Callable, Iterator
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import pytest

import simulator
from simulator import lesson, traffic
from simulator.records import EventLog

COUNT = 4
CONFIG = simulator.EngineConfig(max_num_seqs=2, max_num_batched_tokens=64, num_blocks=50, max_model_len=64)
STEP = simulator.linear_step_time(CONFIG, step_ps=1000)
ONES = np.ones(COUNT, np.int64)
LOAD = simulator.Workload(np.arange(COUNT), ONES, ONES)
LOG = simulator.simulate(CONFIG, STEP, LOAD, engine="reference")
POOL = simulator.Pool(CONFIG, STEP)
FLEET = simulator.Fleet((POOL,))
CURVE = traffic.steady_rate(1.0)
SLO = simulator.GoodputSlo(ttft_ms=1.0)
GAPS = traffic.exponential_gaps
SOURCE = traffic.recorded_requests(LOAD)
ARRIVALS = traffic.renewal_arrivals(CURVE)
LENGTHS = traffic.joint_lengths(ONES, ONES)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def tokens(count: int, rng: np.random.Generator) -> np.ndarray:
    return np.ones(count, np.int64)


# Arguments with which each works, those with a default included where they matter.
FUNCTIONS: dict[str, dict[str, Any]] = {
    "as_block_hashes": {"workload": LOAD, "block_tokens": 4},
    "burst_arrivals_ps": {"count": 3},
    "cdf_tokens": {"tokens": [1, 2], "cumulative_ratio": [0.5, 1.0], "count": 3, "rng": rng()},
    "changed": {"source": SOURCE, "change": traffic.with_front_token},
    "client_requests": {
        "clients": traffic.draw_clients(2, rng(), prompt_tokens_median=5.0, output_tokens_mean=5.0),
        "curve": CURVE,
        "max_model_len": 64,
    },
    "closed_loop": {"prompt_tokens": ONES, "output_tokens": ONES, "users": 2},
    "constant_arrivals_ps": {"rate_rps": 1.0, "count": 3},
    "constant_gaps": {"count": 3, "rng": rng()},
    "conversations": {
        "starts": ARRIVALS, "turns": tokens, "lengths": LENGTHS, "think_times": GAPS, "max_model_len": 64,
    },
    "curve_arrivals_ps": {"curve": CURVE, "rng": rng(), "count": 3},
    "cut_lengths": {"lengths": LENGTHS, "max_model_len": 64},
    "cut_to_context": {"prompt_tokens": ONES, "output_tokens": ONES, "max_model_len": 64},
    "draw_clients": {"count": 3, "rng": rng(), "prompt_tokens_median": 5.0, "output_tokens_mean": 5.0},
    "draw_outages": {"replicas": 2, "mean_between_s": 10.0, "reload_s": 1.0, "until_s": 20.0, "rng": rng()},
    "empirical_tokens": {"prompt_tokens": ONES, "output_tokens": ONES, "count": 3, "rng": rng()},
    "exponential_gaps": {"count": 3, "rng": rng()},
    "exponential_think_times": {"mean_s": 1.0},
    "fixed_tokens": {"tokens": 3, "count": 3},
    "gamma_arrivals_ps": {"rate_rps": 1.0, "cv": 1.0, "count": 3, "rng": rng()},
    "gamma_gaps": {"cv": 1.0},
    "generate": {"source": SOURCE, "rng": rng(), "count": 3},
    "geometric_turns": {"mean": 2.0, "most": 3},
    "growing_rates": {"curve": CURVE, "end_s": 7200.0, "growth_ratio": 0.1},
    "handed_over": {"fleet": FLEET},
    "independent_lengths": {"prompt_tokens": tokens, "output_tokens": tokens},
    "joint_lengths": {"prompt_tokens": ONES, "output_tokens": ONES},
    "kv_cliff_blocks": {"config": CONFIG, "step_time": STEP, "workload": LOAD},
    "kv_token_ps": {"bytes_per_token": 1.0, "bytes_per_s": 1e9},
    "labelled": {"source": SOURCE},
    "layered_prefix": {"prompt_tokens": 9 * ONES, "layers": [traffic.PrefixLayer(3)], "rng": rng()},
    "linear_step_time": {"config": CONFIG, "step_ps": 1000},
    "lognormal_parameters": {"mean": 3.0, "p95": 6.0},
    "lognormal_tokens": {"count": 3, "rng": rng(), "mean": 3.0, "p95": 6.0},
    "measured_rates": {"arrival_ps": ONES},
    "merge_workloads": {"workloads": LOAD},
    "mixture": {"sources": SOURCE},
    "mooncake_conversation": {"count": 3},
    "on_off_arrivals_ps": {"rate_rps": 1.0, "count": 3, "rng": rng(), "bursts": traffic.OnOff(2.0, 1.0, 1.0)},
    "pareto_shares": {"count": 3, "tail_index": 1.0, "rng": rng()},
    "plain_requests": {"arrivals": ARRIVALS, "lengths": LENGTHS},
    "poisson_arrivals_ps": {"rate_rps": 1.0, "count": 3, "rng": rng()},
    "prefix_reuse": {"workload": LOAD, "log": LOG, "block_size": 4},
    "ramp_misses": {"log": LOG, "slo": SLO},
    "recorded_requests": {"workload": LOAD},
    "renewal_arrivals": {"curve": CURVE},
    "replay_arrivals_ps": {"times_s": [1.0, 2.0]},
    "scaled_rate": {"workload": LOAD, "rate_scale": 2.0, "rng": rng()},
    "scaled_time": {"workload": LOAD, "rate_scale": 2.0},
    "shaped_arrivals_ps": {"arrival_ps": ONES, "hourly_multipliers": [0.5, 1.5]},
    "shareable_tokens": {"workload": LOAD},
    "shared_prefix": {"count": 3, "groups": 2, "tokens": 4, "rng": rng()},
    "shared_tokens": {"workload": LOAD},
    "simulate": {"config": CONFIG, "step_time": STEP, "workload": LOAD, "engine": "reference"},
    "simulate_fleet": {"fleet": FLEET, "workload": LOAD, "engine": "reference"},
    "steady_rate": {"rate_rps": 1.0},
    "stream": {"source": SOURCE, "rng": rng()},
    "summarise": {"log": LOG},
    "summarise_groups": {"log": LOG, "group": ONES},
    "sustained_rps": {"finish_ps": np.arange(3)},
    "timeline": {"log": LOG},
    "trough_arrivals_ps": {"count": 3, "load": CURVE, "deadline_s": 10.0},
    "uniform_tokens": {"low": 1, "high": 3, "count": 3, "rng": rng()},
    "water_level": {"load": [1.0, 2.0], "width": [1.0, 1.0], "work": 1.0},
    "weekly_shape": {"kind": "diurnal", "peak_to_mean": 2.0},
    "weibull_arrivals_ps": {"rate_rps": 1.0, "cv": 1.0, "count": 3, "rng": rng()},
    "weibull_gaps": {"cv": 1.0},
    "weibull_shape": {"cv": 1.0},
    "with_front_token": {"workload": LOAD},
    "zipf_shares": {"count": 3, "exponent": 1.0},
}  # fmt: skip

ENGINE = {"max_num_seqs": 2, "max_num_batched_tokens": 64, "num_blocks": 50, "max_model_len": 64}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "Admission": {},
    "Autoscaling": {"metric": "queue", "target": 1, "interval_ps": 10**9, "cold_start_ps": (1,)},
    "BlockHashes": {"offsets": [0, 1], "ids": [5], "block_tokens": 4},
    "Clients": {
        "share": [1.0], "cv": [1.0], "prompt_tokens_median": [5.0], "output_tokens_mean": [5.0], "prompt_sigma": 1.0,
    },
    "EngineConfig": ENGINE,
    "Fleet": {"pools": (POOL,)},
    "GoodputSlo": {"ttft_ms": 1.0},
    "HostSwap": {"host_blocks": 1, "block_out_ps": 1, "block_in_ps": 1},
    "KvGroup": {},
    "OnOff": {"rate_ratio": 2.0, "on_s": 1.0, "off_s": 1.0},
    "Outage": {"at_ps": 1, "replica": 0, "reload_ps": 1},
    "Pool": {"config": CONFIG, "step_time": STEP},
    "RateCurve": {"rates_rps": [1.0]},
    "Speculation": {"draft_tokens": 1, "acceptance_ratio": 0.5},
    "StepTime": {"tokens_ps": ONES, "seats_ps": ONES, "context_ps": ONES},
    "Transfer": {"token_ps": 1},
    "Workload": {"arrival_ps": ONES, "prompt_tokens": ONES, "output_tokens": ONES},
}  # fmt: skip

TALK = [lesson.LessonRequest(0, 3, 300)]
KV: dict[str, Any] = {"kv_budget_bytes": 10**9, "bytes_per_token": 10**5, "mean_context_tokens": 700}
LESSON: dict[str, dict[str, Any]] = {
    "LessonRequest": {"arrival_step": 0, "output_tokens": 3},
    "contiguous_kv": KV | {"max_model_len": 2048},
    "contiguous_sequences": {"n_blocks": 100, "block_tokens": 16, "slab_tokens": 64},
    "littles_law": {"arrival_rps": 2.0, "time_in_system_s": 3.0},
    "paged_kv": KV | {"block_tokens": 16},
    "prefill_saving_ratio": {"shared_tokens": 3, "unique_tokens": 1},
    "prefix_hits": {"requests": 3, "shared_tokens": 40, "unique_tokens": 5},
    "response_times": {"sent_s": 0.0, "token_times_s": [1.0, 2.0]},
    "run_chunked_prefill": {"requests": TALK, "slots": 2, "chunk_tokens": 256},
    "run_lesson": {"requests": TALK, "slots": 2},
    "run_unchunked_prefill": {"requests": TALK, "slots": 2},
    "slot_capacity_per_step": {"slots": 2, "mean_output_tokens": 5.0},
}

NO_INTEGERS = [1.5, "3", True, np.bool_(True), math.nan, [1], 10**40, -(10**40), object()]
NO_NUMBERS = ["1", b"1", True, math.nan, math.inf, -math.inf, [1.0], 1j, 10**400, object()]
NO_FLAGS = ["no", "", 0, 1, [], object()]
NO_TEXTS = ["nonsense", 3, [], object()]
NO_SEQUENCES = [3, "ab", [object()], [None], object()]
NO_FUNCTIONS = [3, "ab", [], object()]
NO_OBJECTS = [5, "ab", [], object()]
NO_INT_ARRAYS = ["ab", ["a"], [1.5], [[1, 2], [3]], [[1], [2]], [True], [2**70], [-5] * COUNT, object()]
NO_FLOAT_ARRAYS = ["ab", ["a"], ["1.0"], [[1.0, 2.0], [3.0]], [[[1.0]]], [math.nan], [True], object()]
ALLOWED = [("OnOff", "rate_ratio", math.inf)]


def bad_values(name: str, field: str, kind: Any) -> Iterator[Any]:
    """Values that no parameter of this annotation can take."""
    kinds = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    if types.NoneType not in kinds:
        yield None
    for value in _bad(tuple(one for one in kinds if one is not types.NoneType)):
        if not any(name == n and field == f and value is v for n, f, v in ALLOWED):
            yield value


def _bad(kinds: tuple[Any, ...]) -> list[Any]:
    first, text = kinds[0], str(kinds)
    if "float64" in text:
        return NO_FLOAT_ARRAYS
    if "int64" in text or "_Buffer" in text:
        return NO_INT_ARRAYS
    if float in kinds and len(kinds) > 1:
        return [value for value in NO_NUMBERS if not isinstance(value, list)] + [["a"]]
    scalars: dict[Any, list[Any]] = {int: NO_INTEGERS, float: NO_NUMBERS, bool: NO_FLAGS, str: NO_TEXTS}
    if first in scalars:
        return scalars[first]
    origin = get_origin(first)
    if origin is Literal:
        return NO_TEXTS
    if origin is collections.abc.Callable:
        return NO_FUNCTIONS
    return NO_OBJECTS if origin is None else NO_SEQUENCES


def callables() -> list[tuple[str, Callable[..., Any], dict[str, Any]]]:
    spaces = (simulator, traffic, lesson)
    known = FUNCTIONS | CONFIGURATIONS | LESSON
    return [(n, next(getattr(s, n) for s in spaces if hasattr(s, n)), known[n]) for n in known]


def call(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """With those that stand for several arguments spread."""
    several = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.VAR_POSITIONAL]
    return function(*arguments.values()) if several else function(**arguments)


def outcome_of(function: Callable[..., Any], arguments: dict[str, Any]) -> str:
    """`refused`: by a SimulatorError that says why."""
    try:
        call(function, arguments)
    except simulator.SimulatorError as error:
        return "refused" if error.code and error.field and error.detail else "without a reason"
    except Exception as error:  # any other kind is the fault that is looked for
        return repr(error)
    return "accepted"


def test_every_public_function_and_configuration_is_asked() -> None:
    made_here = {"Interval", "Series", "ReplicaTotals", "EventLog"}  # results, and parts of them
    for space in (simulator, traffic):
        for name in space.__all__:
            thing = getattr(space, name)
            if inspect.isfunction(thing):
                assert name in FUNCTIONS or not inspect.signature(thing).parameters, name
            elif dataclasses.is_dataclass(thing) and hasattr(thing, "__post_init__"):
                assert name in CONFIGURATIONS or name in made_here, name
    for name, thing in vars(lesson).items():
        if inspect.isfunction(thing) and thing.__module__ == lesson.__name__ and not name.startswith("_"):
            assert name in LESSON, name


@pytest.mark.parametrize(("name", "function", "good"), callables(), ids=[name for name, _, _ in callables()])
def test_what_is_no_such_thing_is_refused(name: str, function: Callable[..., Any], good: dict[str, Any]) -> None:
    call(function, good)
    for field, parameter in inspect.signature(function).parameters.items():
        for value in bad_values(name, field, parameter.annotation):
            assert outcome_of(function, good | {field: value}) == "refused", f"{field}={value!r}"


@pytest.mark.parametrize(
    "make",
    [
        lambda: traffic.gamma_gaps(1e-300),
        lambda: traffic.gamma_arrivals_ps(1.0, 1e-300, 3, rng()),
        lambda: traffic.shared_prefix(-1, 2, 4, rng()),
        lambda: traffic.shared_prefix(0, 2, 4, rng()),
        lambda: simulator.kv_token_ps(bytes_per_token=1e18, bytes_per_s=1e-300),
        lambda: simulator.cut_to_context([1, 2], [1, 2, 3], 64),  # type: ignore[arg-type]
        lambda: simulator.lognormal_parameters(1e9, p50=1e-300),
        lambda: traffic.pareto_shares(3, 1e-308, rng()),
        lambda: traffic.growing_rates(CURVE, 1e6, 1e3, per_s=1e-6),
        lambda: traffic.water_level([1.0, 2.0], [1.0], 1.0),  # type: ignore[arg-type]
        lambda: traffic.water_level([1.0], [0.0], 1.0),  # type: ignore[arg-type]
        lambda: traffic.layered_prefix(99 * ONES, [traffic.PrefixLayer(8, 10**7)] * 3, rng(), 4),
        lambda: traffic.closed_loop(ONES, ONES[:2], 2),
        lambda: simulator.shaped_arrivals_ps(np.zeros(0, np.int64), np.ones(1)),
        lambda: simulator.shaped_arrivals_ps(np.array([2, 1]), np.ones(1)),
        lambda: simulator.BlockHashes([1, 2], [5, 6], 4),  # type: ignore[arg-type]
        lambda: simulator.BlockHashes([0, 2, 1], [5, 6], 4),  # type: ignore[arg-type]
        lambda: simulator.BlockHashes([0, 3], [5, 6], 4),  # type: ignore[arg-type]
        lambda: simulator.BlockHashes([], [], 4),  # type: ignore[arg-type]
        lambda: dataclasses.replace(LOAD, block_hashes=simulator.BlockHashes(np.array([0, 1]), ONES, 4)),
        lambda: simulator.prefix_reuse(LOAD, LOG, 0),
        lambda: simulator.prefix_reuse(LOAD.head(2), LOG, 4),
        lambda: simulator.prefix_reuse(
            dataclasses.replace(LOAD, block_hashes=simulator.BlockHashes(np.arange(COUNT + 1), ONES, 512)), LOG, 7
        ),
        lambda: simulator.summarise(LOG, warmup_ratio=0.95),
        lambda: simulator.summarise(LOG, warmup_ratio=math.nan),
        lambda: simulator.summarise_groups(LOG, ONES, warmup_ratio=1.5),
        lambda: simulator.summarise_groups(LOG, ONES, warmup_ratio=math.nan),
        lambda: simulator.linear_step_time(CONFIG, step_ps=1, decode_seq_ps=2**52),
        lambda: simulator.linear_step_time(CONFIG, step_ps=1, prefill_token_ps=2**51),
        lambda: simulator.EngineConfig(**ENGINE, kv_groups=None),  # type: ignore[arg-type]
        lambda: simulator.EngineConfig(**ENGINE, order="fair", tenant_weights=3),  # type: ignore[arg-type]
        lambda: simulator.Fleet((CONFIG,)),  # type: ignore[arg-type]
        lambda: simulator.Workload([[1], [2, 3]], ONES, ONES),  # type: ignore[arg-type]
        lambda: LOAD.head("two"),  # type: ignore[arg-type]
        lambda: LOAD.take([[0], [1]]),
        lambda: LOAD.take([COUNT]),
        lambda: LOAD.sent_at("now"),
        lambda: LOAD.column("colour"),
        lambda: CURVE.expected(["a"]),
        lambda: CURVE.time_s([[1.0], [1.0, 2.0]]),
        lambda: CURVE.rates_until("tomorrow"),  # type: ignore[arg-type]
        lambda: simulator.summarise(LOG).ttft.percentile_ms(42),
    ],
)  # fmt: skip
def test_values_that_fit_nothing_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(simulator.SimulatorError):
        make()


def test_lists_serve_for_tuples() -> None:
    config = simulator.EngineConfig(**ENGINE, order="fair", tenant_weights=[2, 1], kv_groups=[simulator.KvGroup()])  # type: ignore[arg-type]
    assert config.tenant_weights == (2, 1)
    fleet = simulator.Fleet([simulator.Pool(config, STEP)], outages=[simulator.Outage(1, 0, 1)])  # type: ignore[arg-type]
    assert hash(fleet.outages)
    assert isinstance(simulator.simulate_fleet(fleet, LOAD, engine="reference"), EventLog)
    assert simulator.Speculation(draft_tokens=2, acceptance_ratio=[0.5, 0.5]).chances == (0.5, 0.25)  # type: ignore[arg-type]


def test_the_reference_engine_keeps_of_a_pool_what_has_been_used() -> None:
    config = simulator.EngineConfig(**ENGINE | {"num_blocks": 10**6, "enable_prefix_caching": True})
    tracemalloc.start()
    try:
        simulator.simulate(config, STEP, LOAD, engine="reference")
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 8 * 2**20


def test_a_run_that_the_machine_has_no_memory_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = np.zeros

    def short_of_memory(shape: Any, *rest: Any, **options: Any) -> Any:
        if isinstance(shape, int) and shape > 10**6:
            raise MemoryError
        return zeros(shape, *rest, **options)

    config = simulator.EngineConfig(**ENGINE | {"block_size": 10**6})
    monkeypatch.setattr(np, "zeros", short_of_memory)
    with pytest.raises(simulator.SimulatorError, match="memory"):
        simulator.simulate(config, STEP, LOAD)
