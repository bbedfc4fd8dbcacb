"""What the browser finds: a person, a team, and runs in each state."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from django.utils import timezone

from planner.datasets.models import Calibration, Measurement, Trace, TraceUpload
from planner.planning.price_feeds import Feed
from planner.prices.models import PriceRefresh
from planner.prices.services import refresh_read
from planner.reports.share_links import share_link_create
from planner.runs.models import Run, State
from planner.runs.services import run_submit, version_run
from planner.scenarios.services import scenario_edit
from planner.scenarios.upkeep import comment_add, scenario_tag
from planner.teams.invitations import invitation_create
from planner.teams.models import Role, User
from planner.teams.passwords import password_link_create
from planner.teams.services import link_token_create, token_create
from planner.webhooks.models import Delivery
from planner.webhooks.services import webhook_create, webhook_pause
from tests.factories import (
    PASSWORD,
    add_member,
    make_calibration,
    make_entry,
    make_file,
    make_scenario,
    make_trace,
    make_upload,
    make_user,
    parsed_scenario,
    team_of,
)
from tests.load_tests import bench_serving
from tests.planner.reports.example import example, infeasible_example
from tests.price_lists import skypilot

RECEIVER = "https://receiver.example/hook"
EXAMPLE = Path(__file__).parent.parent / "planner" / "reports" / "report_example.json"


@dataclass(frozen=True)
class World:
    """One team at work."""

    user: User
    done: Run
    running: Run
    infeasible: Run
    trace: Trace
    upload: TraceUpload
    share_secret: str
    invitation_secret: str
    password_secret: str
    newcomer: User
    measurement: Measurement
    calibration: Calibration
    file: TraceUpload
    refresh: PriceRefresh
    password: str = PASSWORD


def _price_list() -> PriceRefresh:
    """A list that waits, with a change that needs a look."""
    data = skypilot("p5.48xlarge,H100,8,192,2048,us-east-1,,48,,", "g6.xlarge,L4,1,4,16,us-east-1,,9,,")
    return refresh_read(data=data, feed=Feed("skypilot", "aws"), source="vms.csv", as_of=date(2026, 11, 30))


def build_world() -> World:
    """A done run with the example report, one that nothing satisfies, and one under way with its first candidates."""
    user = make_user("ada@example.com", name="Ada")
    running = _run(user, "Chat, twice the load", _under_way(example()["candidates"]))
    infeasible = _run(user, "Contract review", _finished(infeasible_example()))
    done = _run(user, "Azure conversation hour", _finished(example()))
    rows = "".join(f"{at * 0.7},{200 + at % 90 * 7},{20 + at % 50}\n" for at in range(400)).encode()
    trace = make_trace(user, rows)
    upload = make_upload(user, rows + b"x,1,1\n", name="Support, a week in November.csv")
    _, secret = share_link_create(run=done, user=user, name="The board")
    _at_work(done, user)
    _around_it(user)
    _, invitation = invitation_create(team=team_of(user), actor=user, role=Role.EDITOR)
    password = password_link_create(person=user, actor=user, team=team_of(user))
    newcomer = make_user("newcomer@example.com", name="Noor")
    calibration = make_calibration(user)
    measurement = Measurement.objects.get(team=team_of(user))
    file = make_file(user, bench_serving())
    links, files = (secret, invitation, password), (trace, upload)
    about = (measurement, calibration, file, _price_list())
    return World(user, done, running, infeasible, *files, *links, newcomer, *about)


def _around_it(user: User) -> None:
    """Members, a price of the team's own, tokens, and webhooks that were answered, refused and paused."""
    team, now = team_of(user), timezone.now()
    add_member(team, Role.VIEWER)
    make_entry(user)
    token_create(team=team, user=user, scope="read", name="Nightly check")
    link_token_create(team=team, user=user, name="Budget sheet")
    answers = {"Builds": ("delivered", 204, ""), "Chat": ("failed", 500, "The receiver answered 500.")}
    for name, (state, status, error) in answers.items():
        hook, _ = webhook_create(team=team, user=user, url=RECEIVER, events=["run.done"], name=name)
        sent = Delivery(webhook=hook, event="run.done", body="{}", due_at=now)
        sent.state, sent.status, sent.error = state, status, error
        sent.save()
    webhook_pause(webhook=webhook_create(team=team, user=user, url=RECEIVER, events=["run.failed"])[0], actor=user)


def _cheaper(report: dict[str, Any]) -> dict[str, Any]:
    """The same fleet at four fifths of the price."""
    for row in (*report["break_even"]["curve"], report["cost"]["usd_per_month"]):
        for key in row.keys() & {"self_host_usd_per_month", "low", "mid", "high"}:
            row[key] *= 0.8
    for point in report["curves"]:
        point["ttft_p95_ms"] = point["ttft_p95_ms"] and point["ttft_p95_ms"] * 0.9
    return report


def _at_work(run: Run, user: User) -> None:
    """A second version by a colleague, tags, and a talk about it."""
    assert run.scenario_version is not None
    scenario, colleague = run.scenario_version.scenario, add_member(run.team)
    User.objects.filter(pk=colleague.pk).update(name="Grace")
    slo = {"ttft_p95_ms": 800, "tpot_p95_ms": 40}
    parsed = parsed_scenario(name=scenario.name, slo=slo, hardware={"gpus": ["H100-SXM5-80GB", "H200-SXM-141GB"]})
    scenario_edit(scenario=scenario, user=colleague, parsed=parsed, base_number=1, note="Tighter, as sales promised")
    faster = version_run(version=scenario.versions.latest("number"), user=colleague)
    _finished(_cheaper(example()))(faster)
    faster.save()
    scenario_tag(scenario=scenario, user=user, names=["budget 2027", "eu"])
    comment_add(scenario=scenario, user=colleague, text="The peak is the one of last March.\nIs that still right?")
    comment_add(scenario=scenario, user=user, text="Yes; the new product starts in May only.")


def _run(user: User, name: str, change: Callable[[Run], None]) -> Run:
    version = make_scenario(user, name=name)
    run = run_submit(team=team_of(user), user=user, parsed=parsed_scenario(name=name), scenario_version=version)
    change(run)
    run.save()
    return run


def _finished(report: dict[str, Any]) -> Callable[[Run], None]:
    def change(run: Run) -> None:
        run.state, run.progress_ratio, run.report = State.DONE, 1.0, json.dumps(report)
        run.started_at = run.finished_at = timezone.now()

    return change


def _under_way(candidates: list[dict[str, Any]]) -> Callable[[Run], None]:
    def change(run: Run) -> None:
        run.state, run.progress_ratio, run.stage = State.RUNNING, 0.62, "capacity of H100-SXM5-80GB, TP4"
        run.partial, run.started_at = candidates[1:5], timezone.now()

    return change
