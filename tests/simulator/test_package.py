"""The package as others meet it: names, example, laziness, determinism, cancelling."""

import doctest
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import simulator
from simulator import SimulationCancelled, Workload, burst_arrivals_ps, fixed_tokens, simulate
from simulator.benchmark import Clocks, run_benchmark
from simulator.kernels import compile as kernel_compile
from tests.simulator.logs import MS, even_replica

ROOT = Path(simulator.__file__).parents[1]

FINGERPRINT = """
import hashlib, numpy as np
from simulator import *
config = EngineConfig(max_num_seqs=16, max_num_batched_tokens=256, num_blocks=200, max_model_len=2048,
                      enable_prefix_caching=True)
rng = np.random.default_rng(5)
prompt = lognormal_tokens(300, rng, mean=300, p95=700, prefix_tokens=64)
workload = Workload(poisson_arrivals_ps(8, 300, rng), prompt, uniform_tokens(1, 90, 300, rng),
                    *shared_prefix(300, 2, 64, rng))
log = simulate(config, linear_step_time(config, step_ps=6 * 10**9, prefill_token_ps=10**7), workload)
print(hashlib.sha256(log.finish_ps.tobytes() + log.itl_count.tobytes()).hexdigest(), log.steps)
"""

FLEET_FINGERPRINT = """
import dataclasses, hashlib, numpy as np
from simulator import *
config = EngineConfig(max_num_seqs=16, max_num_batched_tokens=256, num_blocks=200, max_model_len=2048,
                      enable_prefix_caching=True)
step_time = linear_step_time(config, step_ps=6 * 10**9, prefill_token_ps=10**7)
pools = (Pool(config, step_time, 3), Pool(dataclasses.replace(config, attention_dp_ranks=2), step_time))
for router in ("power_of_two", "session_affine", "prefix_affine", "kv_aware"):
    rng = np.random.default_rng(5)
    workload = Workload(poisson_arrivals_ps(40, 300, rng), uniform_tokens(100, 400, 300, rng),
                        uniform_tokens(1, 90, 300, rng), *shared_prefix(300, 9, 96, rng),
                        session=rng.integers(-1, 20, 300))
    log = simulate_fleet(Fleet(pools, router), workload, rng=rng, engine="reference")
    print(hashlib.sha256(log.finish_ps.tobytes() + log.replica.tobytes()).hexdigest(), log.steps)
"""


def run_python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True,
        env=os.environ | environment,
    )  # fmt: skip
    return done.stdout.strip()


def test_the_example_in_the_package_runs() -> None:
    assert doctest.testmod(simulator).failed == 0


def test_the_examples_of_the_manual_run_as_printed() -> None:
    result = doctest.testfile(str(ROOT / "docs" / "simulator.md"), module_relative=False)
    assert result.attempted > 30
    assert result.failed == 0


def test_every_public_name_exists_once() -> None:
    assert len(set(simulator.__all__)) == len(simulator.__all__)
    assert all(hasattr(simulator, name) for name in simulator.__all__)


def test_importing_and_stepping_does_not_import_numba() -> None:
    code = FINGERPRINT.replace("workload)\nprint", 'workload, engine="reference")\nprint')
    assert run_python(code + "\nimport sys; print('numba' in sys.modules)").endswith("False")


@pytest.mark.parametrize("code", [FINGERPRINT, FLEET_FINGERPRINT])
def test_processes_and_hash_seeds_do_not_change_a_run(code: str) -> None:
    assert run_python(code, PYTHONHASHSEED="1") == run_python(code, PYTHONHASHSEED="2")


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_a_run_can_be_cancelled(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulator.fast.INSTANTS_PER_CALL", 50)
    monkeypatch.setattr("simulator.reference.run.INSTANTS_PER_REPORT", 50)
    seen: list[float] = []

    def stop_half_way(share: float) -> bool:
        seen.append(share)
        return share < 0.5

    workload = Workload(burst_arrivals_ps(400), fixed_tokens(5, 400), fixed_tokens(10, 400))
    with pytest.raises(SimulationCancelled):
        simulate(*even_replica(MS), workload, engine=engine, on_progress=stop_half_way)  # type: ignore[arg-type]
    assert seen == sorted(seen)
    assert 0.5 <= seen[-1] < 1


def test_slices_do_not_change_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = Workload(np.arange(200) * 3 * MS, fixed_tokens(5, 200), fixed_tokens(10, 200))
    whole = simulate(*even_replica(MS, seats=3), workload)
    monkeypatch.setattr("simulator.fast.INSTANTS_PER_CALL", 1)
    assert simulate(*even_replica(MS, seats=3), workload).differences(whole) == []


def test_the_caller_s_arrays_are_left_alone() -> None:
    workload = Workload(np.zeros(6, np.int64), fixed_tokens(5, 6), fixed_tokens(10, 6), concurrency=2)
    before = hashlib.sha256(workload.arrival_ps.tobytes()).hexdigest()
    simulate(*even_replica(MS), workload)
    assert hashlib.sha256(workload.arrival_ps.tobytes()).hexdigest() == before


def test_kernels_are_kept_where_numba_is_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    folder = kernel_compile._cache_folder()
    assert folder is not None
    assert folder.parent == tmp_path / "cache"


def test_the_benchmark_counts_what_it_ran_and_agrees_with_the_reference() -> None:
    ticks = iter(range(1000))
    clocks = Clocks(lambda: float(next(ticks)), lambda: float(next(ticks)), lambda: 100.0)
    (row,) = run_benchmark(["peer"], clocks, scale=0.002)
    assert row["requests"] == 200
    assert row["output_tokens"] == 200 * 128
    assert row["requests_per_cpu_s"] == pytest.approx(200 / row["cpu_s"])
    assert row["matches_reference"]


def test_the_benchmark_s_fleet_agrees_with_the_reference() -> None:
    (row,) = run_benchmark(["fleet"], Clocks(lambda: 0.0, lambda: 0.0, lambda: 0.0), scale=0.003)
    assert row["requests"] == 600
    assert row["matches_reference"]
