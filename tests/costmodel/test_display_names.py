"""Ids as people say them."""

from decimal import Decimal

import pytest

from costmodel import load_catalog
from costmodel.catalog import display_names as names


@pytest.mark.parametrize(
    ("accelerator_id", "name", "short"),
    [
        ("H200-SXM-141GB", "H200 SXM 141 GB", "H200"),
        ("RTX-4090", "RTX 4090", "RTX 4090"),
        ("H100-NVL-94GB", "H100 NVL 94 GB", "H100 NVL"),
        ("TPU-v5p", "TPU v5p", "TPU v5p"),
        ("my box", "my box", "my box"),
    ],
)
def test_gpus(accelerator_id: str, name: str, short: str) -> None:
    assert names.gpu_name(accelerator_id) == name
    assert names.gpu_short_name(accelerator_id) == short


def test_short_names_keep_different_chips_apart() -> None:
    for accelerator in load_catalog().accelerators.values():
        assert names.gpu_short_name(accelerator.id) not in {"RTX", "TPU", ""}


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("us.meta.llama3-3-70b-instruct-v1:0", "llama3-3-70b-instruct"),
        ("anthropic.claude-v2:1", "claude-v2:1"),
        ("openai/gpt-oss-20b", "gpt-oss-20b"),
        ("gpt-5.4", "gpt-5.4"),
        ("accounts/fireworks/models/qwen3-32b", "qwen3-32b"),
    ],
)
def test_models_of_an_api(model: str, name: str) -> None:
    assert names.api_model_name(model) == name


def test_providers_through_another() -> None:
    assert names.provider_name("huggingface_fireworks-ai") == "Fireworks through Hugging Face"
    assert names.provider_name("of-my-own") == "of-my-own"


def test_counts() -> None:
    assert [names.counted(count, "GPU") for count in (0, 1, 2, 1200)] == ["0 GPUs", "1 GPU", "2 GPUs", "1,200 GPUs"]


def test_prices_keep_what_they_have_and_two_decimals() -> None:
    texts = [names.exact_usd(Decimal(text)) for text in ("10.0", "3.945", "4", "0.0375", "0", "1E+1")]
    assert texts == ["$10.00", "$3.945", "$4.00", "$0.0375", "$0.00", "$10.00"]
