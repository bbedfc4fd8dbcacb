"""GET /sheets/estimate: cells and rows, strict parameters, link tokens, caches."""

import csv
import io
import json
import logging
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from planner import planning
from planner.api.flat_scenario import PARAMETERS, Parameter
from planner.core.gunicorn_log import RedactingLogger
from planner.core.logging import RedactingFormatter
from planner.teams.models import LinkToken, User
from planner.teams.services import link_token_create, token_revoke
from tests.factories import make_token, make_user, scenario_dict, team_of
from tests.planner.api.flat import QUESTION, cell
from tests.planner.api.support import Api, problem


def table(response: Any) -> list[list[str]]:
    assert response.status_code == 200, response.content
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.reader(io.StringIO(response.content.decode())))


def link_of(user: User, **fields: Any) -> str:
    return link_token_create(team=team_of(user), user=user, **fields)[1]


def test_csv_is_one_header_and_one_row(api: Api) -> None:
    header, row = table(api.get(cell()))
    assert header == list(planning.ESTIMATE_COLUMNS)
    assert len(row) == len(header)
    assert dict(zip(header, row, strict=True))["candidate"] == "H100-SXM5-80GB/tp1"


def test_json_is_the_same_row(api: Api) -> None:
    found = api.get(cell(format="json")).json()
    header, row = table(api.get(cell(format="csv")))
    assert list(found) == header
    for name, text in zip(header, row, strict=True):
        shown = "" if found[name] is None else found[name] if isinstance(found[name], str) else json.dumps(found[name])
        assert text == shown


def test_it_is_the_estimate_of_the_scenario_that_the_parameters_say(api: Api) -> None:
    document = scenario_dict(
        traffic={
            "arrival": {"kind": "gamma", "mean_rps": 2, "cv": 2},
            "shape": {"kind": "diurnal", "peak_to_mean": 2.4},
            "prompt_tokens": {"kind": "lognormal", "mean": 600, "p95": 1500},
            "output_tokens": {"kind": "fixed", "tokens": 200},
            "prefix": {"kind": "shared", "groups": 1, "tokens": 100},
        },
        hardware={
            "gpus": ["H100-SXM5-80GB"],
            "tensor_parallel": [1, 2],
            "price_overrides": {"H100-SXM5-80GB": {"usd_per_gpu_hour": 3.2}},
        },
        api={"alternatives": [{"provider": "groq", "model": "llama-3.1-8b-instant"}]},
        billing={"spare_replicas": 0, "hours_per_month": 720},
    )
    path = cell(cv=2, peak_to_mean=2.4, prompt_tokens_p95=1500, prefix_tokens=100, tp="1,2", usd_per_gpu_hour=3.2,
                api_provider="groq", api_model="llama-3.1-8b-instant", spare_replicas=0, hours_per_month=720,
                format="json")  # fmt: skip
    assert api.get(path).json() == planning.estimate_cells(planning.parse_scenario(document))


def test_one_field_without_header_is_a_bare_value(api: Api) -> None:
    response = api.get(cell(fields="monthly_cost_usd", header=0))
    whole = api.get(cell(format="json")).json()
    assert float(response.content) == whole["monthly_cost_usd"]
    assert response.content == response.content.strip()


def test_fields_keep_the_order_asked_for(api: Api) -> None:
    assert table(api.get(cell(fields="gpus,feasible")))[0] == ["gpus", "feasible"]
    assert list(api.get(cell(fields="gpus,feasible", format="json")).json()) == ["gpus", "feasible"]


