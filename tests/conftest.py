"""Fixtures for every room."""

from pathlib import Path

import pytest

from planner.teams.models import User
from tests.factories import make_user

PURE_ROOMS = ("costmodel", "simulator")
DATABASE_FIXTURES = {"db", "transactional_db", "live_server"}
ROOT = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        room = item.path.relative_to(ROOT).parts[0] if item.path.is_relative_to(ROOT) else ""
        asked = DATABASE_FIXTURES & set(getattr(item, "fixturenames", ()))
        if room in PURE_ROOMS and (asked or item.get_closest_marker("django_db")):
            raise pytest.UsageError(f"{item.nodeid}: tests of {room} must not use the database")


@pytest.fixture
def user(db: None) -> User:
    """Someone with a personal team."""
    return make_user()
