"""The calculators: the lesson's own numbers, formulas in every answer, strict parameters."""

import csv
import io
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from costmodel import Parallelism, load_catalog, make_deployment, memory_plan
from planner.teams.models import User
from planner.teams.services import link_token_create
from tests.factories import team_of
from tests.planner.api.flat import CALCULATIONS
from tests.planner.api.support import Api, problem

GOLDEN = json.loads((Path(__file__).parents[2] / "simulator" / "golden_lesson.json").read_text())


def path(name: str, **changes: Any) -> str:
    return f"/calculators/{name}?{urlencode({**CALCULATIONS[name], **changes})}"


def result(api: Api, name: str, **changes: Any) -> dict[str, Any]:
    response = api.get(path(name, **changes))
    assert response.status_code == 200, response.content
    return dict(response.json()["result"])


def test_littles_law_of_the_lesson(api: Api) -> None:
    """2 a second for 7.675 s: 15.35 in the system, 22 at the 95th percentile."""
    assert result(api, "littles-law") == {"concurrency_mean": 15.35, "concurrency_p95": 22}


def test_an_empty_cell_in_an_address_counts_as_left_out(api: Api) -> None:
    assert result(api, "cost-per-mtok", utilisation_ratio="") == result(api, "cost-per-mtok", utilisation_ratio=1)
    (fault,) = problem(api.get(path("cost-per-mtok", usd_per_hour=" ")), 400, "invalid-parameter")["errors"]
    assert fault["code"] == "missing"
    (fault,) = problem(api.get(path("cost-per-mtok", usd_per_our="")), 400, "invalid-parameter")["errors"]
    assert fault["code"] == "unknown_parameter"


def test_a_month_s_tokens_of_another_mix_count_by_the_greater_side_and_say_so(api: Api) -> None:
    """100 M in and 100 M out of requests of 4,000 in and 500 out: 25,000 by the input, 200,000 by the output."""
    found = result(api, "monthly-requests")
    assert found["requests_per_month"] == found["implied_by_output"] == 200_000
    assert found["implied_by_input"] == 25_000
    assert found["mix_fits"] is False
    assert "25,000" in found["warning"]
    matching = result(api, "monthly-requests", output_tokens=12_500_000)
    assert (matching["requests_per_month"], matching["mix_fits"], matching["warning"]) == (25_000, True, "")


@pytest.mark.parametrize(("used", "usd"), [(1, 0.7407), (0.6, 1.2346), (0.3, 2.4691)])
def test_cost_per_million_of_the_lesson(api: Api, used: float, usd: float) -> None:
    assert result(api, "cost-per-mtok", utilisation_ratio=used)["usd_per_mtok"] == usd


def test_break_even_of_the_lesson(api: Api) -> None:
    """$4 an hour, 1,500 tokens/s, $1 per million: 2,920 M tokens a month, 74 % of what the replica can do."""
    found = result(api, "break-even")
    assert found["break_even_tokens_per_month"] == 2_920_000_000
    assert found["break_even_utilisation_ratio"] == pytest.approx(0.7407, abs=1e-4)
    assert found["usd_per_replica_month"] == 2920
    assert found["never"] is False
    assert "(1,111 tokens per second on average)" in found["sentence"]  # 2,920 M / (730 × 3,600 s), and no requests
    assert "requests" not in found["sentence"]


def test_an_api_that_is_cheaper_at_full_load_is_never_beaten(api: Api) -> None:
    found = result(api, "break-even", api_usd_per_mtok=0.7)
    assert (found["never"], found["break_even_tokens_per_month"]) == (True, None)


def test_kv_memory_by_hand(api: Api) -> None:
    """2 × 32 × 8 × 128 × 2 = 131,072 bytes a token; 1,000 tokens are 63 blocks of 16."""
    found = result(api, "kv-memory")
    assert found["kv_bytes_per_token"] == 131_072
    assert found["kv_bytes_per_sequence"] == pytest.approx(131_072 * 1008, rel=1e-5)
    assert found["kv_gib_per_gpu"] == pytest.approx(131_072 * 1008 * 10 / 2**30, rel=1e-5)
    assert result(api, "kv-memory", tp=16)["kv_bytes_per_token"] == 2 * 32 * 128 * 2


@pytest.mark.parametrize(
    "model", ["meta-llama/Llama-3.1-8B-Instruct", "deepseek-ai/DeepSeek-R1", "google/gemma-3-27b-it"]
)
def test_kv_memory_of_a_model_is_the_memory_plans(api: Api, model: str) -> None:
    catalog = load_catalog()
    deployment = make_deployment(catalog.model(model), catalog.accelerator("H200-SXM-141GB"), None, Parallelism(tp=8),
                                 max_model_len=4096)  # fmt: skip
    plan = memory_plan(deployment)
    found = result(api, "kv-memory-of-model", model=model, context_tokens=4096, tp=8)
    held = plan.kv_pool_bytes / found["kv_bytes_per_sequence"]
    assert held == pytest.approx(plan.concurrency_at(4096), rel=0.02)


