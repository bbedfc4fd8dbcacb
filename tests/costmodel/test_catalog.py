"""The catalog: facts with sources, known traps, and forgiving ids."""

import csv
import subprocess
import sys
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costmodel import DeploymentError, UnknownIdError, custom_accelerator, load_catalog

CATALOG = load_catalog()


def test_every_accelerator_has_its_provenance() -> None:
    assert len(CATALOG.accelerators) == 44
    for accelerator in CATALOG.accelerators.values():
        assert accelerator.source
        assert accelerator.as_of == "2026-11-30"
        assert accelerator.memory_basis
        assert 0.9 * accelerator.memory_gb < accelerator.memory_gib <= accelerator.memory_gb or accelerator.id in (
            "B100",
            "B200-SXM",
        )


@pytest.mark.parametrize(
    ("gpu", "field", "value"),
    [
        ("L40S", "fp8_dense_tflops", 733),  # 1,466 is sparse
        ("H100-SXM5-80GB", "bf16_dense_tflops", 989),  # 1,979 is sparse
        ("GH200-96GB", "bf16_dense_tflops", 990),
        ("B300-SXM", "int8_dense_tops", 153.5),  # INT8 all but removed
        ("MI325X", "memory_gb", 256),  # announced at 288
        ("A10", "memory_gb", 24),
        ("A10G", "bf16_dense_tflops", 70),  # not an A10
        ("MI210", "int8_dense_tops", 181),
        ("B200-SXM", "memory_gb", 192),  # per-die figures circulate
        ("V100-SXM2-16GB", "memory_bandwidth_gb_per_s", 900),
        ("H100-SXM5-80GB", "link_gb_per_s", 450),  # 900 is both directions
        ("H100-SXM5-80GB", "memory_gib", 79.18),
        ("A100-SXM4-80GB", "memory_gib", 79.15),
    ],
)
def test_figures_that_other_tables_get_wrong(gpu: str, field: str, value: float) -> None:
    assert getattr(CATALOG.accelerators[gpu], field) == value


def test_rates_fall_back_where_a_unit_is_missing() -> None:
    assert CATALOG.accelerator("A100-SXM-80GB").dense_tflops("fp8") is None
    assert CATALOG.accelerator("h100-sxm").dense_tflops("fp8") == 1979


@pytest.mark.parametrize(
    ("given_id", "known"),
    [
        ("H100-SXM5-80GB", "H100-SXM5-80GB"),
        ("h100-sxm-80gb", "H100-SXM5-80GB"),
        ("h100 sxm 80gb", "H100-SXM5-80GB"),
        ("H100_SXM", "H100-SXM5-80GB"),
        ("h100 sxm5", "H100-SXM5-80GB"),
        ("H100-NVL-94GB", "H100-NVL-94GB"),
        ("H200-SXM-141GB", "H200-SXM-141GB"),
        ("H200-NVL-141GB", "H200-NVL-141GB"),
        ("H800-80GB", "H800-SXM5-80GB"),
        ("B200-180GB", "B200-SXM"),
        ("B300", "B300-SXM"),
        ("GB200-192GB", "GB200"),
        ("GB300", "GB300"),
        ("GH200-96GB", "GH200-96GB"),
        ("A100-SXM-80GB", "A100-SXM4-80GB"),
        ("A100-PCIE-80GB", "A100-PCIe-80GB"),
        ("A100-SXM-40GB", "A100-SXM4-40GB"),
        ("L40S-48GB", "L40S"),
        ("L4-24GB", "L4"),
        ("A40-48GB", "A40"),
        ("A10G-24GB", "A10G"),
        ("H20-96GB", "H20"),
        ("RTX-4090-24GB", "RTX-4090"),
        ("RTX-PRO-6000-96GB", "RTX-PRO-6000-Blackwell-Server"),
        ("MI300X-192GB", "MI300X"),
        ("MI355X-288GB", "MI355X"),
        ("MI355X-288GB(mi35x image)", "MI355X"),
        ("T4-16GB", "T4"),
    ],
)
def test_accelerator_spellings(given_id: str, known: str) -> None:
    assert CATALOG.accelerator(given_id).id == known


