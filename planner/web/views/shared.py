"""A report for whoever has its link: that page alone, without the team, its people or a way into it."""

import json

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from planner.core.limits import count_up
from planner.reports.sections import groups_of
from planner.reports.share_links import share_link_open
from planner.reports.view import report_view, summary

MOST_VIEWS_PER_MINUTE = 120
MOST_WRONG_PER_MINUTE = 30
HEADERS = {
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
    "Cache-Control": "private, no-store",
}


@require_GET
def report(request: HttpRequest, secret: str) -> HttpResponse:
    """The report of a living link. Unknown, expired and revoked ones look alike."""
    who = request.META.get("REMOTE_ADDR", "")
    link = share_link_open(secret)
    if link is None:
        count, wait_s = count_up(f"shared-wrong:{who}")
        return _too_many(request, wait_s) if count > MOST_WRONG_PER_MINUTE else _nothing(request)
    count, wait_s = count_up(f"shared:{link.pk}")
    if count > MOST_VIEWS_PER_MINUTE:
        return _too_many(request, wait_s)
    content = json.loads(link.run.report)
    shown = report_view(content, timezone.now().date())
    context = {
        "shared": True,
        "link": link,
        "report": shown,
        "groups": groups_of(shown),
        "summary": summary(content),
        "finished_at": link.run.finished_at,
    }
    return _headed(render(request, "pages/shared_report.html", context))


def _nothing(request: HttpRequest) -> HttpResponse:
    detail = "The link is not complete, has expired, or was withdrawn. Ask whoever sent it for a new one."
    return _message(request, 404, "This link shows nothing", detail)


def _too_many(request: HttpRequest, wait_s: int) -> HttpResponse:
    response = _message(request, 429, "Too many visits at once", f"Try again in {wait_s} seconds.")
    response["Retry-After"] = str(wait_s)
    return response


def _message(request: HttpRequest, status: int, title: str, detail: str) -> HttpResponse:
    context = {"status": status, "title": title, "detail": detail, "shared": True}
    return _headed(render(request, "pages/error.html", context, status=status))


def _headed(response: HttpResponse) -> HttpResponse:
    for name, value in HEADERS.items():
        response[name] = value
    return response
