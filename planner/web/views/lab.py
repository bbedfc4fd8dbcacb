"""The lab: open to everyone, since it holds nothing of a team, so that a link to a state works for whoever gets it."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from planner.web.access import NoTeam, Visit, page, visit_of
from planner.web.lab import batching, idling, pool, prefill, prefix, queue
from planner.web.lab.examples import links
from planner.web.lab.query import read


@require_GET
def lab(request: HttpRequest) -> HttpResponse:
    """Every part in the state that the address says; 422 where a field of it is wrong."""
    query, wrong = read(request.GET.dict())
    context = {
        "section": "lab",
        "query": query,
        "links": links(request.GET, query),
        "batching": batching.part(query, wrong),
        "prefill": prefill.part(query, wrong),
        "pool": pool.part(query, wrong),
        "prefix": prefix.part(query, wrong),
        "queue": queue.part(query, wrong),
        "idling": idling.part(query, wrong),
    }
    faulty = any(context[name].fault for name in ("batching", "prefill", "pool", "prefix", "queue", "idling"))  # type: ignore[attr-defined]
    return page(request, "pages/lab.html", _visit(request), context, status=422 if faulty else 200)


def _visit(request: HttpRequest) -> Visit | None:
    """Someone in no team may learn too."""
    try:
        return visit_of(request)
    except NoTeam:
        return None
