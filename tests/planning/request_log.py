"""A small request log as vLLM's statistics would write it: two clocks, and an engine that looks between its steps."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

WALL_CLOCK_S, ENGINE_CLOCK_S = 1_777_142_838.0, 479_748.0
NAME = "RTXPRO6000_small"


def meta(model: str = "meta-llama/Llama-3.1-8B", **kwargs: Any) -> bytes:
    """`meta.json` of a log with these engine arguments."""
    settings = {"model": model, "max_num_seqs": 8, "max_num_batched_tokens": 2048, "dtype": "bfloat16", **kwargs}
    return json.dumps({"model": model, "vllm_version": "0.19.0", "engine_kwargs": settings}).encode()


def record(
    sent_s: float, first_s: float, last_s: float, *, seen_s: float | None = None, prompt: int = 900, output: int = 100
) -> dict[str, float]:
    """One request. `seen_s`: when the engine found it (default: at once); it is scheduled then."""
    queued = ENGINE_CLOCK_S + (sent_s if seen_s is None else seen_s)
    return {
        "input_toks": prompt,
        "output_toks": output,
        "arrival_time": WALL_CLOCK_S + sent_s,
        "queued_ts": queued,
        "scheduled_ts": queued,
        "first_token_ts": ENGINE_CLOCK_S + first_s,
        "last_token_ts": ENGINE_CLOCK_S + last_s,
    }


def lines(records: Sequence[Mapping[str, float]]) -> bytes:
    """`requests.jsonl` of these records."""
    return "\n".join(map(json.dumps, records)).encode()


def steady(count: int = 40, gap_s: float = 0.2, **lengths: int) -> bytes:
    """`requests.jsonl` of `count` equal requests, served alike."""
    sent = [number * gap_s for number in range(count)]
    return lines([record(at, at + 0.1, at + 2, **lengths) for at in sent])
