"""Report values as plain JSON: money exact to its places, other numbers to six significant digits."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from costmodel.pricing.money import rounded, to_cents

SIGNIFICANT_DIGITS = 6
MTOK_DIGITS = 4


def usd(amount: Decimal | Fraction | float) -> Decimal:
    """An amount of money to the cent."""
    return to_cents(_decimal(amount))


def usd_per_mtok(amount: Decimal | Fraction | float | None) -> Decimal | None:
    """A price per million tokens to four decimals."""
    return None if amount is None else rounded(_decimal(amount), MTOK_DIGITS)


def _decimal(amount: Decimal | Fraction | float) -> Decimal:
    if isinstance(amount, Fraction):
        return Decimal(amount.numerator) / Decimal(amount.denominator)
    return amount if isinstance(amount, Decimal) else Decimal(repr(float(amount)))


def plain(value: Any) -> Any:
    """The value with dicts, lists, text, whole numbers, floats and None only. Non-finite numbers become None."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Decimal):
        return float(value) + 0.0
    number = float(value)
    if not math.isfinite(number):
        return None
    return float(f"{number:.{SIGNIFICANT_DIGITS}g}") + 0.0


def report_bytes(report: dict[str, Any]) -> bytes:
    """The one serialisation of a report: sorted keys, no blanks, UTF-8, a line end."""
    text = json.dumps(report, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode() + b"\n"
