"""Result files of each tool, made up with numbers that fit together, read to values worked out by hand."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.planning.importers import ImportRefused, bytes_source, open_source
from planner.planning.measurements import read_measurement

N, DURATION_S = 200, 50.0  # 4 requests/s of 1,000 + 101 tokens, TTFT 500 ms, 20 ms a token: E2E 2,500 ms, 10 in flight
TTFT, TPOT, E2E = 500.0, 20.0, 2500.0


def measured(document):
    text = document if isinstance(document, str) else json.dumps(document)
    return read_measurement(open_source(bytes_source(text.encode())))


def one(document):
    found = measured(document)
    assert found is not None
    assert len(found.runs) == 1
    return found.format, found.runs[0]


VLLM = {
    "date": "20261101-101500", "backend": "vllm", "model_id": "m", "num_prompts": 203, "request_rate": "inf",
    "max_concurrency": 10, "duration": DURATION_S, "completed": N, "total_input_tokens": 200_000,
    "total_output_tokens": 20_200, "request_throughput": 4.0, "request_goodput": 3.0, "output_throughput": 404.0,
    "total_token_throughput": 4404.0, "mean_ttft_ms": TTFT, "median_ttft_ms": 480.0, "p99_ttft_ms": 900.0,
    "mean_tpot_ms": TPOT, "median_tpot_ms": 19.0, "p99_tpot_ms": 30.0, "mean_itl_ms": 200.0, "p99_itl_ms": 300.0,
    "mean_e2el_ms": E2E, "p99_e2el_ms": 4000.0,
}  # fmt: skip
SGLANG = {
    "backend": "sglang", "request_rate": float("inf"), "max_concurrency": 10, "random_input_len": 1000,
    "random_output_len": 256, "random_range_ratio": 1.0, "duration": DURATION_S, "completed": N,
    "total_input_tokens": 200_000, "total_output_tokens": 20_200, "request_throughput": 4.0, "input_throughput": 4000.0,
    "output_throughput": 404.0, "total_throughput": 4404.0, "mean_e2e_latency_ms": E2E, "mean_ttft_ms": TTFT,
    "mean_tpot_ms": TPOT, "mean_itl_ms": 20.0, "concurrency": 10.0,
}  # fmt: skip


def distribution(mean, scale=1.0, total=None):
    moments = {
        "mean": mean * scale,
        "std_dev": 0.0,
        "min": mean * scale,
        "max": mean * scale,
        "count": N,
        "total_sum": total,
    }
    return {"successful": {**moments, "percentiles": {"p50": mean * scale, "p99": mean * scale}}}


def guidellm(version):
    metrics = {
        "request_totals": {"successful": N, "errored": 2, "incomplete": 1, "total": 203},
        "requests_per_second": distribution(4.0),
        "request_concurrency": distribution(10.0),
        "request_latency": distribution(E2E, 1e-3),
        "prompt_token_count": distribution(1000.0, total=200_000.0),
        "output_token_count": distribution(101.0, total=20_200.0),
        "time_to_first_token_ms": distribution(TTFT),
        "time_per_output_token_ms": distribution(E2E / 101),
        "inter_token_latency_ms": distribution(TPOT),
        "output_tokens_per_second": distribution(404.0),
    }
    config = {"strategy": {"type_": "constant", "rate": 4.0}, "backend": {"model": "m", "kind": "openai_http"}}
    bench = {"config" if version == 2 else "args": config, "metrics": metrics, "duration": DURATION_S}
    return {"metadata": {"version": version}, "benchmarks": [bench]}


def aiperf(per):
    def entry(value, unit="ms"):
        return {"unit": unit, "avg": value, "p50": value, "p99": value, "min": value, "max": value, "std": 0.0}

    return {
        "request_throughput": {"unit": "requests/sec", "avg": 4.0}, "request_latency": entry(E2E),
        "request_count": {"unit": "requests", "avg": float(N)}, "time_to_first_token": entry(TTFT * 1e3, "us"),
        "inter_token_latency": entry(TPOT), "output_token_throughput": {"unit": "tokens/sec", "avg": 404.0},
        f"output_token_throughput_per_{per}": entry(40.4, "tokens/sec"),
        "output_sequence_length": entry(101.0, "tokens"),
        "input_sequence_length": entry(1000.0, "tokens"), "goodput": {"unit": "requests/sec", "avg": 3.0},
        "benchmark_duration": {"unit": "sec", "avg": DURATION_S},
        "error_request_count": {"unit": "requests", "avg": 3.0},
        "input_config": {"endpoint": {"model_names": ["m"]}, "loadgen": {"concurrency": 10}},
    }  # fmt: skip


AIPERF_CSV = """Metric,avg,min,max,p1,p50,p99,std
Time to First Token (ms),500,500,500,500,500,500,0
Request Latency (ms),"2,500",2500,2500,2500,2500,2500,0
Inter Token Latency (ms),20,20,20,20,20,20,0
Output Sequence Length (tokens),101,101,101,101,101,101,0
Input Sequence Length (tokens),1000,1000,1000,1000,1000,1000,0

