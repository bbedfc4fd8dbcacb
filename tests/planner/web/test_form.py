import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from planner import planning
from planner.runs.models import Run
from planner.scenarios.models import Scenario
from planner.teams.models import User
from planner.web.forms.layout import items
from planner.web.forms.schema import field_schema
from planner.web.forms.values import values_of
from tests.factories import make_scenario, scenario_dict
from tests.planner.web.support import canonical, form_data, latest_document, signed_in

pytestmark = pytest.mark.django_db
NEW = "/scenarios/new/"
TRACE = "timestamp,prompt_tokens,output_tokens\n" + "".join(f"{1.5 * row},{100 + row},20\n" for row in range(24))


@pytest.fixture
def editor(user: User) -> Client:
    return signed_in(user)


def test_every_field_of_the_form_is_one_of_the_schema() -> None:
    for item in items():
        schema = field_schema(item.path)
        assert schema.help or schema.choices, item.path


def test_help_beside_a_field_names_no_key_of_the_document() -> None:
    keys = re.compile(r"\b(?:active_ratio|total_users|n_heads|params_total_b|business_hours|priced_at)\b")
    for item in items():
        assert not keys.search(item.help or field_schema(item.path).help), item.path


def test_a_closed_section_says_what_its_numbers_are(editor: Client) -> None:
    page = editor.get(NEW).content.decode()
    assert re.search(r"730 hours, Spare replicas 1, Prices of \d{4}-\d\d-\d\d, Seed 1<", page)
    assert '<span class="now">vLLM</span>' in page


def test_the_form_opens_with_the_sample(editor: Client) -> None:
    page = editor.get(NEW).content.decode()
    assert 'value="meta-llama/Llama-3.3-70B-Instruct"' in page
    assert 'value="H100-SXM5-80GB" checked' in page
    assert 'value="H200-SXM-141GB" checked' in page
    assert "optional" in page


@pytest.mark.parametrize(
    "document",
    [
        planning.sample_scenario(),
        scenario_dict(),
        scenario_dict(
            traffic={
                "arrival": {"kind": "gamma", "mean_rps": 6.0, "cv": 2.5},
                "shape": {"kind": "diurnal", "peak_to_mean": 2.4},
                "prompt_tokens": {"kind": "lognormal", "mean": 1155, "p95": 3200},
                "output_tokens": {"kind": "empirical", "values": [10, 20, 300]},
                "prefix": {"kind": "shared", "groups": 2, "tokens": 300},
            },
            hardware={
                "gpus": ["H100-SXM5-80GB"],
                "tensor_parallel": [1, 2],
                "price_overrides": {"H100-SXM5-80GB": {"usd_per_gpu_hour": 3.2}},
            },
            engine={"name": "sglang", "enable_prefix_caching": False, "block_size": 16},
            slo={"ttft_p95_ms": 1000, "e2e_p99_ms": 30000, "goodput_min_ratio": 0.95},
            api={"alternatives": [{"provider": "groq", "model": "llama-3.1-8b-instant"}]},
        ),
        scenario_dict(model={"params_total_b": 70}, hardware={"gpus": "any"}),
        scenario_dict(
            traffic={
                "users": {"total_users": 50000, "active_ratio": 0.2, "requests_per_user_hour": 1.5},
                "prompt_tokens": {"kind": "fixed", "tokens": 200},
                "output_tokens": {"kind": "fixed", "tokens": 50},
            }
        ),
    ],
    ids=["sample", "small", "everything", "sizes", "users"],
)
def test_a_scenario_survives_the_form(editor: Client, document: dict[str, Any]) -> None:
    response = editor.post(NEW, form_data(document))
    assert response.status_code == 302, response.content.decode()[:3000]
    assert latest_document() == canonical(document)


def test_sending_it_saves_version_one_and_runs_it(editor: Client) -> None:
    response = editor.post(NEW, form_data(name="From the form"))
    run = Run.objects.get()
    assert response["Location"] == reverse("run", args=[run.pk])
    assert Scenario.objects.get().name == "From the form"
    assert run.scenario_version is not None
    assert run.scenario_version.number == 1


def test_all_errors_come_at_once_beside_their_fields(editor: Client) -> None:
    bad = form_data(slo__tpot_p95_ms="0.05", seed="-1", traffic__arrival__mean_rps="many", model__id="no-such-model")
    response = editor.post(NEW, bad)
    page = response.content.decode()
    assert response.status_code == 422
    for field in ("slo-tpot_p95_ms", "seed", "traffic-arrival-mean_rps", "model-id"):
        assert f'href="#{field}"' in page
        assert page.count(f'id="{field}"') == 1
    assert page.count('aria-invalid="true"') == 4
    assert Scenario.objects.count() == 0
    assert Run.objects.count() == 0


def test_nothing_typed_is_lost(editor: Client) -> None:
    typed = form_data(name="Keep <me>", slo__ttft_p95_ms="1,000", engine__version="0.99", way__model="sizes")
    typed |= {"model.layers": "thirty", "hardware.price_overrides.H100-SXM5-80GB.usd_per_gpu_hour": "3.20"}
    page = editor.post(NEW, typed).content.decode()
    for kept in ('value="Keep &lt;me&gt;"', 'value="1,000"', 'value="0.99"', 'value="thirty"', 'value="3.20"'):
        assert kept in page


