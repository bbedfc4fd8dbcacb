#!/usr/bin/env python3
"""Speed and memory of reading traffic: python scripts/benchmark_imports.py [ROWS]

Writes three files into a temporary folder (an Azure trace, the same with quoted cells, Mooncake's lines), reads each
in a process of its own and prints rows, MiB, rows per CPU second read and profiled, and peak memory.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from planner.planning.importers import file_source, open_trace
from planner.planning.traffic_profile import profile_trace

PART_ROWS = 200_000
KINDS = {"azure": 1.0, "azure_quoted": 0.1, "mooncake": 0.02}
"""Kind of file -> its share of the rows; the ones read row by row are smaller."""


def main() -> None:
    if len(sys.argv) == 4 and sys.argv[1] == "read":
        print(json.dumps(read(Path(sys.argv[2]), profiled=sys.argv[3] == "profile")))
        return
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000_000
    with tempfile.TemporaryDirectory() as folder:
        for kind, share in KINDS.items():
            path = Path(folder) / kind
            with path.open("w") as file:
                file.writelines(lines(kind, int(rows * share)))
            for what in ("read", "profile"):
                arguments = [sys.executable, __file__, "read", str(path), what]
                result = json.loads(subprocess.run(arguments, capture_output=True, check=True).stdout)  # noqa: S603
                mib = path.stat().st_size / 2**20
                print(
                    f"{kind:13} {what:8} {result['rows']:>11,} rows {mib:>7,.0f} MiB {result['cpu_s']:>7.1f} CPU s "
                    f"{result['rows'] / result['cpu_s']:>10,.0f} rows/s  peak {result['peak_mib']:.0f} MiB"
                )
            path.unlink()


def read(path: Path, *, profiled: bool) -> dict[str, float]:
    """Rows, CPU seconds and peak memory of this process."""
    start = time.process_time()
    file = open_trace(file_source(path))
    if profiled:
        profile_trace(file.chunks(), file.reading)
    else:
        for _ in file.chunks():
            pass
    cpu_s = time.process_time() - start
    per_mib = 2**20 if sys.platform == "darwin" else 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / per_mib
    return {"rows": file.reading.rows_used, "cpu_s": cpu_s, "peak_mib": peak}


def lines(kind: str, rows: int) -> Iterator[str]:
    """A file of 50 requests a second, a part at a time."""
    rng = np.random.default_rng(1)
    now_us = 0
    if kind != "mooncake":
        yield "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    for at in range(0, rows, PART_ROWS):
        size = min(PART_ROWS, rows - at)
        times = now_us + np.cumsum(rng.exponential(20_000, size)).astype(np.int64)
        now_us = int(times[-1])
        prompt, output = rng.integers(1, 8_000, size).tolist(), rng.integers(1, 900, size).tolist()
        if kind == "mooncake":
            for ms, p, o in zip((times // 1000).tolist(), prompt, output, strict=True):
                record = {"timestamp": ms, "input_length": p, "output_length": o, "hash_ids": list(range(p // 512 + 1))}
                yield json.dumps(record) + "\n"
            continue
        stamps = np.datetime_as_string(
            np.datetime64("2024-05-10T00:00:00") + times.astype("timedelta64[us]"), unit="us"
        )
        quote = '"' if kind == "azure_quoted" else ""
        for text, p, o in zip(stamps.tolist(), prompt, output, strict=True):
            yield f"{text[:10]} {text[11:]}0+00:00,{quote}{p}{quote},{o}\n"


if __name__ == "__main__":
    main()
