"""A team's traces: files in parts, previews, one import of the same file, and what is kept of people."""

import gzip
import json
from datetime import timedelta

import pytest
from django.utils import timezone

from planner.datasets import services
from planner.datasets.models import Trace, TraceUpload, UploadPart
from planner.datasets.selectors import trace_fields
from planner.datasets.services import (
    UploadRefused,
    trace_delete,
    upload_add,
    upload_begin,
    upload_confirm,
    upload_delete,
    upload_preview,
)
from planner.planning import parse_scenario
from planner.planning.importers import Answers, ImportRefused
from planner.teams.audit import audit_events_of
from tests.factories import make_trace, make_upload, make_user, scenario_dict, team_of
from tests.planning.importers import samples

pytestmark = pytest.mark.django_db


def refused(action, **arguments):
    with pytest.raises(UploadRefused) as caught:
        action(**arguments)
    return caught.value.code


def test_parts_of_any_size_make_the_file(user):
    data = gzip.compress(samples.AZURE.encode())
    upload = upload_begin(team=team_of(user), user=user, name="Azure")
    for number, start in enumerate(range(0, len(data), 7), 1):
        upload = upload_add(upload=upload, number=number, data=data[start : start + 7])
    assert upload.size_bytes == len(data)
    assert upload_preview(upload=upload, answers=Answers())["reading"]["format"] == "azure_llm_trace"
    done = upload_confirm(upload=upload, answers=Answers())
    assert done.is_new
    assert done.trace.requests == 3
    assert trace_fields(done.trace)["csv"].splitlines()[1:3] == ["0.000000000,374,44", "4.314579000,396,109"]
    assert not TraceUpload.objects.exists()
    assert not UploadPart.objects.exists()


def test_parts_lose_what_they_say_about_people_when_they_are_looked_at(user):
    text = "ts_s,wer,prompt_tokens,output_tokens,prompt\n0,ann,5,6,SECRET\n1,bob,7,8,SECRET\n2,ann,7,8,SECRET\n"
    upload = make_upload(user, text.encode())
    again = make_upload(user, gzip.compress(text.encode()))
    assert upload_preview(upload=upload, answers=Answers())["reading"]["rows"]["used"] == 3
    kept = bytes(UploadPart.objects.get(upload=upload).data)
    assert kept == b"ts_s,wer,prompt_tokens,output_tokens,prompt\n0,#1,5,6,\n1,#2,7,8,\n2,#1,7,8,\n"
    assert refused(upload_add, upload=upload, number=2, data=b"3,bob,1,1,\n") == "wrong_part"
    confirmed = upload_confirm(upload=upload, answers=Answers())
    assert confirmed.is_new
    assert upload_confirm(upload=again, answers=Answers()).trace.requests == 3
    assert not UploadPart.objects.exists()


def test_what_nothing_can_make_readable_is_not_kept(user):
    upload = make_upload(user, b"%PDF-1.7 ann\0\1" * 50)
    with pytest.raises(ImportRefused):
        upload_preview(upload=upload, answers=Answers())
    assert not UploadPart.objects.exists()
    assert upload_add(upload=upload, number=1, data=b"0,1,1\n1,2,2\n").parts == 1


def test_the_requests_of_a_trace_are_a_scenarios_trace(user):
    trace = make_trace(user, "".join(f"{i},200,50\n" for i in range(40)).encode())
    traffic = {"trace": trace_fields(trace), "shape": {"kind": "constant"}}
    assert parse_scenario(scenario_dict(traffic=traffic)).traffic.trace.csv == trace_fields(trace)["csv"]


def test_the_same_file_twice_is_one_import(user):
    first = make_trace(user)
    again = upload_confirm(upload=make_upload(user, b"0,20,5\n2,30,6\n", "Another name"), answers=Answers())
    assert (again.trace.pk, again.is_new) == (first.pk, False)
    other_team = upload_confirm(upload=make_upload(make_user(), b"0,20,5\n2,30,6\n"), answers=Answers())
    assert other_team.is_new
    assert other_team.trace.digest == first.digest
    other_answers = upload_confirm(upload=make_upload(user, b"0,20,5\n2,30,6\n"), answers=Answers(time_unit="ms"))
    assert other_answers.is_new


