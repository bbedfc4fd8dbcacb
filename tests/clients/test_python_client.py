"""The Python client and its command against a live server."""

import contextlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_django.live_server_helper import LiveServer
from staircase_client import ApiError, Client, RunFailed, WaitTimeout, cli, http, is_genuine
from staircase_client.http import Answer

from planner import planning
from planner.api.openapi_runs import REPORT_KEYS
from planner.api.views import runs
from planner.api.views.service import OPENAPI_FILE
from planner.reports.tables import TABLES
from planner.runs.models import RequestPart, Run, State
from planner.webhooks import signing
from tests.factories import make_run, make_token, make_user, scenario_dict
from tests.load_tests import DEPLOYMENT
from tests.planner.api.flat import CALCULATIONS, QUESTION
from tests.planner.api.test_permissions import Things
from tests.planner.reports.example import example, infeasible_example

_DAY = "2026-11-01"
pytestmark = pytest.mark.django_db(transaction=True)
IMPOSSIBLE = scenario_dict(slo={"tpot_p95_ms": 1.5})


@pytest.fixture
def token() -> str:
    return make_token(make_user(), "run")[1]


@pytest.fixture
def client(live_server: LiveServer, token: str) -> Client:
    return Client(live_server.url, token)


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Ends every run that is waited for, with this report or in this state."""
    ends: dict[str, Any] = {"state": State.DONE, "report": planning.report_bytes(example()).decode()}
    monkeypatch.setattr(runs, "wait_while", lambda *_: Run.objects.update(**ends))
    return ends


def test_a_plan_is_waited_for_and_has_its_verdict(client: Client, worker: dict[str, Any]) -> None:
    seen: list[str] = []
    run = client.plan(scenario_dict(), idempotency_key="once")
    report = run.wait(on_progress=lambda run: seen.append(run.state))
    assert report.raw == example()
    assert report.verdict.sentence == str(report.verdict) == example()["verdict"]["sentence"]
    assert report.verdict.saving_usd_per_month == example()["verdict"]["saving_usd_per_month"]["mid"]
    assert report.recommended is not None
    assert report.recommended["id"] == example()["recommended"]["candidate"]
    assert report.values["usd_per_month"] == example()["cost"]["usd_per_month"]["mid"]
    assert report.values["ttft_p95_ms"] == report.recommended["slo"][0]["predicted"]
    sections = REPORT_KEYS.keys() - {"schema_version", "verdict", "recommended", "candidates"}
    assert {name: getattr(report, name) for name in sections} == {name: example().get(name) for name in sections}
    assert report.cost["usd_per_month"] == example()["cost"]["usd_per_month"]
    assert run.candidates == []
    assert seen == ["done"]
    assert client.plan(scenario_dict(), idempotency_key="once").id == run.id


def test_a_run_that_fails_or_lasts_says_so(client: Client, worker: dict[str, Any]) -> None:
    worker.update(state=State.FAILED, report="", failure={"code": "worker_lost", "detail": "Three workers died."})
    with pytest.raises(RunFailed, match="Three workers died"):
        client.plan(scenario_dict()).wait()
    worker.update(state=State.RUNNING, failure=None)
    with pytest.raises(WaitTimeout):
        client.plan(scenario_dict(seed=2)).wait(timeout_s=0.2)


def test_a_run_is_cancelled_and_listed(client: Client) -> None:
    run = client.plan(scenario_dict())
    run.cancel()
    assert run.refresh().state == "cancelled"
    assert [found.id for found in client.runs(state="cancelled")] == [run.id]
    assert list(client.runs(state="done")) == []
    assert client.run(run.id).raw == run.raw


def test_the_requests_behind_a_report(client: Client, worker: dict[str, Any]) -> None:
    run = client.plan(scenario_dict())
    run.wait()
    columns = {
        name: np.arange(1_200)
        for name in ("replica", "arrival_us", "first_token_us", "end_us", "prompt_tokens", "output_tokens")
    } | {name: np.zeros(1_200, int) for name in ("cached_tokens", "preemptions", "outcome", "judged")}
    for number, (requests, data) in enumerate(planning.RequestLog(columns).parts()):
        RequestPart.objects.create(run_id=run.id, number=number, requests=requests, data=data)
    found = list(run.requests(fields="request,arrival_s"))
    assert [row["request"] for row in found] == list(range(1_200))
    assert run.requests_csv().count(b"\r\n") == 1_201
    assert next(run.table("candidates"))["id"] == example()["candidates"][0]["id"]


def test_a_webhook_is_made_tested_and_ended(live_server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.webhooks.services.wake", lambda _: True)
    client = Client(live_server.url, make_token(make_user(), "write")[1])
    made = client.create_webhook("https://example.com/hook", events=["run.done"], name="Chat")
    assert client.ping_webhook(made["id"])["event"] == "ping"
    (listed,) = client.webhooks()
    assert listed["last_delivery"]["event"] == "ping"
    assert [row["state"] for row in client.deliveries(made["id"])] == ["pending"]
    assert client.enable_webhook(made["id"])["enabled"]
    client.delete_webhook(made["id"])
    assert list(client.webhooks()) == []
    with pytest.raises(ApiError, match="not public"):
        client.create_webhook("https://10.0.0.1/")


@pytest.fixture
def writer(live_server: LiveServer) -> Client:
    return Client(live_server.url, make_token(make_user(), "write")[1])


def test_versions_are_saved_on_top_of_what_was_seen(writer: Client) -> None:
    made = writer.create_scenario(scenario_dict(), note="first", tags=["eu"])
    saved = writer.save_version(made["id"], scenario_dict(seed=2), began_with=1)
    assert saved["number"] == 2
    with pytest.raises(ApiError) as conflict:
        writer.save_version(made["id"], scenario_dict(seed=3), began_with=1)
    assert (conflict.value.status, conflict.value.kind) == (412, "version-conflict")
    assert [row["number"] for row in writer.versions(made["id"])] == [2, 1]
    assert writer.version(made["id"], 1)["scenario"]["seed"] == 1
    assert writer.scenario(made["id"])["tags"] == ["eu"]
    changed = writer.diff(made["id"], **{"from": 1, "to": 2})
    assert "/seed" in json.dumps(changed)
    other = writer.create_scenario(scenario_dict(name="Other", seed=5))
    assert len(writer.compare(made["id"], f"{made['id']}:1", other["id"])["sides"]) == 3


def test_a_share_link_is_made_listed_and_ended(writer: Client, worker: dict[str, Any]) -> None:
    run = writer.plan(scenario_dict())
    run.wait()
    made = writer.create_share_link(run.id, name="Board")
    assert [row["id"] for row in writer.share_links()] == [made["id"]]
    writer.delete_share_link(made["id"])
    with pytest.raises(ApiError):
        writer.create_share_link("00000000-0000-0000-0000-000000000000")


def test_a_team_its_members_and_tokens(writer: Client, live_server: LiveServer) -> None:
    (team,) = writer.teams()
    (member,) = writer.members(team["id"])
    assert member["role"] == "owner"
    made = writer.create_token(team["id"], "read", name="Sheet")
    assert made["id"] in [row["id"] for row in writer.tokens(team["id"])]
    reader = Client(live_server.url, made["token"])
    with pytest.raises(ApiError) as refused:
        reader.create_scenario(scenario_dict())
    assert refused.value.status == 403
    writer.delete_token(team["id"], made["id"])
    with pytest.raises(ApiError) as unknown:
        list(reader.teams())
    assert unknown.value.status == 401


def test_every_operation_of_the_document_has_a_name(live_server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.webhooks.services.wake", lambda _: True)
    user, sent = make_user(), set()
    things = Things(user)
    report = json.dumps(example())
    Run.objects.filter(pk=things["run"]).update(state=State.DONE, report=report)

    def recording(method: str, url: str, *rest: Any) -> Answer:
        sent.add((method, url.partition("?")[0]))
        return http.send(method, url, *rest)

    client = Client(live_server.url, make_token(user, "write")[1], send=recording)
    team, scenario, colleague = str(things["team"]), str(things["scenario"]), things["user"]
    run = client.run(str(things["run"]))
    client.plan_saved(scenario, number=1, priced_at="2026-11-29").cancel()
    assert run.report().verdict.sentence
    assert [run.table(name) and list(run.table(name, limit=1))[:1] for name in TABLES]
    list(run.requests())
    for rows in (
        client.runs(), client.scenarios(), client.versions(scenario), client.comments(scenario), client.share_links(),
        client.link_tokens(), client.entries(), client.traces(), client.uploads(), client.teams(), client.members(team),
        client.invitations(team), client.tokens(team), client.audit(team), client.webhooks(),
        *(client.catalog(kind, limit=500) for kind in ("accelerators", "models", "gpu-prices")),
        client.catalog("api-prices", provider="groq"),
    ):  # fmt: skip
        list(rows)
    made = client.create_scenario(scenario_dict(name="Other", seed=9), tags=["eu"])["id"]
    client.save_version(made, scenario_dict(name="Other", seed=10), began_with=1)
    assert client.diff(made, from_=1, to=2)["differences"]
    assert client.version(made, 2)["number"] == client.scenario(made)["newest_number"]
    copy = client.copy_scenario(made, number=1, name="Copy")
    assert copy["name"] == "Copy"
    client.archive_scenario(copy["id"])
    assert copy["id"] in [row["id"] for row in client.scenarios(archived=True)]
    client.unarchive_scenario(copy["id"])
    assert client.set_tags(made, ["EU", "2027"]) == client.tags(made) == ["2027", "eu"]
    said = client.add_comment(made, "Looks right.")
    assert client.comment(made, said["id"])["text"] == "Looks right."
    client.delete_comment(made, said["id"])
    assert len(client.compare(made, f"{made}:1")["sides"]) == 2
    assert client.table("/comparisons", of=[made, f"{made}:1"]).startswith(b"part,name,")
    share = client.create_share_link(run.id)
    assert client.share_link(share["id"])["run_id"] == run.id
    client.delete_share_link(share["id"])
    link = client.create_link_token(name="Sheet", expires_in_days=3)
    assert client.link_token(link["id"])["name"] == "Sheet"
    client.delete_link_token(link["id"])
    client.validate(scenario_dict())
    client.estimate(scenario_dict())
    client.estimate_rows([QUESTION])
    client.cells(**QUESTION)
    for name, asked in CALCULATIONS.items():
        client.calculate(name, **asked)
    assert client.lesson([{"output_tokens": 3}], slots=1)["result"]["tokens"] == 3
    entry = client.save_entry("gpu-prices", {"gpu": "H100-SXM5-80GB", "usd_per_gpu_hour": 2}, source="C", as_of=_DAY)
    etag = client.etag(f"/catalog/entries/{entry['id']}")
    dearer = {"gpu": "H100-SXM5-80GB", "usd_per_gpu_hour": 3}
    client.change_entry(entry["id"], dearer, source="C", as_of=_DAY, if_match=etag)
    with pytest.raises(ApiError, match="changed since"):
        client.change_entry(entry["id"], dearer, source="C", as_of=_DAY, if_match=etag)
    assert client.entry(entry["id"])["value"] == dearer
    client.delete_entry(entry["id"])
    upload = client.upload_trace("Chat", b"0,20,5\n2,30,6\n")
    assert client.upload(upload["id"])["parts"] == 1
    assert client.preview_trace(upload["id"])["kind"] == "requests"
    trace = client.confirm_trace(upload["id"])
    assert client.trace(trace["id"])["requests"] == 2
    assert client.scenario_trace(trace["id"])["csv"].count("\n") == 3
    client.delete_trace(trace["id"])
    client.delete_upload(client.upload_trace("Other", b"1")["id"])
    client.change_team(
        team, name="Platform", defaults={"billing": {"spare_replicas": 2}}, if_match=client.etag(f"/teams/{team}")
    )
    assert client.team(team)["defaults"] == {"billing": {"spare_replicas": 2}}
    assert client.change_member(team, colleague, "viewer")["role"] == client.member(team, colleague)["role"] == "viewer"
    client.remove_member(team, colleague)
    asked_in = client.invite(team, "viewer", email="bob@example.com")
    assert client.invitation(team, asked_in["id"])["email"] == "bob@example.com"
    client.delete_invitation(team, asked_in["id"])
    token = client.create_token(team, "read")
    assert client.token(team, token["id"])["scope"] == "read"
    client.delete_token(team, token["id"])
    assert "run.started" in {row["action"] for row in client.audit(team)}
    calibration, measurement = str(things["calibration"]), str(things["measurement"])
    assert calibration in [row["id"] for row in client.calibrations()]
    assert client.calibration(calibration)["id"] == calibration
    for change in (client.use_calibration, client.drop_calibration):
        with pytest.raises(ApiError):  # it waits for a worker
            change(calibration)
    assert measurement in [row["id"] for row in client.measurements()]
    client.calibrate(measurement)
    kept = str(things["file"])
    list(client.measurement_uploads())
    client.preview_measurement(kept)
    client.confirm_measurement(kept, DEPLOYMENT)
    other = client.upload_measurement("Other", b"{}")
    assert client.measurement_upload(other["id"])["parts"] == 1
    client.delete_measurement_upload(other["id"])
    assert client.measurement(measurement)["id"] == measurement
    assert client.compare_measurement(measurement)["state"] == "waiting"
    assert client.name_plan(measurement, run_id=run.id)["plan"]["run_id"] == run.id
    client.leave_plan(measurement)
    with contextlib.suppress(ApiError):  # a calibration may rest on it
        client.delete_measurement(measurement)
    hook = client.create_webhook("https://example.com/hook")
    ping = client.ping_webhook(hook["id"])
    list(client.deliveries(hook["id"]))
    assert client.delivery(hook["id"], ping["id"])["body"]
    client.enable_webhook(hook["id"])
    client.webhook(hook["id"])
    client.delete_webhook(hook["id"])
    document = json.loads(OPENAPI_FILE.read_text())
    lacking = [
        (method, path)
        for path, operations in document["paths"].items()
        for method in operations
        if not any(
            method.upper() == used
            and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), url.removeprefix(live_server.url))
            for used, url in sent
        )
    ]
    assert lacking == []


def test_the_kinds_are_what_the_document_says() -> None:
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            "import client_kinds as c, json; print(c.text_of(json.loads(c.DOCUMENT.read_text())), end='')",
        ],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2] / "scripts",
    )
    kept = Path(__file__).parents[2] / "clients" / "python" / "staircase_client" / "kinds.py"
    assert said.stdout == kept.read_text(), "run: python scripts/client_kinds.py"


def test_a_receiver_knows_what_is_genuine() -> None:
    secret = signing.secret_text(b"k" * 32)
    now_s = int(time.time())
    headers = {
        "Webhook-Id": "a",
        "webhook-timestamp": str(now_s),
        "WEBHOOK-SIGNATURE": signing.signature(b"k" * 32, "a", now_s, b"{}"),
    }
    assert is_genuine(headers, b"{}", secret)
    assert not is_genuine(headers, b"{ }", secret)
    assert not is_genuine(headers, b"{}", signing.secret_text(b"l" * 32))
    assert not is_genuine(headers, b"{}", secret, at_most_s=-1)
    assert not is_genuine({**headers, "Webhook-Id": "b"}, b"{}", secret)
    assert not is_genuine({}, b"{}", secret)


def test_lists_go_through_all_pages(client: Client, token: str) -> None:
    assert len(list(client.catalog("models", limit=7))) == len(planning.catalog_listing("models", _priced_at()))
    prices = list(client.catalog("gpu-prices", gpu="H100-SXM5-80GB", priced_at="2026-11-30"))
    assert {row["gpu"] for row in prices} == {"H100-SXM5-80GB"}
    assert list(client.scenarios()) == []


def _priced_at() -> Any:
    return planning.parse_scenario(scenario_dict()).priced_at


def test_an_estimate_has_the_same_names(client: Client) -> None:
    found = client.estimate(scenario_dict())
    assert found.raw == planning.estimate_scenario(planning.parse_scenario(scenario_dict()))
    assert found.feasible
    assert found.recommended is not None
    assert found.values["usd_per_month"] == found.recommended["usd_per_month"]["mid"]
    assert 0 < found.values["utilisation_ratio"] < 1
    assert set(found.values) >= {"usd_per_mtok", "gpus", "ttft_p95_ms", "tpot_p95_ms"}
    assert client.estimate(IMPOSSIBLE).values == {}


def test_rows_cells_and_calculators(client: Client) -> None:
    good, bad = client.estimate_rows([QUESTION, {"model": "x"}], fields=["monthly_cost_usd"])
    cells = client.cells(**QUESTION)
    assert good["cells"] == {"monthly_cost_usd": cells["monthly_cost_usd"]}
    assert bad["cells"] is None
    assert bad["errors"]
    assert client.calculate("littles-law", **CALCULATIONS["littles-law"])["result"]["concurrency_p95"] == 22
    assert client.validate(scenario_dict())["scenario"]["seed"] == 1


def test_every_fault_comes_with_the_error(client: Client, live_server: LiveServer) -> None:
    with pytest.raises(ApiError) as caught:
        client.plan(scenario_dict(slo={"ttft_p95_ms": 1}, colour="red"))
    error = caught.value
    assert (error.status, error.kind, error.invalid) == (422, "invalid-scenario", True)
    assert {fault.pointer for fault in error.faults} == {"/slo/ttft_p95_ms", "/colour"}
    assert error.request_id
    with pytest.raises(ApiError) as caught:
        Client(live_server.url, "stc_wrong").estimate(scenario_dict())
    assert (caught.value.status, caught.value.invalid) == (401, False)


def test_a_server_that_is_not_there_is_told(token: str) -> None:
    with pytest.raises(ApiError, match="cannot reach") as caught:
        Client("http://127.0.0.1:9", token).validate({})
    assert caught.value.status == 0
    with pytest.raises(ValueError):
        Client("ftp://127.0.0.1", token)


def test_a_refusal_for_load_is_waited_out_and_sent_again() -> None:
    answers = [Answer(429, {"retry-after": "0"}, b"{}"), Answer(503, {"retry-after": "0"}, b""), Answer(200, {}, b"{}")]
    sent: list[str] = []

    def send(method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout_s: float) -> Answer:
        sent.append(method)
        return answers[len(sent) - 1]

    assert Client("http://x", "t", send=send).validate({}) == {}
    assert sent == ["POST"] * 3


def test_a_refusal_longer_than_the_patience_is_raised() -> None:
    def send(*_: Any) -> Answer:
        return Answer(429, {"retry-after": "61"}, b"{}")

    with pytest.raises(ApiError) as caught:
        Client("http://x", "t", send=send, timeout_s=60).validate({})
    assert caught.value.status == 429


def test_no_repr_shows_the_token(client: Client, token: str) -> None:
    assert token not in repr(client) + repr(vars(client))


@pytest.fixture
def command(
    live_server: LiveServer,
    token: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Any:
    """Runs the command on a scenario: its exit code, and what it printed."""
    monkeypatch.setenv("STAIRCASE_URL", live_server.url)
    monkeypatch.setenv("STAIRCASE_TOKEN", token)

    def run(kind: str, scenario: Any, *options: str) -> tuple[int, str, str]:
        file = tmp_path / "scenario.json"
        file.write_text(scenario if isinstance(scenario, str) else json.dumps(scenario))
        with pytest.raises(SystemExit) as ended:
            cli.main([kind, str(file), *options])
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run


def test_thresholds_that_hold_let_the_build_pass(command: Any, worker: dict[str, Any]) -> None:
    code, out, _ = command("plan", scenario_dict(), "--max", "ttft_p95_ms=800", "--max", "usd_per_mtok=2.5", "--json")
    found = json.loads(out)
    assert (code, found["exit"]) == (0, 0)
    assert [(item["name"], item["holds"]) for item in found["thresholds"]] == [
        ("ttft_p95_ms", True),
        ("usd_per_mtok", True),
    ]
    assert found["run"] == str(Run.objects.get().pk)
    assert found["values"]["gpus"] == example()["recommended"]["gpus"]


@pytest.mark.parametrize("limit", [["--max", "usd_per_mtok=0.01"], ["--min", "capacity_rps=1e6"]])
def test_a_threshold_that_is_exceeded_fails_the_build(command: Any, limit: list[str]) -> None:
    code, out, _ = command("estimate", scenario_dict(), *limit)
    assert code == 1
    assert "FAIL" in out


def test_a_value_that_this_plan_lacks_is_not_listed_as_one_that_it_has(command: Any) -> None:
    scenario = {name: part for name, part in scenario_dict().items() if name != "api"}
    code, _, told = command("estimate", scenario, "--max", "api_usd_per_month=5")
    assert code == 2
    lacks, _, there = told.partition("; there are ")
    assert lacks.endswith("api_usd_per_month has no value here")
    assert "usd_per_month" in there
    assert "api_usd_per_month" not in there


def test_a_mistyped_threshold_is_told_before_a_run_is_started(command: Any) -> None:
    code, _, told = command("plan", scenario_dict(), "--max", "ttft_p59_ms=800")
    assert code == 2
    assert told.startswith("there is no value ttft_p59_ms; there are ")
    assert not Run.objects.exists()


def test_no_candidate_has_a_code_of_its_own(command: Any, worker: dict[str, Any]) -> None:
    assert command("estimate", IMPOSSIBLE)[0] == 3
    worker["report"] = planning.report_bytes(infeasible_example()).decode()
    code, out, _ = command("plan", scenario_dict(), "--json")
    assert code == 3
    assert json.loads(out)["errors"][0]["detail"] == infeasible_example()["verdict"]["detail"]


@pytest.mark.parametrize(
    ("scenario", "options"),
    [
        (scenario_dict(colour="red"), []),
        ("{", []),
        ("[]", []),
        (scenario_dict(), ["--max", "ttft_p95_ms"]),
        (scenario_dict(), ["--max", "colour=1"]),
        (scenario_dict(), ["--url", "ftp://x"]),
    ],
)
def test_what_is_not_valid_is_told(command: Any, scenario: Any, options: list[str]) -> None:
    code, out, _ = command("estimate", scenario, *options, "--json")
    assert code == 2
    assert json.loads(out)["errors"]


def test_a_server_that_fails_is_no_fault_of_the_scenario(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command("estimate", scenario_dict(), "--url", "http://127.0.0.1:9")[0] == 4
    monkeypatch.setenv("STAIRCASE_TOKEN", "stc_wrong")
    assert command("estimate", scenario_dict())[0] == 4
    monkeypatch.delenv("STAIRCASE_TOKEN")
    assert command("estimate", scenario_dict())[0] == 2


def test_it_runs_as_a_module_and_needs_nothing_but_python(live_server: LiveServer, token: str) -> None:
    folder = Path(__file__).parents[2] / "clients" / "python"
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); from staircase_client.cli import main; main()"
    command = [sys.executable, "-I", "-S", "-c", code, "estimate", "-", "--url", live_server.url, "--json"]
    done = subprocess.run(command, input=json.dumps(scenario_dict()), env={"STAIRCASE_TOKEN": token}, text=True,
                          capture_output=True, timeout=60)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["values"]["gpus"] >= 1


def test_a_run_of_another_team_is_not_found(client: Client) -> None:
    other = make_run(make_user())
    with pytest.raises(ApiError) as caught:
        client.run(str(other.pk))
    assert caught.value.status == 404
