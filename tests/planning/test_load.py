import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.planning import parse_scenario
from planner.planning.schema.lengths import Empirical, Fixed, Lognormal
from planner.planning.traffic.lengths import ordered_lengths
from planner.planning.traffic.load import replica_stream, scenario_load
from tests.planning.scenarios import changed


def load_of(path, value, max_model_len=16384):
    return scenario_load(parse_scenario(changed(path, value)), max_model_len)


def test_users_become_requests_by_a_chain_that_is_shown():
    """10,000 users, 20 % active, 0.4 requests a minute each, peak twice the mean: 13.33 and 26.67 requests/s."""
    document = changed("traffic.users", {"total_users": 10_000, "active_ratio": 0.2, "requests_per_user_hour": 24})
    document["traffic"].pop("arrival")
    document["traffic"]["shape"]["peak_to_mean"] = 2
    load = scenario_load(parse_scenario(document), 16384)
    assert load.mean_rps == pytest.approx(13.33, abs=0.01)
    assert load.peak_rps == pytest.approx(26.67, abs=0.01)
    assert [step.value for step in load.chain] == ["2000", "13.3333"]


def test_users_by_the_day_are_another_path_to_another_rate():
    """The same 10,000 users at 10 requests each over 8 hours: 3.47 and, at twice the mean, 6.94 requests/s."""
    document = changed("traffic.users", {"active_users": 10_000, "requests_per_user_hour": 10 / 8})
    document["traffic"].pop("arrival")
    document["traffic"]["shape"]["peak_to_mean"] = 2
    assert scenario_load(parse_scenario(document), 16384).peak_rps == pytest.approx(6.94, abs=0.01)


def test_the_week_has_the_mean_and_the_peak():
    load = load_of("traffic.arrival.mean_rps", 6)
    assert len(load.week_rps) == 168
    assert load.week_rps.mean() == pytest.approx(6)
    assert load.week_rps.max() == pytest.approx(load.peak_rps) == pytest.approx(14.4)


def test_a_trace_is_the_peak_hour_at_its_own_rate():
    document = changed("traffic", {"trace": {"builtin": "azure-conversation-2023"},
                                   "shape": {"kind": "diurnal", "peak_to_mean": 2}})  # fmt: skip
    load = scenario_load(parse_scenario(document), 16384)
    assert load.peak_rps == pytest.approx(19_365 / 3501.721937)
    assert load.mean_rps == pytest.approx(load.peak_rps / 2)
    half = replica_stream(load, load.peak_rps / 2, 0)
    assert half.arrival_ps[-1] == pytest.approx(2 * load.trace_arrival_ps[-1], rel=1e-12)
    assert (half.prompt_tokens == load.mix.prompt_tokens).all()
    parts = [replica_stream(load, load.peak_rps, 0, replicas=3, replica=k) for k in range(3)]
    assert sum(len(part) for part in parts) == 19_366
    assert sorted(np.concatenate([p.arrival_ps for p in parts]).tolist()) == load.trace_arrival_ps.tolist()


@given(mean=st.floats(20, 20_000), ratio=st.floats(1.05, 3.8))
def test_lognormal_lengths_have_their_mean_and_p95(mean, ratio):
    lengths = ordered_lengths(Lognormal(kind="lognormal", mean=mean, p95=mean * ratio), 20_000)
    assert lengths.mean() == pytest.approx(mean, rel=0.02, abs=0.6)
    assert np.sort(lengths)[int(0.95 * 20_000) - 1] == pytest.approx(mean * ratio, rel=0.01, abs=1)


def test_a_prefix_is_part_of_the_stated_lengths():
    lengths = ordered_lengths(Lognormal(kind="lognormal", mean=1155, p95=3200), 20_000, 300)
    assert lengths.min() > 300
    assert lengths.mean() == pytest.approx(1155, rel=0.01)
    assert np.sort(lengths)[18_999] == pytest.approx(3200, rel=0.01)


def test_empirical_and_fixed_lengths():
    assert set(ordered_lengths(Fixed(kind="fixed", tokens=7), 10)) == {7}
    values = ordered_lengths(Empirical(kind="empirical", values=(1, 2, 3, 10)), 8)
    assert values.tolist() == [1, 1, 2, 2, 3, 3, 10, 10]
    line = ordered_lengths(Empirical(kind="empirical", quantiles=((0.0, 1.0), (1.0, 101.0))), 1_000)
    assert line.mean() == pytest.approx(51, abs=0.5)


def test_cuts_are_counted():
    document = changed("traffic.prompt_tokens", {"kind": "empirical", "values": [100, 900, 1500, 3000]})
    document["traffic"]["prefix"] = {"kind": "none"}
    load = scenario_load(parse_scenario(document), 1024)
    assert load.mix.cut_ratio == pytest.approx(0.5, abs=0.25)
    assert (load.mix.prompt_tokens + load.mix.output_tokens).max() <= 1024
    assert load.mix.output_tokens.min() >= 1


@pytest.mark.parametrize(
    ("arrival", "replicas", "expected"),
    [
        ({"kind": "poisson"}, 1, 1.0),
        ({"kind": "poisson"}, 4, 0.5),
        ({"kind": "gamma", "cv": 3}, 1, 3.0),
        ({"kind": "gamma", "cv": 3}, 9, 1.0),
        ({"kind": "constant"}, 1, 0.0),
    ],
)
def test_dealing_round_robin_evens_out_the_gaps(arrival, replicas, expected):
    load = load_of("traffic.arrival", {**arrival, "mean_rps": 6})
    stream = replica_stream(load, 20.0, 40_000, replicas=replicas)
    gaps = np.diff(stream.arrival_ps)
    assert gaps.mean() == pytest.approx(replicas / 20 * 1e12, rel=0.05)
    assert gaps.std() / gaps.mean() == pytest.approx(expected, rel=0.06, abs=1e-6)


def test_two_rates_share_their_draws():
    load = load_of("traffic.arrival.mean_rps", 6)
    slow, fast = (replica_stream(load, rate, 500) for rate in (1.0, 2.0))
    assert (slow.prompt_tokens == fast.prompt_tokens).all()
    assert slow.arrival_ps / fast.arrival_ps == pytest.approx(2.0, rel=1e-9)


def test_context_held_on_average_counts_by_time():
    """E[p·n]/E[n] + E[n²]/(2·E[n]): a long answer holds its prompt longer."""
    load = load_of("traffic.output_tokens", {"kind": "fixed", "tokens": 200}, 1_000_000)
    assert load.mix.context_tokens_mean == pytest.approx(load.mix.prompt_tokens_mean + 100)
