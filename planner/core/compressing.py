"""Compresses pages on their way out; files of styles and scripts are compressed once, ahead (see `static_storage`)."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class CompressPages(GZipMiddleware):
    """HTML alone, pages and parts of pages. An answer of the API keeps its bytes, so that its ETag stays a strong one,
    which `If-Match` needs; downloads are packed already or short.

    What is compressed beside what an attacker chose can be guessed by its length (BREACH). Here: form tokens are masked
    anew in each page, secrets are shown once, cookies do not go along with other sites' requests (SameSite=Lax), and
    Django pads each answer by a random length.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not response.get("Content-Type", "").startswith("text/html"):
            return response
        compressed: HttpResponseBase = super().process_response(request, response)
        return compressed
