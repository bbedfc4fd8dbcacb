"""Whatever is posted, the answer is a run or a problem, never a failure of the server."""

import copy
import json
from typing import Any

import pytest
from django.utils.http import urlencode
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.api.openapi_examples import SCENARIO as EXAMPLE_SCENARIO
from tests.planner.api.support import Api

pytestmark = pytest.mark.django_db

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["", "\x00", "\ud800", "=1", "9" * 400, "H100", "vllm", 0, -1, 1e308, 2**63, "2026-11-30"])
)
_JSON = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below: list[tuple[Any, ...]] = []
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            below += [(*path, key), *_places(item, (*path, key))]
    return below


@st.composite
def _mutated(draw: st.DrawFn) -> dict[str, Any]:
    """The example with up to three of its places replaced, removed or joined by a stranger."""
    scenario = copy.deepcopy(EXAMPLE_SCENARIO)
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from(_places(scenario)))
        here = scenario
        for step in path:
            here = here[step]
        match draw(st.sampled_from(["replace", "remove", "add"])):
            case "replace":
                here[last] = draw(_JSON)
            case "remove":
                del here[last]
            case _ if isinstance(here, dict):
                here[draw(st.text(max_size=8))] = draw(_JSON)
        if not _places(scenario):
            break
    return scenario


_once = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _holds(response: Any) -> None:
    if response.status_code == 202:
        assert response["Location"]
        return
    assert response.status_code in (400, 413, 422), response.content
    assert response["Content-Type"] == "application/problem+json"
    body = json.loads(response.content)
    assert body["errors"]
    assert all(len(fault["given"]) <= 80 for fault in body["errors"])


@pytest.fixture(autouse=True)
def _no_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.api.throttles._per_minute", lambda name: 10**9)


@_once
@given(scenario=_mutated())
def test_a_mutated_scenario(api: Api, scenario: dict[str, Any]) -> None:
    _holds(api.post("/runs", json.dumps(scenario)))


@_once
@given(document=_JSON)
def test_any_json(api: Api, document: Any) -> None:
    _holds(api.post("/runs", json.dumps(document)))
    _holds(api.post("/runs", json.dumps({"scenario_version": document})))


@_once
@given(body=st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes(api: Api, body: bytes) -> None:
    _holds(api.post("/runs", body))


@_once
@given(
    query=st.dictionaries(
        st.sampled_from(["limit", "cursor", "state", "wait", "format", "x"]), st.text(max_size=12), min_size=1
    )
)
def test_any_query(api: Api, query: dict[str, str]) -> None:
    response = api.get(f"/runs?{urlencode({key: value.encode('utf-8', 'replace') for key, value in query.items()})}")
    assert response.status_code in (200, 400)
