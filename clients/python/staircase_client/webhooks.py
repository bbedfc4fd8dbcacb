"""Checks what a webhook received."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping


def is_genuine(headers: Mapping[str, str], body: bytes, secret: str, *, at_most_s: float = 300) -> bool:
    """Whether a request came from the server, unchanged, within `at_most_s`.

    headers: of the request, in any case. body: the bytes as they came. secret: whsec_…, as the webhook was made with.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        stamp = int(given["webhook-timestamp"])
        signed = f"{given['webhook-id']}.{stamp}.".encode() + body
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        shown = given["webhook-signature"]
    except (KeyError, ValueError):
        return False
    right = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return abs(time.time() - stamp) <= at_most_s and hmac.compare_digest(right.encode(), shown.encode())
