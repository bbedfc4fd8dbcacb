"""Side by side: two to five scenarios, versions or runs; and the differences of two versions of one scenario."""

import uuid
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from planner.reports.compared import MOST, Compared, NotComparable, compared, read_refs
from planner.reports.comparison_view import comparison_view
from planner.reports.view import summary
from planner.scenarios.models import Scenario, ScenarioVersion
from planner.scenarios.selectors import version_get
from planner.web.access import Visit, for_team, page
from planner.web.differences import differences_table


@require_GET
@for_team
def compare(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The sides that the address names, by `of` as often as needed or once with commas."""
    texts = [text for given in request.GET.getlist("of") for text in given.split(",")]
    if not any(texts):
        return page(request, "pages/compare.html", visit, {"section": "scenarios", "most": MOST})
    try:
        sides = compared(visit.team, read_refs(texts))
    except NotComparable as error:
        context = {"section": "scenarios", "most": MOST, "problem": str(error)}
        return page(request, "pages/compare.html", visit, context, status=400)
    except KeyError as missing:
        raise Http404 from missing
    address = _address(visit, [str(side.ref) for side in sides])
    labels = [side.label for side in sides]
    context = {
        "section": "scenarios",
        "sides": [_side(visit, side, sides) for side in sides],
        "address": request.build_absolute_uri(address),
        "inputs": differences_table([side.document for side in sides], labels),
        "view": comparison_view(labels, [side.report for side in sides]),
    }
    return page(request, "pages/compare.html", visit, context)


def _side(visit: Visit, side: Compared, sides: tuple[Compared, ...]) -> dict[str, Any]:
    """A side, and the address of the comparison without it while two would be left."""
    others = [str(other.ref) for other in sides if other is not side]
    without = _address(visit, others) if len(others) > 1 else ""
    said = summary(side.report) if side.report else None
    return {"side": side, "said": said, "priced_at": side.document.get("priced_at", ""), "without": without}


def _address(visit: Visit, names: list[str]) -> str:
    """Names the team too: whoever gets the address may belong to several."""
    query = urlencode({"of": ",".join(names), "team": str(visit.team.pk)}, safe=",:")
    return f"{reverse('compare')}?{query}"


@require_GET
@for_team
def diff(request: HttpRequest, visit: Visit, scenario_id: uuid.UUID) -> HttpResponse:
    """Where two versions of a scenario differ; `from` and `to` are their numbers."""
    first, second = (_version(visit, scenario_id, request.GET.get(name, "")) for name in ("from", "to"))
    if first.number > second.number:
        first, second = second, first
    heads = [f"Version {version.number}" for version in (first, second)]
    context = {
        "section": "scenarios",
        "scenario": first.scenario,
        "first": first,
        "second": second,
        "table": differences_table([first.document, second.document], heads),
    }
    return page(request, "pages/scenario_diff.html", visit, context)


def _version(visit: Visit, scenario_id: uuid.UUID, number: str) -> ScenarioVersion:
    try:
        if number and not (number.isascii() and number.isdecimal() and len(number) < 10):
            raise Http404
        return version_get(visit.team, scenario_id, int(number) if number else None)
    except (ScenarioVersion.DoesNotExist, Scenario.DoesNotExist) as missing:
        raise Http404 from missing
