"""The parts that pages are put together from, as template tags over the plain values of `planner.reports.parts`."""

import re
from typing import Any

from django import template
from django.template.loader import get_template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from planner.reports import names, numbers, separators
from planner.reports.glossary import GLOSSARY
from planner.reports.marks import WIDTH, Mark
from planner.reports.parts import Chart, Fact, Figure, How, State, Table
from planner.scenarios.selectors import person
from planner.web.pictures import Picture
from planner.web.table_rows import rows_html

register = template.Library()

register.filter("gpu_name", names.gpu)
register.filter("model_name", names.model)
register.filter("engine_name", names.engine)
register.filter("provider_name", names.provider)
register.filter("person", person)

ICONS: dict[State, str] = {"yes": "check", "no": "x", "dash": "dash", "clock": "clock", "run": "run", "": ""}
_COUNTER = "_staircase_tips"


@register.inclusion_tag("parts/icon.html")
def icon(name: str, css: str = "") -> dict[str, Any]:
    """A shape of the icon file; always beside a word."""
    return {"name": name, "css": css}


@register.inclusion_tag("parts/mark.html")
def interval(mark: Mark | None, inline: bool = False) -> dict[str, Any]:
    """The interval mark."""
    return {"mark": mark, "inline": inline, "width": WIDTH}


@register.inclusion_tag("parts/term.html", takes_context=True)
def term(context: template.Context, key: str, text: str) -> dict[str, Any]:
    """A word with its meaning on hover and focus; a key without an entry is printed plain."""
    return {"text": text, "meaning": GLOSSARY.get(key), "id": f"tip-{_next(context)}"}


def _next(context: template.Context) -> int:
    request = context.get("request")
    count: int = getattr(request, _COUNTER, 0) + 1
    if request is not None:
        setattr(request, _COUNTER, count)
    return count


@register.inclusion_tag("parts/table.html", takes_context=True)
def table(context: template.Context, value: Table) -> dict[str, Any]:
    """A table whose rows become sheets on a narrow page."""
    inner = get_template("parts/cell.html").template  # type: ignore[attr-defined]
    shared = {"request": context.get("request")}
    rows = rows_html(value, lambda cell: inner.render(template.Context(shared | {"cell": cell})).strip())
    return {"table": value, "rows": rows}


@register.inclusion_tag("parts/chart.html", takes_context=True)
def chart(context: template.Context, value: Chart) -> dict[str, Any]:
    """A chart with its finding, legend, saving buttons and data table."""
    return {"chart": value, "request": context.get("request")}


@register.inclusion_tag("parts/figures.html", takes_context=True)
def figures(context: template.Context, values: tuple[Figure, ...]) -> dict[str, Any]:
    """A row of key figures."""
    return {"figures": values, "request": context.get("request")}


@register.inclusion_tag("parts/facts.html", takes_context=True)
def facts(context: template.Context, values: tuple[Fact, ...], start: bool = False) -> dict[str, Any]:
    """A key-value list."""
    return {"facts": values, "start": start, "request": context.get("request")}


@register.inclusion_tag("parts/picture.html")
def picture(value: Picture) -> dict[str, Any]:
    """A small picture with its figures as text."""
    return {"picture": value}


@register.inclusion_tag("parts/how.html")
def how(value: How | None) -> dict[str, Any]:
    """How a number was computed, as a small window behind a link."""
    return {"how": value}


@register.simple_tag
def number_marks() -> SafeString:
    """The reader's marks for scripts, on the page's root; nothing where they are English."""
    marks = separators.current()
    if marks is separators.ENGLISH:
        return SafeString()
    return format_html(' data-decimal="{}" data-group="{}"', marks.decimal, marks.group)


@register.filter
def state_icon(state: State) -> str:
    """The shape of a state."""
    return ICONS.get(state, "")


@register.filter
def whole_names(text: str) -> SafeString:
    """Text whose names with hyphens do not break in the middle where there is room for them."""
    words = re.split(r"(\S+-\S+)", text)
    return format_html_join(
        "",
        "{}",
        ((format_html('<span class="whole">{}</span>', word) if at % 2 else word,) for at, word in enumerate(words)),
    )


register.filter("tidy", numbers.tidy)
register.filter("as_typed", numbers.as_typed)
register.filter("plain_decimal", numbers.plain_decimal)


@register.filter
def usd(value: float | None, digits: int = 0) -> str:
    """Dollars with separators, whole ones unless digits are asked for; a dash when missing."""
    return numbers.usd(value, digits)


@register.filter
def unit_price(value: float | None) -> str:
    """The price of one unit, with the digits it has."""
    return numbers.unit_price(value)


@register.filter
def usd_signed(value: float | None) -> str:
    """A change in whole dollars with its sign."""
    return numbers.usd_signed(value)


@register.filter
def rps(value: float | None) -> str:
    """Requests per second to three figures."""
    return numbers.requests_per_s(value)


@register.filter
def figure(value: float | None) -> str:
    """Three significant figures."""
    return numbers.significant(value)


@register.filter
def whole(value: float | None) -> str:
    """A whole number with separators."""
    return numbers.number(value)