def test_a_unit_slip_offers_the_fix_and_taking_it_runs_nothing(editor: Client) -> None:
    bad = form_data(slo__tpot_p95_ms="0.05")
    page = editor.post(NEW, bad).content.decode()
    assert 'value="slo.tpot_p95_ms=50"' in page
    assert "Use 50" in page
    taken = editor.post(NEW, bad | {"use": "slo.tpot_p95_ms=50"})
    assert taken.status_code == 200
    assert Run.objects.count() == 0
    assert 'name="slo.tpot_p95_ms" type="text" value="50"' in taken.content.decode()


def test_a_near_miss_of_an_id_offers_what_it_may_be(editor: Client) -> None:
    page = editor.post(NEW, form_data(model__id="llama-9")).content.decode()
    assert "is not a known model" in page
    assert 'value="model.id=meta-llama/' in page


def test_fields_of_another_way_are_kept_but_left_out(editor: Client) -> None:
    typed = form_data(way__model="id") | {"model.hf_config": ["{broken"], "model.layers": ["32"]}
    assert editor.post(NEW, typed).status_code == 302
    assert set(latest_document()["model"]) == {"id", "weight_dtype", "kv_dtype"}


def test_a_trace_file_becomes_part_of_the_scenario(editor: Client) -> None:
    data = form_data(way__traffic="trace")
    data["traffic.trace.csv.file"] = SimpleUploadedFile("trace.csv", TRACE.encode())
    assert editor.post(NEW, data).status_code == 302
    traffic = latest_document()["traffic"]
    assert traffic["trace"]["csv"].startswith("timestamp")
    assert "prompt_tokens" not in traffic


def test_an_uploaded_file_is_kept_while_other_fields_are_wrong(editor: Client) -> None:
    data = form_data(way__traffic="trace", seed="-1")
    data["traffic.trace.csv.file"] = SimpleUploadedFile("trace.csv", TRACE.encode())
    page = editor.post(NEW, data).content.decode()
    assert "1.5,101,20" in page
    again = form_data(way__traffic="trace", seed="1") | {"traffic.trace.csv": [TRACE]}
    assert editor.post(NEW, again).status_code == 302


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\xff\xfe\x00\x01", "UTF-8"), (b"", "empty"), (b"a,b\n1,2\n", "trace"), (b"\x00\x00", "")],
    ids=["binary", "empty", "no columns", "nulls"],
)
def test_a_bad_trace_file_is_an_error_of_its_field(editor: Client, content: bytes, said: str) -> None:
    data = form_data(way__traffic="trace")
    data["traffic.trace.csv.file"] = SimpleUploadedFile("trace.csv", content)
    response = editor.post(NEW, data)
    assert response.status_code == 422
    assert 'href="#traffic-trace-csv"' in response.content.decode()
    assert said in response.content.decode()


def test_a_file_over_eight_megabytes_is_refused(editor: Client) -> None:
    data = form_data(way__traffic="trace")
    data["traffic.trace.csv.file"] = SimpleUploadedFile("trace.csv", b"0,1,1\n" * 1_400_000)
    response = editor.post(NEW, data)
    assert response.status_code == 422
    assert "larger than 8 MB" in response.content.decode()


def test_an_edit_makes_the_next_version(editor: Client, user: User) -> None:
    version = make_scenario(user)
    address = f"/scenarios/{version.scenario.pk}/edit/"
    assert 'name="base_number" value="1"' in editor.get(address).content.decode()
    data = form_data(name="Renamed") | {"base_number": "1", "note": " a better\x00 name "}
    assert editor.post(address, data).status_code == 302
    newest = version.scenario.versions.latest("number")
    assert (newest.number, newest.note) == (2, "a better name")


def test_two_people_editing_the_second_is_told_and_loses_nothing(editor: Client, user: User) -> None:
    version = make_scenario(user)
    address = f"/scenarios/{version.scenario.pk}/edit/"
    editor.post(address, form_data(name="First") | {"base_number": "1"})
    response = editor.post(address, form_data(name="Second") | {"base_number": "1"})
    page = response.content.decode()
    assert response.status_code == 409
    assert "saved version 2 while you were editing" in page
    assert 'value="Second"' in page
    assert version.scenario.versions.count() == 2
    assert editor.post(address, form_data(name="Second") | {"base_number": "2"}).status_code == 302


def test_htmx_gets_the_form_alone_and_is_led_to_the_run(editor: Client) -> None:
    bad = editor.post(NEW, form_data(seed="-1"), headers={"HX-Request": "true"})
    assert bad.status_code == 422
    assert "<html" not in bad.content.decode()
    good = editor.post(NEW, form_data(), headers={"HX-Request": "true"})
    assert good["HX-Redirect"].startswith("/runs/")


def test_values_of_a_document_read_back_as_the_same_document() -> None:
    document = json.loads(planning.canonical_json(planning.parse_scenario(planning.sample_scenario())))
    fields = {name: texts for name, texts in values_of(document).items() if not name.startswith("way.")}
    fields = {name: texts for name, texts in fields.items() if not name.endswith(".kind") or "shape" in name}
    again = planning.form_to_scenario(fields)
    assert canonical(again | {"traffic": document["traffic"]}) == document