Metric,Value
Request Throughput (requests/sec),4.0
Output Token Throughput (tokens/sec),404
Request Count,200
Benchmark Duration (sec),50
""".replace('"2,500"', "2500")
RECORDS = "\n".join(
    json.dumps(record)
    for record in (
        {
            "metadata": {"request_start_ns": 10**9, "request_end_ns": 3_500_000_000, "was_cancelled": False},
            "metrics": {
                "time_to_first_token": {"value": 500.0, "unit": "ms"}, "request_latency": {"value": 2.5, "unit": "s"},
                "inter_token_latency": {"value": 20.0, "unit": "ms"},
                "input_sequence_length": {"value": 1000, "unit": "tokens"},
                "output_sequence_length": {"value": 101, "unit": "tokens"},
            },
            "error": None,
        },
        {
            "metadata": {"request_start_ns": 2 * 10**9, "request_end_ns": 2 * 10**9, "was_cancelled": True},
            "metrics": {"error_isl": {"value": 1000, "unit": "tokens"}}, "error": {"code": 499},
        },
    )
)  # fmt: skip
LLMPERF = {
    "name": "m_1000_101_summary", "model": "m", "mean_input_tokens": 1000, "mean_output_tokens": 101,
    "num_concurrent_requests": 10, "results_ttft_s_mean": 0.5, "results_ttft_s_quantiles_p99": 0.9,
    "results_inter_token_latency_s_mean": 2.5 / 101, "results_end_to_end_latency_s_mean": 2.5,
    "results_number_input_tokens_mean": 1000.0, "results_number_output_tokens_mean": 101.0,
    "results_num_completed_requests": N, "results_num_completed_requests_per_min": 240.0, "results_number_errors": 3,
    "results_mean_output_throughput_token_per_s": 404.0,
}  # fmt: skip
INFERENCE_PERF = {
    "load_summary": {"count": 203, "requested_rate": 4.0},
    "successes": {
        "count": N,
        "latency": {
            "request_latency": {"mean": 2.5, "median": 2.5, "p99": 2.6},
            "time_to_first_token": {"mean": 0.5, "p99": 0.9},
            "time_per_output_token": {"mean": 0.02}, "normalized_time_per_output_token": {"mean": 2.5 / 101},
            "inter_token_latency": {"mean": 0.02},
        },
        "throughput": {
            "input_tokens_per_sec": 4000.0, "output_tokens_per_sec": 404.0, "total_tokens_per_sec": 4404.0,
            "requests_per_sec": 4.0,
        },
        "prompt_len": {"mean": 1000.0}, "output_len": {"mean": 101.0},
    },
    "failures": {"count": 3},
}  # fmt: skip
LLMD = """version: '0.2'
run:
  description: made up
  time: {duration: PT50.0S}
scenario:
  stack:
  - standardized: {kind: inference_engine, tool: vllm, replicas: 2, model: {name: m}, accelerator: {count: 4}}
  load:
    standardized: {rate_qps: 4, concurrency: .inf}
results:
  request_performance:
    aggregate:
      requests: {total: 203, failures: 3, input_length: {mean: 1000}, output_length: {mean: 101}}
      throughput:
        request_rate: {units: queries/s, mean: 4.0}
        output_token_rate: {units: tokens/s, mean: 404.0}
        total_token_rate: {units: tokens/s, mean: 4404.0}
      latency:
        request_latency: {units: s, mean: 2.5, p99p9: 3.0}
        time_to_first_token: {units: ms, mean: 500}
        time_per_output_token: {units: s/token, mean: 0.02}
        normalized_time_per_output_token: {units: s/token, mean: 0.024752}
