import json
import uuid

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from planner.core import uploads
from planner.datasets.models import Trace, TraceUpload
from planner.teams.models import User
from tests.factories import make_trace
from tests.planner.web.support import signed_in

pytestmark = pytest.mark.django_db
GOOD = b"seconds,prompt_tokens,output_tokens\n" + b"".join(b"%d,%d,%d\n" % (at, 100 + at, 20) for at in range(60))
ASKS = GOOD.replace(b"seconds", b"timestamp")


@pytest.fixture
def editor(user: User) -> Client:
    return signed_in(user)


def send(client: Client, content: bytes, name: str = "traffic.csv", **extra: str) -> str:
    """Uploads a file; the page that it leads to, or the explanation."""
    response = client.post("/traces/new/", {"file": SimpleUploadedFile(name, content), **extra})
    if response.status_code == 302:
        return str(response["Location"])
    assert response.status_code == 422
    return response.content.decode()


def test_an_upload_is_looked_at_then_kept(editor: Client) -> None:
    address = send(editor, GOOD)
    page = editor.get(address).content.decode()
    assert "60 of 60" in page
    assert "less than a day" in page
    assert page.count('<svg class="pic"') == 4
    assert not Trace.objects.exists()
    kept = editor.post(address)
    trace = Trace.objects.get()
    assert kept["Location"] == f"/traces/{trace.pk}/"
    assert not TraceUpload.objects.exists()
    page = editor.get(kept["Location"]).content.decode()
    assert f"/scenarios/new/?trace={trace.pk}" in page
    assert page.count('<svg class="pic"') == 4


def test_bursts_turns_clients_and_reuse_are_drawn(editor: Client) -> None:
    rows = (
        {"chat_id": i, "parent_chat_id": -1 if i % 3 == 0 else i - 1, "timestamp": i * i * 0.05, "input_length": 48,
         "output_length": 5, "type": "text", "turn": 1 + i % 3, "hash_ids": [i // 3, 1000 + i, 2000 + i]}
        for i in range(60)
    )  # fmt: skip
    page = editor.get(send(editor, "\n".join(map(json.dumps, rows)).encode(), "bailian.jsonl")).content.decode()
    assert "Conversations of one turn: 0 %, of 12 or more: 0 %" in page
    assert "22 % with 16 Ki, 22 % with 256 Ki, 22 % with 4 Mi, 22 % with no limit" in page
    assert "Burstiness by length of windows, 1 is random" in page
    shares = b"".join(b"%d,9,9,%s\n" % (at, b"one" if at % 4 else b"two") for at in range(40))
    page = editor.get(send(editor, b"seconds,prompt_tokens,output_tokens,client\n" + shares)).content.decode()
    assert "The busiest tenth of the clients sends 15 % of the requests, the busiest half 75 %" in page


def test_totals_and_rates_say_what_they_hold(editor: Client) -> None:
    usage = "start_time,end_time,num_model_requests,input_tokens,output_tokens\n" + "".join(
        f"{1_767_225_600 + 3_600 * at},{1_767_229_200 + 3_600 * at},{360 * (1 + at)},7000,900\n" for at in range(3)
    )
    page = editor.get(send(editor, usage.encode())).content.decode()
    assert "totals of usage" in page
    for figure in ("3.00 hours", "2,160", "21,000", "0.200"):
        assert figure in page
    rates = "0,0.5,2,Gamma,0.1,3\n600,1.5,1,Weibull,0.9,2\n"
    page = editor.get(send(editor, rates.encode())).content.decode()
    assert "2 windows of 10.0 minutes" in page
    assert "1.50" in page


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds nothing"),
        (b"\x00\x01\x02" * 50, "not text"),
        (b"PK\x03\x04" + b"\x00" * 99, "Archives"),
        (b"{broken", ""),
    ],
    ids=["empty", "binary", "zip", "json"],
)
def test_a_bad_file_is_explained_and_not_kept(editor: Client, content: bytes, said: str) -> None:
    page = send(editor, content)
    assert "This file was not taken" in page
    assert said in page
    assert not TraceUpload.objects.exists()


def test_without_a_file_it_says_so(editor: Client) -> None:
    response = editor.post("/traces/new/", {})
    assert response.status_code == 422
    assert "Choose a file first." in response.content.decode()


