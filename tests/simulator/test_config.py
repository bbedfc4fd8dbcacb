"""Configurations and step times that cannot be simulated are refused with a code."""

import math
from typing import Any

import numpy as np
import pytest

from simulator import EngineConfig, SimulatorError, StepTime, Workload, linear_step_time, simulate

GOOD: dict[str, Any] = {"max_num_seqs": 4, "max_num_batched_tokens": 16, "num_blocks": 10, "max_model_len": 64}
ONE = np.ones(1, np.int64)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"max_num_seqs": 0}, "too_small"),
        ({"num_blocks": -1}, "too_small"),
        ({"block_size": 1.5}, "not_an_integer"),
        ({"max_num_seqs": True}, "not_an_integer"),
        ({"max_num_seqs": 17}, "budget_below_seats"),
        ({"enable_chunked_prefill": False}, "budget_below_prompt"),
        ({"watermark_ratio": math.nan}, "not_finite"),
        ({"watermark_ratio": 5.0}, "too_large"),
        ({"scheduler": "magic"}, "unknown_policy"),
        ({"kv_allocation": "contiguous", "enable_prefix_caching": True}, "incompatible"),
    ],
)
def test_bad_configurations(change: dict[str, Any], code: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        EngineConfig(**(GOOD | change))
    assert caught.value.code == code


@pytest.mark.parametrize(
    "tables",
    [
        (np.array([1.5, 2.0]), ONE, ONE),
        (np.array([-1, 2]), ONE, ONE),
        (np.array([2**60]), ONE, ONE),
        (np.ones((2, 2), np.int64), ONE, ONE),
    ],
)
def test_bad_step_times(tables: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    with pytest.raises(SimulatorError):
        StepTime(*tables)


def test_tables_must_cover_the_configuration() -> None:
    with pytest.raises(SimulatorError) as caught:
        simulate(EngineConfig(**GOOD), StepTime(ONE, ONE, ONE), Workload(ONE, ONE, ONE))
    assert caught.value.code == "table_too_short"


def test_steps_of_hours_are_taken_for_a_slip_of_units() -> None:
    config = EngineConfig(**GOOD)
    with pytest.raises(SimulatorError) as caught:
        simulate(config, linear_step_time(config, step_ps=2**52, context_token_ps=2**45), Workload(ONE, ONE, ONE))
    assert caught.value.code == "step_too_long"


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_runs_beyond_the_clock_are_refused(engine: Any) -> None:
    config = EngineConfig(**(GOOD | {"max_model_len": 5000, "num_blocks": 1000}))
    workload = Workload(ONE * 2**61, ONE, ONE * 4000)
    with pytest.raises(SimulatorError) as caught:
        simulate(config, linear_step_time(config, step_ps=10**15), workload, engine=engine)
    assert caught.value.code == "beyond_horizon"


def test_linear_step_time_is_the_line_it_says() -> None:
    config = EngineConfig(**GOOD)
    times = linear_step_time(config, step_ps=1000, decode_seq_ps=20, prefill_token_ps=30, context_token_ps=2)
    for decoding, prefill, context in [(0, 5, 7), (4, 0, 100), (3, 9, 50)]:
        expected = 1000 + 20 * decoding + 30 * prefill + 2 * context
        assert times.step_ps(decoding + prefill, decoding, context, 0, 0) == expected


def test_unknown_engines_are_refused() -> None:
    config = EngineConfig(**GOOD)
    with pytest.raises(SimulatorError):
        simulate(config, linear_step_time(config, step_ps=1), Workload(ONE, ONE, ONE), engine="turbo")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [True, "0.5", b"1", [0.5], None, float("nan"), 10**400])
def test_a_number_is_a_number(value: object) -> None:
    with pytest.raises(SimulatorError) as caught:
        EngineConfig(**GOOD, watermark_ratio=value)
    assert caught.value.field == "watermark_ratio"
