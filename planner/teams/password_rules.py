"""What a password must not be, beside Django's own rules: cheap to guess, or known from a breach."""

import hashlib
import re
from pathlib import Path

from django.conf import settings
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError

FEWEST_CHARACTERS = 5
CONTEXT_WORDS = ("staircase", "password", "passwort", "admin", "welcome", "login", "planner", "capacity", "letmein")
"""Words that people here would try first; docs/security.md lists them too."""
_ROWS = ("abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop", "qwertzuiop", "asdfghjkl", "zxcvbnm", "yxcvbnm")
_EDGES = re.compile(r"^[\W\d_]+|[\W\d_]+$")
_FEWEST_LEFT = 8


class NotEasilyGuessed:
    """Refuses few different characters, something short repeated, a run of keys or of the alphabet, a common password
    with digits or signs at its ends, and a context word with less than eight characters beside it."""

    def __init__(self) -> None:
        self._common = CommonPasswordValidator().passwords

    def validate(self, password: str, user: object = None) -> None:
        if len(set(password)) < FEWEST_CHARACTERS or self._is_simple(password.lower().strip()):
            raise ValidationError("This password is easy to guess.", code="password_easily_guessed")

    def _is_simple(self, text: str) -> bool:
        once = _once(text)
        core = _EDGES.sub("", once)
        left = once
        for word in CONTEXT_WORDS:
            left = left.replace(word, "")
        beside = len(set(_EDGES.sub("", left)))
        return (
            once in self._common
            or core in self._common
            or _is_run(once)
            or (left != once and beside < _FEWEST_LEFT)
            or (once != text and len(once) < _FEWEST_LEFT)
        )

    def get_help_text(self) -> str:
        return "Your password can't be a common word with digits, something short repeated, or a run of keys."


def _once(text: str) -> str:
    """What the text repeats: "abcabcab" is "abc" again and again."""
    for length in range(1, len(text) // 2 + 1):
        if (text[:length] * (len(text) // length + 1))[: len(text)] == text:
            return text[:length]
    return text


def _is_run(text: str) -> bool:
    """Whether the text is pieces of keyboard rows or of the alphabet, forwards or backwards, of three or more each."""
    rows = [row for known in _ROWS for row in (known * 2, known[::-1] * 2)]
    at = 0
    while at < len(text):
        length = next((n for n in range(len(text) - at, 2, -1) if any(text[at : at + n] in row for row in rows)), 0)
        if not length:
            return False
        at += length
    return True


class NotBreached:
    """Refuses passwords whose SHA-1 stands in PLANNER_BREACHED_PASSWORDS_FILE; without the file it refuses none."""

    def validate(self, password: str, user: object = None) -> None:
        path: Path | None = settings.BREACHED_PASSWORDS_FILE
        digest = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()
        if path is not None and stands_in(path, digest):
            raise ValidationError("This password is known from a breach elsewhere.", code="password_breached")

    def get_help_text(self) -> str:
        return "Your password can't be one that is known from a breach."


def stands_in(path: Path, digest: str) -> bool:
    """Whether a line of the ordered file begins with the digest: by halving, so that a file of 40 GB takes 40 looks.
    OSError: it cannot be read; no password is taken unlooked-at."""
    wanted = digest.encode()
    with path.open("rb") as file:
        low, high = 0, file.seek(0, 2)
        while low < high:  # the first line that begins at or after `low` and is not below the digest
            middle = (low + high) // 2
            file.seek(middle)
            if middle:
                file.readline()
            line = file.readline()
            if not line or line[: len(wanted)].upper() >= wanted:
                high = middle
            else:
                low = middle + 1
        file.seek(low)
        if low:
            file.readline()
        return file.readline()[: len(wanted)].upper() == wanted
