"""What servers say of themselves: start-up logs and metrics, shaped like the engines' with figures of our own."""

import json

import pytest

from planner.planning.importers import bytes_source, open_source
from planner.planning.measurements import read_measurement

VLLM_LOG = """INFO 11-02 10:00:00 [api_server.py:1] vLLM API server version 0.19.1
INFO 11-02 10:00:40 [gpu_model_runner.py:2] Model loading took 67.7219 GiB memory and 40.1 seconds
INFO 11-02 10:01:10 [gpu_worker.py:3] Available KV cache memory: 61.04 GiB
INFO 11-02 10:01:10 [kv_cache_utils.py:4] GPU KV cache size: 200,016 tokens
INFO 11-02 10:01:10 [kv_cache_utils.py:5] Maximum concurrency for 16,384 tokens per request: 12.21x
INFO 11-02 10:01:30 [gpu_model_runner.py:6] Graph capturing finished in 20 secs, took 1.12 GiB
"""
SGLANG_LOG = (
    "[2026-11-02 10:00:00] Load weight end. type=LlamaForCausalLM, avail mem=62.33 GB, mem usage=15.02 GB.\n"
    "[2026-11-02 10:00:05] KV Cache is allocated. #tokens: 400000, K size: 24.41 GB, V size: 24.41 GB\n"
    "[2026-11-02 10:00:20] max_total_num_tokens=400000, max_running_requests=2048, context_len=131072\n"
)
METRICS = """# HELP vllm:time_to_first_token_seconds Histogram of time to first token in seconds.
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{le="0.1",model_name="m"} 50.0
vllm:time_to_first_token_seconds_bucket{le="0.5",model_name="m"} 90.0
vllm:time_to_first_token_seconds_bucket{le="1.0",model_name="m"} 100.0
vllm:time_to_first_token_seconds_bucket{le="+Inf",model_name="m"} 100.0
vllm:time_to_first_token_seconds_count{model_name="m"} 100.0
vllm:time_to_first_token_seconds_sum{model_name="m"} 25.0
vllm:e2e_request_latency_seconds_bucket{le="1.0",model_name="m"} 0.0
vllm:e2e_request_latency_seconds_bucket{le="5.0",model_name="m"} 100.0
vllm:e2e_request_latency_seconds_bucket{le="+Inf",model_name="m"} 100.0
vllm:e2e_request_latency_seconds_count{model_name="m"} 100.0
vllm:e2e_request_latency_seconds_sum{model_name="m"} 225.0
vllm:prompt_tokens_total{model_name="m"} 100000.0
vllm:generation_tokens_total{model_name="m"} 10100.0
vllm:request_success_total{finished_reason="stop",model_name="m"} 60.0
vllm:request_success_total{finished_reason="length",model_name="m"} 40.0
"""


def measured(text):
    return read_measurement(open_source(bytes_source(text.encode())))


def test_vllms_start():
    found = measured(VLLM_LOG)
    assert found.format == "engine_log"
    assert found.server == {
        "engine": "vllm", "engine_version": "0.19.1", "weights_gib": 67.7219, "available_kv_gib": 61.04,
        "kv_cache_tokens": 200_016, "max_concurrency_len_tokens": 16_384, "max_concurrency": 12.21,
        "cuda_graph_gib": 1.12,
    }  # fmt: skip
    assert found.notes == []


def test_a_hybrid_cache_and_unequal_ranks_are_told():
    notes = measured(VLLM_LOG.replace("12.21x", "31.00x") + VLLM_LOG.replace("61.04", "60.98")).notes
    assert any("several kinds" in note for note in notes)
    assert any(note.startswith("available_kv_gib differs between ranks: 60.98, 61.04") for note in notes)


def test_sglangs_start():
    server = measured(SGLANG_LOG).server
    assert server["engine"] == "sglang"
    assert server["kv_cache_tokens"] == 400_000
    assert server["weights_gib"] == 15.02
    assert server["context_len_tokens"] == 131_072


def test_histograms_of_the_metrics_page():
    found = measured(METRICS)
    run = found.runs[0]
    assert found.format == "prometheus_text"
    assert (run.completed, run.input_tokens, run.output_tokens) == (100, 100_000, 10_100)
    assert run.latency("ttft") == pytest.approx(250)
    assert run.latency("ttft", "p50") == pytest.approx(100)
    assert run.latency("ttft", "p90") == pytest.approx(500)
    assert run.latency("ttft", "p95") == pytest.approx(750)  # halfway through the bucket from 0.5 to 1 s
    assert run.latency("tpot") == pytest.approx((2250 - 250) / 100)


def test_a_range_query_counts_growth_across_a_restart():
    def series(name, values, **labels):
        return {
            "metric": {"__name__": name, "model_name": "m", **labels},
            "values": [[60 * i, str(v)] for i, v in enumerate(values)],
        }

    name = "sglang:time_to_first_token_seconds"
    result = [
        series(f"{name}_bucket", [10, 30, 5], le="0.2"),
        series(f"{name}_bucket", [10, 40, 10], le="0.4"),
        series(f"{name}_bucket", [10, 40, 10], le="+Inf"),
        series(f"{name}_count", [10, 40, 10]),
        series(f"{name}_sum", [1.0, 7.0, 2.0]),
        series("sglang:prompt_tokens_total", [0, 4000, 1000]),
    ]
    run = measured(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})).runs[0]
    assert run.duration_s == 120
    assert run.input_tokens == 5000
    assert run.latency("ttft") == pytest.approx(1e3 * (6 + 2) / (30 + 10))
    assert run.latency("ttft", "p50") == pytest.approx(200 * 20 / 25)  # 25 of 40 within 0.2 s


def test_what_is_no_measurement():
    for text in ("a,b\n1,2\n", "{}", "[1]", "words", '{"time_to_first_token": 1}', "version: 1\nrequest_latency: [[[["):
        assert measured(text) is None
