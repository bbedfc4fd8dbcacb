"""Questions and faults that people reported in public about simulators and loads, with the right answers.

Each docstring says where the case comes from.
"""

from typing import Any

import numpy as np
import pytest

from simulator import (
    EngineConfig,
    EventLog,
    Summary,
    Workload,
    burst_arrivals_ps,
    constant_arrivals_ps,
    fixed_tokens,
    linear_step_time,
    poisson_arrivals_ps,
    simulate,
    summarise,
)
from simulator.lesson import littles_law
from simulator.steptime import PS_PER_S
from simulator.traffic import RateCurve
from tests.simulator.logs import MS, even_replica, log_of


def serve(config: EngineConfig, workload: Workload, **options: Any) -> EventLog:
    times = linear_step_time(
        config, step_ps=10 * MS, decode_seq_ps=MS // 50, prefill_token_ps=MS // 50, context_token_ps=20_000
    )
    return simulate(config, times, workload, **options)


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_a_request_larger_than_the_pool_is_unservable_and_the_run_ends(engine: str) -> None:
    """vllm-project/vllm issue 39734: 25,000 tokens, a pool of 20,000, max_model_len 32,768."""
    config = EngineConfig(max_num_seqs=8, max_num_batched_tokens=2048, num_blocks=1250, max_model_len=32_768)
    workload = Workload(burst_arrivals_ps(2), np.array([24_000, 100]), np.array([1_000, 10]))
    log = serve(config, workload, engine=engine)
    summary = summarise(log)
    assert (summary.unservable, summary.finished) == (1, 1)
    assert "KV blocks" in log.reason_of(0)


