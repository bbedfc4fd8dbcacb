"""Metrics of a server over some hours: scrapes and range queries as rates, lengths and latencies."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.planning.calibration.deployment import read_deployment
from planner.planning.calibration.predicting import compare_measurement
from planner.planning.importers import bytes_source, open_source
from planner.planning.measurements import Measurement, read_measurement
from planner.planning.measurements.checks import with_duration
from planner.planning.measurements.rates import merged_steps, requests_in, thinned
from tests.load_tests import DEPLOYMENT
from tests.planning.measurements.test_servers import METRICS

HOUR_S = 3600.0


def read(text: str) -> Measurement:
    found = read_measurement(open_source(bytes_source(text.encode())))
    assert found is not None
    return found


def counted(hours: list[float], *, in_flight: float = 0.0, replicas: int = 1) -> list[dict[str, Any]]:
    """A range query, a sample each ten minutes, of hours with these rates: 1000 tokens in and 101 out, 50 ms to the
    first token and 7 ms for each further one."""
    rates = [rate for rate in hours for _ in range(6)]
    times = [600.0 * place for place in range(len(rates) + 1)]
    done = [0.0]
    for rate in rates:
        done.append(done[-1] + 600.0 * rate)

    def series(name: str, each: float, **labels: str) -> list[dict[str, Any]]:
        return [
            {
                "metric": {"__name__": f"vllm:{name}", "model_name": "m", "instance": str(place), **labels},
                "values": [[at_s, str(each * count / replicas)] for at_s, count in zip(times, done, strict=True)],
            }
            for place in range(replicas)
        ]

    found = series("prompt_tokens_total", 1000) + series("generation_tokens_total", 101)
    found += series("request_success_total", 1, finished_reason="stop")
    for name, mean_s in (("time_to_first_token_seconds", 0.05), ("e2e_request_latency_seconds", 0.75)):
        found += series(f"{name}_sum", mean_s) + series(f"{name}_count", 1)
        found += [
            each for bound in ("0.04", "0.06", "0.8", "+Inf")
            for each in series(f"{name}_bucket", float(float(bound.replace("+Inf", "inf")) >= mean_s), le=bound)
        ]  # fmt: skip
    if in_flight:
        found.append(
            {"metric": {"__name__": "vllm:num_requests_running"}, "values": [[t, str(in_flight)] for t in times]}
        )
    return found


def query(hours: list[float], **more: Any) -> Measurement:
    return read(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": counted(hours, **more)}}))


def figures(file: Measurement, replicas: int = 1, **said: Any) -> dict[tuple[str, str], dict[str, Any]]:
    _, deployment = read_deployment({**DEPLOYMENT, **said})
    told = compare_measurement(file, deployment, replicas=replicas)
    assert told["runs"][0]["reason"] == ""
    return {(each["metric"], each["statistic"]): each for each in told["runs"][0]["figures"]}


def test_the_rate_of_the_hours_drives_the_simulator() -> None:
    """The same requests in the same hours: bunched into one of them they wait, evenly they do not."""
    bunched, even = query([2.0, 2.0, 80.0, 2.0]), query([21.5] * 4)
    assert len(bunched.runs[0].rate_steps) == 24
    assert requests_in(bunched.runs[0].rate_steps) == pytest.approx(86 * HOUR_S, rel=1e-6)
    assert bunched.runs[0].request_rps == pytest.approx(even.runs[0].request_rps)
    waits, flows = figures(bunched)["ttft", "mean"], figures(even)["ttft", "mean"]
    assert waits["predicted"] > 3 * flows["predicted"]


def test_a_fleet_is_predicted_by_its_replicas() -> None:
    """Four replicas at 40 requests a second are as one at 10."""
    one, four = query([10.0] * 3), query([40.0] * 3, replicas=4)
    assert four.runs[0].request_rps == pytest.approx(4 * one.runs[0].request_rps)
    alone, together = figures(one)["tpot", "mean"], figures(four, replicas=4)["tpot", "mean"]
    assert together["predicted"] == pytest.approx(alone["predicted"], rel=0.03)
    assert figures(four)["tpot", "mean"]["predicted"] > 1.2 * alone["predicted"]


def test_littles_law_holds_gauges_against_rates_and_latencies() -> None:
    agreeing, short = query([10.0] * 3, in_flight=7.5), query([10.0] * 3, in_flight=3.0)
    checks = [next(c for c in file.runs[0].checks if c.name == "littles_law") for file in (agreeing, short)]
    assert [check.ok for check in checks] == [True, False]
    assert checks[0].derived == pytest.approx(7.5)


def scrape(times: float, head: str = "") -> str:
    """The counters of METRICS so many times as high."""
    lines = []
    for line in METRICS.splitlines():
        name, _, value = line.rpartition(" ")
        lines.append(line if line.startswith("#") else f"{name} {float(value) * times}")
    return "\n".join([*([head] if head else []), *lines]) + "\n"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (scrape(1, "# 2026-11-30T10:00:00Z"), scrape(3, "# 2026-11-30T10:16:40Z")),
        (scrape(1, "# 1790000000"), scrape(3, "# 1790001000.0")),
        (
            scrape(1).replace(".0\n", ".0 1790000000000\n"),
            scrape(3).replace(".0\n", ".0 1790001000000\n"),
        ),
    ],
    ids=["ISO", "epoch", "of the samples"],
)
def test_two_scrapes_are_the_time_between_them(one: str, other: str) -> None:
    run = read(one + other).runs[0]
    assert (run.duration_s, run.completed, run.request_rps) == (1000.0, 200, 0.2)
    assert run.latency("ttft") == pytest.approx(250)
    assert run.rate_steps == [[1000.0, 0.2]]


def test_a_scrape_without_times_is_predicted_once_someone_says_how_long_it_counted() -> None:
    for text, completed in ((METRICS, 100), (scrape(1) + scrape(3), 200)):
        file = read(text)
        run = file.runs[0]
        assert (run.duration_s, run.completed) == (None, completed)
        assert any("counted_over_s" in note for note in run.notes)
        with_duration(run, 500.0)
        assert run.request_rps == completed / 500.0
        assert {"requests_over_duration"} <= {check.name for check in run.checks}
        assert figures(file)["ttft", "mean"]["measured"] == pytest.approx(250)


def test_lengths_of_histograms_are_drawn_and_percentiles_compared_by_their_bucket() -> None:
    lengths = [
        f'vllm:request_{name}_tokens_bucket{{le="{bound}"}} {count}\n'
        for name, bounds in (
            ("prompt", ((500, 50), (1000, 80), (5000, 100), ("+Inf", 100))),
            ("generation", ((50, 60), (200, 90), (500, 100), ("+Inf", 100))),
        )
        for bound, count in bounds
    ]
    file = read(METRICS + "".join(lengths))
    with_duration(file.runs[0], 50.0)
    tail = figures(file)["ttft", "p95"]
    assert (tail["measured"], tail["measured_low"], tail["measured_high"]) == pytest.approx((750, 500, 1000))
    assert tail["predicted"] > 1.5 * figures(file)["ttft", "mean"]["predicted"]


def test_what_a_prefix_cache_held_is_not_computed_again() -> None:
    cached = "vllm:prefix_cache_queries_total 100000\nvllm:prefix_cache_hits_total 80000\n"
    plain, hit = read(METRICS), read(METRICS + cached)
    for file in (plain, hit):
        with_duration(file.runs[0], 50.0)
    assert hit.runs[0].cached_prompt_ratio == 0.8
    assert figures(hit)["ttft", "mean"]["predicted"] < 0.7 * figures(plain)["ttft", "mean"]["predicted"]


@given(
    st.lists(st.tuples(st.floats(0.5, 900), st.floats(0, 200)), min_size=1, max_size=60),
    st.floats(0.001, 1.0),
    st.integers(1, 60),
)
def test_a_thinned_time_keeps_its_share_of_every_part(
    steps: list[tuple[float, float]], share: float, parts: int
) -> None:
    span_s = sum(seconds for seconds, _ in steps)
    kept = thinned(steps, share, parts)
    assert sum(seconds for seconds, _ in kept) == pytest.approx(share * span_s, rel=1e-6)
    assert {rps for _, rps in kept} <= {rps for _, rps in steps}


def test_many_steps_are_put_together_and_bring_the_same_requests() -> None:
    counted = [(60.0, float(place % 7)) for place in range(10_080)]
    steps = merged_steps(counted)
    assert len(steps) <= 1_000
    assert requests_in(steps) == pytest.approx(sum(requests for _, requests in counted), rel=1e-4)
