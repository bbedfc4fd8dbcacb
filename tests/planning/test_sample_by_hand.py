"""The sample report recomputed by hand: what a newcomer sees first must hold up to a pencil.

Nothing here calls the product's arithmetic. Figures come from the model's layer shapes, the trace, the price table and
the providers' price pages; where the report rests on a simulation, the same fleet is simulated here from raw arrays.
"""

import csv
import json
from datetime import date, timedelta
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from costmodel import Parallelism, load_catalog, make_deployment, step_time_tables
from planner.planning import sample_scenario
from simulator import EngineConfig, StepTime, Workload, simulate

GIB = 2**30
ROOT = Path(__file__).parents[2]

# Llama 3.3 70B: config.json of the model
LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD_DIM, INTERMEDIATE, VOCAB = 80, 8192, 64, 8, 128, 28672, 128256
FP8, BF16 = 1, 2

# 19,366 requests in 3,501.721937 s; the busiest hour is 2.4 times the mean of the week; a month has 730 hours
ROWS, SPAN_S, PEAK_TO_MEAN, HOURS = 19_366, 3501.721937, 2.4, 730
PEAK_RPS = (ROWS - 1) / SPAN_S
MEAN_RPS = PEAK_RPS / PEAK_TO_MEAN
REQUESTS_PER_MONTH = MEAN_RPS * 3600 * HOURS


@pytest.fixture(scope="module")
def trace():
    with np.load(ROOT / "planner/planning/traffic/data/azure_conversation_2023.npz", allow_pickle=False) as arrays:
        gaps = arrays["gap_ticks"].astype(np.int64)
        return np.cumsum(gaps) * 100, arrays["prompt_tokens"].astype(np.int64), arrays["output_tokens"].astype(np.int64)


def line(report, label):
    return next(row for row in report["memory"]["lines"] if row["label"] == label)["gib"]


def test_the_sample_asks_what_the_report_answers():
    scenario = sample_scenario()
    assert scenario["slo"] == {"ttft_p95_ms": 1000, "tpot_p95_ms": 50}
    assert scenario["traffic"]["shape"] == {"kind": "working_week", "peak_to_mean": PEAK_TO_MEAN}
    assert scenario["billing"]["hours_per_month"] == HOURS


def test_weights_from_layer_shapes(sample):
    """FP8: one byte per value of the layers; embeddings, output matrix and norms stay in 16 bit."""
    attention = HIDDEN * HEADS * HEAD_DIM + 2 * HIDDEN * KV_HEADS * HEAD_DIM + HEADS * HEAD_DIM * HIDDEN
    mlp = 3 * HIDDEN * INTERMEDIATE
    layers = LAYERS * (attention + mlp) * FP8
    norms = (LAYERS * 2 * HIDDEN + HIDDEN) * BF16
    embedding = head = VOCAB * HIDDEN * BF16
    assert attention + mlp == 855_638_016
    weights_gib = (layers + norms + embedding + head) / GIB
    assert weights_gib == pytest.approx(67.67, abs=0.01)
    # one GPU holds all of it; the scales of FP8 add less than 0.1 %
    assert -line(sample, "Weights") == pytest.approx(weights_gib, rel=1e-3)


def test_kv_cache_and_the_subtraction(sample):
    per_token = 2 * KV_HEADS * HEAD_DIM * FP8 * LAYERS  # keys and values
    assert per_token == 163_840
    memory = sample["memory"]
    assert memory["kv_bytes_per_token"] == per_token
    *above, pool = memory["lines"]
    assert sum(row["gib"] for row in above) == pytest.approx(pool["gib"], abs=1e-3)
    assert line(sample, "Left free") == pytest.approx(-(1 - 0.92) * line(sample, "GPU memory"), abs=1e-3)
    blocks = int(memory["kv_pool_gib"] * GIB / (16 * per_token))
    assert memory["kv_blocks"] == pytest.approx(blocks, abs=1)
    assert memory["kv_tokens"] == memory["kv_blocks"] * 16


def test_context_held_on_average(sample, trace):
    """A request is present in proportion to its output n and holds its prompt p and half of n."""
    _, p, n = trace
    held = (p * n).sum() / n.sum() + (n.astype(float) ** 2).sum() / (2 * n.sum())
    assert sample["memory"]["mean_context_tokens"] == pytest.approx(held, rel=1e-4)
    assert sample["memory"]["concurrency_at_mean"] == pytest.approx(sample["memory"]["kv_tokens"] / held, abs=3)


def test_tokens_of_a_month(sample, trace):
    _, p, n = trace
    assert sample["load"]["offered_rps"] == pytest.approx(PEAK_RPS, rel=1e-5)
    assert sample["load"]["mean_rps"] == pytest.approx(MEAN_RPS, rel=1e-5)
    tokens = sample["cost"]["monthly_tokens"]
    assert tokens["input"] == pytest.approx(REQUESTS_PER_MONTH * p.sum() / ROWS, rel=1e-9)
    assert tokens["output"] == pytest.approx(REQUESTS_PER_MONTH * n.sum() / ROWS, rel=1e-9)
    assert tokens["total"] == tokens["input"] + tokens["output"]


