"""Engine profiles: defaults by version, device and engine."""

import pytest

from costmodel import UnknownIdError, engine_names, engine_profile, load_catalog
from costmodel.catalog.engines import engine_profiles, version_key
from tests.costmodel.builders import deploy


def test_three_engines_have_profiles() -> None:
    assert set(engine_names()) == {"vllm", "sglang", "tensorrt-llm"}


def test_every_profile_has_a_source_and_a_date() -> None:
    for profile in engine_profiles():
        assert profile.source.startswith("https://")
        assert profile.as_of


@pytest.mark.parametrize("name", ["vLLM", "VLLM", "TRT-LLM", "tensorrt_llm", "TensorRT-LLM", "SGLang"])
def test_engine_names_are_forgiving(name: str) -> None:
    assert engine_profile(name).name in engine_names()


def test_an_unknown_engine_lists_the_known_ones() -> None:
    with pytest.raises(UnknownIdError) as caught:
        engine_profile("ollama")
    assert set(caught.value.suggestions) == set(engine_names())


def test_a_version_between_profiles_takes_the_lower_and_says_so() -> None:
    profile = engine_profile("vllm", "0.12.3")
    assert profile.version == "0.11.0"
    assert "0.12.3" in profile.notes[-1]
    assert engine_profile("vllm", "v0.11.0").notes == engine_profile("vllm", "0.11.0").notes


def test_a_version_before_all_profiles_says_so() -> None:
    assert "above" in engine_profile("vllm", "0.2.4").notes[-1]


def test_a_version_without_numbers_is_refused() -> None:
    with pytest.raises(UnknownIdError):
        engine_profile("vllm", "latest")


def test_versions_order_by_number() -> None:
    assert version_key("0.9.2") < version_key("0.10.2") < version_key("v0.11.0rc1")


@pytest.mark.parametrize(
    ("gpu", "seqs", "tokens"),
    [("h100-sxm", 1024, 8192), ("MI300X", 1024, 8192), ("A100-SXM-80GB", 256, 2048), ("L40S", 256, 2048)],
)
def test_batch_defaults_follow_the_device(gpu: str, seqs: int, tokens: int) -> None:
    # https://github.com/vllm-project/vllm/pull/17885 excepts the A100
    deployment = deploy(gpu=gpu)
    assert (deployment.max_num_seqs, deployment.max_num_batched_tokens) == (seqs, tokens)


def test_sglang_computes_its_static_fraction() -> None:
    one = deploy(engine="sglang").gpu_memory_utilization
    assert 0.8 < one < 0.9
    assert deploy("Llama-3.3-70B", engine="sglang", tp=8).gpu_memory_utilization < one


def test_tensorrt_never_evicts() -> None:
    profile = engine_profile("tensorrt-llm")
    assert (profile.preemption, profile.admission, profile.fraction_of) == ("none", "max_length", "free_after_weights")


def test_fp4_of_a_checkpoint_that_ships_it_keeps_its_own_mix() -> None:
    assert deploy("openai/gpt-oss-120b", weight_dtype="fp4").weights.dtype_of("experts") == "mxfp4"
    assert deploy("Llama-3.3-70B", weight_dtype="fp4").weights.dtype_of("attention") == "nvfp4"
    assert load_catalog().model("gpt-oss-120b").native_weight_dtype == "fp4"


def test_steps_are_scheduled_ahead_from_the_version_that_does_so() -> None:
    ahead = {version: engine_profile("vllm", version).overlap_scheduling for version in ("0.9.2", "0.13.0", "0.14.0")}
    assert ahead == {"0.9.2": False, "0.13.0": False, "0.14.0": True}
    assert engine_profile("sglang").overlap_scheduling
    assert not engine_profile("tensorrt-llm", "0.20").overlap_scheduling
    assert engine_profile("tensorrt-llm", "1.0").overlap_scheduling
