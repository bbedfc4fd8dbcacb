"""Callers of the API."""

from collections.abc import Iterator

import pytest
from django.core.cache import cache

from planner.teams.models import User
from tests.factories import make_token
from tests.planner.api.support import Api


@pytest.fixture(autouse=True)
def _fresh_limits() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def api(user: User) -> Api:
    """`user` with a token that may do everything."""
    return Api(make_token(user)[1])
