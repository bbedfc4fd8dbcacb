"""How far prices have moved since a report: its GPU prices and list prices against those of a later day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from costmodel import PriceUnknownError, UnknownIdError, api_price, gpu_price
from planner.planning.report.plain import plain

SMALLEST_CHANGE_RATIO = 0.01
"""Below one per cent a price has not moved for anyone who decides by it."""


def price_moves(report: Mapping[str, Any], today: date) -> list[dict[str, Any]]:
    """Every price of the report that differs by 1 % or more from the catalog's of `today`, the recommended GPU first.

    Rows of `kind` (gpu, api_input, api_output), `id` (accelerator, or provider/model), `then_usd` and `now_usd` (per
    GPU-hour, or per million tokens) and `change_ratio` (now / then - 1). A GPU's price then is the one that the report
    used, so that a corrected catalog shows as well; list prices are compared between the two days. Prices that the
    scenario states itself do not move, and what has no price today is left out.
    """
    chosen = (report.get("recommended") or {}).get("gpu")
    rows = [*_gpus(report, today), *_hosted(report, today)]
    moved = [row for row in rows if abs(row["change_ratio"]) >= SMALLEST_CHANGE_RATIO]
    return sorted(moved, key=lambda row: row["id"] != chosen)


def _gpus(report: Mapping[str, Any], today: date) -> Iterator[dict[str, Any]]:
    hardware = report["provenance"]["scenario"].get("hardware", {})
    stated, providers, regions = (hardware.get(key) or None for key in ("price_overrides", "providers", "regions"))
    used = {row["gpu"]: row["usd_per_gpu_hour"] for row in report["candidates"] if row["usd_per_gpu_hour"]}
    for gpu, then_usd in used.items():
        if gpu in (stated or {}):
            continue
        try:
            now_usd = gpu_price(gpu, today, providers=providers, regions=regions).usd_per_gpu_hour
        except (PriceUnknownError, UnknownIdError):
            continue
        yield _row("gpu", gpu, then_usd, now_usd)


def _hosted(report: Mapping[str, Any], today: date) -> Iterator[dict[str, Any]]:
    priced_at = date.fromisoformat(report["provenance"]["priced_at"])
    stated = report["provenance"]["scenario"].get("api", {}).get("alternatives", ())
    own = {(choice["provider"], choice["model"]) for choice in stated if "price" in choice}
    for bill in report.get("api") or ():
        if (bill["provider"], bill["model"]) in own:
            continue
        try:
            then = api_price(bill["provider"], bill["model"], priced_at).standard.rates
            now = api_price(bill["provider"], bill["model"], today).standard.rates
        except (PriceUnknownError, UnknownIdError):
            continue
        name = f"{bill['provider']}/{bill['model']}"
        yield _row("api_input", name, then.input_usd_per_mtok, now.input_usd_per_mtok)
        yield _row("api_output", name, then.output_usd_per_mtok, now.output_usd_per_mtok)


def _row(kind: str, name: str, then_usd: Any, now_usd: Any) -> dict[str, Any]:
    then, now = plain(then_usd), plain(now_usd)
    change_ratio = now / then - 1 if then else 0.0
    return {"kind": kind, "id": name, "then_usd": then, "now_usd": now, "change_ratio": change_ratio}
