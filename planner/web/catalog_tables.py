"""The catalog as tables: what is known, from where, as of when, how old today."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Any

from planner import planning
from planner.datasets.models import CatalogEntry
from planner.reports import names, separators
from planner.reports.evidence import OLD_AFTER_DAYS
from planner.reports.numbers import DASH, age_days, number, price_number, significant, tidy
from planner.reports.own_rows import own_rows
from planner.reports.parts import Cell, Column, Row, Table
from planner.web.catalog_lists import api_rows, family

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CatalogList:
    """One list of the catalog. of: how many rows it has, found or not."""

    id: str
    title: str
    note: str
    of: int
    table: Table


TITLES = {
    "accelerators": "Accelerators",
    "models": "Models",
    "gpu-prices": "GPU rental prices",
    "api-prices": "API prices",
}
NOTES = {
    "accelerators": "Dense figures, without sparsity. Ages as of today; more than 90 days is marked.",
    "models": "Architectures as their owners publish them.",
    "gpu-prices": "List prices per GPU-hour, US dollars. Plans take the median.",
    "api-prices": "US dollars per million tokens. Unasked, those of models that the catalog has.",
}
MOST_API_ROWS = 120


def catalog_list(kind: str, today: date, search: str = "", entries: Sequence[CatalogEntry] = ()) -> CatalogList:
    """One list with ages as of `today`: the rows that hold every word searched for, the team's own entries in front. Of
    the thousands of API prices at most MOST_API_ROWS."""
    if kind == "api-prices":
        found = _api_found(today, search)
        table, of = _api(today, found[:MOST_API_ROWS]), len(api_rows(today))
    else:
        table = _public(kind, today, separators.current())
        of = len(table.rows)
        table = replace(table, rows=tuple(row for row in table.rows if _holds(row, search)))
    own = tuple(row for row in _own(kind, today, entries) if _holds(row, search)) if entries else ()
    return CatalogList(kind, TITLES[kind], NOTES[kind], of, replace(table, rows=(*own, *table.rows)))


def catalog_counts(today: date) -> dict[str, int]:
    """Rows of each list, without the team's own."""
    marks = separators.current()
    return {kind: len(api_rows(today) if kind == "api-prices" else _public(kind, today, marks).rows) for kind in TITLES}


def _public(kind: str, today: date, marks: separators.Separators) -> Table:
    """marks: those that its figures are written with, so that it is kept for readers of the same alone."""
    return _kept(planning.result_version(), kind, today, marks)


@lru_cache(maxsize=16)
def _kept(_version: str, kind: str, today: date, marks: separators.Separators) -> Table:
    return {"accelerators": _accelerators, "models": _models, "gpu-prices": _gpu_prices}[kind](today)


def _holds(row: Row, search: str) -> bool:
    words = search.lower().split()
    text = " ".join(f"{cell.text} {cell.note}" for cell in row.cells).lower() if words else ""
    return all(word in text for word in words)


def _own(kind: str, today: date, entries: Sequence[CatalogEntry]) -> tuple[Row, ...]:
    makers = {"accelerators": _accelerator, "models": _model, "gpu-prices": _gpu_price, "api-prices": _api_price}
    columns = planning.catalog_listing("accelerators", today)[0] if kind == "accelerators" else COLUMNS[kind]
    own = own_rows(kind, (*columns, "source", "as_of", "note"), entries)
    return tuple(_marked(makers[kind](record, today)) for record in own)


def _marked(row: Row) -> Row:
    """A row of the team's own: highlighted, and said in words."""
    name, *rest = row.cells
    return Row((replace(name, note="your team's own"), *rest), "pick")


COLUMNS = {
    "models": (
        "id", "params_total_b", "params_active_b", "layers", "max_context_tokens", "native_weight_dtype", "confidence",
    ),
    "gpu-prices": ("gpu", "provider", "region", "usd_per_gpu_hour", "median_usd_per_gpu_hour"),
    "api-prices": (
        "provider", "model", "input_usd_per_mtok", "output_usd_per_mtok", "cached_read_usd_per_mtok", "available",
    ),
}  # fmt: skip


def _api_found(today: date, search: str) -> list[Record]:
    words = search.lower().split()
    if words:
        return [
            row for row in api_rows(today) if all(word in f"{row['provider']} {row['model']}".lower() for word in words)
        ]
    return list(_open_weight(today))


def _open_weight(today: date) -> tuple[Record, ...]:
    return _open_weight_of(planning.result_version(), today)


