"""What the figures rest on: accelerators, models, rental prices and API prices with source, date and age."""

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from planner.web.access import Visit, for_team, page
from planner.web.catalog_tables import catalog_tables


@require_GET
@for_team
def catalog(request: HttpRequest, visit: Visit) -> HttpResponse:
    """All four lists on one page."""
    context = {"lists": catalog_tables(timezone.now().date()), "section": "catalog"}
    return page(request, "pages/catalog.html", visit, context)
