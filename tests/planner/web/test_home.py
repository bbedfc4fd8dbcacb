import json

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.html import escape, strip_tags

from planner import planning
from planner.runs.models import Run, State
from planner.runs.sample import sample_submit
from planner.teams.models import User
from tests.factories import make_user
from tests.planner.reports.example import SECTIONS, example
from tests.planner.web.support import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def finished(user: User) -> Run:
    run = sample_submit(user=user)
    run.state, run.report, run.finished_at = State.DONE, json.dumps(example()), timezone.now()
    run.save()
    return run


def test_a_stranger_sees_the_question_and_where_to_start(client: Client) -> None:
    page = client.get("/").content.decode()
    assert "How many GPUs, and is it cheaper than the API?" in page
    for preset in planning.presets():
        assert f'href="/scenarios/new/?from={preset.id}"' in page
    assert "3,000 in, 340 out" in page
    assert client.get("/sample/")["Location"] == "/"


def test_a_stranger_reads_the_sample_report_once_there_is_one(client: Client, finished: Run) -> None:
    assert escape(example()["verdict"]["sentence"]) in strip_tags(client.get("/").content.decode())
    page = client.get("/sample/").content.decode()
    for title in SECTIONS:
        assert title in page
    for secret in (str(finished.pk), str(finished.team_id), finished.team.name, str(finished.created_by)):
        assert secret not in page


def test_what_a_team_made_of_the_sample_is_not_shown_to_strangers(client: Client, finished: Run) -> None:
    Run.objects.filter(pk=finished.pk).update(digest="of other prices")
    assert client.get("/sample/")["Location"] == "/"


def test_a_use_case_leads_a_stranger_through_signing_in_to_the_form(client: Client) -> None:
    answer = client.get("/scenarios/new/", {"from": "rag"})
    assert answer["Location"] == "/sign-in/?next=/scenarios/new/%3Ffrom%3Drag"


def test_a_new_team_sees_use_cases_and_the_sample_to_run(user: User) -> None:
    page = signed_in(user).get("/").content.decode()
    assert "Run the sample" in page
    assert "Start from a use case" in page
    other = make_user()
    assert "Start from a use case" in signed_in(other).get("/").content.decode()
