"""Where a price list is fetched from: `FORMAT=ADDRESS`, `skypilot:CLOUD=ADDRESS` for the lists of one cloud each."""

from __future__ import annotations

import re
from dataclasses import dataclass

FORMATS = ("skypilot", "gpuhunt", "genai-prices")
LICENCES = {"skypilot": "Apache-2.0", "gpuhunt": "MPL-2.0", "genai-prices": "MIT"}
_PROVIDER = re.compile(r"[a-z0-9-]{1,40}")


class FeedInvalid(ValueError):  # noqa: N818 - the name says what happened
    """A price list, or where it is to be had, that cannot be read; the message is for people."""


@dataclass(frozen=True, slots=True)
class Feed:
    """A list and what it holds. provider: whose prices, where the list itself does not say (SkyPilot, bare CSV)."""

    format: str
    provider: str
    address: str = ""

    @property
    def kind(self) -> str:
        """`api` or `gpu` prices."""
        return "api" if self.format == "genai-prices" else "gpu"

    @property
    def name(self) -> str:
        """Short, without the address: what a refresh is called."""
        return f"{self.format}:{self.provider}" if self.provider else self.format

    @property
    def licence(self) -> str:
        """Under which the list is published."""
        return LICENCES[self.format]


def parse_feed(text: str) -> Feed:
    """`genai-prices=https://…`, `gpuhunt=https://…/catalog.zip`, `skypilot:aws=https://…/vms.csv`; the address may be
    left out. FeedInvalid: it is none of these."""
    head, _, address = text.strip().partition("=")
    format_, _, provider = head.partition(":")
    if format_ not in FORMATS:
        raise FeedInvalid(f"{text.strip()!r}: a list is one of {', '.join(FORMATS)}")
    if provider and not _PROVIDER.fullmatch(provider):
        raise FeedInvalid(f"{text.strip()!r}: a provider has small letters, digits and hyphens")
    if format_ == "skypilot" and not provider:
        raise FeedInvalid(f"{text.strip()!r}: name the cloud whose list it is, as in skypilot:aws")
    if format_ == "genai-prices" and provider:
        raise FeedInvalid(f"{text.strip()!r}: genai-prices lists all providers at once")
    return Feed(format_, provider, address)
