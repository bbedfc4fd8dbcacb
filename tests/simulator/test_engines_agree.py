"""The fast engine gives the reference's log, bit for bit, under every policy."""

from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import EngineConfig, StepTime, Workload, simulate
from tests.simulator.random_runs import runs

Run = tuple[EngineConfig, StepTime, Workload]


@settings(max_examples=400, deadline=None)
@given(runs())
def test_fast_equals_reference(run: Run) -> None:
    assert simulate(*run, engine="fast").differences(simulate(*run, engine="reference")) == ["series"]


@settings(max_examples=300, deadline=None)
@given(runs(caching=True))
def test_fast_equals_reference_with_prefix_cache(run: Run) -> None:
    assert simulate(*run, engine="fast").differences(simulate(*run, engine="reference")) == ["series"]


@settings(max_examples=200, deadline=None)
@given(runs(), st.floats(0.0, 1.2))
def test_fast_equals_reference_when_stopped_early(run: Run, share: float) -> None:
    until_ps = int(simulate(*run).end_ps * share)
    fast = simulate(*run, engine="fast", until_ps=until_ps)
    assert fast.differences(simulate(*run, engine="reference", until_ps=until_ps)) == ["series"]
