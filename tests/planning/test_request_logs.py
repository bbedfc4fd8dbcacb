"""Request logs: what is read from them, and that a replay has the log's own load and settings."""

import numpy as np
import pytest

from costmodel import step_time_tables
from planner.planning.validation import Comparison, Missing, compare_request_log
from planner.planning.validation.request_logs import Replay, read_request_log, replay_request_log
from tests.planning.request_log import ENGINE_CLOCK_S, NAME, WALL_CLOCK_S, lines, meta, record, steady


def replayed(requests: bytes, settings: bytes | None = None, name: str = NAME) -> Replay:
    return replay_request_log(read_request_log(name, settings or meta(), requests))


def test_a_log_gives_mean_median_and_p95_of_three_latencies() -> None:
    found = compare_request_log(NAME, meta(), steady())
    assert len(found) == 9
    assert all(isinstance(item, Comparison) and 0.05 < item.ratio < 20 for item in found)


def test_latency_counts_from_sending_though_the_engine_looks_between_steps() -> None:
    requests = [record(0.0, 0.5, 2.0), record(0.2, 0.9, 2.6, seen_s=0.5), record(0.3, 1.2, 3.0, seen_s=0.5)]
    log = read_request_log(NAME, meta(), lines(requests))
    assert log.measured.sent_s == pytest.approx([0.0, 0.2, 0.3], abs=1e-6)
    assert log.measured.latency_ms("ttft") == pytest.approx([500, 700, 900], abs=1e-3)
    assert log.measured.latency_ms("e2e") == pytest.approx([2000, 2400, 2700], abs=1e-3)
    assert log.measured.latency_ms("tpot") == pytest.approx([1500 / 99, 1700 / 99, 1800 / 99], abs=1e-3)


def test_a_replay_has_the_arrivals_and_lengths_of_its_log() -> None:
    requests = lines([record(at, at + 1, at + 3, prompt=100 + at, output=9 - at) for at in range(5)])
    replay = replayed(requests)
    assert replay.predicted.sent_s == pytest.approx(np.arange(5.0), abs=1e-6)
    assert replay.predicted.output_tokens.tolist() == [9, 8, 7, 6, 5]
    assert replay.log.prompt_tokens.tolist() == [100, 101, 102, 103, 104]


def test_time_outside_the_engine_is_not_predicted_because_it_is_not_logged() -> None:
    replay = replayed(lines([record(0.0, 0.1, 2.0, prompt=512)]))
    tables = step_time_tables(replay.deployment)
    step_ps = tables.step_ps(tokens=512, decode_seqs=0, context_tokens=0, prefill_pairs=512 * 513 // 2, prefill_seqs=1)
    assert tables.request_ps > 0
    assert replay.predicted.latency_ms("ttft") == pytest.approx([step_ps / 1e9])


def test_a_log_written_by_the_simulator_is_replayed_without_error() -> None:
    rng = np.random.default_rng(3)
    sent = np.cumsum(rng.exponential(0.05, 60)).round(6)
    draft = lines([record(float(at), float(at) + 1, float(at) + 3, prompt=700, output=64) for at in sent])
    served = replayed(draft).predicted
    own = [
        {
            "input_toks": 700,
            "output_toks": 64,
            "arrival_time": WALL_CLOCK_S + served.sent_s[number],
            "queued_ts": ENGINE_CLOCK_S + served.sent_s[number],
            "scheduled_ts": ENGINE_CLOCK_S + max(served.scheduled_s[number], served.sent_s[number]),
            "first_token_ts": ENGINE_CLOCK_S + served.first_token_s[number],
            "last_token_ts": ENGINE_CLOCK_S + served.last_token_s[number],
        }
        for number in range(60)
    ]
    found = compare_request_log(NAME, meta(), lines(own))
    assert served.latency_ms("ttft").max() > 3 * served.latency_ms("ttft").min(), "seats were short, so some waited"
    assert [item.ratio for item in found if isinstance(item, Comparison)] == pytest.approx([1.0] * 9, rel=1e-4)


def test_data_parallel_ranks_share_the_requests() -> None:
    crowd = steady(64, 0.01)
    alone, shared = replayed(crowd), replayed(crowd, meta(data_parallel_size=2))
    assert shared.deployment.parallelism.dp == 2
    assert shared.predicted.sent_s == pytest.approx(alone.predicted.sent_s)
    assert shared.predicted.last_token_s.max() < 0.7 * alone.predicted.last_token_s.max()


def test_expert_parallel_spreads_experts_of_mixtures_only() -> None:
    spread = {"tensor_parallel_size": 2, "data_parallel_size": 2, "enable_expert_parallel": True}
    assert replayed(steady(), meta("Qwen/Qwen3-30B-A3B", **spread)).deployment.parallelism.ep == 4
    assert replayed(steady(), meta(**spread)).deployment.parallelism.ep == 1


def test_one_token_requests_have_no_tpot() -> None:
    requests = lines([record(at, at + 0.2, at + 0.2, output=1) for at in range(3)])
    found = compare_request_log(NAME, meta(), requests)
    assert [item.row_id for item in found if isinstance(item, Missing)] == [f"{NAME}: tpot"]
    assert len(found) == 7


READABLE = record(0.0, 0.1, 2.0)


@pytest.mark.parametrize(
    ("requests", "reason"),
    [
        (b"", "request log not readable"),
        (b"{", "request log not readable"),
        (b"[1]", "request log not readable"),
        (b'{"input_toks": "x"}', "request log not readable"),
        (b"\xff", "request log not readable"),
        (lines([READABLE | {"queued_ts": float("nan")}]), "request log not readable"),
        (lines([READABLE | {"input_toks": 10**400}]), "request log not readable"),
        (lines([READABLE | {"output_toks": 0}]), "lengths not usable"),
        (lines([READABLE | {"input_toks": 1e30}]), "lengths not usable"),
        (lines([READABLE | {"first_token_ts": READABLE["last_token_ts"] + 1}]), "times out of order"),
        (lines([READABLE | {"first_token_ts": READABLE["scheduled_ts"]}]), "times out of order"),
    ],
)
def test_what_cannot_be_replayed_has_a_reason(requests: bytes, reason: str) -> None:
    (missing,) = compare_request_log(NAME, meta(), requests)
    assert missing == Missing("requests", NAME, reason)


@pytest.mark.parametrize("kwargs", [{"tensor_parallel_size": "two"}, {"max_num_seqs": 0}])
def test_settings_that_no_server_has_are_refused(kwargs: dict[str, object]) -> None:
    (missing,) = compare_request_log(NAME, meta(**kwargs), steady())
    assert missing == Missing("requests", NAME, "deployment refused")


def test_held_out_constants_are_those_of_the_log_s_pair() -> None:
    log = read_request_log("H100-SXM-80GB_x", meta("meta-llama/Llama-3.1-8B-Instruct"), steady())
    shipped, held_out = replay_request_log(log), replay_request_log(log, cross_validated=True)
    assert held_out.deployment == shipped.deployment
    assert not np.array_equal(held_out.predicted.last_token_s, shipped.predicted.last_token_s)
