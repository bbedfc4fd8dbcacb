"""The measured rows that the constants are fitted on, vendored as `data/rows.csv` (sources: `data/SOURCES.md`)."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from planner.planning.validation.compare import measured_figures, not_counted
from planner.planning.validation.rows import MeasuredRow, read_measured, read_table
from planner.planning.validation.setups import RowSetup, row_setup
from planner.planning.validation.unusable import Unusable

COLUMNS = (
    "id",
    "source_date",
    "model",
    "model_id",
    "gpu",
    "gpu_id",
    "n_gpus",
    "tp",
    "pp",
    "ep",
    "dp",
    "engine",
    "engine_version",
    "weight_dtype",
    "kv_dtype",
    "isl_mean",
    "osl_mean",
    "length_distribution",
    "load_type",
    "load_value",
    "max_num_seqs",
    "max_num_batched_tokens",
    "gpu_memory_utilization",
    "prefix_caching",
    "chunked_prefill",
    "output_tok_s",
    "req_s",
    "ttft_mean_ms",
    "ttft_p50_ms",
    "tpot_mean_ms",
    "tpot_p50_ms",
    "trust",
    "note",
)
COUNT_IN_NOTE = re.compile(r"num_requests=\d+|\d+ (?:prompts|requests|ShareGPT prompts)")


@cache
def _content() -> bytes:
    return (files("planner.planning.fitting") / "data" / "rows.csv").read_bytes()


def rows_digest() -> str:
    """SHA-256 of the vendored rows."""
    return hashlib.sha256(_content()).hexdigest()


def fitted_rows() -> tuple[RowSetup, ...]:
    """The vendored rows that can still be set up, in the file's order."""
    return tuple(setup for row in read_measured(_content()).rows if (setup := _setup(row)) is not None)


def _setup(row: MeasuredRow) -> RowSetup | None:
    """The setup of a row that counts, or None."""
    if not_counted(row) or not measured_figures(row):
        return None
    try:
        return row_setup(row)
    except Unusable:
        return None


def vendored(tables: Iterable[bytes]) -> str:
    """The text of `data/rows.csv` made from tables of published measurements: the rows that are fitted, and of them the
    columns that are read. Of a note only the number of requests is kept."""
    written = io.StringIO()
    writer = csv.DictWriter(written, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for content in tables:
        kept = {row.id for row in read_measured(content).rows if _setup(row) is not None}
        records = read_table(content, frozenset({"id"}))
        for record in () if isinstance(records, str) else records:
            if record.get("id") in kept:
                kept.discard(record["id"])
                count = COUNT_IN_NOTE.search(record.get("note", ""))
                line = {name: record.get(name, "") for name in COLUMNS}
                writer.writerow({**line, "note": count.group(0) if count else ""})
    return written.getvalue()