def test_parts_come_in_order_and_the_last_may_come_again(user):
    upload = make_upload(user, b"0,1,1\n")
    assert upload_add(upload=upload, number=1, data=b"0,1,1\n").parts == 1
    assert refused(upload_add, upload=upload, number=1, data=b"other") == "wrong_part"
    assert refused(upload_add, upload=upload, number=3, data=b"x") == "wrong_part"
    assert refused(upload_add, upload=upload, number=0, data=b"x") == "wrong_part"


def test_a_name_can_be_stored_everywhere(user):
    assert upload_begin(team=team_of(user), user=user, name="a\0b").name == "a\N{REPLACEMENT CHARACTER}b"


def test_bounds(user, monkeypatch):
    monkeypatch.setattr(services, "MAX_PART_BYTES", 10)
    monkeypatch.setattr(services, "MAX_UPLOAD_BYTES", 15)
    upload = make_upload(user, b"0123456789")
    assert refused(upload_add, upload=upload, number=2, data=b"x" * 11) == "part_too_large"
    assert refused(upload_add, upload=upload, number=2, data=b"x" * 6) == "upload_too_large"
    for _ in range(services.MAX_OPEN_UPLOADS - 1):
        make_upload(user, b"0")
    begin = {"team": team_of(user), "user": user, "name": "one more"}
    assert refused(upload_begin, **begin) == "too_many_uploads"
    TraceUpload.objects.update(created_at=timezone.now() - timedelta(days=2))
    assert upload_begin(**begin).parts == 0
    assert TraceUpload.objects.count() == 1


def test_a_small_file_that_unpacks_to_much_is_refused(user, monkeypatch):
    monkeypatch.setattr("planner.datasets.parts.MAX_UNPACKED_BYTES", 10_000)
    upload = make_upload(user, gzip.compress(b"0,1,1\n" * 5_000))
    with pytest.raises(ImportRefused) as caught:
        upload_preview(upload=upload, answers=Answers())
    assert caught.value.code == "too_large"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"timestamp,prompt_tokens,output_tokens\n0,1,1\n500,1,1\n", "unanswered"),
        (samples.OPENAI.encode(), "not_requests"),
        (b"words", "unknown_format"),
    ],
)
def test_what_cannot_be_kept_leaves_the_upload(user, data, code):
    upload = make_upload(user, data)
    with pytest.raises(ImportRefused) as caught:
        upload_confirm(upload=upload, answers=Answers())
    assert caught.value.code == code
    assert TraceUpload.objects.filter(pk=upload.pk).exists()
    assert not Trace.objects.exists()


def test_nothing_of_people_is_stored(user):
    trace = upload_confirm(upload=make_upload(user, samples.LITELLM.encode()), answers=Answers()).trace
    kept = json.dumps(trace.inspection) + (trace_fields(trace) or {"csv": ""})["csv"]
    for secret in ("sk-secret", "ann@example.org", "bob@example.org"):
        assert secret not in kept


def test_a_trace_longer_than_a_scenario_takes_keeps_its_profile(user, monkeypatch):
    monkeypatch.setattr("planner.planning.traffic.traces.MAX_ROWS", 1)
    trace = make_trace(user)
    assert trace_fields(trace) is None
    assert trace.inspection["profile"]["requests"] == 2


def test_uploads_and_traces_stand_in_the_log(user):
    trace = make_trace(user)
    again = make_upload(user, b"0,20,5\n2,30,6\n")
    upload_confirm(upload=again, answers=Answers(), user=user)  # known already: nothing is added
    upload_delete(upload=make_upload(user), user=user)
    trace_delete(trace=trace, user=user)
    rows = audit_events_of(team_of(user)).filter(object_kind__in=("trace", "trace upload")).order_by("created_at")
    begun = "trace_upload.begun"
    assert [row.action for row in rows] == [
        begun, "trace.added", begun, begun, "trace_upload.deleted", "trace.deleted"
    ]  # fmt: skip
    assert {row.actor for row in rows} == {user}
    assert rows.get(action="trace.added").details == {"format": trace.format, "requests": 2}
