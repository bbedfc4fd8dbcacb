"""The simulator's speed on its named workloads, for the `benchmark` command."""

from collections.abc import Sequence

from simulator import SimulatorError
from simulator.benchmark import WORKLOADS, BenchmarkRow, Clocks, run_benchmark

__all__ = ["WORKLOADS", "BenchmarkRow", "Clocks", "SimulatorError", "benchmark_table", "run_benchmark"]

_COLUMNS = ("requests", "output_tokens", "engine_steps", "wall_s", "cpu_s", "requests_per_cpu_s", "peak_mib")


def benchmark_table(rows: Sequence[BenchmarkRow]) -> str:
    """One line per workload, with a last column that says whether it agreed with the reference engine."""
    head = f"{'workload':<12}" + "".join(f"{name:>20}" for name in _COLUMNS) + "  as reference"
    lines = [
        f"{row['name']:<12}"
        + "".join(f"{row[name]:>20,}" for name in _COLUMNS)  # type: ignore[literal-required]
        + ("  yes" if row["matches_reference"] else "  NO")
        for row in rows
    ]
    return "\n".join([head, *lines])