@pytest.mark.parametrize(
    ("changes", "pointers"),
    [
        ({"colour": "red"}, {"?colour"}),
        ({"rps": "x"}, {"?rps"}),
        ({"rps": ""}, {"?rps"}),
        ({"model": None, "rps": None}, {"?model", "?rps"}),
        ({"ttft_p95_ms": None, "tpot_p95_ms": None}, {"?ttft_p95_ms"}),
        ({"ttft_p95_ms": 1, "rps": -1}, {"?ttft_p95_ms", "?rps"}),
        ({"gpu": "H100"}, {"?gpu"}),
        ({"gpu": "Foo", "usd_per_gpu_hour": 3}, {"?gpu"}),
        ({"usd_per_gpu_hour": "dear"}, {"?usd_per_gpu_hour"}),
        ({"prompt_tokens_p95": 100}, {"?prompt_tokens_p95"}),
        ({"prefix_tokens": 700}, {"?prefix_tokens"}),
        ({"api_provider": "groq"}, {"?api_model"}),
        ({"tp": "a"}, {"?tp"}),
        ({"cv": 99, "peak_to_mean": 0.5}, {"?cv", "?peak_to_mean"}),
        ({"fields": "colour,,gpus"}, {"?fields"}),
        ({"fields": "gpus,gpus"}, {"?fields"}),
        ({"header": 2}, {"?header"}),
        ({"format": "xml"}, {"?format"}),
        ({"model": "x" * 201}, {"?model"}),
    ],
)
def test_a_wrong_parameter_is_named(api: Api, changes: dict[str, Any], pointers: set[str]) -> None:
    body = problem(api.get(cell(**changes)), 400, "invalid-parameter")
    assert {fault["pointer"] for fault in body["errors"]} == pointers


@pytest.mark.parametrize("name", ["rps", "prompt_tokens", "ttft_p95_ms", "usd_per_gpu_hour", "seed", "cv"])
def test_a_decimal_comma_is_refused_in_so_many_words(api: Api, name: str) -> None:
    (fault,) = problem(api.get(cell(**{name: "2,5"})), 400, "invalid-parameter")["errors"]
    assert fault["pointer"] == f"?{name}"
    assert "decimal point" in fault["detail"]
    assert "2,5" in fault["detail"]


def test_a_calculator_refuses_a_decimal_comma_too(api: Api) -> None:
    (fault,) = problem(api.get("/calculators/littles-law?arrival_rps=2,5&e2e_s=1"), 400, "invalid-parameter")["errors"]
    assert (fault["pointer"], "decimal point" in fault["detail"]) == ("?arrival_rps", True)


def test_a_parameter_given_twice_is_refused(api: Api) -> None:
    problem(api.get(cell() + "&rps=3"), 400, "invalid-parameter")


def test_what_cannot_be_is_an_answer_not_an_error(api: Api) -> None:
    found = api.get(cell(model="deepseek-ai/DeepSeek-R1", format="json")).json()
    assert (found["feasible"], found["fits"], found["monthly_cost_usd"]) == (False, False, None)
    assert found["reason_code"] == "weights_exceed_gpu_memory"


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.name)
def test_the_example_of_every_parameter_is_accepted(api: Api, parameter: Parameter) -> None:
    company = {"api_provider": "groq", "api_model": "llama-3.1-8b-instant"} if "api" in parameter.name else {}
    response = api.get(cell(**{**company, parameter.name: parameter.example}))
    assert response.status_code == 200, response.content


def test_asking_again_gives_304_and_refresh_changes_nothing(api: Api) -> None:
    first = api.get(cell())
    assert first["Cache-Control"] == "private, max-age=60"
    assert api.get(cell(refresh=5), If_None_Match=first["ETag"]).status_code == 304
    assert api.get(cell(rps=3), If_None_Match=first["ETag"]).status_code == 200


