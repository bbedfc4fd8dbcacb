"""Callers of the API."""

from collections.abc import Iterator

import pytest
from django.core.cache import caches

from planner.teams.models import User
from tests.factories import make_token
from tests.planner.api.support import Api


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    """No limit is used up and no estimate is known when a test begins."""
    for name in ("default", "estimates"):
        caches[name].clear()
    yield
    for name in ("default", "estimates"):
        caches[name].clear()


@pytest.fixture
def api(user: User) -> Api:
    """`user` with a token that may do everything."""
    return Api(make_token(user)[1])
