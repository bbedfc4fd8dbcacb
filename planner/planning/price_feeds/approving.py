"""What was approved, as it is kept, and the prices that are in force with it."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from costmodel import ApprovedApiPrices, ApprovedGpuPrices, PriceBook
from costmodel.pricing.gpu_listings import read_listings

COLUMNS = (
    "gpu", "provider", "instance", "gpus_per_instance", "region", "on_demand_usd_per_gpu_hr", "spot_usd_per_gpu_hr",
    "reserved_1y_usd_per_gpu_hr", "reserved_3y_usd_per_gpu_hr", "as_of", "source", "note",
)  # fmt: skip


def approved_gpu(rows: Sequence[Mapping[str, Any]]) -> ApprovedGpuPrices:
    """Kept rows (`Change.row`) as listings, under a digest of their content."""
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, extrasaction="ignore", restval="")
    table.writeheader()
    table.writerows(rows)
    listings = read_listings(text.getvalue().splitlines())
    marked = tuple(
        replace(listing, withdrawn=True) if row.get("withdrawn") else listing
        for listing, row in zip(listings, rows, strict=True)
    )
    content = json.dumps([dict(row) for row in rows], sort_keys=True, separators=(",", ":"))
    return ApprovedGpuPrices(_digest(content.encode()), marked)


def approved_api(document: bytes, name: str, as_of: str, held_back: Iterable[Sequence[str]] = ()) -> ApprovedApiPrices:
    """A kept list under the digest of its bytes, its label and what was held back. name: with licence."""
    held = frozenset((str(provider), str(model)) for provider, model in held_back)
    content = b"\0".join([document, name.encode(), as_of.encode(), json.dumps(sorted(held)).encode()])
    return ApprovedApiPrices(_digest(content), document, (name, as_of), held)


def book_of(approved: Iterable[ApprovedGpuPrices | ApprovedApiPrices]) -> PriceBook:
    """The shipped prices with what was approved after them, the oldest first."""
    return PriceBook(tuple(approved))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