def test_a_link_token_opens_the_cell_and_no_referrer_leaks_it(user: User) -> None:
    response = Api().get(cell(token=link_of(user)))
    assert table(response)
    assert response["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("end", ["revoked", "expired", "left", "inactive", "wrong", "garbage", "api token", "twice"])
def test_a_dead_link_is_no_link(user: User, end: str) -> None:
    text = link_of(user)
    path = cell(token=text)
    if end == "revoked":
        token_revoke(token=LinkToken.objects.get())
    elif end == "expired":
        LinkToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif end == "left":
        user.memberships.all().delete()
    elif end == "inactive":
        User.objects.update(is_active=False)
    elif end == "wrong":
        path = cell(token=text[:-1] + ("0" if text[-1] != "0" else "1"))
    elif end == "garbage":
        path = cell(token="stl_\x00_é")
    elif end == "api token":
        path = cell(token=make_token(user)[1])
    else:
        path += f"&token={text}"
    problem(Api().get(path), 401, "not-authenticated")


@pytest.mark.parametrize("path", ["/runs", "/scenarios", "/sheets/links", "/catalog/models"])
def test_a_link_opens_nothing_but_sheets(user: User, path: str) -> None:
    assert Api().get(f"{path}?token={link_of(user)}").status_code == 401


def test_a_link_token_is_no_api_token(user: User) -> None:
    problem(Api(link_of(user)).get("/runs"), 401, "not-authenticated")


def test_the_secret_is_kept_only_as_a_hash(user: User) -> None:
    secret = link_of(user).rpartition("_")[2]
    assert len(secret) == 32
    assert secret not in {str(value) for value in vars(LinkToken.objects.get()).values()}


def test_the_links_of_the_team_are_made_shown_and_revoked(api: Api, user: User) -> None:
    made = api.post("/sheets/links", {"name": "Budget", "expires_in_days": 30})
    assert made.status_code == 201
    body = made.json()
    assert made["Location"] == f"/api/v1/sheets/links/{body['id']}"
    assert Api().get(cell(token=body["token"])).status_code == 200
    (shown,) = api.get("/sheets/links").json()["items"]
    assert shown["name"] == "Budget"
    assert shown["last_used_at"] is not None
    assert "token" not in shown
    assert api.delete(f"/sheets/links/{body['id']}").status_code == 204
    assert api.delete(f"/sheets/links/{body['id']}").status_code == 204
    assert api.get("/sheets/links").json()["items"] == []
    problem(Api().get(cell(token=body["token"])), 401, "not-authenticated")


def test_another_teams_link_is_not_there(api: Api) -> None:
    other = make_user()
    link_of(other)
    problem(api.delete(f"/sheets/links/{LinkToken.objects.get().pk}"), 404, "not-found")
    problem(api.delete(f"/sheets/links/{10**30}"), 404, "not-found")


@pytest.mark.parametrize(
    "body",
    [{"expires_in_days": 0}, {"expires_in_days": "x"}, {"name": "n" * 121}, {"name": "a\x00b"}, {"x": 1}],
)
def test_a_wrong_link_request_is_refused(api: Api, body: dict[str, Any]) -> None:
    problem(api.post("/sheets/links", body), 422, "invalid-body")


def test_no_log_line_shows_the_link(user: User, caplog: pytest.LogCaptureFixture) -> None:
    """Django's log of a refused request, and gunicorn's lines, which hold the whole address."""
    text = link_of(user)
    secret = text.rpartition("_")[2]
    with caplog.at_level(logging.DEBUG):
        Api().get(cell(token=text, colour="red"))
        Api().get(cell(token=text + "0"))
    formatter = RedactingFormatter("%(message)s")
    assert caplog.records
    assert not any(secret in formatter.format(record) for record in caplog.records)


def test_gunicorn_hides_secrets_too() -> None:
    from gunicorn.config import Config

    config = Config()
    config.set("accesslog", "-")
    logger = RedactingLogger(config)
    for log in (logger.error_log, logger.access_log):
        record = log.makeRecord("g", logging.INFO, "f", 1, "GET /x?token=stl_0123456789ab_00ff HTTP/1.1", (), None)
        lines = [handler.format(record) for handler in log.handlers]
        assert lines
        assert all("00ff" not in line and "token=***" in line for line in lines)


def test_a_cell_costs_few_queries(user: User, django_assert_max_num_queries: Any) -> None:
    path = cell(token=link_of(user))
    Api().get(path)
    with django_assert_max_num_queries(5):  # the link, the team's own entries and defaults, its calibrations
        assert Api().get(path).status_code == 200


def test_the_question_of_these_tests_is_a_sheets_question() -> None:
    assert set(QUESTION) <= {parameter.name for parameter in PARAMETERS}
