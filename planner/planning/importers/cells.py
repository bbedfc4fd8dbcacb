"""Numbers, token counts and times as people and programs write them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from planner.planning.importers.errors import BadCell

NS_PER_S = 1_000_000_000
UNIT_NS = {"s": NS_PER_S, "ms": 1_000_000, "us": 1_000, "ns": 1}
MAX_TOKENS = 10_000_000
MAX_NS = 1 << 62
_MOST_BITS = 1000
"""Of a whole number; beyond 1024 it is no float any more."""

_GROUPS = " '\u00a0\u202f\u2019"
_PLAIN = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?")
_WHOLE = re.compile(r"\d{1,8}")
_NUMBERS = {
    "point": re.compile(
        r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d\d)+,\d{3}|\d+)(?:\.\d*)?|[+-]?\.\d+"
    ),  # also 1,23,456
    "comma": re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d*)?|[+-]?,\d+"),
}
_FORMULA = re.compile(r"[=@]|[+-][^\d.,+-]")
_CLOCK = r"(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9})\d*)?)?(?:\s*([AaPp])\.?[Mm]\.?)?"
_ZONE = r"\s*(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?"
_STAMP = re.compile(rf"(\d{{4}})[-/.](\d\d?)[-/.](\d\d?)(?:[ T]\s*{_CLOCK})?{_ZONE}")
_BASIC = re.compile(rf"(\d{{4}})(\d\d)(\d\d)T(\d\d)(\d\d)(?:(\d\d)(?:[.,](\d{{1,9}})\d*)?)?(){_ZONE}")
_MONTHS = {
    name: at
    for at, name in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1)
}
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_NAMED = re.compile(  # Thu, 01 Jan 2026 13:00:00 GMT and 01/Jan/2026:13:00:00 +0000, as mail and web servers write
    rf"(?:[a-z]{{3,9}}\.?,?\s+)?(\d\d?)[ /-]{_MONTH}[ /-](\d{{4}})(?:[ ,T:]+{_CLOCK})?{_ZONE}", re.IGNORECASE
)
_NAMED_FIRST = re.compile(  # Jan 15, 2026 13:00
    rf"(?:[a-z]{{3,9}}\.?,?\s+)?{_MONTH} +(\d\d?),? +(\d{{4}})(?:[ ,T]+{_CLOCK})?{_ZONE}", re.IGNORECASE
)
_TWO_DIGIT_YEAR = re.compile(r"\d\d?([./-])\d\d?\1\d\d(?:[ ,T].*)?")
_BARE = re.compile(r"[+-]?[\d.,]{1,30}")
_ENDS_WITH_ZONE = re.compile(
    r":\d\d(?:[.,]\d+)?\s*(?:[AaPp]\.?[Mm]\.?)?\s*(?:Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)$|T\d+(?:[.,]\d+)?Z$"
)
_TIME_OF_DAY = re.compile(rf"{_CLOCK}{_ZONE}")
_LOCAL = re.compile(rf"(\d\d?)([./-])(\d\d?)\2(\d{{4}})(?:[ ,T]+{_CLOCK})?{_ZONE}")

_SURE = {  # what only one style can have written
    "comma": re.compile(
        r"[+-]?(?:\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:\.\d{3})*,(?:\d{1,2}|\d{4,})|\d{4,},\d+|0\d*,\d+|\d{1,3}(?:\.\d{3})+,\d+)"
    ),
    "point": re.compile(
        r"[+-]?(?:\d{1,3}(?:,\d{3}){2,}|\d{1,2}(?:,\d\d)+,\d{3}|\d{1,3}(?:,\d{3})*\.(?:\d{1,2}|\d{4,})|\d{4,}\.\d+|0\d*\.\d+|\d{1,3}(?:,\d{3})+\.\d+)"
    ),
}
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")


def number_readings(text: str) -> tuple[float, ...]:
    """The values that a cell may mean, smallest first: ("173,900") -> (173.9, 173900.0)."""
    values = set()
    for decimal in ("point", "comma"):
        try:
            values.add(float(number(text, decimal)))
        except BadCell:
            continue
    return tuple(sorted(values))


@dataclass(frozen=True, slots=True)
class StyleEvidence:
    """Cells that only a decimal point, only a decimal comma, or either explains; an example of each."""

    point: str | None
    comma: str | None
    either: str | None


def style_evidence(cells: Iterable[str]) -> StyleEvidence:
    """Looks for evidence of how decimals are written."""
    point = comma = either = None
    for raw in cells:
        cell = raw.strip()
        if comma is None and _SURE["comma"].fullmatch(cell):
            comma = cell
        elif point is None and _SURE["point"].fullmatch(cell):
            point = cell
        elif either is None and _EITHER.fullmatch(cell):
            either = cell
    return StyleEvidence(point, comma, either)


def number(value: object, decimal: str = "point") -> float | int:
    """A finite number. Raises BadCell with not_a_number, not_finite or formula_cell."""
    if isinstance(value, bool) or value is None:
        raise BadCell("not_a_number", "A number is missing.")
    if isinstance(value, int | float):
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise BadCell("not_finite", "The number has more digits than any count has.")
        if not math.isfinite(value):
            raise BadCell("not_finite", f"{value} is not finite.")
        return value
    if not isinstance(value, str):
        raise BadCell("not_a_number", "Not a number.")
    text = value.strip().strip('"').strip()
    if decimal == "point" and _WHOLE.fullmatch(text):
        return int(text)
    if text.lower().lstrip("+-") in {"nan", "inf", "infinity"}:
        raise BadCell("not_finite", f"{text} is not finite.")
    if _FORMULA.match(text):
        raise BadCell("formula_cell", f"{_shown(text)} is a formula.")
    if len(text) > 40:
        raise BadCell("not_a_number", "Not a number.")
    for group in _GROUPS:
        if group in text:
            text = _without_groups(text, group)
    if _NUMBERS[decimal].fullmatch(text):
        plain = text.replace(",", "") if decimal == "point" else text.replace(".", "").replace(",", ".")
    elif decimal == "point" and _PLAIN.fullmatch(text):
        plain = text
    else:
        raise BadCell("not_a_number", f"{_shown(value)} is not a number.")
    return int(plain) if plain.lstrip("+-").isdecimal() else float(plain)


def tokens(value: object, decimal: str = "point") -> int:
    """A whole count of tokens from 0 to 10 million. Raises BadCell."""
    if type(value) is str and len(value) <= 6 and value.isdecimal():  # most cells
        return int(value)
    count = number(value, decimal)
    if count != int(count):
        raise BadCell("not_whole", f"{count} tokens is not a whole number.")
    if count < 0:
        raise BadCell("negative_tokens", f"{int(count)} tokens.")
    if count > MAX_TOKENS:
        raise BadCell("too_many_tokens", f"{int(count)} tokens are more than {MAX_TOKENS:,}.")
    return int(count)


def count(value: object, decimal: str = "point") -> int:
    """A whole count from 0 to 10^15, such as the tokens of a day. Raises BadCell."""
    amount = number(value, decimal)
    if amount != int(amount):
        raise BadCell("not_whole", f"{amount} is not a whole number.")
    if not 0 <= amount <= 10**15:
        raise BadCell("negative_tokens" if amount < 0 else "too_many_tokens", f"{int(amount)} is out of range.")
    return int(amount)


def offset_ns(value: object, unit_ns: int, decimal: str = "point") -> int:
    """A time as a number of units, in ns; exact where written as digits. Raises BadCell."""
    if isinstance(value, str) and decimal == "point":
        whole, dot, fraction = value.strip().partition(".")
        if dot and whole.isdecimal() and fraction.isdecimal() and len(whole) <= 19:
            digits = len(str(unit_ns)) - 1
            return _in_range(int(whole) * unit_ns + int((fraction + "0" * digits)[:digits] or "0"))
    count = number(value, decimal)
    if abs(count) > MAX_NS:
        raise BadCell("bad_time", "The time is out of range.")
    return _in_range(count * unit_ns if isinstance(count, int) else round(count * unit_ns))


def stamp_ns(text: str, dates: str | None = None) -> int:
    """A calendar time in ns since 1970, UTC where no zone is given; `dates`: how 01/02/2026 is read. Raises BadCell."""
    text = text.strip().strip('"').strip()
    known = _iso(text) or _with_month_name(text)
    if known:
        return _calendar_ns(*known)
    local = _LOCAL.fullmatch(text)
    if not local:
        if _TWO_DIGIT_YEAR.fullmatch(text):
            raise BadCell("bad_time", f"{_shown(text)} has a year of two digits; write it with four.")
        if _BARE.fullmatch(text):
            raise BadCell("bare_number", f"{_shown(text)} is a number, not a calendar time.")
        if _FORMULA.match(text):
            raise BadCell("formula_cell", f"{_shown(text)} is a formula.")
        raise BadCell("bad_time", f"{_shown(text)} is not a time.")
    first, _, second, year, *clock = local.groups()
    day, month = (second, first) if dates == "month_first" else (first, second)
    return _calendar_ns(int(year), int(month), int(day), clock)


_Calendar = tuple[int, int, int, list[str | None]]


def _iso(text: str) -> _Calendar | None:
    iso = _STAMP.fullmatch(text) or _BASIC.fullmatch(text)
    if not iso:
        return None
    year, month, day, *clock = iso.groups()
    return int(year), int(month), int(day), clock


def _with_month_name(text: str) -> _Calendar | None:
    if len(text) > 60:
        return None
    named = _NAMED.fullmatch(text)
    if named:
        day, month, year, *clock = named.groups()
    else:
        named = _NAMED_FIRST.fullmatch(text)
        if not named:
            return None
        month, day, year, *clock = named.groups()
    return int(year), _MONTHS[month.lower()], int(day), clock


def is_stamp(text: str) -> bool:
    """Whether a cell looks like a calendar time."""
    text = text.strip().strip('"')
    return bool(_iso(text) or _LOCAL.fullmatch(text) or _with_month_name(text))


def names_zone(text: str) -> bool:
    """Whether a calendar time says in which zone it is."""
    return bool(_ENDS_WITH_ZONE.search(text.strip().strip('"')))


def is_time_of_day(text: str) -> bool:
    """Whether a cell is a time of day without its day."""
    return bool(_TIME_OF_DAY.fullmatch(text.strip().strip('"')))


def is_day(text: str) -> bool:
    """Whether a cell is a calendar day without a time of day."""
    text = text.strip().strip('"')
    known = _iso(text) or _with_month_name(text)
    if known:
        return known[3][0] is None
    local = _LOCAL.fullmatch(text)
    return bool(local and local.group(5) is None)


def date_evidence(cells: Iterable[str]) -> tuple[bool, bool, bool, str | None]:
    """Of days written with the year last: some need day first, some need month first, dots seen, one that is open."""
    day_first = month_first = dots = False
    open_example: str | None = None
    for raw in cells:
        match = _LOCAL.fullmatch(raw.strip().strip('"'))
        if not match:
            continue
        first, mark, second = int(match.group(1)), match.group(2), int(match.group(3))
        dots |= mark == "."
        if first > 12:
            day_first = True
        elif second > 12:
            month_first = True
        elif open_example is None and first != second:
            open_example = raw.strip()
    return day_first, month_first, dots, open_example


def _calendar_ns(year: int, month: int, day: int, clock: list[str | None]) -> int:
    hour, minute, second, fraction, half, zone = clock
    days = _days(year, month, day)
    if half:
        if not 1 <= int(hour or 0) <= 12:
            raise BadCell("bad_time", "The time of day does not exist.")
        hour = str(int(hour or 0) % 12 + (12 if half in "Pp" else 0))
    if int(hour or 0) > 23 or int(minute or 0) > 59 or int(second or 0) > 60:
        raise BadCell("bad_time", "The time of day does not exist.")
    seconds = days * 86_400 + int(hour or 0) * 3_600 + int(minute or 0) * 60 + int(second or 0)
    if zone and zone[0] in "+-":
        digits = zone[1:].replace(":", "")
        shift = int(digits[:2]) * 3_600 + int(digits[2:] or "0") * 60
        seconds -= shift if zone[0] == "+" else -shift
    return _in_range(seconds * NS_PER_S + int(((fraction or "") + "000000000")[:9]))


@lru_cache(maxsize=1_000)
def _days(year: int, month: int, day: int) -> int:
    try:
        return date(year, month, day).toordinal() - date(1970, 1, 1).toordinal()
    except ValueError:
        raise BadCell("bad_time", f"{year}-{month}-{day} is not a day.") from None


def _without_groups(text: str, group: str) -> str:
    """Thousands set apart by a space or an apostrophe, if they are groups of three."""
    head, *rest = text.split(group)
    tail = re.split(r"[.,]", rest[-1])[0] if rest else ""
    groups = [*rest[:-1], tail]
    if not head.lstrip("+-").isdecimal() or any(len(g) != 3 or not g.isdecimal() for g in groups):
        raise BadCell("not_a_number", f"{_shown(text)} is not a number.")
    return text.replace(group, "")


def _in_range(ns: int) -> int:
    if abs(ns) > MAX_NS:
        raise BadCell("bad_time", "The time is out of range.")
    return ns


def printable(text: object, most: int = 80) -> str:
    """A text that can be shown, stored and encoded everywhere: no control characters or halves of characters."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text)[:most])


def _shown(value: object) -> str:
    text = printable(value, 41)
    return repr(text if len(text) <= 40 else text[:39] + "…")
