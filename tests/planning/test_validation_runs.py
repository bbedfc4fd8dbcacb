"""Predicted rows: the simulated run has the row's own load, and errors add up as reported."""

import json
from pathlib import Path

import numpy as np
import pytest

from planner.planning.validation import Comparison, Missing, compare_serving_row, error_report
from planner.planning.validation.command import ValidationInput, run_validation, unreadable_input
from planner.planning.validation.errors import error_table
from planner.planning.validation.rows import read_measured
from planner.planning.validation.runs import Prediction, draw_lengths, predict
from planner.planning.validation.setups import RowLoad, row_setup

HEADER = (
    "id,model,gpu,n_gpus,tp,engine,weight_dtype,isl_mean,osl_mean,length_distribution,load_type,load_value,"
    "output_tok_s,ttft_mean_ms,tpot_mean_ms,e2e_mean_s,trust\n"
)
SERVING = "s-{n},Llama-3.1-8B,H100-SXM-80GB,1,1,vLLM,bf16,512,64,fixed,concurrency,{n},,40,8,0.6,gold\n"
THROUGHPUT = "t-1,Llama-3.1-8B,H100-SXM-80GB,1,1,TensorRT-LLM,fp8,128,32,fixed,batch_all_at_once,64,9000,,,,gold\n"


def load(lengths: str = "fixed") -> RowLoad:
    return RowLoad("closed", 200, 8, 0.0, 1000.0, 500.0, lengths, 0.0)  # type: ignore[arg-type]


def test_uniform_lengths_lie_between_80_and_100_percent() -> None:
    prompts, outputs = draw_lengths(load("uniform_80_100"), 4000)
    assert (prompts.min(), prompts.max(), outputs.min(), outputs.max()) == (800, 1000, 400, 500)
    assert prompts.mean() == pytest.approx(900, rel=0.01)
    assert abs(np.corrcoef(prompts, outputs)[0, 1]) < 0.05


def test_chat_lengths_keep_the_stated_mean_roughly() -> None:
    prompts, outputs = draw_lengths(load("chat"), 20_000)
    assert 600 < prompts.mean() < 1000
    assert prompts.max() <= 1024
    assert 1024 < (prompts + outputs).max() <= 2048


def prediction(line: str) -> Prediction:
    (row,) = read_measured((HEADER + line).encode()).rows
    return predict(row_setup(row))


def test_more_in_flight_gives_more_throughput_and_longer_steps() -> None:
    few, many = prediction(SERVING.format(n=4)), prediction(SERVING.format(n=64))
    assert many.throughput_tok_s > few.throughput_tok_s
    assert many.tpot_ms > few.tpot_ms
    assert many.ttft_ms > few.ttft_ms


def test_latencies_of_a_closed_loop_add_up() -> None:
    one = prediction(SERVING.format(n=8))
    assert one.e2e_s == pytest.approx((one.ttft_ms + one.tpot_ms * 63) / 1e3, rel=0.01)
    assert one.throughput_tok_s <= 8 * 64 / one.e2e_s * 1.2


def test_predictions_are_repeatable() -> None:
    assert prediction(SERVING.format(n=8)) == prediction(SERVING.format(n=8))


def test_a_serving_row_gives_a_comparison_per_latency() -> None:
    (row,) = read_measured((HEADER + SERVING.format(n=4)).encode()).rows
    found = compare_serving_row(row)
    assert [item.metric for item in found] == ["tpot", "ttft_low", "e2e"]
    assert all(isinstance(item, Comparison) and item.ratio > 0 for item in found)


def comparison(ratio: float, gpu: str = "a", interval: tuple[float, float] = (0.5, 2.0)) -> Comparison:
    groups = dict.fromkeys(("model", "engine", "dtype", "parallelism", "load", "source"), "x")
    return Comparison("tpot", "id", ratio, interval, {"gpu": gpu, **groups})


def test_the_report_counts_and_averages_as_it_says() -> None:
    items = [comparison(1.1), comparison(0.8), comparison(1.3, "b", (1.1, 2.2)), Missing("tpot", "id", "why")]
    part = error_report(items, {"tpot": {"bad": 2}})["tpot"]
    assert (part["rows"], part["predicted"], part["skipped"]) == (6, 3, {"bad": 2, "why": 1})
    assert part["median_ape_pct"] == pytest.approx(20)
    assert part["bias_pct"] == pytest.approx(10)
    assert part["macro_median_ape_pct"] == pytest.approx((15 + 30) / 2)
    assert part["interval_coverage_pct"] == pytest.approx(66.67)
    # Two intervals of ln 4 that hold, one of ln 2 that is missed by ln 1.1, which counts ten times.
    assert part["interval_score"] == pytest.approx((2 * np.log(4) + np.log(2) + 10 * np.log(1.1)) / 3, abs=0.01)
    assert part["by"]["gpu"]["b"]["predicted"] == 1
    assert set(part["by"]) == {"gpu", "model", "engine", "dtype", "parallelism", "load", "source"}


def test_an_empty_report_has_every_metric_and_no_figures() -> None:
    report = error_report([], {})
    assert list(report) == [
        "throughput", "tpot", "ttft_low", "ttft_closed", "ttft_open", "e2e", "kvcache", "requests",
    ]  # fmt: skip
    assert report["e2e"]["median_ape_pct"] is None
    assert "NaN" not in json.dumps(report)


def test_validation_of_files_reads_all_that_is_given(tmp_path: Path) -> None:
    throughput, serving = tmp_path / "t.csv", tmp_path / "s.csv"
    throughput.write_text(HEADER + THROUGHPUT)
    serving.write_text(HEADER + SERVING.format(n=4) + SERVING.format(n=32) + "broken\n")
    report = run_validation(ValidationInput(throughput=throughput, serving=serving))
    assert report["throughput"]["predicted"] == 1
    assert report["tpot"]["predicted"] == 2
    assert report["tpot"]["skipped"] == {"no id or load type": 1}
    assert report["ttft_low"]["rows"] == report["ttft_closed"]["rows"] == 1
    assert "throughput" in error_table(report)


def test_held_out_constants_change_predictions_of_fitted_pairs_only(tmp_path: Path) -> None:
    serving = tmp_path / "s.csv"
    serving.write_text(HEADER + SERVING.format(n=32))
    shipped = run_validation(ValidationInput(serving=serving))
    held_out = run_validation(ValidationInput(serving=serving, cross_validated=True))
    assert shipped["tpot"]["bias_pct"] != held_out["tpot"]["bias_pct"]


def test_arguments_are_checked_in_one_line(tmp_path: Path) -> None:
    assert "--serving" in (unreadable_input(ValidationInput()) or "")
    assert "not a readable file" in (unreadable_input(ValidationInput(serving=tmp_path / "none.csv")) or "")
    assert "not a folder" in (unreadable_input(ValidationInput(requests=tmp_path / "none")) or "")
