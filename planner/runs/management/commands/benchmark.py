"""`manage.py benchmark [NAME...]`: how fast the simulator is on its named workloads."""

import json
import resource
import sys
import time
from multiprocessing import get_context
from typing import Any

from django.core.management import BaseCommand, CommandParser

from planner.planning import warm_up
from planner.planning.benchmark import WORKLOADS, Clocks, SimulatorError, benchmark_table, run_benchmark

INVALID, DISAGREES = 2, 1


def _peak_mib() -> float:
    """Peak resident memory of this process; Linux counts it in KiB, macOS in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _compile_elsewhere() -> None:
    """Compile the kernels, if they are not in their cache, in a process of its own: that memory is no workload's."""
    process = get_context("spawn").Process(target=warm_up)
    process.start()
    process.join()


class Command(BaseCommand):
    help = (
        "Simulates the named workloads and prints their figures. Exit 0; 1: a run differed from the reference engine; "
        "2: unknown name."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(WORKLOADS)}; default: all")
        parser.add_argument("--json", action="store_true", help='print {"workloads": [...]}')
        parser.add_argument("--scale", type=float, default=1.0, help="share of each workload's requests (default 1)")

    def handle(self, *, names: list[str], scale: float, **options: Any) -> None:
        if set(names) <= set(WORKLOADS):
            _compile_elsewhere()
        try:
            rows = run_benchmark(names, Clocks(time.perf_counter, time.process_time, _peak_mib), scale)
        except SimulatorError as error:
            self.stderr.write(str(error))
            sys.exit(INVALID)
        self.stdout.write(json.dumps({"workloads": rows}) if options["json"] else benchmark_table(rows))
        if not all(row["matches_reference"] for row in rows):
            sys.exit(DISAGREES)
