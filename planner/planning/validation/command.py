"""What the `validate` command does: read the files it was given, predict their rows, gather the errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from planner.planning.validation.compare import (
    Comparison,
    Metric,
    Missing,
    RowResult,
    compare_serving_row,
    compare_throughput_row,
)
from planner.planning.validation.errors import Report, error_report
from planner.planning.validation.kv_rows import compare_kv_caches
from planner.planning.validation.request_logs import compare_request_log
from planner.planning.validation.rows import MeasuredRow, read_measured

ARGUMENTS = "--throughput F, --serving F, --kvcache F, --requests DIR"
ROWS_PER_TASK = 16
FEW_ROWS = 64


@dataclass(frozen=True, slots=True)
class ValidationInput:
    """Paths as given, None where not; `cross_validated` takes the constants fitted without a row's own pair."""

    throughput: Path | None = None
    serving: Path | None = None
    kvcache: Path | None = None
    requests: Path | None = None
    cross_validated: bool = False


def unreadable_input(given: ValidationInput) -> str | None:
    """One line saying what is wrong with the arguments, or None."""
    paths = (given.throughput, given.serving, given.kvcache, given.requests)
    if not any(paths):
        return f"validate takes measured files: {ARGUMENTS}; at least one of them."
    for path in (given.throughput, given.serving, given.kvcache):
        if path is not None and not (path.is_file() and os.access(path, os.R_OK)):
            return f"{path} is not a readable file."
    if given.requests is not None and not given.requests.is_dir():
        return f"{given.requests} is not a folder."
    return None


def run_validation(given: ValidationInput) -> Report:
    """Errors by metric of everything that was given. What a file holds never raises."""
    items: list[Comparison | Missing] = []
    unreadable: dict[Metric, dict[str, int]] = {}
    tables: tuple[tuple[Path | None, Metric, Callable[..., RowResult]], ...] = (
        (given.throughput, "throughput", compare_throughput_row),
        (given.serving, "tpot", compare_serving_row),
    )
    for path, metric, compare in tables:
        if path is not None:
            measured = read_measured(path.read_bytes())
            unreadable[metric] = dict(measured.skipped)
            items.extend(_in_parallel(partial(compare, cross_validated=given.cross_validated), measured.rows))
    if given.kvcache is not None:
        items.extend(compare_kv_caches(given.kvcache.read_bytes()))
    if given.requests is not None:
        items.extend(_request_logs(given.requests, given.cross_validated))
    return error_report(items, unreadable)


def _in_parallel(
    compare: Callable[[MeasuredRow], RowResult], rows: Sequence[MeasuredRow]
) -> Iterator[Comparison | Missing]:
    """Compare rows in as many processes as there are cores; few rows are not worth starting any."""
    workers = min(os.cpu_count() or 1, 8)
    if workers == 1 or len(rows) < FEW_ROWS:
        for row in rows:
            yield from compare(row)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for result in pool.map(compare, rows, chunksize=ROWS_PER_TASK):
            yield from result


def _request_logs(folder: Path, cross_validated: bool) -> Iterator[Comparison | Missing]:
    """Every log below the folder, or the folder itself where it is one."""
    found = [folder] if (folder / "requests.jsonl").is_file() else sorted(folder.iterdir())
    for log in found:
        if log.is_dir() and (log / "requests.jsonl").is_file():
            try:
                meta, requests = (log / "meta.json").read_bytes(), (log / "requests.jsonl").read_bytes()
            except OSError:
                yield Missing("requests", log.name, "request log not readable")
                continue
            yield from compare_request_log(log.name, meta, requests, cross_validated=cross_validated)
