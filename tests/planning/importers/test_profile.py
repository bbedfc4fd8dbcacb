"""Profiles of traces whose figures are known: published traces that ship here, and processes drawn by their law."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.planning import parse_scenario, sample_scenario
from planner.planning.importers import Answers, bytes_source, open_trace
from planner.planning.traffic.builtin_traces import load_builtin_trace
from planner.planning.traffic_profile import profile_trace
from planner.planning.traffic_profile.arrivals import GapCounter, RateCounter
from planner.planning.traffic_profile.fit import gamma_cdf
from planner.planning.traffic_profile.histogram import LengthHistogram
from simulator.traffic.mooncake import mooncake_conversation
from tests.planning.importers import samples

DAY_S = 86_400


def profiled(data, **answers):
    file = open_trace(bytes_source(data.encode()), Answers(**answers))
    return profile_trace(file.chunks(), file.reading)


@pytest.fixture(scope="module")
def azure():
    trace = load_builtin_trace("azure-conversation-2023")
    ticks = trace.arrival_ns // 100
    base = np.datetime64("2023-11-16T18:15:46")
    lines = ["TIMESTAMP,ContextTokens,GeneratedTokens"]
    for tick, prompt, output in zip(ticks.tolist(), trace.prompt_tokens, trace.output_tokens, strict=True):
        second, fraction = divmod(tick + 6_805_900, 10**7)
        stamp = str(base + np.timedelta64(second, "s")).replace("T", " ")
        lines.append(f"{stamp}.{fraction:07d},{prompt},{output}")
    return profiled("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def mooncake():
    work = mooncake_conversation(12_031)
    blocks = work.block_hashes
    lines = [
        json.dumps(
            {
                "timestamp": int(work.arrival_ps[i] // 10**9),
                "input_length": int(work.prompt_tokens[i]),
                "output_length": int(work.output_tokens[i]),
                "hash_ids": blocks.ids[blocks.offsets[i] : blocks.offsets[i + 1]].tolist(),
            }
        )
        for i in range(12_031)
    ]
    return profiled("\n".join(lines))


def test_the_azure_conversation_trace_has_its_published_figures(azure):
    assert azure["requests"] == 19_366
    assert azure["span_s"] == pytest.approx(3501.72, abs=0.01)
    assert azure["rates"]["mean_rps"] == pytest.approx(5.53, abs=0.005)
    assert azure["gaps"]["cv"] == pytest.approx(1.094, abs=0.0005)
    assert azure["rates"]["dispersion_by_scale_s"]["1"] == pytest.approx(1.39, abs=0.01)
    prompt, output = azure["lengths"]["prompt_tokens"], azure["lengths"]["output_tokens"]
    assert (round(prompt["mean"], 1), prompt["p50"], prompt["p90"], prompt["p99"]) == (1154.7, 1020, 2734.5, 4142)
    assert (round(output["mean"], 1), output["p50"], output["p90"], output["p99"]) == (211.1, 129, 424, 601)
    assert not azure["gaps"]["is_quantised"]


def test_the_mooncake_trace_has_its_published_figures(mooncake):
    prompt, output = mooncake["lengths"]["prompt_tokens"], mooncake["lengths"]["output_tokens"]
    assert mooncake["requests"] == 12_031
    assert mooncake["rates"]["mean_rps"] == pytest.approx(3.40, abs=0.005)
    assert round(prompt["mean"]) == 12_035
    assert (prompt["p50"], prompt["p90"]) == (6909, 27_367)
    assert output["mean"] == pytest.approx(342.6, abs=0.05)
    assert mooncake["rates"]["peak_minute_to_mean"] == pytest.approx(1.21, abs=0.005)
    assert mooncake["rates"]["dispersion_by_scale_s"]["60"] == pytest.approx(2.9, abs=0.05)
    assert mooncake["gaps"]["zero_ratio"] == pytest.approx(0.902, abs=0.0005)
    assert mooncake["gaps"]["is_quantised"]
    prefix = mooncake["prefix"]
    assert prefix["reusable_block_ratio"] == pytest.approx(0.366, abs=0.0005)
    by_size = prefix["reusable_token_ratio_by_cache_tokens"]
    assert by_size["unbounded"] == pytest.approx(0.374, abs=0.0005)
    assert by_size["4194304"] == pytest.approx(0.188, abs=0.01)  # another tool's 4M-token cache, on the last half
    assert by_size["16384"] == pytest.approx(0.036, abs=0.01)


def test_two_mooncake_rows_share_one_block():
    rows = "\n".join(samples.MOONCAKE.split("\n")[:2]).replace(
        '"timestamp": 0, "input_length": 7322', '"timestamp": 9, "input_length": 7322'
    )
    prefix = profiled(rows)["prefix"]
    assert prefix["reusable_token_ratio_by_cache_tokens"]["unbounded"] * (6758 + 7322) == pytest.approx(512)
    assert pytest.approx(0.0699, abs=1e-4) == 512 / 7322


def test_the_fitted_traffic_is_a_scenarios_traffic(azure, mooncake):
    for profile in (azure, mooncake):
        scenario = {**sample_scenario(), "traffic": profile["fitted"]["traffic"]}
        scenario["engine"] = {**scenario.get("engine", {}), "max_model_len": 131_072}
        parsed = parse_scenario(scenario)
        assert parsed.traffic.arrival.mean_rps == pytest.approx(profile["rates"]["mean_rps"], rel=1e-4)
        distances = profile["fitted"]["ks_distance"]
        assert distances["prompt_tokens"]["empirical"] < 0.05
        assert distances["output_tokens"]["empirical"] < 0.05


def csv_of(times_s, prompt, output):
    rows = zip(times_s, prompt, output, strict=True)
    return "timestamp_s,prompt_tokens,output_tokens\n" + "".join(f"{t:.6f},{p},{o}\n" for t, p, o in rows)


@pytest.mark.parametrize("cv", [0.5, 1.0, 2.0])
def test_gamma_gaps_give_back_their_variation(cv):
    rng = np.random.default_rng(5)
    gaps = rng.gamma(1 / cv**2, cv**2 / 8, 20_000)
    ones = np.full(20_000, 100)
    profile = profiled(csv_of(np.cumsum(gaps), ones, ones))
    arrival, distances = profile["fitted"]["traffic"]["arrival"], profile["fitted"]["ks_distance"]["arrival"]
    assert distances["gamma"] < 0.02
    assert profile["rates"]["mean_rps"] == pytest.approx(8, rel=0.06)
    if cv == 1.0:
        assert arrival["kind"] == "poisson"
        assert profile["rates"]["dispersion_by_scale_s"]["10"] == pytest.approx(1, abs=0.35)
    else:
        assert arrival["cv"] == pytest.approx(cv, rel=0.06)
        assert profile["gaps"]["cv"] == pytest.approx(cv, rel=0.06)
        assert distances["poisson"] > 0.05


def test_lognormal_lengths_give_back_their_parameters():
    rng = np.random.default_rng(6)
    prompt = np.rint(rng.lognormal(6.0, 0.8, 20_000)).astype(int) + 1
    output = np.rint(prompt * rng.lognormal(-1, 0.3, 20_000)).astype(int) + 1
    profile = profiled(csv_of(np.arange(20_000) / 7, prompt, output))
    lengths = profile["fitted"]["traffic"]["prompt_tokens"]
    assert lengths["kind"] == "lognormal"
    assert lengths["mean"] == pytest.approx(prompt.mean(), abs=0.06)
    assert profile["fitted"]["ks_distance"]["prompt_tokens"]["lognormal"] < 0.02
    correlation = np.corrcoef(np.log(prompt), np.log(output))[0, 1]
    assert profile["lengths"]["correlation_of_logs"] == pytest.approx(correlation, abs=1e-9)
    assert profile["lengths"]["correlation"] == pytest.approx(np.corrcoef(prompt, output)[0, 1], abs=1e-9)
    assert "independently" in profile["fitted"]["lost"][0]


def test_a_week_that_grows_and_its_hours():
    day, hour = np.divmod(np.arange(21 * 24), 24)
    rate = np.where((hour >= 9) & (hour < 17), 60, 12) * 1.1 ** (day / 7)
    times = np.concatenate([h * 3600 + (np.arange(int(r)) + 0.5) * 3600 / int(r) for h, r in enumerate(rate)])
    start = int(np.datetime64("2026-11-02T00:00:00", "s").astype(int))  # a Monday
    ones = np.full(len(times), 10)
    profile = profiled(csv_of(times + start, ones, ones))
    rates = profile["rates"]
    assert rates["growth_per_week"] == pytest.approx(0.10, abs=0.01)
    assert len(rates["week_rps"]) == 168
    assert rates["week_rps"][10] / rates["week_rps"][3] == pytest.approx(5, rel=0.05)
    assert profile["fitted"]["traffic"]["shape"]["peak_to_mean"] == pytest.approx(rates["peak_hour_to_mean"], abs=0.001)
    assert not profile["fitted"]["is_peak_hour"]


def test_conversations_clients_and_classes():
    profile = profiled(samples.BAILIAN)
    assert profile["conversations"] == {
        "conversations": 2, "turns_mean": 2.0, "turns_p95": pytest.approx(2.9), "several_turns_ratio": 0.5,
        "next_turn_p50_s": pytest.approx((18.886 + 19.0) / 2),
    }  # fmt: skip
    assert profile["classes"] == {"text": 3, "search": 1}
    assert profile["prefix"]["reusable_block_ratio"] == pytest.approx((3 + 5) / (3 + 1 + 5 + 6))
    rows = "timestamp_s,prompt_tokens,output_tokens,client\n" + "".join(
        f"{i},5,5,{'big' if i % 10 else f'small{i}'}\n" for i in range(100)
    )
    clients = profiled(rows)["clients"]
    assert clients["clients"] == 11
    assert clients["largest_share"] == pytest.approx(0.9)
    assert clients["gini"] == pytest.approx(0.9 - 1 / 11, abs=1e-9)


def test_what_the_pictures_of_turns_clients_and_pairs_show():
    head = "timestamp_s,prompt_tokens,output_tokens,client,session\n"
    rows = "".join(f"{i},{100 if i < 30 else 1000},{10 if i < 30 else 70},{i % 4 // 3},{i // 3}\n" for i in range(60))
    told = profiled(head + rows)["pictures"]
    assert told["turns"] == [0, 0, 1, *([0] * 9)]  # 20 conversations of three turns
    assert told["clients"][0::20] == pytest.approx([0, 0.75, 1])  # of two clients one sends three in four
    assert told["output_by_prompt"] == [
        {"prompt_tokens_from": 64, "requests": 30, "output_tokens_mean": 10},
        {"prompt_tokens_from": 512, "requests": 30, "output_tokens_mean": 70},
    ]
    alone = profiled("timestamp_s,prompt_tokens,output_tokens\n0,5,5\n1,5,5\n")["pictures"]
    assert (alone["turns"], alone["clients"], alone["output_by_prompt"]) == (None, None, None)


def test_failed_requests_arrive_and_have_no_length():
    profile = profiled(samples.BURSTGPT_6)
    assert (profile["requests"], profile["failed"]) == (4, 1)
    assert profile["lengths"]["prompt_tokens"]["mean"] == pytest.approx((472 + 1087 + 417) / 3)
    assert profile["span_s"] == 145


def test_pairs_without_times_have_lengths_only():
    profile = profiled("prompt_tokens,output_tokens\n5,6\n7,8\n")
    assert profile["rates"] is None
    assert profile["fitted"] is None
    assert profile["lengths"]["prompt_tokens"]["mean"] == 6


@given(st.lists(st.integers(1, 10_000_000), min_size=1, max_size=60), st.floats(0, 1))
def test_quantiles_are_numpys(values, ratio):
    histogram = LengthHistogram()
    histogram.add(np.array(values[: len(values) // 2], dtype=np.int64))
    histogram.add(np.array(values[len(values) // 2 :], dtype=np.int64))
    assert histogram.mean == pytest.approx(np.mean(values))
    assert histogram.std == pytest.approx(np.std(values), rel=1e-6, abs=max(values) * 1e-6)
    assert histogram.quantile(ratio) == pytest.approx(np.quantile(values, ratio), rel=0.011)


@given(st.lists(st.integers(0, 10**12), min_size=2, max_size=40), st.integers(1, 5))
def test_chunks_do_not_change_what_is_counted(times, size):
    ns = np.sort(np.array(times, dtype=np.int64))
    whole, parts, whole_rate, parts_rate = GapCounter(), GapCounter(), RateCounter(), RateCounter()
    whole.add(ns)
    whole_rate.add(ns)
    for start in range(0, len(ns), size):
        parts.add(ns[start : start + size])
        parts_rate.add(ns[start : start + size])
    assert parts.cv() == pytest.approx(whole.cv()) if whole.cv() is not None else parts.cv() is None
    assert parts.resolution_ns == whole.resolution_ns
    assert (parts_rate.counts(1) == whole_rate.counts(1)).all()


def test_long_spans_are_counted_in_wider_bins():
    counter = RateCounter()
    counter.add(np.array([0, 10**9, 3 * 10**9], dtype=np.int64))
    counter.add(np.array([200 * DAY_S * 10**9], dtype=np.int64))
    assert counter.bin_s == 4
    assert counter.counts(86_400).sum() == 3
    assert counter.counts(86_400)[0] == 3


@pytest.mark.parametrize(("shape", "x", "value"), [(1, 1, 0.632120559), (0.5, 0.5, 0.682689492), (3, 2, 0.323323584)])
def test_the_gamma_function(shape, x, value):
    """exp(1): 1 − 1/e; half a χ² of one degree at one σ; Erlang-3 at 2: 1 − 5/e²."""
    assert gamma_cdf(shape, np.array([x], dtype=float))[0] == pytest.approx(value, abs=1e-8)


def test_the_fit_stands_beside_the_record(azure):
    """Poisson counts have a dispersion of 1 at every scale; the record's rises with it. Quantiles are the record's."""
    told = {each["what"]: each for each in azure["fitted"]["compared"]}
    assert told["dispersion_60_s"]["recorded"] == azure["rates"]["dispersion_by_scale_s"]["60"]
    assert told["dispersion_60_s"]["fitted"] < 2 < told["dispersion_60_s"]["recorded"]
    for name in ("prompt_tokens", "output_tokens"):
        for percentile in ("p50", "p90", "p99"):
            row = told[f"{name}_{percentile}"]
            assert row["recorded"] == azure["lengths"][name][percentile]
            assert row["fitted"] == pytest.approx(row["recorded"], rel=0.1)
