"""For whom a page is made: numbers in pages have the marks of the reader's language, as the browser names it."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

from planner.reports.separators import reading_with, separators_of

MACHINES = "/api/"


class NumbersOfTheReader:
    """Whatever is answered as HTML is said to depend on the language, so that nobody keeps it for another reader. What
    programs ask for has dot decimals, whoever asks; so have files, which are written without these marks."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith(MACHINES):
            return self.get_response(request)
        with reading_with(separators_of(request.headers.get("Accept-Language", ""))):
            response = self.get_response(request)
        if response.get("Content-Type", "").startswith("text/html"):
            patch_vary_headers(response, ("Accept-Language",))
        return response
