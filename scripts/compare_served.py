"""The same requests through the simulated server over HTTP, in real time, and through the simulator.

    .venv/bin/python scripts/compare_served.py [RATE_RPS [SECONDS [SPEED]]]

Starts the server in a process of its own, sends it the requests of a chat on Llama 3.1 8B and one H100, and prints both
results and how much they differ. A speed below 1 stretches time, so that what HTTP and a busy machine add counts less.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from planner.measure.allowed import parse_base, resolve_allowed  # noqa: E402
from planner.measure.asking import Asker  # noqa: E402
from planner.measure.connections import Pool  # noqa: E402
from planner.measure.driving import Driver, Limits  # noqa: E402
from planner.planning import parse_scenario  # noqa: E402
from planner.planning.measuring.answers import Step  # noqa: E402
from planner.planning.measuring.asked import questions  # noqa: E402
from planner.planning.measuring.served import served  # noqa: E402
from simulator import Workload, simulate_fleet  # noqa: E402
from simulator.metrics import e2e_ms, tpot_ms, ttft_ms  # noqa: E402

SCENARIO = {
    "model": {"id": "meta-llama/Llama-3.1-8B-Instruct"},
    "hardware": {"gpus": ["H100-SXM5-80GB"], "tensor_parallel": [1]},
    "traffic": {
        "arrival": {"kind": "poisson", "mean_rps": 8.0},
        "prompt_tokens": {"kind": "lognormal", "mean": 1155, "p95": 3200},
        "output_tokens": {"kind": "lognormal", "mean": 211, "p95": 480},
    },
    "slo": {"ttft_p95_ms": 1000, "tpot_p95_ms": 50},
    "engine": {"max_model_len": 16384},
}
TODAY = date(2026, 11, 30)


async def measured(url: str, rate_rps: float, seconds: float) -> Step:
    """Every request sent, the last ones included. In seconds of this machine."""
    target = parse_base(url)
    asker = Asker(Pool(target, resolve_allowed(target, ())), "m", False, "", "compared", 300.0)
    asked = questions(parse_scenario(SCENARIO, today=TODAY))
    stream = asked.stream(rate_rps, round(2 * rate_rps * seconds) + 10)
    return await Driver(asker, Limits(2000, 60.0)).open_loop(stream, rate_rps, 0.0, seconds)


def main() -> None:
    given = [float(text) for text in sys.argv[1:]]
    rate_rps, seconds, speed = (*given, *(4.0, 60.0, 1.0)[len(given) :])
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(SCENARIO, file)
        file.flush()
        command = [sys.executable, "manage.py", "serve-simulated", file.name, "--gpu", "H100-SXM5-80GB", "--tp", "1"]
        server = subprocess.Popen(  # noqa: S603 - our own command
            [*command, "--port", "0", "--served-model-name", "m", "--speed", str(speed)],
            cwd=ROOT, env={**os.environ, "PLANNER_MANAGED_ENV": "0"}, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert server.stdout is not None
            url = next(word for word in server.stdout.readline().split() if word.startswith("http://"))
            step = asyncio.run(measured(url, rate_rps * speed, seconds / speed))
        finally:
            server.terminate()
            server.wait()
    served_s = resource.getrusage(resource.RUSAGE_CHILDREN)
    answers = [answer for answer in step.answers if answer.error != "unfinished"]
    assert all(answer.done for answer in answers)
    workload = Workload(
        np.array([round(answer.intended_s * speed * 1e12) for answer in step.answers]),
        np.array([answer.asked_prompt_tokens for answer in step.answers]),
        np.array([answer.asked_output_tokens for answer in step.answers]),
    )
    fleet = served(SCENARIO, TODAY, planned=False).fleet
    log = simulate_fleet(fleet, workload, engine="reference")
    rows = [place for place, answer in enumerate(step.answers) if answer.error != "unfinished"]
    late = np.array([answer.late_s * 1e3 for answer in answers])
    core_s = served_s.ru_utime + served_s.ru_stime
    print(f"{len(rows)} requests at {rate_rps:g}/s; sent late by {np.percentile(late, 99):.1f} ms at p99; "
          f"client busy {step.busy_ratio:.0%}; server {core_s:.1f} s of a core")  # fmt: skip
    print(f"{'ms':<10}{'HTTP':>10}{'simulator':>12}{'':>9}")
    for name, over_http, simulated in (
        ("TTFT", [answer.ttft_ms for answer in answers], ttft_ms(log)[rows]),
        ("TPOT", [answer.tpot_ms for answer in answers], tpot_ms(log)[rows]),
        ("E2E", [answer.e2e_ms for answer in answers], e2e_ms(log)[rows]),
    ):
        figures = [(np.nanmean(v), *np.nanpercentile(v, (50, 95))) for v in (np.array(over_http) * speed, simulated)]
        for what, one, other in zip(("mean", "p50", "p95"), *figures, strict=True):
            print(f"{name} {what:<5}{one:>10.2f}{other:>12.2f}{(one / other - 1) * 100:>+8.2f} %")


if __name__ == "__main__":
    main()
