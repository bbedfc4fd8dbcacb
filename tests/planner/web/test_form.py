import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from planner import planning
from planner.planning.schema import Scenario as ScenarioSchema
from planner.runs.models import Run
from planner.scenarios.models import Scenario
from planner.teams.models import User
from planner.web.forms.schema import field_schema
from planner.web.forms.sections import API_FIELDS, items
from planner.web.forms.values import BY_GPU, values_of
from planner.web.starts import start_values
from tests.factories import make_scenario, make_trace, make_user, scenario_dict
from tests.planner.web.support import canonical, form_data, latest_document, signed_in

pytestmark = pytest.mark.django_db
NEW = "/scenarios/new/"
TRACE = "".join(f"{1.5 * row},{100 + row},20\n" for row in range(24)).encode()

MIXED = {
    "arrival": {"kind": "poisson", "mean_rps": 2.0},
    "classes": [
        {
            "name": "chat", "share_ratio": 0.8, "prompt_tokens": {"kind": "lognormal", "mean": 800, "p95": 2000},
            "output_tokens": {"kind": "fixed", "tokens": 100}, "slo": {"ttft_p95_ms": 500, "tpot_p95_ms": 60},
        },
        {
            "name": "summaries", "share_ratio": 0.2, "priority": 1,
            "prompt_tokens": {"kind": "lognormal", "mean": 2000, "p50": 1800},
            "output_tokens": {"kind": "empirical", "values": [200, 300]},
            "prefix": {"kind": "shared", "groups": 2, "tokens": 100},
            "slo": {"goodput": {"ttft_ms": 10_000, "min_ratio": 0.9}},
        },
    ],
}  # fmt: skip
AGREED = [
    {"provider": "groq", "model": "llama-3.3-70b-versatile", "discount_ratio": 0.1, "min_usd_per_month": 500},
    {
        "provider": "mine", "model": "tuned", "caching": "off",
        "price": {"input_usd_per_mtok": 1, "output_usd_per_mtok": 4, "source": "our contract"},
    },
]  # fmt: skip


@pytest.fixture
def editor(user: User) -> Client:
    return signed_in(user)


@pytest.mark.parametrize("start", [preset.id for preset in planning.presets()])
def test_a_use_case_fills_the_form_with_a_scenario_that_runs(editor: Client, start: str) -> None:
    preset = planning.preset_get(start)
    page = editor.get(NEW, {"from": start}).content.decode()
    assert escape(preset.basis) in page
    assert preset.sources[0].url in page
    assert editor.post(NEW, dict(start_values(start))).status_code == 302
    assert latest_document() == canonical(preset.document())


@pytest.mark.parametrize(("start", "way"), [("users", "users"), ("trace", "trace"), ("hand", "rate")])
def test_a_scenario_can_start_from_users_a_trace_or_by_hand(editor: Client, start: str, way: str) -> None:
    assert f'name="way.traffic" value="{way}" checked' in editor.get(NEW, {"from": start}).content.decode()


def test_the_rate_of_a_chain_is_there_when_the_way_changes(editor: Client) -> None:
    values = start_values("users") | {"way.traffic": ["rate"]}
    assert editor.post(NEW, dict(values)).status_code == 302
    assert latest_document()["traffic"]["arrival"]["mean_rps"] == 2.67


@pytest.mark.parametrize(
    "query", [{"from": "poetry"}, {"draft": "x"}, {"trace": "x"}, {"fitted": str(uuid.UUID(int=1))}]
)
def test_an_unknown_start_is_not_found(editor: Client, query: dict[str, str]) -> None:
    assert editor.get(NEW, query).status_code == 404


def test_every_step_from_users_to_requests_is_shown(editor: Client) -> None:
    page = editor.get(NEW, {"from": "users"}).content.decode()
    for step in ("10,000 users", "800 active", "9,600 requests/h", "2.67 req/s", "6.40 req/s"):
        assert step in page.replace("\N{NO-BREAK SPACE}", " ")