"""
LLM_OPTIMIZER = {
    "config": {"client_args": {"num_prompts": 203, "max_concurrency": 10, "random_input_len": 2000},
               "server_args": {"model_path": "m"}},
    "results": {key: value for key, value in SGLANG.items() if not key.startswith("random")},
}  # fmt: skip
CASES = {
    "vllm_bench_serve": VLLM, "sglang_bench_serving": SGLANG, "guidellm": guidellm(2), "aiperf": aiperf("user"),
    "genai_perf": aiperf("request"), "aiperf_csv": AIPERF_CSV, "llmperf": LLMPERF, "inference_perf": INFERENCE_PERF,
    "llmd_report": LLMD, "llm_optimizer": LLM_OPTIMIZER,
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_every_tool_tells_of_the_same_run(name):
    found, run = one(CASES[name])
    assert found == name
    assert run.completed == N
    assert run.request_rps == pytest.approx(4.0)
    assert run.input_tokens_mean == pytest.approx(1000)
    assert run.output_tokens_mean == pytest.approx(101)
    assert run.output_tokens_per_s == pytest.approx(404)
    assert run.latency("ttft") == pytest.approx(TTFT)
    assert run.latency("e2e") == pytest.approx(E2E)
    assert run.latency("tpot") == pytest.approx(TPOT)
    assert run.mean_concurrency == pytest.approx(10)
    assert run.failed in (None, 3)
    assert run.checks
    assert all(check.ok for check in run.checks), [check.as_dict() for check in run.checks]


def test_both_versions_of_guidellm():
    first, second = one(guidellm(1))[1], one(guidellm(2))[1]
    assert first.latencies_ms == second.latencies_ms
    assert (second.model, second.offered_rps, second.failed) == ("m", 4.0, 3)


def test_tpot_with_and_without_the_first_token_are_kept_apart():
    for document in (guidellm(2), LLMPERF, INFERENCE_PERF):
        run = one(document)[1]
        assert run.latency("tpot_with_first") == pytest.approx(24.75, abs=0.01)
        assert run.latency("tpot") == pytest.approx(20)
    assert "TPOT is not in the file" in " ".join(one(LLMPERF)[1].notes)


def test_a_configured_length_is_not_a_measured_one():
    assert any(note.startswith("output: 256 tokens were asked for, 101") for note in one(SGLANG)[1].notes)
    assert any(note.startswith("input: 2000 tokens were asked for") for note in one(LLM_OPTIMIZER)[1].notes)


def test_goodput_is_a_rate_and_chunks_carry_tokens():
    notes = " ".join(one(VLLM)[1].notes)
    assert "75.0 % of the requests" in notes
    assert "a chunk carries about 10.0 tokens" in notes


def test_a_published_run_with_labels_that_mislead():
    """bentoml/llm-optimizer issue 21: labels of 80,000 and 4,096 tokens, totals that say otherwise."""
    document = {
        "config": {"client_args": {"num_prompts": 600, "random_input_len": 80_000, "random_output_len": 4096}},
        "results": {
            "completed": 599, "total_input_tokens": 23_531_562, "total_output_tokens": 1_260_603, "duration": 6751.398,
            "max_concurrency": 8, "mean_e2e_latency_ms": 89_713.76, "mean_ttft_ms": 3987.64,
        },
    }  # fmt: skip
    pretty = json.dumps(document, indent=2) + "\n" + json.dumps(document, indent=2)  # no valid JSON Lines either
    found = measured(pretty)
    assert len(found.runs) == 2
    run = found.runs[0]
    assert run.input_tokens_mean == pytest.approx(39_285, rel=1e-3)
    assert run.output_tokens_mean == pytest.approx(2105, rel=1e-3)
    assert run.request_rps == pytest.approx(0.0887, rel=5e-3)
    assert run.mean_concurrency == pytest.approx(7.96, rel=0.01)
    assert run.latency("tpot") == pytest.approx(40.8, rel=0.01)
    assert run.failed == 1
    assert len(run.notes) >= 3


def test_littles_law_on_a_published_run():
    """sgl-project/sglang issue 8285: 11.91 requests/s of 26.53 s are 316 in flight; 675,840 tokens in 55.42 s."""
    document = {
        "completed": 660, "duration": 55.42, "total_input_tokens": 1, "total_output_tokens": 675_840,
        "request_throughput": 11.91, "mean_e2e_latency_ms": 26_530.12, "mean_ttft_ms": 1000.0,
    }  # fmt: skip
    run = one(document)[1]
    assert run.mean_concurrency == pytest.approx(315.97, rel=0.002)
    assert run.output_tokens_per_s == pytest.approx(12_194.9, rel=5e-4)


def test_numbers_that_cannot_be_true_together():
    wrong = {**VLLM, "output_throughput": 808.0, "mean_tpot_ms": 45.0, "max_concurrency": 4}
    failed = {check.name for check in one(wrong)[1].checks if not check.ok}
    assert failed == {"output_tokens_over_duration", "tpot", "concurrency_limit"}
    seconds = {**VLLM, "mean_e2el_ms": E2E * 1000}
    assert "thousand times" in " ".join(one(seconds)[1].notes)
    whole = {**VLLM, "mean_ttft_ms": E2E}
    assert "not streamed" in " ".join(one(whole)[1].notes)


def test_percentiles_of_few_requests_are_marked():
    few = {**VLLM, "completed": 20, "duration": 5.0, "total_input_tokens": 20_000, "total_output_tokens": 2_020}
    assert "not a percentile" in " ".join(one(few)[1].notes)


def test_arrays_in_seconds_fill_in_percentiles():
    detailed = {
        **{key: value for key, value in VLLM.items() if "e2el" not in key},
        "input_lens": [10, 10], "output_lens": [3, 1], "ttfts": [0.5, 0.1], "itls": [[0.02, 0.04], []],
    }  # fmt: skip
    run = one(detailed)[1]
    assert run.latency("e2e") == pytest.approx((560 + 100) / 2)
    assert run.latency("ttft") == TTFT
    assert run.latency("ttft", "p90") == pytest.approx(460)


def test_records_count_the_cancelled_apart():
    found, run = one(RECORDS)
    assert found == "aiperf_records"
    assert (run.completed, run.failed) == (1, 1)
    assert run.latency("e2e") == pytest.approx(2500)
    assert run.latency("ttft") == 500
    assert run.duration_s == pytest.approx(2.5)


def test_mean_of_tpots_is_not_the_token_weighted_mean():
    """Requests of 2 tokens 100 ms apart and of 101 tokens 10 ms apart: 55 ms a request, 10.89 ms a gap."""
    run = one({**VLLM, "output_lens": [2, 101], "ttfts": [0.1, 0.1], "itls": [[0.1], [0.01] * 100],
               "mean_tpot_ms": None, "mean_itl_ms": None})[1]  # fmt: skip
    assert run.latency("tpot") == pytest.approx(55.0)
    assert run.latency("itl") == pytest.approx(10.89, abs=0.01)


@pytest.mark.parametrize(("goodput", "rate", "percent"), [(0.14, 0.27, "51.9"), (3.0, 4.0, "75.0")])
def test_a_rate_of_good_requests_as_a_share(goodput, rate, percent):
    """tenstorrent/tt-inference-server pull 5084: 0.14 of 0.27 requests/s are 51.9 %."""
    notes = one({**VLLM, "request_goodput": goodput, "request_throughput": rate})[1].notes
    assert any(f"{percent} % of the requests" in note for note in notes)


def test_two_definitions_of_tpot_are_a_quarter_apart():
    """redhat-performance/configiq issue 8: TTFT 2,000 ms, then 30 ms a token, 200 tokens."""
    e2e = 2000 + 199 * 30
    run = one({**VLLM, "completed": 1, "total_output_tokens": 200, "mean_ttft_ms": 2000, "mean_e2el_ms": e2e,
               "mean_tpot_ms": None, "median_tpot_ms": None, "p99_tpot_ms": None})[1]  # fmt: skip
    assert run.latency("tpot") == pytest.approx(30.0)
    assert e2e / run.output_tokens_mean == pytest.approx(39.85)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_results_are_read_or_not_but_never_crash(data):
    text = json.dumps(data.draw(st.sampled_from([VLLM, SGLANG, guidellm(2), aiperf("user"), LLMPERF, INFERENCE_PERF])))
    cut = data.draw(st.integers(0, len(text)))
    junk = data.draw(st.sampled_from(["", "null", "[]", '"x"', "{}", "1e999", "-1", "NaN"]))
    with suppress(ImportRefused):
        measured(text[:cut] + junk + text[cut + data.draw(st.integers(0, 5)) :])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_values_of_another_kind_do_not_crash(data):
    document = json.loads(json.dumps(data.draw(st.sampled_from([VLLM, guidellm(2), aiperf("user"), INFERENCE_PERF]))))
    here = document
    for _ in range(data.draw(st.integers(0, 3))):
        inner = [key for key, value in here.items() if isinstance(value, dict)]
        if not inner:
            break
        here = here[data.draw(st.sampled_from(sorted(inner)))]
    if here:
        key = data.draw(st.sampled_from(sorted(here)))
        here[key] = data.draw(
            st.sampled_from([None, [], {}, "x", -1, 0, 1e308, True, [1], {"avg": None}, float("inf")])
        )
    measured(document)


@pytest.mark.parametrize("value", ["Infinity", "-Infinity", "NaN", "1e308", "1e-308"])
@pytest.mark.parametrize("key", ["duration", "mean_e2el_ms", "total_output_tokens", "request_throughput"])
def test_numbers_out_of_all_bounds_stay_out_of_the_answer(key, value):
    text = json.dumps(VLLM).replace(f'"{key}": {json.dumps(VLLM[key])}', f'"{key}": {value}')
    assert value in text
    json.dumps(measured(text).as_dict(), allow_nan=False)


def test_no_limit_is_told_as_such():
    assert one(VLLM)[1].as_dict()["offered_rps"] == "inf"
    assert one(LLMD)[1].as_dict()["max_concurrency"] == "inf"
