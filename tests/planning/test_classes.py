"""Several kinds of requests on one fleet: targets of each judged in the same simulation, a bill for each."""

import copy
from collections.abc import Sequence

import numpy as np
import pytest

from planner.planning import parse_scenario, plan
from planner.planning.report.classes import goodput_ratio
from planner.planning.search.candidates import make_job
from planner.planning.search.targets import Latencies, judge
from planner.planning.traffic.load import replica_stream
from tests.planning.scenarios import errors_of

FIXED = {"kind": "fixed", "tokens": 100}
TWO = {
    "name": "Chat and summaries",
    "model": {"id": "meta-llama/Llama-3.1-8B-Instruct"},
    "hardware": {"gpus": ["L40S"], "tensor_parallel": [1], "price_overrides": {"L40S": {"usd_per_gpu_hour": 1.0}}},
    "traffic": {
        "arrival": {"kind": "poisson", "mean_rps": 2.0},
        "classes": [
            {
                "name": "chat", "share_ratio": 0.8, "prompt_tokens": {"kind": "lognormal", "mean": 800, "p95": 2000},
                "output_tokens": FIXED, "slo": {"ttft_p95_ms": 500, "tpot_p95_ms": 60},
            },
            {
                "name": "summaries", "share_ratio": 0.2, "priority": 1,
                "prompt_tokens": {"kind": "fixed", "tokens": 6000},
                "output_tokens": {"kind": "fixed", "tokens": 300},
                "prefix": {"kind": "shared", "groups": 2, "tokens": 1000},
                "slo": {"goodput": {"ttft_ms": 10_000, "min_ratio": 0.9}},
            },
        ],
    },
    "slo": {},
    "api": {"alternatives": [{"provider": "p", "model": "m",
                              "price": {"input_usd_per_mtok": 1, "output_usd_per_mtok": 4}}]},
    "engine": {"max_model_len": 16384},
    "priced_at": "2026-11-30",
}  # fmt: skip


def changed(**fields):
    """The second class otherwise."""
    document = copy.deepcopy(TWO)
    document["traffic"]["classes"][1] |= fields
    return document


def test_a_stream_holds_each_class_in_its_share_with_its_lengths_priority_and_prefixes():
    load = make_job(parse_scenario(TWO), lambda: None).load
    stream = replica_stream(load, 2.0, 5000)
    long = stream.traffic_class == 1
    assert float(long.mean()) == pytest.approx(0.2, abs=0.01)
    assert set(stream.prompt_tokens[long]) == {6000}
    assert set(stream.priority[long]) == {1}
    assert set(stream.prefix_tokens[long]) == {1000}
    assert not stream.prefix_tokens[~long].any()
    assert set(stream.prefix_group[long]) == {1, 2}  # group 0 is the first class's
    assert load.mix.prompt_tokens_mean == pytest.approx(0.8 * 800 + 0.2 * 6000, rel=0.01)


def latencies(ttft: Sequence[float], classes: Sequence[int]) -> Latencies:
    values, none = np.array(ttft, float), np.zeros(0)
    return Latencies(values, np.ones(len(values)), values, none, none.astype(np.int64), np.array(classes))


def test_a_target_of_a_class_is_judged_over_its_requests_alone():
    """20 short and 20 long ones: 100 ms and 9,000 ms; of the long ones one in twenty takes 11,000 ms."""
    targets = make_job(parse_scenario(TWO), lambda: None).targets
    pooled = latencies([100] * 20 + [9000] * 19 + [11_000], [0] * 20 + [1] * 20)
    found = {item.target.label: item for item in judge(targets, pooled)}
    assert found["TTFT p95 of chat"].predicted == 100
    assert found["goodput of summaries"].predicted == pytest.approx(0.95)
    assert found["goodput of summaries"].samples == 20
    assert goodput_ratio(targets, pooled, 1) == pytest.approx(0.95)
    assert goodput_ratio(targets, pooled, 0) == 1


@pytest.fixture(scope="module")
def report():
    return plan(parse_scenario(TWO))


def test_the_report_tells_each_class_apart(report):
    chat, summaries = report["classes"]
    assert {(row["traffic_class"], row["metric"]) for row in report["slo"]} == {
        ("chat", "ttft"), ("chat", "tpot"), ("summaries", "goodput"),
    }  # fmt: skip
    assert all(row["met"] for row in report["slo"])
    assert chat["goodput_rps"] == pytest.approx(chat["goodput_ratio"] * 1.6, rel=1e-5)
    assert sum(row["binding"] for row in report["classes"]) <= 1
    assert "of chat" in report["candidates"][0]["binding"] or "of summaries" in report["candidates"][0]["binding"]
    assert "--scheduling-policy priority" in report["recommended"]["commands"]["vllm"]
    assert summaries["requests_per_month"] == pytest.approx(0.4 * 730 * 3600)


def test_bills_of_the_classes_add_up_to_the_bill(report):
    """400 ms of each second's requests are summaries: 0.4/s x (6,000 x $1 + 300 x $4) per million."""
    chat, summaries = (row["api"][0]["usd_per_month"] for row in report["classes"])
    assert summaries == pytest.approx(0.4 * 730 * 3600 * (6000 * 1 + 300 * 4) / 1e6, abs=0.01)
    assert chat + summaries == pytest.approx(report["api"][0]["usd_per_month"], abs=0.02)


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        (changed(share_ratio=0.3), "/traffic/classes"),
        (changed(name="chat"), "/traffic/classes/1/name"),
        (changed(slo={"itl_p95_ms": 50}), "/traffic/classes/1/slo/itl_p95_ms"),
        (changed(slo={}), "/traffic/classes/1/slo"),
        (
            changed(output_tokens={"kind": "lognormal", "mean": 100, "p95": 1000}),
            "/traffic/classes/1/output_tokens/p95",
        ),
        (changed(prefix={"kind": "shared", "tokens": 7000}), "/traffic/classes/1/prefix/tokens"),
        (TWO | {"serving": {"disaggregation": "on"}}, "/serving/disaggregation"),
        (TWO | {"traffic": TWO["traffic"] | {"prompt_tokens": FIXED}}, "/traffic/prompt_tokens"),
    ],
)
def test_classes_that_cannot_be_are_refused(document, pointer):
    assert [fault.pointer for fault in errors_of(document)] == [pointer]


def test_without_any_target_a_scenario_is_refused():
    document = copy.deepcopy(TWO)
    for each in document["traffic"]["classes"]:
        del each["slo"]
    assert [fault.pointer for fault in errors_of(document)] == ["/slo"]
