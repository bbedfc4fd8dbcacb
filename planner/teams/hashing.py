"""What is stored of a secret."""

import hashlib


def sha256_of(secret: str) -> str:
    """A plain hash is enough: the secrets are random and long, so guessing them is as hard as guessing the hash."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