def test_a_file_that_is_too_large_is_dropped_while_it_comes(editor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_FILE_BYTES", 1000)
    page = send(editor, GOOD * 10)
    assert "traffic.csv is larger than 32 MiB" in page
    assert not TraceUpload.objects.exists()


def test_a_body_that_says_it_is_huge_is_refused_unread(editor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_BODY_BYTES", 1000)
    response = editor.post("/traces/new/", {"file": SimpleUploadedFile("traffic.csv", GOOD * 10)})
    assert response.status_code == 400


def test_a_question_is_asked_and_its_answer_counts(editor: Client) -> None:
    address = send(editor, ASKS)
    page = editor.get(address).content.decode()
    assert "seconds or milliseconds?" in page
    assert "Keep this trace" not in page
    assert editor.post(address).status_code == 422
    answered = editor.get(address, {"time_unit": "s"}).content.decode()
    assert "Keep this trace" in answered
    assert '<input type="hidden" name="time_unit" value="s">' in answered
    assert editor.post(address, {"time_unit": "s"}).status_code == 302
    assert Trace.objects.get().inspection["profile"]["span_s"] == 59


def test_columns_with_other_names_can_be_named(editor: Client) -> None:
    address = send(editor, GOOD.replace(b"prompt_tokens,output_tokens", b"question,answer"))
    asked = editor.get(address)
    assert asked.status_code == 422
    assert "Name the columns." in asked.content.decode()
    names = {"column.time": "seconds", "column.prompt": "question", "column.output": "answer"}
    assert "Keep this trace" in editor.get(address, names).content.decode()
    assert editor.post(address, names).status_code == 302


def test_a_file_of_something_else_says_what_it_is(editor: Client) -> None:
    page = editor.get(send(editor, b"prompt_tokens,output_tokens\n" + b"100,20\n" * 30)).content.decode()
    assert "pairs of lengths without times" in page
    assert "Keep this trace" not in page


def test_another_file_can_be_chosen_instead(editor: Client) -> None:
    address = send(editor, GOOD)
    assert editor.post(f"{address.split('?')[0]}forget/")["Location"].startswith("/traces/new/")
    assert not TraceUpload.objects.exists()


def test_an_upload_from_the_form_leads_back_to_it_with_the_trace_chosen(editor: Client) -> None:
    draft_id = uuid.uuid4()
    editor.post(f"/scenarios/drafts/{draft_id}/", {"name": "Half typed"})
    address = send(editor, GOOD, draft=str(draft_id))
    back = editor.post(address, {"draft": str(draft_id)})["Location"]
    page = editor.get(back).content.decode()
    trace = Trace.objects.get()
    assert 'value="Half typed"' in page
    assert f'<option value="trace:{trace.pk}" selected>' in page
    assert 'name="way.traffic" value="trace" checked' in page


@pytest.mark.parametrize("draft", ["//elsewhere.example", "x"])
def test_an_upload_never_leads_elsewhere(editor: Client, draft: str) -> None:
    address = send(editor, GOOD)
    assert editor.post(address, {"draft": draft, "scenario": ""})["Location"].startswith("/traces/")


def test_the_distributions_of_a_trace_can_stand_for_it(editor: Client, user: User) -> None:
    trace = make_trace(user, GOOD)
    page = editor.get("/scenarios/new/", {"fitted": str(trace.pk)}).content.decode()
    assert 'name="way.traffic" value="rate" checked' in page
    assert 'name="traffic.arrival.mean_rps" type="text" value="1"' in page


def test_deleting_forgets_a_trace(editor: Client, user: User) -> None:
    trace = make_trace(user, GOOD)
    assert editor.post(f"/traces/{trace.pk}/delete/")["Location"] == "/traces/"
    assert "No traces yet" in editor.get("/traces/").content.decode()


def test_the_list_asks_the_database_as_often_for_many_as_for_few(editor: Client, user: User) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            editor.get("/traces/")
        return len(asked)

    make_trace(user, GOOD)
    few = queries()
    for number in range(5):
        make_trace(user, GOOD + b"%d,7,7\n" % (100 + number))
    assert queries() == few


def test_text_of_a_file_is_escaped(editor: Client) -> None:
    address = send(editor, GOOD, name="<script>alert(1)</script>.csv")
    assert "<script>alert(1)" not in editor.get(address).content.decode()


def test_pictures_of_a_profile_say_what_they_show(editor: Client, user: User) -> None:
    page = editor.get(f"/traces/{make_trace(user, GOOD).pk}/").content.decode()
    assert "Prompts: mean 130, 95th percentile" in page


def test_the_page_tells_what_prompts_share_and_how_close_the_distributions_are(editor: Client) -> None:
    lines = [
        {"chat_id": i, "parent_chat_id": i - 1 if i % 4 else -1, "timestamp": i * 0.5 + i * 7919 % 97 / 300,
         "input_length": 64,
         "output_length": 9, "type": "text", "turn": i % 4 + 1, "hash_ids": [0, 1, 2, 100 + i]}
        for i in range(240)
    ]  # fmt: skip
    page = editor.get(send(editor, "\n".join(map(json.dumps, lines)).encode())).content.decode()
    assert "Prompt tokens that came before" in page
    assert "75 %" in page
    assert "60" in page
    assert "4.00 turns on average" in page
    assert "Burstiness" in page
    assert "of gaps" in page
    assert "Replay and distributions" in page
    assert "Prompt tokens, p99" in page


def test_a_scenario_plays_a_trace_as_asked(editor: Client, user: User) -> None:
    trace = make_trace(user, GOOD)
    page = editor.get(f"/scenarios/new/?trace={trace.pk}").content.decode()
    for name in ("traffic.trace.prefixes", "traffic.trace.copies", "traffic.trace.speed"):
        assert f'name="{name}"' in page
