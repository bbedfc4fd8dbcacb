"""The vendored price table: open-weight hosters and dates that the first source lacks, and a second opinion on it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from importlib import resources

from costmodel.pricing.api_rates import TokenRates


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of `data/api_prices.csv`. `tiered` rows also have long-context rates, which the table leaves out."""

    provider: str
    model: str
    rates: TokenRates
    batch_input_usd_per_mtok: Decimal | None
    batch_output_usd_per_mtok: Decimal | None
    tiered: bool
    deprecation_date: date | None
    as_of: str
    source: str


@lru_cache(maxsize=1)
def table_rows() -> tuple[TableRow, ...]:
    """Every row of the shipped table, in its order."""
    table = resources.files("costmodel") / "data" / "api_prices.csv"
    return read_rows(table.read_text(encoding="utf-8").splitlines())


@lru_cache(maxsize=1)
def table_label() -> str:
    """Name, release and month of the table's source."""
    first = table_rows()[0]
    return f"{first.source}, {first.as_of}"


def read_rows(lines: Iterable[str]) -> tuple[TableRow, ...]:
    """Rows from CSV lines with the columns of `data/api_prices.csv`; empty cells mean not published."""
    return tuple(_row(row) for row in csv.DictReader(lines))


def _row(row: Mapping[str, str]) -> TableRow:
    input_usd, output_usd = _price(row["input_usd_per_mtok"]), _price(row["output_usd_per_mtok"])
    if input_usd is None or output_usd is None:
        raise ValueError(f"{row['provider']} {row['model']} lacks an input or output price")
    return TableRow(
        provider=row["provider"],
        model=row["model"],
        rates=TokenRates(
            input_usd_per_mtok=input_usd,
            output_usd_per_mtok=output_usd,
            cached_read_usd_per_mtok=_price(row["cached_read_usd_per_mtok"]),
            cached_write_usd_per_mtok=_price(row["cached_write_usd_per_mtok"]),
        ),
        batch_input_usd_per_mtok=_price(row["batch_input_usd_per_mtok"]),
        batch_output_usd_per_mtok=_price(row["batch_output_usd_per_mtok"]),
        tiered=row["tiered"] == "yes",
        deprecation_date=date.fromisoformat(row["deprecation_date"]) if row["deprecation_date"] else None,
        as_of=row["as_of"],
        source=row["source"],
    )


def _price(text: str) -> Decimal | None:
    return Decimal(text) if text else None