@lru_cache(maxsize=4)
def _open_weight_of(_version: str, today: date) -> tuple[Record, ...]:
    keys = {key for row in planning.catalog_listing("models", today) if len(key := family(row["id"])) > 6}
    return tuple(
        row for row in api_rows(today) if row["available"] and any(key in family(row["model"]) for key in keys)
    )


def _table(
    kind: str, today: date, caption: str, columns: tuple[Column, ...], row: Callable[[Record, date], Row]
) -> Table:
    return Table(
        caption, columns, tuple(row(record, today) for record in planning.catalog_listing(kind, today)), stick=True
    )


def _dated(record: Record, today: date) -> tuple[Cell, Cell, Cell]:
    """Source, date, age."""
    as_of = record.get("as_of")
    days = age_days(as_of, today)
    old = days is not None and days > OLD_AFTER_DAYS
    age = (
        Cell(DASH, why="no date given") if days is None else Cell(number(days), state="clock" if old else "", badge=old)
    )
    return Cell(record.get("source") or DASH, why="no source given"), Cell(as_of or DASH, why="no date given"), age


DATED = (Column("Source", wide=True), Column("Date", whole=True), Column("Age", "days", numeric=True))


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
    return _table("accelerators", today, "Accelerators", columns, _accelerator)


def _accelerator(record: Record, today: date) -> Row:
    fp8 = record.get("fp8_dense_tflops")
    return Row(
        (
            Cell(names.gpu(record["id"]), note=record["id"] if "-" in record["id"] else ""),
            Cell(significant(record.get("memory_gib"), 4)),
            Cell(number(record.get("memory_bandwidth_gb_per_s"))),
            Cell(number(record.get("bf16_dense_tflops"))),
            Cell(number(fp8), why="no FP8 arithmetic"),
            Cell(record.get("interconnect") or DASH),
            *_dated(record, today),
        )
    )


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
    return _table("models", today, "Models", columns, _model)


def _model(record: Record, today: date) -> Row:
    return Row(
        (
            Cell(record["id"]),
            Cell(significant(record.get("params_total_b"))),
            Cell(significant(record.get("params_active_b"))),
            Cell(number(record.get("layers"))),
            Cell(number(record.get("max_context_tokens"))),
            Cell(names.dtype(record.get("native_weight_dtype") or DASH)),
            Cell(record.get("confidence") or DASH, note=tidy(record.get("note") or "")),
            *_dated(record, today),
        )
    )


def _gpu_prices(today: date) -> Table:
    """Every price that counts on this day, with the median that a plan takes beside it."""
    columns = (
        Column("Accelerator", sort="none"),
        Column("Provider", sort="none"),
        Column("Region"),
        Column("On demand", "$/GPU-h", numeric=True, sort="none"),
        Column("Median", "$/GPU-h, used by plans", numeric=True),
        *DATED,
    )
    return _table("gpu-prices", today, "GPU rental prices", columns, _gpu_price)


def _gpu_price(record: Record, today: date) -> Row:
    priced = record["usd_per_gpu_hour"] is not None
    return Row(
        (
            Cell(names.gpu(record["gpu"])),
            Cell(names.renter(record["provider"]) or DASH, note=tidy(record["note"]) if priced else ""),
            Cell(record["region"] or DASH, why="not said"),
            Cell(price_number(record["usd_per_gpu_hour"]), why=tidy(record["note"])),
            Cell(price_number(record["median_usd_per_gpu_hour"]), why=tidy(record["note"])),
            *_dated(record, today),
        ),
        "" if priced else "off",
    )


def _api(today: date, records: Sequence[Record]) -> Table:
    columns = (
        Column("Provider", sort="none"),
        Column("Model", sort="none"),
        Column("Input", "$/M", numeric=True, sort="none"),
        Column("Output", "$/M", numeric=True, sort="none"),
        Column("Cached input", "$/M", numeric=True),
        *DATED,
    )
    return Table("API prices", columns, tuple(_api_price(record, today) for record in records), stick=True)


def _api_price(record: Record, today: date) -> Row:
    return Row(
        (
            Cell(names.provider(record["provider"])),
            Cell(record["model"], note=tidy(record.get("note") or ""), warn=not record["available"]),
            Cell(price_number(record.get("input_usd_per_mtok"))),
            Cell(price_number(record.get("output_usd_per_mtok"))),
            Cell(price_number(record.get("cached_read_usd_per_mtok")), why="no price of its own"),
            *_dated(record, today),
        )
    )
