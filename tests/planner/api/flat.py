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
