"""Secrets and signatures of webhooks, in the form of standardwebhooks.com, for which receivers have libraries.

A secret is shown once and stored nowhere: it is HMAC-SHA256 of the webhook's random salt under a key derived from
SECRET_KEY. Whoever reads the database alone cannot sign; whoever changes SECRET_KEY ends all secrets, which the stored
SHA-256 tells.
"""

import base64
import hashlib
import hmac
import secrets

from django.utils.crypto import salted_hmac

MARK = "whsec_"
_PURPOSE = "planner.webhooks.secret"


def new_salt() -> str:
    """128 random bits."""
    return secrets.token_hex(16)


def secret_of(salt: str) -> bytes:
    """The 32 bytes that sign."""
    return salted_hmac(_PURPOSE, salt, algorithm="sha256").digest()


def secret_text(secret: bytes) -> str:
    """As receivers are given it: `whsec_` and the bytes in base64."""
    return MARK + base64.b64encode(secret).decode()


def secret_sha256(secret: bytes) -> str:
    """Says whether a secret is still the one that was shown."""
    return hashlib.sha256(secret).hexdigest()


def signature(secret: bytes, delivery_id: str, timestamp_s: int, body: bytes) -> str:
    """`v1,` and HMAC-SHA256, in base64, of `id.timestamp.body`."""
    signed = f"{delivery_id}.{timestamp_s}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
