"""What the figures rest on: accelerators, models, rental prices and API prices with source, date and age; the team's
own beside the public ones."""

import uuid
from collections import Counter

from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from planner import planning
from planner.datasets.models import CatalogEntry, EntryKind
from planner.datasets.own import entries_of, entry_delete, entry_save
from planner.teams.rules import Action
from planner.teams.selectors import owned_get
from planner.web.access import Visit, for_team, must, page
from planner.web.catalog_tables import TITLES, catalog_counts, catalog_list
from planner.web.own_forms import ENTRY_FORMS, EntryForm
from planner.web.team_forms import add_errors


@require_GET
@for_team
def catalog(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The list that `list` names, the first one without it; `q` searches it."""
    kind = request.GET.get("list", "accelerators")
    if kind not in TITLES:
        raise Http404
    return _page(request, visit, kind, ENTRY_FORMS[kind](auto_id=f"{kind}-%s"))


def _page(request: HttpRequest, visit: Visit, kind: str, form: EntryForm) -> HttpResponse:
    """The page of one list; `form` adds to it, or came back because something in it is wrong."""
    search, today = request.GET.get("q", "")[:100], timezone.now().date()
    entries = list(entries_of(visit.team))
    own = Counter(entry.kind for entry in entries)
    counts = catalog_counts(today)
    context = {
        "list": catalog_list(kind, today, search, entries),
        "tabs": [(name, title, counts[name] + own[name]) for name, title in TITLES.items()],
        "form": form,
        "entries": entries,
        "wrong": form.is_bound,
        "gpu_ids": [row["id"] for row in planning.catalog_listing("accelerators", today)],
        "search": search,
        "section": "catalog",
    }
    return page(request, "pages/catalog.html", visit, context, status=422 if form.is_bound else 200)


@require_POST
@for_team
def entry_add(request: HttpRequest, visit: Visit, kind: str) -> HttpResponse:
    """Keep a price, model or accelerator of the team's own; one of the same name is replaced."""
    must(visit, Action.EDIT)
    if kind not in ENTRY_FORMS:
        raise Http404
    form = ENTRY_FORMS[kind](request.POST, auto_id=f"{kind}-%s")
    if form.is_valid():
        given = form.cleaned_data
        try:
            entry_save(
                team=visit.team,
                actor=visit.user,
                kind=EntryKind(kind),
                value=form.value(),
                source=given["source"],
                as_of=given["as_of"],
            )
        except planning.ScenarioInvalid as invalid:
            form.show_errors(invalid)
        except ValidationError as refused:
            add_errors(form, refused)
        else:
            return redirect(_address(visit, kind))
    return _page(request, visit, kind, form)


@require_POST
@for_team
def entry_remove(request: HttpRequest, visit: Visit, entry_id: uuid.UUID) -> HttpResponse:
    """Forget an entry of the team's own."""
    must(visit, Action.EDIT)
    try:
        entry = owned_get(CatalogEntry, visit.team, entry_id)
    except CatalogEntry.DoesNotExist as missing:
        raise Http404 from missing
    entry_delete(entry=entry, actor=visit.user)
    return redirect(_address(visit, entry.kind))


def _address(visit: Visit, kind: str) -> str:
    return f"{reverse('catalog')}?list={kind}{visit.team_and}#own"
