import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from planner.scenarios.models import Scenario
from planner.teams.models import User
from planner.web import drafts
from planner.web.models import Draft
from tests.factories import make_scenario, team_of
from tests.planner.web.support import form_data, signed_in

pytestmark = pytest.mark.django_db
NEW = "/scenarios/new/"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def editor(user: User) -> Client:
    return signed_in(user)


def keep(client: Client, draft_id: uuid.UUID, data: dict[str, Any]) -> Any:
    return client.post(f"/scenarios/drafts/{draft_id}/", data, headers=HTMX)


def test_typing_keeps_a_draft_that_the_address_then_names(editor: Client) -> None:
    draft_id = uuid.uuid4()
    answer = keep(editor, draft_id, form_data(name="Half <typed>", seed="not a number"))
    assert answer["HX-Replace-Url"] == f"{NEW}?draft={draft_id}"
    assert "Draft saved" in answer.content.decode()
    page = editor.get(NEW, {"draft": str(draft_id)}).content.decode()
    assert 'value="Half &lt;typed&gt;"' in page
    assert 'value="not a number"' in page
    assert Scenario.objects.count() == 0


def test_a_draft_is_offered_when_a_new_scenario_is_begun(editor: Client) -> None:
    draft_id = uuid.uuid4()
    keep(editor, draft_id, form_data(name="Half typed"))
    for path in (NEW, "/", "/scenarios/"):
        assert f'href="{NEW}?draft={draft_id}">Half typed</a>' in editor.get(path).content.decode()
    assert "Half typed" not in editor.get(NEW, {"draft": str(draft_id)}).content.decode().split("scenario-form")[0]


def test_saving_ends_the_draft_and_its_address_says_so(editor: Client) -> None:
    draft_id = uuid.uuid4()
    keep(editor, draft_id, form_data())
    assert editor.post(NEW, form_data() | {"draft": str(draft_id)}).status_code == 302
    assert not Draft.objects.exists()
    page = editor.get(NEW, {"draft": str(draft_id)}, follow=True).content.decode()
    assert "That draft was saved as a scenario, or discarded." in page


def test_a_form_with_errors_is_kept_as_a_draft_too(editor: Client) -> None:
    draft_id = uuid.uuid4()
    assert editor.post(NEW, form_data(seed="-1") | {"draft": str(draft_id)}).status_code == 422
    assert Draft.objects.get(pk=draft_id).values["seed"] == ["-1"]


def test_an_edit_comes_back_as_it_was_typed_until_it_is_discarded(editor: Client, user: User) -> None:
    version = make_scenario(user)
    address = f"/scenarios/{version.scenario.pk}/edit/"
    typed = form_data(name="Changed") | {"scenario": str(version.scenario.pk), "base_number": "1"}
    answer = keep(editor, uuid.uuid4(), typed)
    assert "HX-Replace-Url" not in answer
    page = editor.get(address).content.decode()
    assert 'value="Changed"' in page
    assert "not saved as a version yet" in page
    draft = Draft.objects.get()
    discarded = editor.post(f"/scenarios/drafts/{draft.pk}/discard/", {"scenario": str(version.scenario.pk)})
    assert discarded["Location"] == address
    assert 'value="Small chat"' in editor.get(address).content.decode()


def test_a_draft_of_an_older_version_still_knows_what_it_began_with(editor: Client, user: User) -> None:
    version = make_scenario(user)
    address = f"/scenarios/{version.scenario.pk}/edit/"
    mine = form_data(name="Mine") | {"scenario": str(version.scenario.pk), "base_number": "1"}
    keep(editor, uuid.uuid4(), mine)
    editor.post(address, form_data(name="Theirs") | {"base_number": "1"})
    page = editor.get(address).content.decode()
    assert 'name="base_number" value="1"' in page
    assert editor.post(address, mine).status_code == 409


def test_a_person_keeps_at_most_fifty_drafts(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "MAX_DRAFTS", 3)
    for number in range(5):
        drafts.draft_save(team=team_of(user), user=user, draft_id=uuid.uuid4(), values={"name": [f"Draft {number}"]})
    assert [draft.name for draft in drafts.drafts_of(team_of(user), user)] == ["Draft 4", "Draft 3", "Draft 2"]


def test_a_draft_that_is_too_long_is_not_kept_and_says_so(editor: Client) -> None:
    data = form_data(way__model="config") | {"model.hf_config": ["x" * (drafts.MAX_DRAFT_CHARACTERS + 1)]}
    answer = keep(editor, uuid.uuid4(), data)
    assert answer.status_code == 200
    assert "Not saved as a draft" in answer.content.decode()
    assert not Draft.objects.exists()


def test_text_that_no_database_takes_is_kept_without_its_nulls(editor: Client) -> None:
    keep(editor, uuid.uuid4(), form_data(name="a\x00b"))
    assert Draft.objects.get().values["name"] == ["ab"]


def test_the_estimate_answers_what_fits_what_it_costs_and_what_the_api_would(editor: Client) -> None:
    data = form_data() | {
        "api.alternatives.0.provider": ["groq"],
        "api.alternatives.0.model": ["llama-3.1-8b-instant"],
    }
    answer = editor.post("/scenarios/estimate/", data, headers=HTMX).content.decode()
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer))
    assert "2 × H100" in text
    assert "GiB for KV" in text
    assert "Self-host" in text
    assert "Groq" in text
    assert "No queue is simulated yet" in text
    assert answer.count('<svg class="pic"') == 3
    assert " style=" not in answer
    assert not Draft.objects.exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"slo__tpot_p95_ms": "0.05"}, "did you mean 50 ms"),
        ({"slo__ttft_p95_ms": "5"}, "Nothing meets the targets"),
        ({}, "No API to compare with is chosen."),
    ],
    ids=["a fault", "no fleet", "no API"],
)
def test_the_estimate_says_plainly_what_is_missing(editor: Client, changes: dict[str, str], said: str) -> None:
    answer = editor.post("/scenarios/estimate/", form_data(**changes), headers=HTMX)
    assert answer.status_code == 200
    assert said in answer.content.decode()


def test_the_estimate_fills_the_chain_as_far_as_it_is_typed(editor: Client) -> None:
    data = form_data() | {"way.traffic": ["users"], "traffic.users.total_users": ["500"]}
    answer = editor.post("/scenarios/estimate/", data, headers=HTMX).content.decode()
    assert 'id="chain-total" hx-swap-oob="true">500 users' in answer
    assert 'id="chain-mean" hx-swap-oob="true">–</span>' in answer


def test_the_form_and_its_estimate_ask_the_database_little(editor: Client, user: User) -> None:
    def queries(ask: Callable[[], object]) -> int:
        with CaptureQueriesContext(connection) as asked:
            ask()
        return len(asked)

    for number in range(8):
        make_scenario(user, name=f"Scenario {number}")
        keep(editor, uuid.uuid4(), form_data(name=f"Draft {number}"))
    draft_id = uuid.uuid4()
    keep(editor, draft_id, form_data())
    assert queries(lambda: editor.get(NEW)) <= 6
    assert queries(lambda: keep(editor, draft_id, form_data())) <= 9


def test_who_became_a_viewer_is_not_sent_to_drafts_that_would_be_refused(editor: Client, user: User) -> None:
    keep(editor, uuid.uuid4(), form_data(name="Half done"))
    assert "Half done" in editor.get("/scenarios/").content.decode()
    team_of(user).memberships.update(role="viewer")
    assert "Half done" not in editor.get("/scenarios/").content.decode()