def test_the_gpu_price_is_the_median_of_the_dated_listings(sample):
    """On-demand listings surely dated in the 180 days before 2026-11-30."""
    gpu = sample["recommended"]["gpu"]
    first = date(2026, 11, 30) - timedelta(days=180)
    prices = []
    with (ROOT / "costmodel/data/gpu_prices.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            known = row["gpu"] == gpu and row["on_demand_usd_per_gpu_hr"] and len(row["as_of"]) >= 7
            if known and date.fromisoformat((row["as_of"] + "-01")[:10]) >= first:
                prices.append(float(row["on_demand_usd_per_gpu_hr"]))
    chosen = next(c for c in sample["candidates"] if c["id"] == sample["recommended"]["candidate"])
    assert chosen["usd_per_gpu_hour"] == pytest.approx(median(prices))
    assert len(prices) >= 10


def test_cost_lines(sample):
    best = sample["recommended"]
    price = next(c for c in sample["candidates"] if c["id"] == best["candidate"])["usd_per_gpu_hour"]
    assert best["replicas"] == best["serving_replicas"] + best["spare_replicas"]
    assert best["gpus"] == best["replicas"] * best["tp"]
    serving, spare = sample["cost"]["lines"]
    assert serving["usd_per_month"] == pytest.approx(best["serving_replicas"] * best["tp"] * HOURS * price, abs=0.01)
    assert spare["usd_per_month"] == pytest.approx(1 * best["tp"] * HOURS * price, abs=0.01)
    assert sample["cost"]["usd_per_month"]["mid"] == pytest.approx(best["gpus"] * HOURS * price, abs=0.01)


def test_api_bills_at_the_listed_prices(sample):
    """Amazon Bedrock: $0.72 in and out. Groq: $0.59 in, $0.79 out. Per million tokens, no caching."""
    tokens = sample["cost"]["monthly_tokens"]
    bedrock, groq = sample["api"]
    assert (bedrock["provider"], groq["provider"]) == ("aws", "groq")
    assert bedrock["usd_per_month"] == pytest.approx((tokens["input"] * 0.72 + tokens["output"] * 0.72) / 1e6, abs=0.01)
    assert groq["usd_per_month"] == pytest.approx((tokens["input"] * 0.59 + tokens["output"] * 0.79) / 1e6, abs=0.01)


def test_cost_identity(sample):
    """Cost per token = price of a replica hour / (SLO-feasible tokens of a replica hour × utilisation)."""
    cost, best = sample["cost"], sample["recommended"]
    identity = cost["identity"]
    capacity_rps = sample["load"]["capacity_rps"] / best["serving_replicas"]
    tokens_per_request = cost["monthly_tokens"]["total"] / REQUESTS_PER_MONTH
    assert identity["slo_tokens_per_replica_hour"] == pytest.approx(capacity_rps * 3600 * tokens_per_request, rel=1e-4)
    paid = best["replicas"] * HOURS * identity["slo_tokens_per_replica_hour"]
    assert identity["utilisation_ratio"] == pytest.approx(cost["monthly_tokens"]["total"] / paid, rel=1e-4)
    per_mtok = identity["usd_per_replica_hour"] / (
        identity["slo_tokens_per_replica_hour"] * identity["utilisation_ratio"] / 1e6
    )
    bill_per_mtok = cost["usd_per_month"]["mid"] / (cost["monthly_tokens"]["total"] / 1e6)
    assert per_mtok == pytest.approx(bill_per_mtok, rel=1e-4)
    assert cost["usd_per_mtok"]["blended"] == pytest.approx(bill_per_mtok, abs=1e-4)


def test_saving_and_the_price_at_which_it_flips(sample):
    verdict, fleet = sample["verdict"], sample["cost"]["usd_per_month"]
    api_usd = min(api["usd_per_month"] for api in sample["api"])
    saving = verdict["saving_usd_per_month"]
    assert saving["mid"] == pytest.approx(api_usd - fleet["mid"], abs=0.02)
    assert saving["low"] == pytest.approx(api_usd - fleet["high"], abs=0.02)
    assert saving["high"] == pytest.approx(api_usd - fleet["low"], abs=0.02)
    assert verdict["choice"] == ("self_host" if saving["mid"] > 0 else "api")
    flip = verdict["flip_gpu_usd_per_hour"]
    assert flip * sample["recommended"]["gpus"] * HOURS == pytest.approx(api_usd, rel=1e-4)


def test_break_even_crossings(sample):
    """Staircase: n serving replicas carry n × capacity in the peak hour, so n × capacity / 2.4 on average."""
    best, tokens = sample["recommended"], sample["cost"]["monthly_tokens"]
    replica_usd = sample["cost"]["usd_per_month"]["mid"] / best["replicas"]
    step_rps = sample["load"]["capacity_rps"] / best["serving_replicas"] / PEAK_TO_MEAN
    for api, row in zip(sample["api"], sample["break_even"]["against"], strict=True):
        usd_per_rps_month = api["usd_per_month"] / MEAN_RPS
        full_step_usd = step_rps * usd_per_rps_month
        assert row["never"] == (full_step_usd <= replica_usd)
        for crossing in row["crossings"]:
            rate = crossing["mean_rps"]
            assert crossing["tokens_per_month"] == pytest.approx(tokens["total"] * rate / MEAN_RPS, rel=1e-4)
            inside = abs(rate / step_rps - round(rate / step_rps)) > 1e-4
            if inside:
                replicas = int(np.ceil(rate / step_rps)) + best["spare_replicas"]
                assert rate * usd_per_rps_month == pytest.approx(replicas * replica_usd, rel=1e-4)
    for point in sample["break_even"]["curve"]:
        assert point["self_host_usd_per_month"] == pytest.approx(point["replicas"] * replica_usd, abs=0.05)
        for api, usd in zip(sample["api"], point["api_usd_per_month"], strict=True):
            assert usd == pytest.approx(point["mean_rps"] * api["usd_per_month"] / MEAN_RPS, rel=1e-4, abs=0.01)


def test_the_fleet_meets_the_targets_and_one_replica_fewer_does_not(sample, trace):
    """The peak hour dealt round robin over n and over n − 1 replicas, from raw arrays, percentiles by nearest rank."""
    arrival_ns, prompt, output = trace
    best, memory = sample["recommended"], sample["memory"]
    engine = best["engine"]
    deployment = make_deployment(
        load_catalog().model("meta-llama/Llama-3.3-70B-Instruct"),
        load_catalog().accelerator(best["gpu"]),
        None,
        Parallelism(tp=best["tp"]),
        weight_dtype="fp8",
        kv_dtype="fp8",
        max_model_len=16384,
    )
    tables = step_time_tables(deployment)
    step_time = StepTime(
        tables.tokens_ps, tables.seats_ps, tables.context_ps, tables.prefill_pair_ps, tables.prefill_seq_ps,
        tables.prefill_step_ps, tables.request_ps, tables.request_token_ps,
    )  # fmt: skip
    config = EngineConfig(
        max_num_seqs=engine["max_num_seqs"],
        max_num_batched_tokens=engine["max_num_batched_tokens"],
        num_blocks=memory["kv_blocks"],
        max_model_len=16384,
        reserve_full_isl=deployment.profile.admission != "first_chunk",
        overlap_scheduling=deployment.profile.overlap_scheduling,
    )

    def p95(replicas):
        ttft, tpot = [], []
        for k in range(replicas):
            own = slice(k, None, replicas)
            log = simulate(config, step_time, Workload(arrival_ns[own] * 1000, prompt[own], output[own]))
            outside_ps = tables.request_ps + tables.request_token_ps * prompt[own]
            ttft.append((log.first_token_ps - log.arrival_ps + outside_ps) / 1e9)
            more = output[own] > 1
            tpot.append(((log.finish_ps - log.first_token_ps)[more] / (output[own][more] - 1)) / 1e9)
        ranked = [np.sort(np.concatenate(values)) for values in (ttft, tpot)]
        return [values[int(np.ceil(0.95 * len(values))) - 1] for values in ranked]

    serving = best["serving_replicas"]
    ttft_ms, tpot_ms = p95(serving)
    rows = {row["metric"]: row for row in sample["slo"]}
    assert rows["ttft"]["predicted"] == pytest.approx(ttft_ms, rel=1e-5)
    assert rows["tpot"]["predicted"] == pytest.approx(tpot_ms, rel=1e-5)
    assert ttft_ms <= 1000
    assert tpot_ms <= 50
    if serving > 1:
        ttft_ms, tpot_ms = p95(serving - 1)
        assert ttft_ms > 1000 or tpot_ms > 50


def test_the_week(sample):
    """168 hours with the mean and the peak of the scenario, and whole replicas for each."""
    week = sample["load"]["week"]
    rates = [hour["rps"] for hour in week]
    assert len(rates) == 168
    assert sum(rates) / 168 == pytest.approx(MEAN_RPS, rel=1e-4)
    assert max(rates) == pytest.approx(PEAK_RPS, rel=1e-4)
    capacity = sample["load"]["capacity_rps"] / sample["recommended"]["serving_replicas"]
    for hour in week:
        assert hour["replicas_needed"] in {
            int(np.ceil(hour["rps"] / capacity - 1e-4)),
            int(np.ceil(hour["rps"] / capacity)),
        }
    assert max(hour["replicas_needed"] for hour in week) == sample["recommended"]["serving_replicas"]


def test_the_report_is_plain_json(sample):
    assert json.loads(json.dumps(sample, allow_nan=False)) == sample
