"""What a simulated server makes of prompts: a token is four bytes of UTF-8.

Every message of a chat begins with four tokens for its role, and so does the answer that is to come. Four bytes are
near what English text takes in the vocabularies of today's models. Equal beginnings are equal tokens, so that a prefix
cache finds them, answers of earlier turns included.
"""

from __future__ import annotations

from collections.abc import Iterable

TOKEN_BYTES = 4
ROLE_TOKENS = 4
_KEY_MASK = (1 << 62) - 1


def of_text(text: str) -> bytes:
    """A text as tokens."""
    data = text.encode("utf-8", "surrogatepass")
    return data + b"\0" * (-len(data) % TOKEN_BYTES)


def of_messages(messages: Iterable[tuple[str, str]]) -> bytes:
    """A chat of (role, content) as tokens, ending where the assistant begins."""
    return b"".join(_role(role) + of_text(content) for role, content in messages) + _role("assistant")


def of_ids(ids: Iterable[int]) -> bytes:
    """Numbers of tokens, each below 2^32."""
    return b"".join(number.to_bytes(TOKEN_BYTES, "little") for number in ids)


def count(tokens: bytes) -> int:
    """How many they are."""
    return len(tokens) // TOKEN_BYTES


def block_keys(tokens: bytes, block_size: int) -> list[int]:
    """Names of the full blocks: each stands for the block and all before it."""
    size, key, keys = block_size * TOKEN_BYTES, 0, []
    for start in range(0, len(tokens) - size + 1, size):
        key = hash((key, tokens[start : start + size])) & _KEY_MASK
        keys.append(key)
    return keys


def _role(role: str) -> bytes:
    size = ROLE_TOKENS * TOKEN_BYTES
    return f"<|{role}|>".encode("utf-8", "surrogatepass")[:size].ljust(size, b"\n")
