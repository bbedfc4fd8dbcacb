"""The catalog as tables: what is known, from where, as of when, how old today."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

from planner import planning
from planner.reports import names
from planner.reports.evidence import OLD_AFTER_DAYS
from planner.reports.numbers import DASH, age_days, between, number, significant
from planner.reports.parts import Cell, Column, Row, Table

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CatalogList:
    """One list of the page."""

    id: str
    title: str
    note: str
    table: Table


@lru_cache(maxsize=4)
def catalog_tables(today: date) -> tuple[CatalogList, ...]:
    """All four lists with ages as of `today`."""
    return (
        CatalogList("accelerators", "Accelerators", "Dense figures, without sparsity.", _accelerators(today)),
        CatalogList("models", "Models", "Architectures as their owners publish them.", _models(today)),
        CatalogList("gpu-prices", "GPU rental prices", "List prices per GPU-hour, US dollars.", _gpu_prices(today)),
        CatalogList("api-prices", "API prices", "US dollars per million tokens. Listed is not served.", _api(today)),
    )


def _table(kind: str, today: date, caption: str, columns: tuple[Column, ...], row: Callable[[Record], Row]) -> Table:
    return Table(caption, columns, tuple(row(record) for record in planning.catalog_listing(kind, today)), stick=True)


def _dated(record: Record, today: date) -> tuple[Cell, Cell, Cell]:
    """Source, date, age."""
    as_of = record.get("as_of")
    days = age_days(as_of, today)
    old = days is not None and days > OLD_AFTER_DAYS
    age = (
        Cell(DASH, why="no date given") if days is None else Cell(number(days), state="clock" if old else "", badge=old)
    )
    return Cell(record.get("source") or DASH, why="no source given"), Cell(as_of or DASH, why="no date given"), age


DATED = (Column("Source", wide=True), Column("Date"), Column("Age", "days", numeric=True))


def _accelerators(today: date) -> Table:
    columns = (
        Column("Accelerator", sort="none"),
        Column("Memory", "GiB", numeric=True, sort="none"),
        Column("Bandwidth", "GB/s", numeric=True, sort="none"),
        Column("BF16", "TFLOP/s", numeric=True, sort="none"),
        Column("FP8", "TFLOP/s", numeric=True, sort="none"),
        Column("Link"),
        *DATED,
    )

    def row(record: Record) -> Row:
        fp8 = record.get("fp8_dense_tflops")
        return Row(
            (
                Cell(names.gpu(record["id"]), note=record["id"]),
                Cell(significant(record.get("memory_gib"), 4)),
                Cell(number(record.get("memory_bandwidth_gb_per_s"))),
                Cell(number(record.get("bf16_dense_tflops"))),
                Cell(number(fp8), why="no FP8 arithmetic"),
                Cell(record.get("interconnect") or DASH),
                *_dated(record, today),
            )
        )

    return _table("accelerators", today, "Accelerators", columns, row)


def _models(today: date) -> Table:
    columns = (
        Column("Model", sort="none"),
        Column("Parameters", "B", numeric=True, sort="none"),
        Column("Active", "B", numeric=True, sort="none"),
        Column("Layers", numeric=True, sort="none"),
        Column("Context", "tokens", numeric=True, sort="none"),
        Column("Ships as"),
        Column("Config"),
        *DATED,
    )

    def row(record: Record) -> Row:
        return Row(
            (
                Cell(record["id"]),
                Cell(significant(record.get("params_total_b"))),
                Cell(significant(record.get("params_active_b"))),
                Cell(number(record.get("layers"))),
                Cell(number(record.get("max_context_tokens"))),
                Cell(names.dtype(record.get("native_weight_dtype") or DASH)),
                Cell(record.get("confidence") or DASH, note=record.get("note") or ""),
                *_dated(record, today),
            )
        )

    return _table("models", today, "Models", columns, row)


def _gpu_prices(today: date) -> Table:
    """Every listing that counts on this day, below the median that plans use."""
    columns = (
        Column("Accelerator", sort="none"),
        Column("Provider", sort="none"),
        Column("Region"),
        Column("On demand", "$/GPU-h", numeric=True, sort="none"),
        *DATED,
    )
    rows: list[Row] = []
    for record in planning.catalog_listing("gpu-prices", today):
        if record["usd_per_gpu_hour"] is None:
            continue
        rows.append(_median(record))
        rows += [_listing(record["gpu"], item, today) for item in record["listings"]]
    return Table("GPU rental prices", columns, tuple(rows), stick=True)


def _median(record: Record) -> Row:
    spread = between(record["low_usd_per_gpu_hour"], record["high_usd_per_gpu_hour"], lambda value: number(value, 2))
    return Row(
        (
            Cell(names.gpu(record["gpu"])),
            Cell(f"median of {len(record['listings'])}", note=spread),
            Cell("what plans use"),
            Cell(number(record["usd_per_gpu_hour"], 2), strong=True),
            Cell(DASH, why="the listings that follow"),
            Cell(DASH, why="the listings that follow"),
            Cell(DASH, why="the listings that follow"),
        ),
        "pick",
    )


def _listing(gpu: str, item: Record, today: date) -> Row:
    return Row(
        (
            Cell(names.gpu(gpu)),
            Cell(item["provider"]),
            Cell(item.get("region") or DASH, why="not said"),
            Cell(number(item["usd_per_gpu_hour"], 2)),
            *_dated(item, today),
        )
    )


def _api(today: date) -> Table:
    columns = (
        Column("Provider", sort="none"),
        Column("Model", sort="none"),
        Column("Input", "$/M", numeric=True, sort="none"),
        Column("Output", "$/M", numeric=True, sort="none"),
        Column("Cached input", "$/M", numeric=True),
        *DATED,
    )

    def row(record: Record) -> Row:
        return Row(
            (
                Cell(names.provider(record["provider"])),
                Cell(record["model"], note=record.get("note") or "", warn=not record["available"]),
                Cell(number(record.get("input_usd_per_mtok"), 2)),
                Cell(number(record.get("output_usd_per_mtok"), 2)),
                Cell(number(record.get("cached_read_usd_per_mtok"), 3), why="no price of its own"),
                *_dated(record, today),
            )
        )

    return _table("api-prices", today, "API prices", columns, row)
