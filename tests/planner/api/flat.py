"""A cell's question that is answered in milliseconds."""

from typing import Any
from urllib.parse import urlencode

QUESTION: dict[str, Any] = {
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "gpu": "H100-SXM5-80GB",
    "tp": "1",
    "rps": 2,
    "prompt_tokens": 600,
    "output_tokens": 200,
    "ttft_p95_ms": 1000,
    "tpot_p95_ms": 50,
    "priced_at": "2026-11-30",
}


def cell(**changes: Any) -> str:
    """The path of QUESTION with these parameters changed; None leaves one out."""
    given = {name: value for name, value in (QUESTION | changes).items() if value is not None}
    return f"/sheets/estimate?{urlencode(given)}"


CALCULATIONS: dict[str, dict[str, Any]] = {
    "kv-memory": {"layers": 32, "kv_heads": 8, "head_dim": 128, "context_tokens": 1000, "sequences": 10},
    "kv-memory-of-model": {"model": "meta-llama/Llama-3.1-8B-Instruct", "context_tokens": 1000},
    "littles-law": {"arrival_rps": 2, "e2e_s": 7.675},
    "monthly-requests": {
        "input_tokens": 100_000_000,
        "output_tokens": 100_000_000,
        "prompt_tokens": 4000,
        "answer_tokens": 500,
    },
    "cost-per-mtok": {"usd_per_hour": 4, "tokens_per_s": 1500, "utilisation_ratio": 0.6},
    "break-even": {"usd_per_replica_hour": 4, "capacity_tokens_per_s": 1500, "api_usd_per_mtok": 1},
}
"""One question to each calculator that is asked by GET."""
