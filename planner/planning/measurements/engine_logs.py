"""What engines say when they start: memory of weights and KV cache, and how many tokens fit."""

from __future__ import annotations

import re

MAX_LOG_LINES = 200_000
_PATTERNS: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (engine, name, re.compile(pattern))
    for engine, name, pattern in (
        ("vllm", "engine_version", r"vLLM API server version ([0-9][\w.+-]*)"),
        ("vllm", "engine_version", r"Initializing (?:a V1|an) LLM engine \(v([0-9][\w.+-]*)\)"),
        ("vllm", "weights_gib", r"[Mm]odel loading took ([0-9.]+) Gi?B"),
        ("vllm", "available_kv_gib", r"Available KV cache memory: ([0-9.]+) Gi?B"),
        ("vllm", "kv_cache_tokens", r"GPU KV cache size: ([0-9,]+) tokens"),
        ("vllm", "gpu_blocks", r"# (?:GPU|cuda) blocks: ([0-9,]+)"),
        ("vllm", "max_concurrency_len_tokens", r"Maximum concurrency for ([0-9,]+) tokens per request"),
        ("vllm", "max_concurrency", r"Maximum concurrency for [0-9,]+ tokens per request: ([0-9.,]+)x"),
        ("vllm", "cuda_graph_gib", r"Graph capturing finished in [0-9.]+ secs?, took ([0-9.]+) Gi?B"),
        ("sglang", "kv_cache_tokens", r"max_total_num_tokens=([0-9]+)"),
        ("sglang", "kv_cache_tokens", r"KV Cache is allocated\..*?#tokens: ([0-9]+)"),
        ("sglang", "max_running_requests", r"max_running_requests=([0-9]+)"),
        ("sglang", "context_len_tokens", r"context_len=([0-9]+)"),
        ("sglang", "weights_gib", r"Load weight end\..*?mem usage=([0-9.]+) GB"),
        ("sglang", "k_gib", r"KV Cache is allocated\..*?K size: ([0-9.]+) GB"),
        ("sglang", "v_gib", r"KV Cache is allocated\..*?V size: ([0-9.]+) GB"),
    )
)
_SIGNS = ("KV cache", "KV Cache", "max_total_num_tokens=", "Maximum concurrency for")


def is_engine_log(text: str) -> bool:
    """Whether a text has a line that only a starting engine writes."""
    return any(sign in text for sign in _SIGNS) and any(
        pattern.search(text)
        for _, name, pattern in _PATTERNS
        if name == "kv_cache_tokens" or name == "available_kv_gib"
    )


def engine_log(text: str) -> tuple[dict[str, object], list[str]]:
    """What was said, by name; the first of several ranks. Engines write GB and mean GiB."""
    found: dict[str, object] = {}
    ranks: dict[str, set[float]] = {}
    for line in text.split("\n", MAX_LOG_LINES)[:MAX_LOG_LINES]:
        if len(line) > 20_000:
            continue
        for engine, name, pattern in _PATTERNS:
            match = pattern.search(line)
            if not match:
                continue
            found.setdefault("engine", engine)
            value = match.group(1).rstrip(".,").replace(",", "")
            if name == "engine_version":
                found.setdefault(name, value)
                continue
            number = _number(value)
            if number is not None:
                found.setdefault(name, int(number) if number == int(number) and name.endswith(_WHOLE) else number)
                ranks.setdefault(name, set()).add(number)
    return found, _notes(found, ranks)


_WHOLE = ("_tokens", "blocks", "requests")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _notes(found: dict[str, object], ranks: dict[str, set[float]]) -> list[str]:
    notes = [
        f"{name} differs between ranks: {', '.join(f'{value:g}' for value in sorted(values)[:8])}; the first is shown"
        for name, values in ranks.items()
        if len(values) > 1
    ]
    tokens, length, stated = (
        found.get(k) for k in ("kv_cache_tokens", "max_concurrency_len_tokens", "max_concurrency")
    )
    if isinstance(tokens, int) and isinstance(length, int) and isinstance(stated, int | float) and length:
        derived = tokens / length
        if abs(derived / stated - 1) > 0.02:
            notes.append(
                f"{tokens:,} tokens / {length:,} = {derived:.2f}, the log says {stated:g}: layers of several kinds "
                "share the cache, so tokens do not add up"
            )
    return notes
