"""What page tests share: a team with one of everything, and the form as a browser would send it."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

from django.test import Client
from django.utils import timezone

from planner import planning
from planner.datasets.models import Calibration, CatalogEntry, Measurement, Trace, TraceUpload
from planner.reports.models import ShareLink
from planner.reports.share_links import share_link_create
from planner.runs.models import Run, State
from planner.runs.services import run_submit
from planner.scenarios.models import Comment, Scenario
from planner.scenarios.upkeep import comment_add
from planner.teams.invitations import invitation_create
from planner.teams.models import ApiToken, Invitation, LinkToken, Role, User
from planner.teams.services import link_token_create, token_create
from planner.web.drafts import draft_save
from planner.web.forms.values import values_of
from planner.web.models import Draft
from planner.webhooks.models import Event, Webhook
from planner.webhooks.services import webhook_create
from tests.factories import (
    add_member,
    make_calibration,
    make_entry,
    make_file,
    make_scenario,
    make_trace,
    make_upload,
    make_user,
    parsed_scenario,
    scenario_dict,
    team_of,
)
from tests.load_tests import bench_run, bench_serving
from tests.planner.reports.example import example

WEBHOOK_URL = "https://receiver.example/hook?key=of-the-receiver"


@dataclass(frozen=True)
class Office:
    """A team with an owner, an editor, a viewer and someone else, a scenario, a finished run and one that waits, a
    trace, a measurement, a calibration, files on their way in, a draft of the owner's, an open invitation, a token
    of each kind and a webhook."""

    owner: User
    editor: User
    viewer: User
    scenario: Scenario
    done: Run
    queued: Run
    trace: Trace
    upload: TraceUpload
    measurement: Measurement
    calibration: Calibration
    file: TraceUpload
    draft: Draft
    colleague: User
    invitation: Invitation
    token: ApiToken
    link_token: LinkToken
    share: ShareLink
    share_secret: str
    comment: Comment
    entry: CatalogEntry
    webhook: Webhook


def make_office() -> Office:
    owner = make_user()
    team = team_of(owner)
    version = make_scenario(owner)
    done = run_submit(team=team, user=owner, parsed=parsed_scenario(), scenario_version=version)
    done.state, done.report, done.progress_ratio = State.DONE, json.dumps(example()), 1.0
    done.started_at = done.finished_at = timezone.now()
    done.save()
    queued = run_submit(team=team, user=owner, parsed=parsed_scenario(seed=2))
    texts = form_data(name="Half typed")
    draft = draft_save(team=team, user=owner, draft_id=uuid.uuid4(), values=texts)
    share, secret = share_link_create(run=done, user=owner)
    colleague = add_member(team, Role.VIEWER)
    calibration = make_calibration(owner)
    return Office(
        owner=owner,
        editor=add_member(team, Role.EDITOR),
        viewer=add_member(team, Role.VIEWER),
        scenario=version.scenario,
        done=done,
        queued=queued,
        trace=make_trace(owner),
        upload=make_upload(owner),
        measurement=Measurement.objects.get(),
        calibration=calibration,
        file=make_file(owner, bench_serving(bench_run(2, tpot_ms=7.0, ttft_ms=50.0))),
        draft=draft,
        colleague=colleague,
        invitation=invitation_create(team=team, actor=owner, role=Role.VIEWER)[0],
        token=token_create(team=team, user=owner, scope="read", of_team=True)[0],
        link_token=link_token_create(team=team, user=owner)[0],
        share=share,
        share_secret=secret,
        comment=comment_add(scenario=version.scenario, user=owner, text="First."),
        entry=make_entry(owner),
        webhook=webhook_create(team=team, user=owner, url=WEBHOOK_URL, events=Event.values)[0],
    )


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def form_data(document: dict[str, Any] | None = None, **changes: str) -> dict[str, Any]:
    """The form of a scenario as a browser sends it; `changes` use double underscores for dots."""
    data: dict[str, Any] = dict(values_of(document or scenario_dict()))
    return data | {name.replace("__", "."): [value] for name, value in changes.items()}


def latest_document() -> dict[str, Any]:
    """The scenario that was saved last."""
    newest = Scenario.objects.order_by("-created_at").first()
    assert newest is not None
    body: dict[str, Any] = json.loads(newest.versions.latest("number").body)
    return body


def canonical(document: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(planning.canonical_json(planning.parse_scenario(document)))
    return body
