"""Numbers as a reader sees them: the marks of the reader's language, units, true minus, ranges in words, a dash where
nothing is known. Rounded half up, as written: 3.945 is 3.95, though its binary neighbour lies below."""

import math
import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from planner.planning.report.names import likely
from planner.reports import separators

DASH = "–"
MINUS = "−"
MOST_DIGITS = 15  # of a double
Formatter = Callable[[float], str]


def number(value: float | None, digits: int = 0) -> str:
    """1234.5 -> "1,234.5" (digits 1), -3 -> "−3", None or not finite -> "–"."""
    if value is None or not math.isfinite(value):
        return DASH
    text = f"{_half_up(abs(value), digits):,.{digits}f}"
    negative = value < 0 and any(c not in "0.," for c in text)
    shown = separators.current().mark(text)
    return MINUS + shown if negative else shown


def _half_up(value: float, digits: int) -> float | Decimal:
    """The value itself unless it lies in the middle between two numbers of so many digits as far as it is written."""
    if digits > MOST_DIGITS:
        return value
    scaled = float(value) * 10.0**digits
    if abs(scaled % 1 - 0.5) > 1e-6:
        return value
    return Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def plain_decimal(value: float, digits: int = 6) -> str:
    """As many of `digits` significant figures as the value has: 2.5 -> "2.5", 1155.0 -> "1,155"."""
    if not value % 1:
        return number(value)
    return significant(value, digits).rstrip("0").rstrip(separators.current().decimal)


def significant(value: float | None, digits: int = 3) -> str:
    """About `digits` significant figures, never in exponents: 8.234 -> "8.23", 0.0123 -> "0.0123", 1234 -> "1,234"."""
    if value is None or not math.isfinite(value):
        return DASH
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return number(value, places)


def usd(value: float | None, digits: int = 0) -> str:
    """14326 -> "$14,326", -1182 -> "−$1,182"."""
    text = number(value, digits)
    if text == DASH:
        return text
    return f"{MINUS}${text[1:]}" if text.startswith(MINUS) else f"${text}"


def unit_price(value: float | None) -> str:
    """A price of one unit with the digits it has, two to four: 3.945 -> "$3.945", 0.5 -> "$0.50"."""
    return usd(value, _price_digits(value))


def price_number(value: float | None) -> str:
    """The same without the dollar, for columns that name it."""
    return number(value, _price_digits(value))


def _price_digits(value: float | None) -> int:
    if value is None or not math.isfinite(value):
        return 2
    return next((digits for digits in (2, 3) if abs(round(value, digits) - value) < 5e-7), 4)


def usd_signed(value: float | None, digits: int = 0) -> str:
    """A change: "+$310" or "−$310"."""
    text = usd(value, digits)
    return f"+{text}" if value is not None and value > 0 and text != DASH else text


def percent(ratio: float | None, digits: int = 0) -> str:
    """0.953 -> "95 %"; the unit stands with it."""
    return DASH if ratio is None or not math.isfinite(ratio) else f"{number(ratio * 100, digits)} %"


def chance(probability_ratio: float | None) -> str:
    """0.953 -> "95 %"; never the certainty that rounding would make of it: "over 99 %", "under 1 %"."""
    return DASH if probability_ratio is None else likely(probability_ratio).replace("%", " %")


def milliseconds(value: float | None) -> str:
    """Whole above 100 ms, one decimal below."""
    return number(value, 0 if value is not None and abs(value) >= 100 else 1)


def requests_per_s(value: float | None) -> str:
    """Three significant figures, at most three decimals."""
    return significant(value, 2 if value is not None and abs(value) < 0.1 else 3)


def tokens(value: float | None) -> str:
    """Large counts in words that people say: "3,327 M", "18.2 B"; small ones whole."""
    if value is None:
        return DASH
    for limit, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if abs(value) >= limit:
            return f"{significant(value / limit)} {unit}"
    return number(value)


def between(low: float | None, high: float | None, formatter: Formatter = number, *, joiner: str = " to ") -> str:
    """A range in words, "625 to 1,739"; one value when both ends read the same; a dash when an end is missing."""
    if low is None or high is None:
        return DASH
    first, last = formatter(low), formatter(high)
    return first if first == last else f"{first}{joiner}{last}"


def range_text(value: Mapping[str, Any] | None, formatter: Formatter = number, *, joiner: str = " to ") -> str:
    """`between` for a report's {"low", "mid", "high"}."""
    return DASH if value is None else between(value.get("low"), value.get("high"), formatter, joiner=joiner)


_HYPHEN_MINUS = re.compile(r"(?<![\w.\-])-(?=\d)")
_LETTER_TIMES = re.compile(r"(?<=[\w)%]) x (?=[\d(])")
_TIGHT_PERCENT = re.compile(r"(?<=\d)%")
_NUMBER = re.compile(
    r"(?<![\w.,/\-])(?P<named>(?:vLLM|SGLang|TensorRT-LLM|Llama|Qwen|litellm|version|CUDA|PyTorch) )?"
    r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+)(?=(?:k|M|B|T)?(?![\w\-]|[.,]\d))"
)


def tidy(text: str) -> str:
    """Text from the engine with a true minus and times sign, its percent apart and the reader's marks, as everywhere
    on the pages: "-0.91 GiB, 3 x 2, 73%" -> "−0.91 GiB, 3 × 2, 73 %"."""
    return marked(_TIGHT_PERCENT.sub("\u00a0%", _LETTER_TIMES.sub(" × ", _HYPHEN_MINUS.sub(MINUS, text))))


def marked(text: str) -> str:
    """Engine text, which is written with English marks, with those of the reader. Ids, dates and versions stay as they
    are: "vLLM 0.22 serves Llama-3.3-70B at 1,024.5 tokens/s" -> "... at 1.024,5 tokens/s"."""
    marks = separators.current()
    if marks is separators.ENGLISH:
        return text
    return _NUMBER.sub(lambda found: found[0] if found["named"] else marks.mark(found[0]), text)


def as_typed(text: str) -> str:
    """Text about what is typed into a field: with the dot decimals that fields take, and with groups that nobody reads
    as a fraction: "0.5 to 60,000" -> "0.5 to 60 000", its space narrow, for whom a comma is the decimal mark."""
    if separators.current() is separators.ENGLISH:
        return text
    return _NUMBER.sub(lambda found: found[0].replace(",", separators.NARROW_NO_BREAK), text)


def age_days(as_of: str | None, today: date) -> int | None:
    """Days since an ISO date (a month counts from its first day); None when there is no date, 0 for a future one."""
    if not as_of:
        return None
    try:
        then = date.fromisoformat(as_of if len(as_of) > 7 else f"{as_of}-01")
    except ValueError:
        return None
    return max(0, (today - then).days)
