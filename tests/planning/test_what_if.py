"""What the sliders say is what the changed scenario says, for every way to describe traffic."""

import json
from typing import Any

import pytest

from planner.planning import ScenarioInvalid, canonical_json, estimate_cells, parse_scenario
from planner.planning.what_if import Change, changed_scenario, targets_of, what_if
from tests.factories import scenario_dict

ROWS = [[0.4 * n, 300 + n % 7, 40 + n % 5] for n in range(400)]
TRAFFIC: dict[str, dict[str, Any]] = {
    "lognormal": {
        "arrival": {"kind": "poisson", "mean_rps": 6.0},
        "prompt_tokens": {"kind": "lognormal", "mean": 1155, "p95": 3200},
        "output_tokens": {"kind": "lognormal", "mean": 211, "p95": 480},
    },
    "empirical": {
        "arrival": {"kind": "gamma", "mean_rps": 6.0, "cv": 2.0},
        "prompt_tokens": {"kind": "fixed", "tokens": 800},
        "output_tokens": {"kind": "empirical", "quantiles": [[0, 10], [0.5, 100], [1, 700]]},
    },
    "values": {
        "arrival": {"kind": "constant", "mean_rps": 6.0},
        "prompt_tokens": {"kind": "fixed", "tokens": 800},
        "output_tokens": {"kind": "empirical", "values": [20, 50, 300]},
    },
    "users": {
        "users": {"total_users": 50_000, "active_ratio": 0.2, "requests_per_user_hour": 2.0},
        "prompt_tokens": {"kind": "fixed", "tokens": 800},
        "output_tokens": {"kind": "fixed", "tokens": 150},
    },
    "trace": {"trace": {"rows": ROWS}, "shape": {"kind": "diurnal"}},
}


def scenario(**changes: Any) -> Any:
    return parse_scenario(scenario_dict(**changes))


@pytest.mark.parametrize("traffic", TRAFFIC.values(), ids=TRAFFIC.keys())
def test_the_answer_is_that_of_the_scenario_a_run_would_take(traffic: dict[str, Any]) -> None:
    planned = scenario(traffic=traffic)
    change = Change(load_ratio=3.0, output_ratio=1.5, usd_per_gpu_hour={"H100-SXM5-80GB": 2.5})
    told = what_if(planned, change)
    run = estimate_cells(changed_scenario(planned, change))
    for name in ("feasible", "candidate", "replicas", "gpus", "usd_per_gpu_hour", "choice"):
        assert told[name] == run[name], name
    for name in ("peak_rps", "capacity_rps", "monthly_cost_usd", "output_mtok_per_month"):
        assert told[name] == pytest.approx(run[name], rel=0.02), name


def test_nothing_moved_is_the_estimate_itself() -> None:
    planned = scenario()
    assert what_if(planned, Change()) == estimate_cells(planned)
    assert changed_scenario(planned, Change()) == planned


def test_a_target_moves_and_a_price_is_exact() -> None:
    planned = scenario(slo={"ttft_p95_ms": 1000, "tpot_p95_ms": 50})
    assert targets_of(json.loads(canonical_json(planned))) == (("ttft_p95_ms", 1000), ("tpot_p95_ms", 50))
    base = what_if(planned, Change())
    strict = what_if(planned, Change(targets_ms={"tpot_p95_ms": 20}))
    assert not strict["feasible"] or strict["capacity_rps"] < base["capacity_rps"]
    dear = what_if(planned, Change(usd_per_gpu_hour={base["gpu"]: 2 * base["usd_per_gpu_hour"]}))
    assert dear["monthly_cost_usd"] > base["monthly_cost_usd"]
    assert changed_scenario(planned, Change(targets_ms={"tpot_p95_ms": 20})).slo.tpot_p95_ms == 20


def test_a_value_out_of_range_is_refused() -> None:
    with pytest.raises(ScenarioInvalid):
        what_if(scenario(), Change(usd_per_gpu_hour={"H100-SXM5-80GB": -1}))
    with pytest.raises(ScenarioInvalid):
        changed_scenario(scenario(), Change(load_ratio=1e12))