@pytest.mark.parametrize(
    ("given_id", "known"),
    [
        ("Llama-3.3-70B", "meta-llama/Llama-3.3-70B-Instruct"),
        ("llama 3.3 70b instruct", "meta-llama/Llama-3.3-70B-Instruct"),
        ("LLAMA-3.3-70B-INSTRUCT", "meta-llama/Llama-3.3-70B-Instruct"),
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "meta-llama/Llama-3.3-70B-Instruct"),
        ("Llama-2-7B", "meta-llama/Llama-2-7b-hf"),
        ("Llama-2-70B", "meta-llama/Llama-2-70b-hf"),
        ("Llama-3.1-8B", "meta-llama/Llama-3.1-8B-Instruct"),
        ("Llama-3.1-70B", "meta-llama/Llama-3.1-70B-Instruct"),
        ("Llama-3.1-405B", "meta-llama/Meta-Llama-3.1-405B"),
        ("Llama-4-Scout", "meta-llama/Llama-4-Scout-17B-16E-Instruct"),
        ("Llama-4-Maverick", "meta-llama/Llama-4-Maverick-17B-128E-Instruct"),
        ("Mistral-7B", "mistralai/Mistral-7B-Instruct-v0.3"),
        ("Mixtral-8x7B", "mistralai/Mixtral-8x7B-v0.1"),
        ("Mixtral-8x22B", "mistralai/Mixtral-8x22B-v0.1"),
        ("Qwen3-8B", "Qwen/Qwen3-8B"),
        ("Qwen3-14B", "Qwen/Qwen3-14B"),
        ("Qwen3-32B", "Qwen/Qwen3-32B"),
        ("Qwen3-30B-A3B", "Qwen/Qwen3-30B-A3B"),
        ("Qwen3-235B-A22B", "Qwen/Qwen3-235B-A22B"),
        ("Qwen3.5-35B-A3B", "Qwen/Qwen3.5-35B-A3B"),
        ("Qwen3.5-397B-A17B", "Qwen/Qwen3.5-397B-A17B"),
        ("Qwen3.5-9B", "Qwen/Qwen3.5-9B"),
        ("Qwen2.5-0.5B", "Qwen/Qwen2.5-0.5B"),
        ("Qwen2.5-14B", "Qwen/Qwen2.5-14B"),
        ("Qwen2.5-7B", "Qwen/Qwen2.5-7B-Instruct"),
        ("Qwen2.5-72B", "Qwen/Qwen2.5-72B-Instruct"),
        ("DeepSeek-R1", "deepseek-ai/DeepSeek-R1"),
        ("DeepSeek-R1-Distill-Llama-8B", "meta-llama/Llama-3.1-8B-Instruct"),
        ("DeepSeek-R1-Distill-Qwen-14B", "Qwen/Qwen2.5-14B"),
        ("gpt-oss-20b", "openai/gpt-oss-20b"),
        ("gpt-oss-120b", "openai/gpt-oss-120b"),
        ("GLM-4.5-Air", "zai-org/GLM-4.5-Air"),
        ("GLM-4.6", "zai-org/GLM-4.6"),
        ("GLM-5", "zai-org/GLM-5"),
        ("Kimi-K2.5", "moonshotai/Kimi-K2.5"),
        ("MiniMax-M2.5", "MiniMaxAI/MiniMax-M2.5"),
        ("CodeLlama-34B", "codellama/CodeLlama-34b-Instruct-hf"),
        ("gemma-3-12b-it", "google/gemma-3-12b-it"),
        ("GPT-J-6B", "EleutherAI/gpt-j-6b"),
        ("Falcon-180B", "tiiuae/falcon-180B"),
    ],
)
def test_model_spellings(given_id: str, known: str) -> None:
    assert CATALOG.model(given_id).id == known


@pytest.mark.parametrize(
    ("given_id", "dtype"),
    [
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "fp8"),
        ("hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4", "w4a16"),
        ("Meta-Llama-3.1-70B-Instruct w8a8", "int8"),
        ("nvidia/Llama-3.3-70B-Instruct-FP4", "fp4"),
        ("Qwen3-235B-A22B-FP8", "fp8"),
        ("Llama-3.3-70B", "bf16"),
    ],
)
def test_a_quantised_repository_is_its_model_in_that_format(given_id: str, dtype: str) -> None:
    assert CATALOG.model(given_id).native_weight_dtype == dtype


@pytest.mark.parametrize("given_id", ["any", "", "   ", "H300", "x" * 500, "(((", "../../etc/passwd"])
def test_what_names_nothing_is_refused(given_id: str) -> None:
    for find in (CATALOG.accelerator, CATALOG.model):
        with pytest.raises(UnknownIdError):
            find(given_id)


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(UnknownIdError) as caught:
        CATALOG.model("Lama-3.3-70B-Instruct")
    assert "meta-llama/Llama-3.3-70B-Instruct" in caught.value.suggestions
    with pytest.raises(UnknownIdError) as gpu:
        CATALOG.accelerator("L40SS")
    assert "L40S" in gpu.value.suggestions


@given(st.text(max_size=40))
@settings(max_examples=80, deadline=None)
def test_any_text_resolves_or_is_refused(text: str) -> None:
    try:
        model_id = CATALOG.model(text).id
    except UnknownIdError as error:
        assert error.code in ("unknown_id", "ambiguous_id")  # noqa: PT017 (both outcomes are right)
    else:
        assert model_id in CATALOG.models


def test_prices_name_known_accelerators() -> None:
    text = (files("costmodel") / "data" / "gpu_prices.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == 141
    assert {row["gpu"] for row in rows} <= set(CATALOG.accelerators)


def test_the_version_is_a_stable_digest() -> None:
    assert len(CATALOG.version) == 12
    assert load_catalog() is CATALOG


def test_importing_the_package_pulls_in_no_framework() -> None:
    code = "import sys, costmodel; costmodel.load_catalog(); print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"django", "numba", "celery", "requests"} & set(loaded)


def test_a_custom_accelerator_checks_all_its_figures() -> None:
    card = custom_accelerator("mine", memory_gib=23.58, memory_bandwidth_gb_per_s=936, bf16_dense_tflops=71)
    assert card.memory_gib == 23.58
    with pytest.raises(DeploymentError) as caught:
        custom_accelerator("bad", memory_gib=-1, memory_bandwidth_gb_per_s=float("nan"), bf16_dense_tflops=float("inf"))
    assert len(caught.value.problems) == 3
