"""Calibrations in a scenario: which deployments take one, what the report says of it, what a digest covers."""

from typing import Any

import pytest

from costmodel import step_time_parts, step_time_tables
from planner.planning import (
    Scenario,
    ScenarioInvalid,
    canonical_json,
    estimate_cells,
    estimate_scenario,
    parse_scenario,
    scenario_digest,
    with_calibrations,
)
from planner.planning.calibration.deployment import read_deployment
from planner.planning.calibration.matching import calibrated
from planner.planning.schema.calibration import Calibration
from tests.load_tests import DEPLOYMENT


def stated(**changes: Any) -> Calibration:
    return Calibration.model_validate(
        {
            "model": DEPLOYMENT["model"], "weight_dtype": "bf16", "gpu": DEPLOYMENT["gpu"], "engine": "vllm",
            "number": 2, "runs": 6, "measured_from": "2026-11-01", "measured_until": "2026-11-20",
            "bandwidth_factor": 0.8, "host_factor": 1.3,
            "step_time_p10_ratio": 0.96, "step_time_p90_ratio": 1.05, "closed_ttft_p10_ratio": 0.9,
            "closed_ttft_p90_ratio": 1.2, "open_ttft_p10_ratio": 0.8, "open_ttft_p90_ratio": 1.1,
        }
        | changes
    )  # fmt: skip


def small(**changes: Any) -> Scenario:
    document: dict[str, Any] = {
        "model": {"id": DEPLOYMENT["model"]},
        "hardware": {"gpus": [DEPLOYMENT["gpu"]], "tensor_parallel": [1]},
        "traffic": {
            "arrival": {"kind": "poisson", "mean_rps": 2.0},
            "prompt_tokens": {"kind": "fixed", "tokens": 200},
            "output_tokens": {"kind": "fixed", "tokens": 50},
        },
        "slo": {"ttft_p95_ms": 1000, "tpot_p95_ms": 50},
        "priced_at": "2026-11-30",
    }
    return parse_scenario(document | changes)


def test_factors_make_steps_longer_and_the_sum_of_parts_follows() -> None:
    _, plain = read_deployment(DEPLOYMENT)
    own = calibrated(plain, [stated()])
    load = {"tokens": 8, "decode_seqs": 8, "context_tokens": 8000, "prefill_pairs": 0, "prefill_seqs": 0}
    before, after = step_time_tables(plain).step_ps(**load), step_time_tables(own).step_ps(**load)
    assert 1.2 * before < after < 1.35 * before  # bytes over 0.8 of the bandwidth, host time by 1.3
    assert sum(part[1] for part in step_time_parts(own, **load)) == pytest.approx(after * 1e-12, rel=1e-6)


@pytest.mark.parametrize(
    "other",
    [{"model": "Qwen/Qwen3-8B"}, {"weight_dtype": "fp8"}, {"gpu": "H200-SXM-141GB"}, {"engine": "sglang"}],
    ids=lambda other: next(iter(other)),
)
def test_another_model_type_gpu_or_engine_does_not_match(other: dict[str, str]) -> None:
    _, plain = read_deployment(DEPLOYMENT)
    assert calibrated(plain, [stated(**other)]) is plain


def test_a_match_shows_in_assumptions_and_coverage_and_raises_the_cost_of_slower_steps() -> None:
    before, after = estimate_scenario(small()), estimate_scenario(with_calibrations(small(), (stated(),)))
    capacity = [each["candidates"][0]["capacity_rps"]["mid"] for each in (before, after)]
    assert capacity[1] < capacity[0]
    row = next(r for r in after["provenance"]["assumptions"] if r["what"].startswith("Step times of"))
    assert row["value"] == "calibration 2: memory bandwidth × 0.8, host time × 1.3"
    assert row["basis"].startswith("6 measured runs of your own, 2026-11-01 to 2026-11-20")
    assert after["provenance"]["coverage"]["sentence"].endswith("Calibrated on 6 runs of your own.")
    assert after["provenance"]["scenario"]["calibrations"][0]["number"] == 2
    told = [estimate_cells(each)["calibration"] for each in (small(), with_calibrations(small(), (stated(),)))]
    assert told == [None, "calibration 2 on 6 of your own runs until 2026-11-20"]


def test_what_cannot_match_leaves_digest_and_result_alone() -> None:
    plain = small()
    same = with_calibrations(plain, (stated(model="Qwen/Qwen3-8B"), stated(gpu="H200-SXM-141GB")))
    assert scenario_digest(same) == scenario_digest(plain)
    assert "calibrations" not in canonical_json(plain)


def test_any_accelerator_may_match() -> None:
    for gpus in ("any", ["any"], ["H100-SXM5-80GB", "any"]):
        taken = with_calibrations(small(hardware={"gpus": gpus}), (stated(), stated(gpu="H200-SXM-141GB")))
        assert taken.calibrations is not None
        assert len(taken.calibrations) == 2


def test_a_digest_covers_the_calibration_and_a_scenario_that_says_none_takes_none() -> None:
    taken, other = (with_calibrations(small(), (stated(host_factor=each),)) for each in (1.3, 1.31))
    assert len({scenario_digest(each) for each in (small(), taken, other)}) == 3
    assert parse_scenario(canonical_json(taken)) == taken
    none = small(calibrations=[])
    assert with_calibrations(none, (stated(),)) is none
    assert estimate_scenario(none)["candidates"] == estimate_scenario(small())["candidates"]


def test_faults_of_a_stated_calibration_are_named_together() -> None:
    wrong = {**stated().model_dump(mode="json"), "host_factor": 99.0, "engine": "ollama", "more": 1}
    with pytest.raises(ScenarioInvalid) as caught:
        small(calibrations=[wrong])
    assert {error.pointer for error in caught.value.errors} == {
        "/calibrations/0/host_factor",
        "/calibrations/0/engine",
        "/calibrations/0/more",
    }


def test_two_calibrations_of_one_deployment_are_refused() -> None:
    twice = [each.model_dump(mode="json") for each in (stated(), stated(number=3))]
    with pytest.raises(ScenarioInvalid) as caught:
        small(calibrations=twice)
    assert [(error.code, error.pointer) for error in caught.value.errors] == [("repeated", "/calibrations/1")]


@pytest.mark.parametrize(("first", "faults"), [("2026-11-20", []), ("2026-11-21", ["/calibrations/0/measured_until"])])
def test_the_newest_run_is_not_older_than_the_oldest(first: str, faults: list[str]) -> None:
    given = {**stated().model_dump(mode="json"), "measured_from": first}
    try:
        small(calibrations=[given])
        found = []
    except ScenarioInvalid as invalid:
        found = [error.pointer for error in invalid.errors]
    assert found == faults