def test_more_clients_do_not_raise_throughput_once_the_pool_is_full() -> None:
    """inference-sim issue 1121: KV for 68 of these requests, 256 clients against 1,024; measured ratio 0.888."""
    config = EngineConfig(max_num_seqs=256, max_num_batched_tokens=8192, num_blocks=417_792 // 16, max_model_len=8192)
    rates = []
    for clients in (256, 1024):
        count = 2048
        workload = Workload(
            burst_arrivals_ps(count), fixed_tokens(4096, count), fixed_tokens(2048, count), concurrency=clients
        )
        rates.append(summarise(serve(config, workload)).output_tokens_per_s)
    assert 0.75 <= rates[1] / rates[0] <= 1.10


def at_cliff(blocks: int) -> Summary:
    config = EngineConfig(max_num_seqs=256, max_num_batched_tokens=8192, num_blocks=blocks, max_model_len=2048)
    return summarise(serve(config, Workload(burst_arrivals_ps(100), fixed_tokens(512, 100), fixed_tokens(256, 100))))


def test_preemptions_begin_at_the_cliff_and_leave_ttft_alone() -> None:
    """inference-sim pull request 298, recast: 100 requests of 512 in, 256 out; 48 blocks each at their end."""
    above, below = at_cliff(4900), at_cliff(4500)
    assert (above.preemptions, above.finished, below.finished) == (0, 100, 100)
    assert below.preemptions >= 1
    assert below.e2e.p99_ms > above.e2e.p99_ms  # type: ignore[operator]
    assert below.ttft.p99_ms / above.ttft.p99_ms == pytest.approx(1.0, abs=0.02)  # type: ignore[operator]
    assert at_cliff(4800).preemptions == 0
    assert at_cliff(4752).preemptions >= 1  # within 1 % below the cliff


def test_above_capacity_there_is_no_percentile_but_a_growth_and_a_fleet() -> None:
    """guidellm issue 272: a replica sustains 0.7 requests per second, 1.0 arrive."""
    config, times = even_replica(round(PS_PER_S / 0.7 / 512), seats=1)
    count = 600
    workload = Workload(constant_arrivals_ps(1.0, count), fixed_tokens(4096, count), fixed_tokens(512, count))
    summary = summarise(simulate(config, times, workload), stationary=True)
    stability = summary.stability
    assert stability is not None
    assert stability.verdict == "unstable"
    assert stability.load_ratio == pytest.approx(1.43, abs=0.01)
    assert stability.queue_growth_rps == pytest.approx(0.3, abs=0.01)
    assert stability.replicas_needed == 2
    assert summary.ttft.p99_ms is None
    assert "no steady state" in summary.ttft.withheld["p99"]


@pytest.mark.parametrize("load", [0.3, 0.8])
def test_below_capacity_the_run_is_steady(load: float) -> None:
    config, times = even_replica(MS, seats=1)
    workload = Workload(
        poisson_arrivals_ps(load * 50, 5000, np.random.default_rng(5)), fixed_tokens(9, 5000), fixed_tokens(20, 5000)
    )
    summary = summarise(simulate(config, times, workload), stationary=True)
    assert summary.stability is not None
    assert summary.stability.verdict == "steady"
    assert summary.ttft.p99_ms is not None


def test_a_load_with_seats_for_all_but_no_speed_is_unstable() -> None:
    """Nobody waits for a seat, yet the number in the system only grows: slots slow down as they fill."""
    config = EngineConfig(max_num_seqs=2048, max_num_batched_tokens=2048, num_blocks=10**6, max_model_len=2048)
    times = linear_step_time(config, step_ps=MS, decode_seq_ps=MS, prefill_token_ps=MS // 100)
    count = 1500
    workload = Workload(constant_arrivals_ps(15.0, count), fixed_tokens(10, count), fixed_tokens(100, count))
    stability = summarise(simulate(config, times, workload), stationary=True).stability
    assert stability is not None
    assert stability.verdict == "unstable"


def test_a_burst_may_have_percentiles_and_says_they_are_of_the_run() -> None:
    config, times = even_replica(MS, seats=4)
    log = simulate(config, times, Workload(burst_arrivals_ps(200), fixed_tokens(5, 200), fixed_tokens(10, 200)))
    summary = summarise(log)
    assert summary.basis == "run"
    assert summary.ttft.p99_ms is not None


def test_prefix_hits_save_prefill_only() -> None:
    """vllm pull request 53395: with hit ratio h and prefill's time share s, throughput gains 1 / (1 - h s) - 1."""
    assert pytest.approx(6.02, abs=0.1) == 100 * (1 / (1 - 0.9459 * 0.06) - 1)
    config = EngineConfig(max_num_seqs=64, max_num_batched_tokens=8192, num_blocks=50_000, max_model_len=4096)
    count, prompt, shared = 1024, 1024, 960
    token_ps = MS // 100
    times = linear_step_time(config, step_ps=20 * MS, decode_seq_ps=token_ps, prefill_token_ps=token_ps)
    workload = Workload(
        burst_arrivals_ps(count),
        fixed_tokens(prompt, count),
        fixed_tokens(256, count),
        np.zeros(count, np.int64),
        np.full(count, shared),
    )
    without = simulate(config, times, workload)
    fields = {name: getattr(config, name) for name in config.__slots__} | {"enable_prefix_caching": True}
    cached = simulate(EngineConfig(**fields), times, workload)
    share = without.prefill_tokens * token_ps / without.busy_ps
    hit = summarise(cached).cache_hit_ratio
    gain = without.busy_ps / cached.busy_ps - 1
    assert hit > 0.85
    assert gain == pytest.approx(1 / (1 - hit * share) - 1, abs=0.03)
    assert gain < 1 / (1 - hit) / 10


def test_chunked_prefill_does_not_raise_offline_throughput_but_smooths_tokens() -> None:
    """vllm issue 7604: 50 prompts of 40,000 in, 256 out, chunks of 4,096 against whole prompts."""
    runs = []
    for chunked, budget in ((True, 4096), (False, 41_000)):
        config = EngineConfig(
            max_num_seqs=64,
            max_num_batched_tokens=budget,
            num_blocks=130_000,
            max_model_len=41_000,
            enable_chunked_prefill=chunked,
        )
        workload = Workload(burst_arrivals_ps(50), fixed_tokens(40_000, 50), fixed_tokens(256, 50))
        runs.append(summarise(serve(config, workload)))
    chunked_run, whole = runs
    change = chunked_run.output_tokens_per_s / whole.output_tokens_per_s - 1
    assert -0.30 <= change <= 0.05
    assert chunked_run.itl.p99_ms < whole.itl.p99_ms  # type: ignore[operator]
    assert chunked_run.ttft.mean_ms > whole.ttft.mean_ms  # type: ignore[operator]


def test_the_sustained_rate_leaves_out_the_ramp_up() -> None:
    """guidellm issue 93: 100 requests at once, the first ends at 30 s, the last at 129 s: 1.0 and not 0.775."""
    ends_ms = np.arange(30, 130) * 1000
    figures = summarise(log_of(np.zeros(100), ends_ms, ends_ms, np.ones(100)))
    assert figures.sustained_rps == pytest.approx(1.0, abs=0.01)
    assert figures.served_rps == pytest.approx(0.775, abs=0.01)


def test_sessions_become_concurrency_by_littles_law() -> None:
    """grafana/k6-docs pull request 1839: 990 sessions of 92 s in an hour; 2,591 of 82 s in a month of 720 h."""
    assert littles_law(990 / 3600, 92) == pytest.approx(25.3, abs=0.1)
    assert littles_law(2591 / (720 * 3600), 82) == pytest.approx(0.082, abs=0.001)


def test_utilisation_and_peak_come_out_of_the_traffic_s_shape() -> None:
    """A case of 2026 on moving back to cloud: 15 % load for 20 hours of the day and 95 % for 4."""
    curve = RateCurve([0.15] * 20 + [0.95] * 4)
    assert curve.mean_rps == pytest.approx(0.2833, abs=0.001)
    assert max(curve.rates_rps) / curve.mean_rps == pytest.approx(3.35, abs=0.01)