@pytest.mark.parametrize("case", GOLDEN["step_simulator"], ids=lambda case: case["name"])
@pytest.mark.parametrize("policy", ["static", "continuous"])
def test_the_lesson_gives_its_golden_values(api: Api, case: dict[str, Any], policy: str) -> None:
    requests = [{"arrival_step": at, "output_tokens": tokens} for at, tokens in case["requests"]]
    body = {"slots": case["slots"], "policy": policy, "requests": requests}
    found = api.post("/calculators/lesson", body).json()
    for name, value in case[policy].items():
        own = "idle_ratio" if name == "idle_fraction" else name
        assert found["result"][own] == pytest.approx(value, rel=1e-5)
    assert len(found["result"]["spans"]) == len(requests)


@pytest.mark.parametrize("policy", ["chunked_prefill", "unchunked_prefill"])
def test_the_lesson_with_prompts_runs_too(api: Api, policy: str) -> None:
    requests = [{"output_tokens": 3, "prompt_tokens": 600}, {"output_tokens": 2}]
    found = api.post("/calculators/lesson", {"slots": 2, "policy": policy, "requests": requests}).json()
    assert found["result"]["tokens"] == 5
    assert found["formula"]


@pytest.mark.parametrize(
    "body",
    [
        {"slots": 0, "requests": [{"output_tokens": 1}]},
        {"slots": 1, "requests": []},
        {"slots": 1, "requests": [{"output_tokens": 0}]},
        {"slots": 1, "requests": [{"output_tokens": 1}], "policy": "magic"},
        {"slots": 1, "requests": [{"output_tokens": 10**9, "prompt_tokens": 1}] * 3, "policy": "unchunked_prefill"},
    ],
)
def test_a_lesson_that_cannot_be_run_is_refused(api: Api, body: dict[str, Any]) -> None:
    assert problem(api.post("/calculators/lesson", body), 422, "invalid-body")["errors"]


@pytest.mark.parametrize("name", CALCULATIONS)
def test_every_answer_has_its_formula_and_its_numbers(api: Api, name: str) -> None:
    body = api.get(path(name)).json()
    assert set(body) == {"formula", "worked", "result"}
    assert body["formula"]
    assert any(character.isdigit() for character in body["worked"])


@pytest.mark.parametrize("name", CALCULATIONS)
def test_as_a_cell_it_is_one_row_with_its_formula(api: Api, name: str) -> None:
    header, row = csv.reader(io.StringIO(api.get(path(name, format="csv")).content.decode()))
    assert header[-2:] == ["formula", "worked"]
    assert len(header) == len(row)
    bare = api.get(path(name, format="csv", fields=header[0], header=0))
    assert bare.content.decode() == row[0]


@pytest.mark.parametrize(
    ("name", "changes", "pointer"),
    [
        ("littles-law", {"arrival_rps": "x"}, "?arrival_rps"),
        ("littles-law", {"e2e_s": -1}, "?e2e_s"),
        ("littles-law", {"e2e_s": "nan"}, "?e2e_s"),
        ("littles-law", {"e2e_s": "inf"}, "?e2e_s"),
        ("cost-per-mtok", {"utilisation_ratio": 0}, "?utilisation_ratio"),
        ("cost-per-mtok", {"tokens_per_s": 0}, "?tokens_per_s"),
        ("break-even", {"colour": "red"}, "?colour"),
        ("kv-memory-of-model", {"model": "nonsense"}, "?model"),
        ("kv-memory-of-model", {"tp": 7}, "?tp"),
        ("kv-memory", {"context_tokens": 1.5}, "?context_tokens"),
    ],
)
def test_a_wrong_parameter_is_named(api: Api, name: str, changes: dict[str, Any], pointer: str) -> None:
    body = problem(api.get(path(name, **changes)), 400, "invalid-parameter")
    assert [fault["pointer"] for fault in body["errors"]] == [pointer]


def test_a_free_replica_is_cheaper_at_any_volume(api: Api) -> None:
    assert result(api, "break-even", usd_per_replica_hour=0)["always"] is True


def test_a_link_token_opens_the_calculators(user: User) -> None:
    text = link_token_create(team=team_of(user), user=user)[1]
    assert Api().get(path("littles-law", token=text)).status_code == 200
