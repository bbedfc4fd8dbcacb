"""The scenario of the first page: real traffic, a well-known model, two GPUs and two APIs."""

from __future__ import annotations

from typing import Any


def sample_scenario() -> dict[str, Any]:
    """A fresh copy of the sample document; all prices are of 2026-11-30."""
    return {
        "schema_version": 1,
        "name": "Llama 3.3 70B for the Azure conversation hour",
        "model": {"id": "meta-llama/Llama-3.3-70B-Instruct", "weight_dtype": "fp8", "kv_dtype": "fp8"},
        "hardware": {"gpus": ["H100-SXM5-80GB", "H200-SXM-141GB"]},
        "traffic": {
            "trace": {"builtin": "azure-conversation-2023"},
            "shape": {"kind": "working_week", "peak_to_mean": 2.4},
        },
        "slo": {"ttft_p95_ms": 1000, "tpot_p95_ms": 50},
        "api": {
            "alternatives": [
                {"provider": "aws", "model": "us.meta.llama3-3-70b-instruct-v1:0"},
                {"provider": "groq", "model": "llama-3.3-70b-versatile"},
            ]
        },
        "engine": {"name": "vllm", "max_model_len": 16384},
        "billing": {"mode": "always_on", "hours_per_month": 730, "spare_replicas": 1},
        "priced_at": "2026-11-30",
        "seed": 1,
    }
