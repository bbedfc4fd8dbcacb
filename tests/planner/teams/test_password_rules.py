import hashlib
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from planner.teams.models import User
from planner.teams.password_rules import stands_in


@pytest.mark.parametrize(
    "password",
    [
        "aaaaaaaaaaaa",
        "abababababab",
        "dragondragon",
        "dragon123456",
        "123456dragon!",
        "qwertyuiop123",
        "abcdefghijkl",
        "321fedcba987",
        "Staircase2026!",
        "staircaseadmin",
        "welcome2026!!",
        "person@example.com",
        "      password",
    ],
)
def test_easy_passwords_are_refused(password: str) -> None:
    with pytest.raises(ValidationError):
        validate_password(password, User(email="person@example.com"))


@pytest.mark.parametrize(
    "password",
    [
        "correct horse battery staple",
        "vU8#kQz!m2Lp",
        "schöne grüne welt",
        "the staircase to nine gardens",
        "密码很长但是没有人知道它吧",
        "x" * 8 + "abcdefghi zu 77" * 8,
    ],
)
def test_any_composition_is_taken(password: str) -> None:
    validate_password(password, User(email="person@example.com"))


def test_breached_passwords_are_refused_where_the_list_is_given(tmp_path: Path, settings: Any) -> None:
    known = [
        "correct horse battery staple",
        "a completely different phrase",
        *(f"phrase number {i}" for i in range(500)),
    ]
    digests = sorted(hashlib.sha1(text.encode()).hexdigest().upper() for text in known)
    path = tmp_path / "hashes.txt"
    path.write_text("".join(f"{digest}:{count}\r\n" for count, digest in enumerate(digests)))
    assert all(stands_in(path, digest) for digest in digests)
    assert not any(stands_in(path, hashlib.sha1(f"no {i}".encode()).hexdigest().upper()) for i in range(300))
    settings.BREACHED_PASSWORDS_FILE = path
    with pytest.raises(ValidationError, match="breach"):
        validate_password("correct horse battery staple")
    validate_password("correct horse battery stable")
    settings.BREACHED_PASSWORDS_FILE = tmp_path / "gone.txt"
    with pytest.raises(OSError, match="gone"):
        validate_password("correct horse battery stable")
