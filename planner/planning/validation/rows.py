"""Measured rows as published benchmark tables give them (`throughput.csv`, `serving.csv`), read without surprises.

A row that cannot be read is counted under a reason and left out; reading never raises for what a file holds.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

MAX_BYTES = 64 * 1024 * 1024
LARGEST_COUNT = 10_000_000
REQUIRED_COLUMNS = frozenset({"id", "model", "gpu", "engine", "load_type"})


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """One published measurement; `None` and empty text mean that the source does not say.

    `throughput_tok_s` counts output tokens of all GPUs together. `tpot_ms` leaves the first token out.
    Latencies are means, medians where only those are given. `source` is the
    first part of the id. `load_value` is requests in flight, a batch or requests per second, by `load_type`.
    """

    id: str
    source: str
    model: str
    model_id: str
    gpu: str
    gpu_id: str
    engine: str
    engine_version: str
    weight_dtype: str
    kv_dtype: str
    lengths: str
    load_type: str
    trust: str
    note: str
    source_date: str
    n_gpus: int | None
    tp: int | None
    pp: int | None
    ep: int | None
    dp: int | None
    max_num_seqs: int | None
    max_num_batched_tokens: int | None
    prompt_tokens: float | None
    output_tokens: float | None
    load_value: float | None
    gpu_memory_utilization: float | None
    prefix_caching: bool | None
    chunked_prefill: bool | None
    throughput_tok_s: float | None
    req_s: float | None
    ttft_ms: float | None
    ttft_is_median: bool
    tpot_ms: float | None
    tpot_is_median: bool
    e2e_s: float | None


@dataclass(frozen=True, slots=True)
class MeasuredFile:
    """Readable rows, and how many were left out for which reason."""

    rows: tuple[MeasuredRow, ...]
    skipped: Mapping[str, int]


def read_measured(content: bytes) -> MeasuredFile:
    """Rows of one CSV file. A file that is no such table gives no rows and one reason."""
    table = read_table(content, REQUIRED_COLUMNS)
    if isinstance(table, str):
        return MeasuredFile((), {table: 1})
    rows: list[MeasuredRow] = []
    seen: set[str] = set()
    skipped: Counter[str] = Counter()
    for record in table:
        row = _row(record)
        if isinstance(row, str):
            skipped[row] += 1
        elif row.id in seen:
            skipped["repeated id"] += 1
        else:
            seen.add(row.id)
            rows.append(row)
    return MeasuredFile(tuple(rows), dict(skipped))


def read_table(content: bytes, required: frozenset[str]) -> list[dict[str, str]] | str:
    """Records of a CSV table with at least the `required` columns, or the reason that it is none."""
    if len(content) > MAX_BYTES:
        return "file larger than 64 MiB"
    if b"\x00" in content:
        return "file is not text"
    reader = csv.DictReader(io.StringIO(content.decode("utf-8-sig", errors="replace"), newline=""))
    try:
        header = frozenset(reader.fieldnames or ())
        if not header >= required:
            return f"file lacks the columns {', '.join(sorted(required - header))}"
        return [{k: v.strip() for k, v in line.items() if isinstance(k, str) and isinstance(v, str)} for line in reader]
    except csv.Error:
        return "file is not a CSV table"


def _row(record: Mapping[str, str]) -> MeasuredRow | str:
    """The row, or the reason that it cannot be read."""
    if not record.get("id") or not record.get("load_type"):
        return "no id or load type"
    try:
        return _parsed(record)
    except ValueError as problem:
        return str(problem)


def _parsed(record: Mapping[str, str]) -> MeasuredRow:
    output_tokens = _number(record, "osl_mean")
    return MeasuredRow(
        id=record["id"],
        source=record["id"].split("-")[0],
        model=record.get("model", ""),
        model_id=record.get("model_id", ""),
        gpu=record.get("gpu", ""),
        gpu_id=record.get("gpu_id", ""),
        engine=record.get("engine", ""),
        engine_version=record.get("engine_version", ""),
        weight_dtype=record.get("weight_dtype", ""),
        kv_dtype=record.get("kv_dtype", ""),
        lengths=record.get("length_distribution", ""),
        load_type=record["load_type"],
        trust=record.get("trust", ""),
        note=record.get("note", ""),
        source_date=record.get("source_date", ""),
        n_gpus=_count(record, "n_gpus"),
        tp=_count(record, "tp"),
        pp=_count(record, "pp"),
        ep=_count(record, "ep"),
        dp=_count(record, "dp"),
        max_num_seqs=_count(record, "max_num_seqs"),
        max_num_batched_tokens=_count(record, "max_num_batched_tokens"),
        prompt_tokens=_number(record, "isl_mean"),
        output_tokens=output_tokens,
        load_value=_number(record, "load_value"),
        gpu_memory_utilization=_number(record, "gpu_memory_utilization"),
        prefix_caching=_flag(record.get("prefix_caching", "")),
        chunked_prefill=_flag(record.get("chunked_prefill", "")),
        throughput_tok_s=_throughput(record, output_tokens),
        req_s=_number(record, "req_s"),
        ttft_ms=_number(record, "ttft_mean_ms", "ttft_p50_ms"),
        ttft_is_median=not record.get("ttft_mean_ms"),
        tpot_ms=_number(record, "tpot_mean_ms", "tpot_p50_ms"),
        tpot_is_median=not record.get("tpot_mean_ms"),
        e2e_s=_number(record, "e2e_mean_s"),
    )


def _number(record: Mapping[str, str], *names: str) -> float | None:
    """The first of the named columns that is filled. 'inf' is kept for loads only; other non-numbers raise."""
    for name in names:
        text = record.get(name, "")
        if not text:
            continue
        try:
            value = float(text)
        except ValueError:
            raise ValueError(f"{name} is not a number") from None
        if math.isnan(value) or value < 0 or (math.isinf(value) and name != "load_value"):
            raise ValueError(f"{name} is out of range")
        return value
    return None


def _count(record: Mapping[str, str], name: str) -> int | None:
    """A whole number of at least 1; words such as 'on' and zero count as not stated."""
    text = record.get(name, "")
    try:
        value = float(text)
    except ValueError:
        return None
    if not 1 <= value <= LARGEST_COUNT or value != int(value):
        return None
    return int(value)


def _flag(text: str) -> bool | None:
    if text.lower() in ("true", "on", "1", "yes"):
        return True
    return False if text.lower() in ("false", "off", "0", "no") else None


def _throughput(record: Mapping[str, str], output_tokens: float | None) -> float | None:
    """Output tokens per second; from requests per second where only those are given."""
    direct = _number(record, "output_tok_s")
    if direct:
        return direct
    req_s = _number(record, "req_s")
    return req_s * output_tokens if req_s and output_tokens else None
