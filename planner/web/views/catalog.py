"""What the figures rest on: accelerators, models, rental prices and API prices with source, date and age."""

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from planner.web.access import Visit, for_team, page
from planner.web.catalog_tables import catalog_tables


@require_GET
@for_team
def catalog(request: HttpRequest, visit: Visit) -> HttpResponse:
    """All four lists on one page; `q` searches the API prices, of which there are thousands."""
    search = request.GET.get("q", "")[:100]
    context = {"lists": catalog_tables(timezone.now().date(), search), "search": search, "section": "catalog"}
    return page(request, "pages/catalog.html", visit, context)
