"""Names of catalog entries as people say them. An id that is not known stays as it is, so nothing is ever lost."""

from __future__ import annotations

import re
from decimal import Decimal

ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt-llm": "TensorRT-LLM"}
PROVIDERS = {
    "ai21": "AI21",
    "akash": "Akash",
    "anthropic": "Anthropic",
    "arcee": "Arcee",
    "avian": "Avian",
    "aws": "Amazon Bedrock",
    "azure": "Azure",
    "baseten": "Baseten",
    "bedrock": "Amazon Bedrock",
    "cerebras": "Cerebras",
    "cloudflare": "Cloudflare",
    "cohere": "Cohere",
    "databricks": "Databricks",
    "deepinfra": "DeepInfra",
    "deepseek": "DeepSeek",
    "fireworks": "Fireworks",
    "github-copilot": "GitHub Copilot",
    "google": "Google",
    "groq": "Groq",
    "hyperbolic": "Hyperbolic",
    "lambda": "Lambda",
    "meta": "Meta",
    "minimax": "MiniMax",
    "mistral": "Mistral",
    "modal": "Modal",
    "moonshotai": "Moonshot AI",
    "nebius": "Nebius",
    "novita": "Novita",
    "nscale": "Nscale",
    "openai": "OpenAI",
    "openrouter": "OpenRouter",
    "ovhcloud": "OVHcloud",
    "perplexity": "Perplexity",
    "sambanova": "SambaNova",
    "scaleway": "Scaleway",
    "together": "Together AI",
    "voyageai": "Voyage AI",
    "x-ai": "xAI",
    "zai": "Z.ai",
    "zhipuai": "Zhipu AI",
}
RENTERS = {
    "akash": "Akash",
    "aws": "AWS",
    "azure": "Azure",
    "civo": "Civo",
    "coreweave": "CoreWeave",
    "crusoe": "Crusoe",
    "denvr": "Denvr",
    "digitalocean": "DigitalOcean",
    "excesssupply": "ExcessSupply",
    "gcp": "Google Cloud",
    "hyperstack": "Hyperstack",
    "jarvislabs": "JarvisLabs",
    "lambda": "Lambda",
    "lium": "Lium",
    "massedcompute": "Massed Compute",
    "nebius": "Nebius",
    "oci": "Oracle Cloud",
    "ovhcloud": "OVHcloud",
    "paperspace": "Paperspace",
    "runpod": "RunPod",
    "runpod-community": "RunPod community cloud",
    "runpod-secure": "RunPod secure cloud",
    "scaleway": "Scaleway",
    "sfcompute": "SF Compute",
    "spheron": "Spheron",
    "together": "Together AI",
    "vast": "Vast.ai",
    "verda": "Verda",
}
"""Who rents GPUs: the same id may name an API elsewhere (`aws`)."""
LENDER = "huggingface_"
"""Providers that are reached through Hugging Face carry this prefix."""
FORM_FACTORS = re.compile(r"SXM\d?|PCIe|\d+GB|Server")
BEDROCK_ID = re.compile(r"(?:(?:us|eu|apac|global|regional)\.)?[a-z0-9]+\.(?P<name>[a-z].*?)(?:-v1:0)?")


def engine_name(engine: str) -> str:
    """`vllm` -> `vLLM`."""
    return ENGINES.get(engine, engine)


def provider_name(provider_id: str) -> str:
    """`groq` -> `Groq`, `huggingface_cerebras` -> `Cerebras through Hugging Face`."""
    if provider_id.startswith(LENDER):
        lent = provider_id.removeprefix(LENDER).removesuffix("-ai")
        return f"{PROVIDERS.get(lent, lent)} through Hugging Face"
    return PROVIDERS.get(provider_id, provider_id)


def renter_name(provider_id: str) -> str:
    """`gcp` -> `Google Cloud`: a provider of rented GPUs."""
    return RENTERS.get(provider_id, provider_id)


def gpu_name(accelerator_id: str) -> str:
    """`H100-SXM5-80GB` -> `H100 SXM5 80 GB`."""
    words = accelerator_id.split("-")
    return " ".join(f"{word[:-2]} GB" if re.fullmatch(r"\d+GB", word) else word for word in words)


def gpu_short_name(accelerator_id: str) -> str:
    """`H100-SXM5-80GB` -> `H100`, `RTX-4090` -> `RTX 4090`: without form factor and memory."""
    words = [word for word in accelerator_id.split("-") if not FORM_FACTORS.fullmatch(word)]
    return " ".join(words) or accelerator_id


def model_name(model_id: str) -> str:
    """`meta-llama/Llama-3.3-70B-Instruct` -> `Llama-3.3-70B-Instruct`: without the owner."""
    return model_id.rpartition("/")[2] or model_id


def api_model_name(model: str) -> str:
    """A model as its provider lists it, without owner, region and revision:
    `us.meta.llama3-3-70b-instruct-v1:0` -> `llama3-3-70b-instruct`."""
    name = model_name(model)
    found = BEDROCK_ID.fullmatch(name)
    return found["name"] if found else name


def exact_usd(usd: Decimal) -> str:
    """`$10.00`, `$3.945`: at least two decimals, and no more than the price has."""
    digits = -int(usd.normalize().as_tuple().exponent)
    return f"${usd:,.{max(2, digits)}f}"


def counted(count: int, word: str) -> str:
    """`1 GPU`, `1,200 replicas`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
