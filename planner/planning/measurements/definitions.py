"""What each figure means here, and under which name and meaning each tool has it."""

from __future__ import annotations

from collections.abc import Iterable

DEFINITIONS = {
    "ttft": "From sending a request to its first token, queue included; ms.",
    "tpot": "(End − first token) / (output tokens − 1) of each request; ms.",
    "tpot_with_first": "Whole latency / output tokens of each request, the first token's wait included; ms.",
    "itl": "Gap between chunks of a stream, which may carry several tokens; ms.",
    "e2e": "From sending a request to its last token; ms.",
    "queue": "From arrival at the engine to the first step of a request; ms.",
    "request_rps": "Completed requests / duration.",
    "output_tokens_per_s": "Output tokens of completed requests / duration, of all GPUs together.",
}
_TPOT_AS_ITL = "its inter_token_latency is (end − first token) / (output tokens − 1), which is TPOT here"
TOOLS: dict[str, dict[str, str]] = {
    "guidellm": {
        "tpot": "its inter_token_latency_ms leaves the first token out",
        "tpot_with_first": "its time_per_output_token_ms counts the first token",
        "e2e": "its request_latency, in seconds",
    },
    "aiperf": {"tpot": _TPOT_AS_ITL, "itl": "its inter_chunk_latency"},
    "genai_perf": {"tpot": _TPOT_AS_ITL},
    "llmperf": {
        "tpot_with_first": "its inter_token_latency is the whole latency over all tokens",
        "ttft": "in seconds in the file",
        "e2e": "in seconds in the file",
    },
    "inference_perf": {"tpot_with_first": "its normalized_time_per_output_token, in seconds"},
    "llmd_report": {"tpot_with_first": "its normalized_time_per_output_token"},
    "vllm_bench_serve": {"e2e": "its e2el; summaries in ms, arrays of requests in seconds"},
    "sglang_bench_serving": {"e2e": "its e2e_latency; summaries in ms, arrays of requests in seconds"},
    "prometheus_query": {"tpot": "of the histogram's buckets, means exact, percentiles within a bucket"},
    "prometheus_text": {"tpot": "of the histogram's buckets, since the server started"},
}


def definitions_for(format_key: str, metrics: Iterable[str]) -> list[dict[str, str]]:
    """The metrics with their definitions, and what the tool calls them where that differs."""
    own = TOOLS.get(format_key, {}) or TOOLS.get(format_key.removesuffix("_csv").removesuffix("_records"), {})
    return [
        {"metric": name, "definition": text, "in_file": own.get(name, "")}
        for name, text in DEFINITIONS.items()
        if name in set(metrics)
    ]
