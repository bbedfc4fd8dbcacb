"""From the names that benchmark tables use to the catalog's accelerators and models."""

from __future__ import annotations

from costmodel import UnknownIdError, load_catalog
from costmodel.catalog.hardware import Accelerator
from costmodel.models.spec import ModelSpec
from planner.planning.validation.rows import MeasuredRow
from planner.planning.validation.unusable import Unusable

GPU_IDS = {
    "H100-SXM-80GB": "H100-SXM5-80GB",
    "B200-180GB": "B200-SXM",
    "B300": "B300-SXM",
    "GB200-192GB": "GB200",
    "A100-80GB": "A100-SXM4-80GB",
    "A100-SXM-80GB": "A100-SXM4-80GB",
    "A100-SXM-40GB": "A100-SXM4-40GB",
    "A100-PCIE-80GB": "A100-PCIe-80GB",
    "H100-80GB": "H100-SXM5-80GB",
    "L40S-48GB": "L40S",
    "L4-24GB": "L4",
    "T4-16GB": "T4",
    "A40-48GB": "A40",
    "A10G-24GB": "A10G",
    "H20-96GB": "H20",
    "RTX-4090-24GB": "RTX-4090",
    "RTX-PRO-6000-96GB": "RTX-PRO-6000-Blackwell-Server",
    "MI300X-192GB": "MI300X",
    "MI355X-288GB": "MI355X",
    "MI355X-288GB(mi35x image)": "MI355X",
}
MODEL_IDS = {
    "Llama-2-7B": "meta-llama/Llama-2-7b-hf",
    "Llama-2-70B": "meta-llama/Llama-2-70b-hf",
    "Llama-3.1-8B": "meta-llama/Llama-3.1-8B-Instruct",
    "Llama-3.1-70B": "meta-llama/Llama-3.1-70B-Instruct",
    "Llama-3.3-70B": "meta-llama/Llama-3.3-70B-Instruct",
    "Llama-3.1-405B": "meta-llama/Meta-Llama-3.1-405B",
    "Llama-4-Scout": "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "Llama-4-Maverick": "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
    "Mistral-7B": "mistralai/Mistral-7B-Instruct-v0.3",
    "Mixtral-8x7B": "mistralai/Mixtral-8x7B-v0.1",
    "Mixtral-8x22B": "mistralai/Mixtral-8x22B-v0.1",
    "DeepSeek-R1": "deepseek-ai/DeepSeek-R1",
    "DeepSeek-R1-Distill-Llama-8B": "meta-llama/Llama-3.1-8B-Instruct",
    "DeepSeek-R1-Distill-Qwen-14B": "Qwen/Qwen2.5-14B",
    "MiniMax-M2.5": "MiniMaxAI/MiniMax-M2.5",
    "CodeLlama-34B": "codellama/CodeLlama-34b-Instruct-hf",
    "gemma-3-12b-it": "google/gemma-3-12b-it",
    "gpt-oss-20b": "openai/gpt-oss-20b",
    "gpt-oss-120b": "openai/gpt-oss-120b",
    "GLM-4.5-Air": "zai-org/GLM-4.5-Air",
    "GLM-4.6": "zai-org/GLM-4.6",
    "GLM-5": "zai-org/GLM-5",
    "Kimi-K2.5": "moonshotai/Kimi-K2.5",
}


def accelerator_of(row: MeasuredRow) -> Accelerator:
    """The row's accelerator; raises Unusable where the catalog has none or the table mixes kinds."""
    return accelerator_named(row.gpu_id or row.gpu)


def model_of(row: MeasuredRow) -> ModelSpec:
    """The row's model; raises Unusable where the catalog has none."""
    return model_named(row.model_id or row.model)


def accelerator_named(name: str) -> Accelerator:
    """The catalog's accelerator of a table's name, without what stands in brackets. Raises Unusable."""
    plain = name.split(" (")[0].strip()
    if not plain or "+" in name or "not stated" in name:
        raise Unusable("GPU mixed or not stated")
    try:
        return load_catalog().accelerator(GPU_IDS.get(name, GPU_IDS.get(plain, plain)))
    except UnknownIdError:
        raise Unusable("GPU not in the catalog") from None


def model_named(name: str) -> ModelSpec:
    """The catalog's model of a table's name, without what stands in brackets. Raises Unusable."""
    plain = name.split(" (")[0].strip()
    if not plain or plain == "not stated":
        raise Unusable("model not stated")
    try:
        return load_catalog().model(MODEL_IDS.get(plain, plain))
    except UnknownIdError:
        raise Unusable("model not in the catalog") from None
