"""What stands behind a prediction, in states, words and interval ratios."""

import pytest

from costmodel import Parallelism, engine_profile, load_catalog, make_deployment, model_from_params
from costmodel.steptime.coverage import Coverage, coverage, measured_deployments


def covered(model: str, gpu: str, engine: str = "vllm", tp: int = 1) -> Coverage:
    catalog = load_catalog()
    deployment = make_deployment(
        catalog.model(model), catalog.accelerator(gpu), engine_profile(engine), Parallelism(tp=tp), max_model_len=4096
    )
    return coverage(deployment)


def test_a_measured_deployment_names_its_rows_and_sources() -> None:
    found = covered("Qwen3-32B", "H100-SXM5-80GB")
    assert found.state == found.model == found.gpu == found.engine == "measured"
    assert found.rows > 0
    assert found.sources
    assert str(found.rows) in found.sentence


def test_a_tuned_twin_counts_as_its_architecture() -> None:
    assert covered("Llama-3.3-70B", "H100-SXM5-80GB", "tensorrt-llm", 2).model == "measured"


def test_an_unmeasured_pair_is_told_plainly() -> None:
    found = covered("Qwen2.5-7B-Instruct", "A30")
    assert found.state != "measured"
    assert found.rows == 0
    assert found.sentence.startswith("No measurement of Qwen2.5-7B-Instruct on A30 with vLLM is known")


def test_hardware_of_an_unmeasured_generation_is_extrapolated() -> None:
    found = covered("Llama-3.1-8B", "TPU-v6e")
    assert found.gpu == found.state == "extrapolated"
    assert "TPU v6e" in found.sentence


def test_a_custom_model_is_never_measured() -> None:
    model = model_from_params(params_total_b=33)
    gpu = load_catalog().accelerator("H100-SXM5-80GB")
    found = coverage(make_deployment(model, gpu, max_model_len=4096))
    assert found.model != "measured"


@pytest.mark.parametrize(("model", "gpu"), [("Qwen3-32B", "H100-SXM5-80GB"), ("Llama-3.1-8B", "TPU-v6e")])
def test_intervals_hold_the_prediction(model: str, gpu: str) -> None:
    found = covered(model, gpu)
    assert 0 < found.step_time_p10_ratio < 1 < found.step_time_p90_ratio
    assert 0 < found.ttft_p10_ratio < 1 < found.ttft_p90_ratio


def test_extrapolation_is_wider_than_measurement() -> None:
    near, far = covered("Qwen3-32B", "H100-SXM5-80GB"), covered("Llama-3.1-8B", "TPU-v6e")
    assert far.step_time_p10_ratio <= near.step_time_p10_ratio
    assert far.step_time_p90_ratio >= near.step_time_p90_ratio


def test_the_index_names_catalog_entries() -> None:
    catalog = load_catalog()
    for entry in measured_deployments():
        assert entry.accelerator_id in catalog.accelerators
        assert entry.model_id in catalog.models
        assert entry.rows > 0