def test_every_field_of_the_form_is_one_of_the_schema() -> None:
    for item in items():
        schema = field_schema(item.path)
        assert schema.help or schema.choices, item.path


def test_every_field_of_the_schema_is_one_of_the_form() -> None:
    """Else an edit would lose it. Left out: what has one value, what the trace names, what rows and GPUs stand for, and
    what an edit carries over: calibrations and kinds of requests."""
    shown = {item.path for item in items()}
    left_out = {
        "schema_version",
        "api.alternatives",
        "calibrations",
        "traffic.classes",
        *(start.rstrip(".") for start in BY_GPU),
    }
    fields = set(_leaves(ScenarioSchema.model_json_schema(), ScenarioSchema.model_json_schema(), ""))
    assert {path for path in fields - shown - left_out if not path.startswith("traffic.trace.")} == set()


def _leaves(schema: dict[str, Any], node: dict[str, Any], prefix: str) -> Iterator[str]:
    node = schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node
    for option in node.get("anyOf", []) + node.get("oneOf", []):
        yield from _leaves(schema, option, prefix)
    for name, below in node.get("properties", {}).items():
        inside = list(_leaves(schema, below, f"{prefix}{name}."))
        yield from inside or [f"{prefix}{name}"]


def test_an_edit_keeps_kinds_of_requests_and_terms_of_apis(editor: Client, user: User) -> None:
    """Kinds of requests and own prices have no fields."""
    version = make_scenario(user, traffic=MIXED, slo={}, api={"alternatives": AGREED})
    address = f"/scenarios/{version.scenario.pk}/edit/"
    data = form_data(version.document, name="Renamed") | {"base_number": ["1"]}
    assert editor.post(address, data).status_code == 302
    assert latest_document() == json.loads(version.body) | {"name": "Renamed"}


def test_terms_stay_with_their_api_when_rows_move_or_go(editor: Client, user: User) -> None:
    version = make_scenario(user, api={"alternatives": AGREED})
    emptied = {f"api.alternatives.0.{name}": [""] for name in API_FIELDS}
    data = form_data(version.document) | {"base_number": ["1"]} | emptied
    assert editor.post(f"/scenarios/{version.scenario.pk}/edit/", data).status_code == 302
    assert latest_document()["api"]["alternatives"] == json.loads(version.body)["api"]["alternatives"][1:]


def test_terms_of_an_api_are_typed_and_cleared(editor: Client, user: User) -> None:
    version = make_scenario(user, api={"alternatives": AGREED})
    terms = {"service_tier": "standard", "caching": "off", "discount_ratio": "", "min_usd_per_month": "750"}
    typed = {f"api.alternatives.0.{name}": [text] for name, text in terms.items()}
    data = form_data(version.document) | {"base_number": ["1"]} | typed
    assert editor.post(f"/scenarios/{version.scenario.pk}/edit/", data).status_code == 302
    named = dict(list(AGREED[0].items())[:2])
    asked = [named | {"caching": "off", "min_usd_per_month": 750}, AGREED[1]]
    assert latest_document() == canonical(scenario_dict(api={"alternatives": asked}))


def test_a_fault_in_terms_stands_beside_its_field_and_opens_the_fold(editor: Client) -> None:
    typed = {"api.alternatives.2.discount_ratio": ["2"], "api.alternatives.1.service_tier": ["standard"]}
    page = editor.post(NEW, form_data() | typed).content.decode()
    assert 'href="#api-alternatives-0-discount_ratio"' in page
    assert 'href="#api-alternatives-0-provider"' in page
    assert re.search(r'<details class="data" open><summary>What was agreed', page)


def test_help_beside_a_field_names_no_key_of_the_document() -> None:
    keys = re.compile(r"\b(?:active_ratio|total_users|n_heads|params_total_b|business_hours|priced_at)\b")
    for item in items():
        assert not keys.search(item.help or field_schema(item.path).help), item.path


