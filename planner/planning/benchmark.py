"""The simulator's speed on its named workloads, for the `benchmark` command."""

from collections.abc import Sequence

from simulator import SimulatorError
from simulator.benchmark import WORKLOADS, BenchmarkRow, Clocks, run_benchmark

__all__ = ["WORKLOADS", "BenchmarkRow", "Clocks", "SimulatorError", "benchmark_table", "run_benchmark"]

# What the project aims at, requests per CPU second of one core, and what others are known to do on
# the like of it, as they or their users say: Vidur and BLIS by their own event loops, NVIDIA's Dynamo replay engine
# (Rust) with its iterations, fleet-sim without any.
_GOALS = {
    "peer": (2_000_000, "Vidur 412/s, BLIS 1,100-1,300/s, Dynamo replay 5,000-9,000/s"),
    "chat": (1_500_000, ""),
    "pressured": (600_000, ""),
    "prefix": (100_000, ""),
    "fleet": (500_000, "fleet-sim 15,600/s, without iterations"),
    "disaggregated": (300_000, ""),
    "week": (600_000, ""),
}

_COLUMNS = ("requests", "output_tokens", "engine_steps", "wall_s", "cpu_s", "requests_per_cpu_s", "peak_mib")


def benchmark_table(rows: Sequence[BenchmarkRow]) -> str:
    """One line per workload: its figures, whether it agreed with the reference engine, the goal, and what others do."""
    head = f"{'workload':<14}" + "".join(f"{name:>19}" for name in _COLUMNS)
    return "\n".join([f"{head}  as reference  goal (requests/CPU s)", *map(_line, rows)])


def _line(row: BenchmarkRow) -> str:
    figures = "".join(f"{row[name]:>19,}" for name in _COLUMNS)  # type: ignore[literal-required]
    goal, others = _GOALS[row["name"]]
    reached = "reached" if row["requests_per_cpu_s"] >= goal else "missed"
    known = f"; known elsewhere: {others}" if others else ""
    agrees = "yes" if row["matches_reference"] else "NO"
    return f"{row['name']:<14}{figures}  {agrees:<12}  {goal:,} {reached}{known}"
