"""A small deployment, its server, and a client for it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np

from planner.measure.allowed import parse_base, resolve_allowed
from planner.measure.asking import Asker
from planner.measure.connections import Pool
from planner.measure.driving import Driver, Limits
from planner.measure.simulated_server import SimulatedServer
from planner.planning import parse_scenario
from planner.planning.measuring.answers import Answer
from planner.planning.measuring.asked import Asked, Questions, questions
from planner.planning.measuring.served import Served
from simulator import Admission, EngineConfig, Fleet, StepTime, linear_step_time
from simulator import Pool as SimulatedPool

MS = 10**9
MODEL = "small"
CONFIG = EngineConfig(
    max_num_seqs=16, max_num_batched_tokens=256, num_blocks=400, max_model_len=1024, enable_prefix_caching=True
)
STEP_TIME = linear_step_time(
    CONFIG, step_ps=10 * MS, decode_seq_ps=MS // 5, prefill_token_ps=MS // 20, context_token_ps=10**5, request_ps=7 * MS
)
SLOW = replace(CONFIG, max_num_seqs=4)
"""Few seats and long steps: a load test of it is short."""
SLOW_STEP_TIME = linear_step_time(SLOW, step_ps=40 * MS, prefill_token_ps=MS // 20, request_ps=7 * MS)
SCENARIO: dict[str, Any] = {
    "name": "Small",
    "model": {"id": "meta-llama/Llama-3.1-8B-Instruct"},
    "traffic": {
        "arrival": {"kind": "poisson", "mean_rps": 4.0},
        "prompt_tokens": {"kind": "lognormal", "mean": 150, "p95": 300},
        "output_tokens": {"kind": "lognormal", "mean": 5, "p95": 10},
    },
    "slo": {"ttft_p95_ms": 600, "tpot_p95_ms": 100},
    "engine": {"max_model_len": 512},
    "seed": 3,
}


def small(
    max_waiting: int | None = None, replicas: int = 1, config: EngineConfig = CONFIG, step_time: StepTime = STEP_TIME
) -> Served:
    pool = SimulatedPool(config, step_time, replicas)
    return Served(
        name="small", model=MODEL, engine="vllm", fleet=Fleet((pool,), admission=Admission(max_waiting=max_waiting)),
        replicas=replicas, lanes=1, max_model_len=CONFIG.max_model_len, block_size=CONFIG.block_size,
        prefix_caching=True, request_ps=STEP_TIME.request_ps, request_token_ps=STEP_TIME.request_token_ps,
        output_tokens=np.array([5, 9]), seed=1,
    )  # fmt: skip


def small_questions(**changes: Any) -> Questions:
    return questions(parse_scenario({**SCENARIO, **changes}, today=date(2026, 11, 30)))


@asynccontextmanager
async def serving(served: Served | None = None, **options: Any) -> AsyncIterator[tuple[SimulatedServer, str]]:
    server = SimulatedServer(served or small(), MODEL, spin_s=0.0, **options)
    host, port = await server.http.listen("127.0.0.1", 0)
    try:
        yield server, f"http://{host}:{port}"
    finally:
        await server.stop()


def asker_for(url: str, *, chat: bool = False, timeout_s: float = 60.0, key: str = "") -> Asker:
    target = parse_base(url)
    return Asker(Pool(target, resolve_allowed(target, ())), MODEL, chat, key, "salt", timeout_s)


def driver_for(asker: Asker, most_in_flight: int = 500, patience_s: float = 60.0) -> Driver:
    return Driver(asker, Limits(most_in_flight, patience_s), spin_s=0.0)


def asked(prompt: int, output: int, number: int = 0, at_s: float = 0.0, group: int = -1, prefix: int = 0) -> Asked:
    return Asked(number, at_s, prompt, output, group, prefix)


async def ask_all(asker: Asker, requests: Sequence[Asked]) -> list[Answer]:
    """Sends each at its time."""
    end = max(each.at_s for each in requests) + 1e-6
    step = await driver_for(asker).open_loop(iter(requests), 1.0, 0.0, end)
    return step.answers
