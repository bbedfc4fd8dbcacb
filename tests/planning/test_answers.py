"""Verdict, sensitivity and listings: what is said about the numbers."""

import re
from datetime import date
from decimal import Decimal

import pytest

from costmodel import Parallelism
from planner.planning import catalog_listing, estimate_scenario, parse_scenario, plan, result_version
from planner.planning.report.names import candidate_name, gpus_name
from planner.planning.report.plain import plain, usd
from planner.planning.report.text import text_report
from planner.planning.report.verdict import money, money_range, price
from tests.planning.scenarios import changed


def test_the_sentence_names_both_sides_and_the_range(sample):
    sentence = sample["verdict"]["sentence"]
    assert "self-hosting Llama-3.3-70B-Instruct on" in sentence
    assert gpus_name(sample["recommended"]["gpus"], sample["recommended"]["gpu"]) in sentence
    assert "Groq's llama-3.3-70b-versatile" in sentence
    assert sentence.count("$") == 3


def test_a_range_without_width_is_not_printed():
    """A price of one's own, and replicas enough also with slow steps."""
    document = changed("model", {"id": "meta-llama/Llama-3.1-8B-Instruct"})
    document["hardware"] = {"gpus": ["L40S"], "tensor_parallel": [1],
                            "price_overrides": {"L40S": {"usd_per_gpu_hour": 1.0}}}  # fmt: skip
    document["traffic"]["arrival"]["mean_rps"] = 0.1
    report = plan(parse_scenario(document))
    saving = report["verdict"]["saving_usd_per_month"]
    assert saving["low"] == saving["high"]
    assert "range" not in report["verdict"]["sentence"]


def test_texts_name_things_and_never_print_ids(sample):
    texts = [*sample["verdict"].values(), *(row["binding"] for row in sample["candidates"])]
    texts += [row["what"] for row in sample["provenance"]["sources"]]
    texts += [sample["provenance"]["coverage"]["sentence"], *sample["provenance"]["notes"]]
    said = " ".join(text for text in texts if isinstance(text, str))
    for ident in ("H200-SXM-141GB", "H100-SXM5-80GB", "meta-llama/", "meta.llama", " vllm", "at groq", "at aws"):
        assert ident not in said, ident


def test_the_nearest_candidate_misses_by_least():
    report = plan(parse_scenario(changed("slo", {"tpot_p95_ms": 1}), today=date(2026, 11, 30)))
    nearest = next(row for row in report["candidates"] if row["id"] == report["memory"]["candidate"])
    assert candidate_name(nearest["gpu"], Parallelism(tp=nearest["tp"])) in report["verdict"]["detail"]
    assert nearest["tp"] == max(row["tp"] for row in report["candidates"])
    assert "igher tensor parallel" not in nearest["reason"]["nearest_change"]


def test_the_models_compared_are_an_assumption(sample):
    rows = {row["what"]: row for row in sample["provenance"]["assumptions"]}
    assert rows["Models compared"]["value"].startswith("Llama-3.3-70B-Instruct against ")


@pytest.mark.parametrize("text", ["1 replicas", "1 GPUs", "1 spares"])
def test_one_is_singular(sample, text):
    assert not re.search(rf"\b{text}\b", text_report(sample))


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        ("812", "9514", "$812 to $9,514"),
        ("6545", "37658", "$6.5k to $37.7k"),
        ("900000", "1234567", "$0.90M to $1.23M"),
        ("55", "12345", "$55 to $12.3k"),
    ],
)
def test_both_ends_of_a_range_have_one_unit(low, high, text):
    assert money_range(Decimal(low), Decimal(high)) == text


def test_gpu_and_api_prices_move_the_saving_by_a_fifth(sample):
    rows = {row["label"]: row for row in sample["sensitivity"]}
    fleet, api = sample["cost"]["usd_per_month"]["mid"], min(a["usd_per_month"] for a in sample["api"])
    assert rows["GPU price"]["saving_low_usd_per_month"] == pytest.approx(api - 0.8 * fleet, abs=0.05)
    assert rows["GPU price"]["saving_high_usd_per_month"] == pytest.approx(api - 1.2 * fleet, abs=0.05)
    assert rows["API price"]["saving_low_usd_per_month"] == pytest.approx(0.8 * api - fleet, abs=0.05)
    replica = fleet / sample["recommended"]["replicas"]
    assert rows["Spare replicas"]["saving_high_usd_per_month"] == pytest.approx(api - fleet - replica, abs=0.05)


def test_rows_are_sorted_by_their_swing(sample):
    swings = [
        round(abs(r["saving_high_usd_per_month"] - r["saving_low_usd_per_month"]), 2) for r in sample["sensitivity"]
    ]
    assert swings == sorted(swings, reverse=True)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("812.4", "$812"),
        ("9514", "$9,514"),
        ("12345", "$12.3k"),
        ("-1234567", "$1.23M"),
        ("0.04", "$0.04"),
        ("0.001", "less than a cent"),
        ("0", "$0"),
    ],
)
def test_money_in_sentences(amount, text):
    assert money(Decimal(amount)) == text


def test_plain_values():
    assert plain({"a": (1, 2.00000049, Decimal("12345.67"), -0.0, float("inf"), None)}) == {
        "a": [1, 2.0, 12345.67, 0.0, None, None]
    }
    assert usd(1.005) in {Decimal("1.00"), Decimal("1.01")}


@pytest.mark.parametrize("kind", ["accelerators", "models", "gpu-prices", "api-prices"])
def test_listings_have_rows_with_sources(kind):
    rows = catalog_listing(kind, date(2026, 11, 30))
    assert len(rows) > 20
    assert all(row["source"] or "no price" in row["note"] for row in rows)


def test_an_unknown_listing_is_refused():
    with pytest.raises(ValueError, match="there are accelerators"):
        catalog_listing("prices", date(2026, 11, 30))


def test_a_missing_price_is_said_to_be_missing():
    rows = {row["gpu"]: row for row in catalog_listing("gpu-prices", date(2021, 1, 1))}
    assert rows["H100-SXM5-80GB"]["usd_per_gpu_hour"] is None
    assert "no price" in rows["H100-SXM5-80GB"]["note"]


def test_the_result_version_names_engine_and_catalog(sample):
    engine, catalog = result_version().split("+")
    assert (engine, catalog) == (sample["provenance"]["engine_version"], sample["provenance"]["catalog_version"])


def test_an_api_that_is_withdrawn_is_left_out_and_named():
    alternatives = [{"provider": "deepseek", "model": "deepseek-reasoner"}]
    document = changed("api", {"alternatives": alternatives})
    gone = "Left out of the comparison: deepseek-reasoner at DeepSeek, which is no longer offered."
    answer = estimate_scenario(parse_scenario(document))
    assert answer["verdict"]["choice"] == "self_host_only"
    assert gone in answer["verdict"]["detail"]
    none = plan(parse_scenario(changed("slo", {"tpot_p95_ms": 1}, document)))
    assert none["verdict"]["detail"].endswith(gone)


@pytest.mark.parametrize(
    ("usd", "text"), [("3.945", "$3.95"), ("2.675", "$2.68"), ("0.104", "$0.10"), ("0.0125", "$0.013")]
)
def test_prices_round_half_up_as_they_are_written(usd: str, text: str) -> None:
    assert price(Decimal(usd)) == text


def test_amounts_of_a_sentence_round_half_up() -> None:
    assert [money(Decimal(usd)) for usd in ("0.125", "812.5", "10050", "1005000")] == [
        "$0.13",
        "$813",
        "$10.1k",
        "$1.01M",
    ]
