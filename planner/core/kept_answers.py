"""Answers that take a while, kept under a key in the cache "estimates": packed JSON, which any cache can hold."""

import json
import zlib
from typing import Any

from django.core.cache import caches


def find_answer(key: str) -> dict[str, Any] | None:
    """What was kept under this key; None where it never was, or is no longer."""
    packed = caches["estimates"].get(key)
    if packed is None:
        return None
    answer: dict[str, Any] = json.loads(zlib.decompress(packed))
    return answer


def keep_answer(key: str, answer: dict[str, Any]) -> None:
    """Keeps a document of plain JSON values. A key must cover all that the answer depends on: nothing is taken back."""
    caches["estimates"].set(key, zlib.compress(json.dumps(answer, ensure_ascii=False).encode(), 1))
