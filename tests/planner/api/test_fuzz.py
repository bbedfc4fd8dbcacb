"""Whatever is posted, the answer is a run or a problem, never a failure of the server."""

import copy
import json
import math
from typing import Any

import pytest
from django.utils.http import urlencode
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.api.flat_scenario import PARAMETERS
from planner.api.openapi_examples import SCENARIO as EXAMPLE_SCENARIO
from tests.planner.api.flat import CALCULATIONS, QUESTION
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
_MODELS = [
    "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.3-70B-Instruct",
    "deepseek-ai/DeepSeek-R1",
    "google/gemma-3-27b-it",
    "Qwen/Qwen3-30B-A3B",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "Qwen/Qwen2.5-0.5B",
]
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


_PARAMETERS = [*(parameter.name for parameter in PARAMETERS), "fields", "header", "format", "colour"]
_NUMBERS = ["", "0", "-1", "1e308", "nan", "inf", "9" * 400, "1,2", "٣", "1_000", " 2 "]
_ODD = [*_NUMBERS, "any", "csv", "json", "H100", "=1", "\x00"]
_TEXTS = st.text(max_size=12) | st.sampled_from(_ODD)
_ASKED = sorted({name for query in CALCULATIONS.values() for name in query} | {"tp", "spare_replicas", "fields"})


def _address(path: str, query: dict[str, Any]) -> str:
    return f"{path}?{urlencode({name: str(value).encode('utf-8', 'replace') for name, value in query.items()})}"


def _is_row_or_problem(response: Any) -> None:
    assert response.status_code in (200, 400), response.content
    if response.status_code == 400:
        assert response["Content-Type"] == "application/problem+json"
        errors = json.loads(response.content)["errors"]
        assert errors
        assert all(fault["pointer"].startswith("?") for fault in errors), errors


@_once
@given(changes=st.dictionaries(st.sampled_from(_PARAMETERS), _TEXTS, max_size=3))
def test_any_cell(api: Api, changes: dict[str, str]) -> None:
    _is_row_or_problem(api.get(_address("/sheets/estimate", {**QUESTION, **changes})))


def _log_floats(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(lambda power: float(f"{math.exp(power):.6g}"))


_TOKENS = _log_floats(1, 30_000).map(lambda value: max(1, round(value)))
_POSSIBLE = st.fixed_dictionaries(
    {
        "model": st.sampled_from(_MODELS),
        "gpu": st.sampled_from(["L4", "T4", "A100-SXM4-80GB", "H100-SXM5-80GB,H200-SXM-141GB", "B200"]),
        "rps": _log_floats(1e-4, 1e4),
        "prompt_tokens": _TOKENS,
        "output_tokens": _TOKENS,
        "ttft_p95_ms": _log_floats(5, 3_600_000),
    },
    optional={
        "tpot_p95_ms": _log_floats(1, 10_000),
        "e2e_p99_ms": _log_floats(5, 3_600_000),
        "goodput_min_ratio": st.floats(0.01, 0.9999),
        "cv": _log_floats(0.05, 20),
        "peak_to_mean": st.floats(1, 20),
        "prefix_tokens": _TOKENS,
        "usd_per_gpu_hour": _log_floats(0.001, 10_000),
        "spare_replicas": st.integers(0, 1_000),
        "weight_dtype": st.sampled_from(["native", "bf16", "fp8", "w4a16"]),
        "max_model_len": st.integers(16, 100_000),
    },
)


@_once
@given(question=_POSSIBLE)
def test_any_question_that_makes_sense(api: Api, question: dict[str, Any]) -> None:
    """The closed form answers at every corner, and its figures hold together."""
    response = api.get(_address("/sheets/estimate", {**question, "format": "json", "priced_at": "2026-11-30"}))
    _is_row_or_problem(response)
    if response.status_code == 400:
        return
    cells = response.json()
    assert cells["feasible"] == (cells["reason_code"] is None) == (cells["monthly_cost_usd"] is not None)
    if cells["feasible"]:
        assert cells["fits"]
        assert 0 < cells["capacity_rps"] <= cells["saturation_rps"] * 1.001
        assert cells["capacity_low_rps"] <= cells["capacity_rps"] <= cells["capacity_high_rps"]
        assert cells["monthly_cost_low_usd"] <= cells["monthly_cost_high_usd"]
        assert cells["utilisation_ratio"] <= 1.001
        assert cells["replicas"] == cells["serving_replicas"] + question.get("spare_replicas", 1)


@_once
@given(name=st.sampled_from(list(CALCULATIONS)), changes=st.dictionaries(st.sampled_from(_ASKED), _TEXTS, max_size=3))
def test_any_calculation(api: Api, name: str, changes: dict[str, str]) -> None:
    _is_row_or_problem(api.get(_address(f"/calculators/{name}", {**CALCULATIONS[name], **changes})))


@_once
@given(data=st.data(), name=st.sampled_from(["littles-law", "cost-per-mtok", "break-even"]))
def test_any_numbers_that_a_calculator_takes(api: Api, data: st.DataObject, name: str) -> None:
    numbers = {key: data.draw(st.floats(0, 1e12) | _log_floats(1e-6, 1e6)) for key in CALCULATIONS[name]}
    _is_row_or_problem(api.get(_address(f"/calculators/{name}", numbers)))


@_once
@given(rows=st.lists(st.dictionaries(st.sampled_from(_PARAMETERS), _JSON, max_size=3), min_size=1, max_size=3))
def test_any_rows(api: Api, rows: list[dict[str, Any]]) -> None:
    response = api.post("/estimates/batch", json.dumps({"rows": [{**QUESTION, **row} for row in rows]}))
    if response.status_code != 200:
        _holds(response)
        return
    for answer in response.json()["rows"]:
        assert (answer["cells"] is None) == bool(answer["errors"])


@_once
@given(scenario=_mutated())
def test_an_estimate_of_a_mutated_scenario(api: Api, scenario: dict[str, Any]) -> None:
    response = api.post("/estimates", json.dumps(scenario))
    if response.status_code != 200:
        _holds(response)
        return
    assert response.json()["method"] == "closed_form"


_STEPS = st.dictionaries(
    st.sampled_from(["arrival_step", "output_tokens", "prompt_tokens"]), st.integers(0, 10**10), max_size=3
)


@_once
@given(body=_JSON | st.fixed_dictionaries({"slots": _JSON, "requests": st.lists(_STEPS, max_size=3)}))
def test_any_lesson(api: Api, body: Any) -> None:
    response = api.post("/calculators/lesson", json.dumps(body))
    if response.status_code != 200:
        _holds(response)
