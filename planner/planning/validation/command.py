"""What the `validate` command does: read the files it was given, predict their rows, gather the errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Literal, get_args

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
from planner.planning.validation.replay_pictures import replay_picture
from planner.planning.validation.request_logs import compare_request_log, read_request_log, replay_request_log
from planner.planning.validation.rows import MeasuredRow, read_measured
from planner.planning.validation.silicon import MeasuredSteps, missing_source
from planner.planning.validation.unusable import Unusable
from simulator import warm_up

ARGUMENTS = "--throughput F, --serving F, --kvcache F, --requests DIR"
NOT_READABLE = "request log not readable"
ROWS_PER_TASK = 16
FEW_ROWS = 64

StepTimes = Literal["model", "silicon", "both"]
STEP_TIMES: tuple[StepTimes, ...] = get_args(StepTimes)


@dataclass(frozen=True, slots=True)
class ValidationInput:
    """Paths as given, None where not; `cross_validated` takes the constants fitted without a row's own pair.

    pictures        folder for a picture of each request log; made where it does not exist
    step_times      whose step times predict: our model's, the measured source's, or both on the same rows
    silicon_cache   folder in which the measured source's curves are kept
    """

    throughput: Path | None = None
    serving: Path | None = None
    kvcache: Path | None = None
    requests: Path | None = None
    pictures: Path | None = None
    cross_validated: bool = False
    step_times: StepTimes = "model"
    silicon_cache: Path | None = None


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
    if given.pictures is not None and given.requests is None:
        return "--pictures draws request logs: it needs --requests DIR."
    if given.pictures is not None and given.pictures.exists() and not given.pictures.is_dir():
        return f"{given.pictures} is not a folder."
    if given.step_times == "silicon" and (given.cross_validated or given.pictures is not None):
        return "--cross-validated and --pictures are of our own model: they need --step-times model or both."
    return None if given.step_times == "model" else missing_source()


def run_validation(given: ValidationInput) -> Report:
    """Errors by metric of everything that was given, for step times of one kind. What a file holds never raises."""
    items, unreadable = _compared(given, _measured_steps(given) if given.step_times == "silicon" else None)
    return error_report(items, unreadable)


def run_side_by_side(given: ValidationInput) -> dict[str, Report]:
    """Reports of our model (`model`) and of the measured source (`silicon`), each on the rows that both predict.

    A figure that only one of them predicts counts as skipped in both.
    """
    ours, unreadable = _compared(given, None)
    theirs, _ = _compared(given, _measured_steps(given))
    return {
        "model": error_report(_where_other_predicts(ours, theirs), unreadable),
        "silicon": error_report(_where_other_predicts(theirs, ours), unreadable),
    }


def _measured_steps(given: ValidationInput) -> MeasuredSteps:
    return MeasuredSteps(given.silicon_cache)


def _where_other_predicts(
    items: Sequence[Comparison | Missing], others: Sequence[Comparison | Missing]
) -> list[Comparison | Missing]:
    """The comparisons of `items` that `others` have too; for the rest the reason that the other has none."""
    reasons = {(item.metric, item.row_id): item.reason for item in others if isinstance(item, Missing)}
    found: list[Comparison | Missing] = []
    for item in items:
        reason = reasons.get((item.metric, item.row_id))
        found.append(item if reason is None or isinstance(item, Missing) else Missing(item.metric, item.row_id, reason))
    return found


def _compared(
    given: ValidationInput, silicon: MeasuredSteps | None
) -> tuple[list[Comparison | Missing], dict[Metric, dict[str, int]]]:
    """Every figure of every file, and the rows that could not be read, by reason."""
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
            ready = partial(compare, cross_validated=given.cross_validated and silicon is None, silicon=silicon)
            items.extend(_in_parallel(ready, measured.rows))
    if given.kvcache is not None:
        items.extend(compare_kv_caches(given.kvcache.read_bytes()))
    if given.requests is not None:
        items.extend(_request_logs(given.requests, given.cross_validated and silicon is None, silicon))
    return items, unreadable


def _in_parallel(
    compare: Callable[[MeasuredRow], RowResult], rows: Sequence[MeasuredRow]
) -> Iterator[Comparison | Missing]:
    """Compare rows in as many processes as there are cores; few rows are not worth starting any."""
    workers = min(os.cpu_count() or 1, 8)
    if workers == 1 or len(rows) < FEW_ROWS:
        for row in rows:
            yield from compare(row)
        return
    warm_up()  # compiled once here, not once in every process
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for result in pool.map(compare, rows, chunksize=ROWS_PER_TASK):
            yield from result


def _request_logs(folder: Path, cross_validated: bool, silicon: MeasuredSteps | None) -> Iterator[Comparison | Missing]:
    for name, files in _log_files(folder):
        if files is None:
            yield Missing("requests", name, NOT_READABLE)
        else:
            yield from compare_request_log(name, *files, cross_validated=cross_validated, silicon=silicon)


def _log_files(folder: Path) -> Iterator[tuple[str, tuple[bytes, bytes] | None]]:
    """(name, `meta.json` and `requests.jsonl` or None) of every log in the folder, or of the folder where it is one."""
    found = [folder] if (folder / "requests.jsonl").is_file() else sorted(folder.iterdir())
    for log in found:
        if log.is_dir() and (log / "requests.jsonl").is_file():
            try:
                yield log.name, ((log / "meta.json").read_bytes(), (log / "requests.jsonl").read_bytes())
            except OSError:
                yield log.name, None


def draw_request_logs(given: ValidationInput) -> Iterator[str]:
    """Write the picture of every log that can be replayed; yields its file's path and its table, as Markdown.

    Raises OSError where the folder cannot be written.
    """
    if given.requests is None or given.pictures is None:
        return
    given.pictures.mkdir(parents=True, exist_ok=True)
    for name, files in _log_files(given.requests):
        try:
            if files is None:
                raise Unusable(NOT_READABLE)
            replay = replay_request_log(read_request_log(name, *files), cross_validated=given.cross_validated)
        except Unusable as problem:
            yield f"{name}: {problem}"
            continue
        picture = replay_picture(replay)
        path = given.pictures / picture.file_name
        path.write_text(picture.svg, encoding="utf-8")
        yield f"{path}\n\n{picture.table}"