def test_a_closed_section_says_what_its_numbers_are(editor: Client) -> None:
    page = editor.get(NEW).content.decode()
    assert re.search(
        r"always on, every replica every hour, 730 hours, Spare replicas 1, Prices of \d{4}-\d\d-\d\d<", page
    )
    assert '<span class="now">vLLM</span>' in page
    assert "Amazon Bedrock us.meta.llama3-3-70b-instruct-v1:0, Groq llama-3.3-70b-versatile<" in page


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
                "output_tokens": {"kind": "empirical", "quantiles": [[0, 10], [0.5, 20], [1, 300]]},
                "prefix": {"kind": "shared", "groups": 2, "tokens": 300},
            },
            hardware={
                "gpus": ["H100-SXM5-80GB"],
                "tensor_parallel": [1, 2],
                "price_overrides": {"H100-SXM5-80GB": {"usd_per_gpu_hour": 3.2}},
                "owned_gpus": {"H100-SXM5-80GB": 16},
                "regions": ["eu"],
                "max_gpus": 64,
            },
            engine={"name": "sglang", "enable_prefix_caching": False, "block_size": 16},
            slo={"ttft_p95_ms": 1000, "e2e_p99_ms": 30000, "goodput": {"ttft_ms": 2000, "min_ratio": 0.9}},
            uncertainty={"load_factor": 2.0, "horizon_months": 24},
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
    assert response.status_code == 302, re.findall(r"summary-errors.*?</ul>", response.content.decode())
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


def test_the_estimate_counts_what_is_to_be_put_right(editor: Client) -> None:
    page = editor.post("/scenarios/estimate/", form_data(slo__tpot_p95_ms="0.05", model__id="llama-9")).content.decode()
    assert "2 fields are put right" in page


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


def test_a_trace_of_the_team_becomes_part_of_the_scenario(editor: Client, user: User) -> None:
    trace = make_trace(user, TRACE)
    data = form_data(way__traffic="trace", traffic__trace=f"trace:{trace.pk}")
    assert editor.post(NEW, data).status_code == 302
    traffic = latest_document()["traffic"]
    assert traffic["trace"]["csv"].count("\n") == 25
    assert "prompt_tokens" not in traffic


@pytest.mark.parametrize("reference", ["", "trace:nothing", "builtin:nothing", "kept", "trace:{}", "nonsense"])
def test_a_trace_that_is_not_there_is_an_error_of_its_field(editor: Client, reference: str) -> None:
    of_others = make_trace(make_user(), TRACE)
    data = form_data(way__traffic="trace", traffic__trace=reference.format(of_others.pk))
    response = editor.post(NEW, data)
    page = response.content.decode()
    assert response.status_code == 422
    assert 'href="#traffic-trace"' in page
    assert "1 thing to put right" in page


def test_an_edit_keeps_the_trace_of_its_scenario(editor: Client, user: User) -> None:
    rows = [[1.5 * at, 100 + at, 20] for at in range(24)]
    version = make_scenario(user, traffic={"trace": {"rows": rows}, "shape": {"kind": "constant"}})
    address = f"/scenarios/{version.scenario.pk}/edit/"
    page = editor.get(address).content.decode()
    assert '<option value="kept" selected>' in page
    assert "100" not in re.findall(r"<textarea.*?</textarea>", page, re.DOTALL)[0]
    data = form_data(json.loads(version.body), name="Renamed") | {"base_number": "1"}
    assert editor.post(address, data).status_code == 302
    assert latest_document()["traffic"] == json.loads(version.body)["traffic"]


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
    swapped = editor.post(
        address, form_data(name="Second") | {"base_number": "1"}, headers={"HX-Request": "true"}
    ).content.decode()
    assert '<span id="versions-said" hx-swap-oob="true">Saved as version 3; version 2 stays as it is.</span>' in swapped
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
    fields.pop("traffic.trace")
    again = planning.form_to_scenario(fields)
    assert canonical(again | {"traffic": document["traffic"]}) == document
