"""`manage.py serve-simulated [SCENARIO]`: a planned deployment as an OpenAI-compatible server, without a GPU."""

import asyncio
import json
import logging
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandParser
from django.utils import timezone

from planner import planning
from planner.measure.simulated_server import SimulatedServer
from planner.planning.command import INVALID, read_document, read_file
from planner.planning.measuring.served import Served, served

REPORT_S = 10.0
LATE_TOLD_S = 0.01
UNPLANNED_TRAFFIC = {
    "arrival": {"kind": "poisson", "mean_rps": 1.0},
    "prompt_tokens": {"kind": "fixed", "tokens": 512},
    "output_tokens": {"kind": "fixed", "tokens": 256},
}
"""Without a scenario: answers have 256 tokens where the client does not say."""


class Command(BaseCommand):
    help = (
        "Serves a planned deployment as an OpenAI-compatible HTTP server whose engine is the simulator. GPU, "
        "tensor-parallel size and replicas that are not given are those that the scenario's plan recommends. "
        "Ends with Ctrl-C; exit 2: invalid input."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("scenario", nargs="?", metavar="SCENARIO", help="scenario JSON; or give --model and --gpu")
        parser.add_argument("--model", help="a model of the catalog, instead of a scenario")
        parser.add_argument("--gpu", help="accelerator, such as h100-sxm5-80gb")
        parser.add_argument("--tp", type=int, help="tensor-parallel size; without a scenario the smallest that fits")
        parser.add_argument("--replicas", type=int)
        parser.add_argument("--engine", metavar="KEY=VALUE", action="append", default=[],
                            help="an engine setting as in a scenario, such as max_num_seqs=64")  # fmt: skip
        parser.add_argument("--router", choices=("round_robin", "least_requests", "kv_aware"), default="round_robin")
        parser.add_argument("--max-waiting", type=int, help="requests in line at a replica; more are answered 503")
        parser.add_argument("--served-model-name", help="the name clients ask for; else the model's id")
        parser.add_argument("--speed", type=float, default=1.0, help="simulated seconds a second (default 1)")
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
        parser.add_argument("--port", type=int, default=8000, help="0: any free one")

    def handle(self, *, host: str, port: int, speed: float, served_model_name: str | None, **options: Any) -> None:
        if not 0.01 <= speed <= 1000 or not 0 <= port <= 65535:
            self.stderr.write("--speed must lie in 0.01..1000 and --port in 0..65535")
            sys.exit(INVALID)
        try:
            deployment = _deployment(**options)
        except planning.ScenarioInvalid as invalid:
            for error in invalid.errors:
                self.stderr.write(f"{error.pointer or '/'}: {error.detail} [{error.code}]")
            sys.exit(INVALID)
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        try:
            asyncio.run(self._serve(deployment, served_model_name or deployment.model, speed, host, port))
        except OSError as error:
            self.stderr.write(f"cannot listen on {host} port {port}: {error.strerror}")
            sys.exit(INVALID)

    async def _serve(self, deployment: Served, model: str, speed: float, host: str, port: int) -> None:
        stopped, failure = asyncio.Event(), ""

        def fail(why: str) -> None:
            nonlocal failure
            failure = why
            stopped.set()

        server = SimulatedServer(deployment, model, speed=speed, on_failure=fail)
        address, bound = await server.http.listen(host, port)
        with suppress(OSError):
            await server.time_itself(address, bound)
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, stopped.set)
        shown = f"[{address}]" if ":" in address else address
        self.stdout.write(
            f"{deployment.name} serves {model} at http://{shown}:{bound}/v1 (simulated, a token is four bytes; "
            f"context {deployment.max_model_len:,} tokens{f', speed {speed:g}' if speed != 1 else ''})"
        )
        self.stdout.flush()
        watch = asyncio.create_task(self._watch(server))
        await stopped.wait()
        watch.cancel()
        await server.stop()
        if failure:
            self.stderr.write(f"the simulation ended: {failure}")

    async def _watch(self, server: SimulatedServer) -> None:
        """Says so when this process lacks the time to send tokens when they are due."""
        while True:
            await asyncio.sleep(REPORT_S)
            late = server.clock.take_late()
            if late.worst_late_s > LATE_TOLD_S and late.late * 100 > late.deliveries:
                self.stderr.write(
                    f"late: {late.late} of {late.deliveries} deliveries by more than 5 ms, the worst by "
                    f"{late.worst_late_s * 1e3:.0f} ms: this machine is too slow for the load, clients see more than "
                    "was simulated"
                )


def _deployment(
    *,
    scenario: str | None,
    model: str | None,
    gpu: str | None,
    tp: int | None,
    replicas: int | None,
    engine: list[str],
    router: Any,
    max_waiting: int | None,
    **_: Any,
) -> Served:
    """Raises ScenarioInvalid."""
    wrong = [
        planning.FieldError("missing", "", "", "SCENARIO, or --model and --gpu", "Give SCENARIO, or --model and --gpu.")
        for _ in range(scenario is None and not (model and gpu))
    ]
    for name, value in (("tp", tp), ("replicas", replicas), ("max-waiting", max_waiting)):
        if value is not None and not 1 <= value <= 1024:
            wrong.append(planning.FieldError("out_of_range", f"--{name}", str(value), "1..1024", "It is out of range."))
    if wrong:
        raise planning.ScenarioInvalid(tuple(wrong))
    if scenario is not None:
        document = read_document(read_file(Path(scenario)), Path(scenario).parent)
        document = {**document, **({"model": {"id": model}} if model else {})}
    else:
        document = {"model": {"id": model}, "traffic": UNPLANNED_TRAFFIC, "slo": {"ttft_p95_ms": 60_000}}
    settings = dict(document.get("engine") or {})
    settings |= {name: _value(text) for name, _, text in (each.partition("=") for each in engine)}
    return served(
        {**document, "engine": settings} if settings else document,
        timezone.now().date(),
        planned=scenario is not None,
        gpu=gpu,
        tp=tp,
        replicas=replicas,
        max_waiting=max_waiting,
        router=router,
    )


def _value(text: str) -> Any:
    """A number or true and false as JSON; else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
