"""The names under which programs and people write the columns of a plain table, and how one of them is found.

Names are normalised (`layouts.normalised`). Those of nested records have dots; then the last part counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

USUAL: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "time": (
            "timestamp", "arrival_time", "arrival_timestamp", "arrival", "arrived_at", "request_timestamp",
            "request_time", "request_start", "request_start_time", "start_time", "start_timestamp", "started_at",
            "start",
            "created_at", "created_time", "created", "received_at", "submitted_at", "sent_at", "event_time",
            "event_timestamp", "timestamp_utc", "unix_time", "unix_timestamp", "epoch", "ts", "time", "datetime",
            "date_time", "elapsed", "elapsed_time", "offset", "relative_time", "seconds", "date", "day", "datum",
            "zeit",
            "zeitpunkt", "zeitstempel", "fecha", "horodatage", "t",
        ),
        "prompt": (
            "prompt_tokens", "input_tokens", "context_tokens", "input_length", "prompt_length", "prompt_len",
            "input_len", "request_tokens", "input_sequence_length", "input_seq_len", "isl", "tokens_in", "tokens_input",
            "tokens_prompt", "native_tokens_prompt", "in_tokens", "input_toks", "prompt_toks", "num_prompt_tokens",
            "num_input_tokens", "num_prefill_tokens", "prompt_token_count", "input_token_count", "prompt_tokens_count",
            "input_tokens_count", "n_prompt_tokens", "n_input_tokens", "n_context_tokens_total", "prefill_tokens",
            "eingabe_tokens", "eingabetokens", "tokens_entree", "tokens_entrada",
        ),
        "output": (
            "output_tokens", "completion_tokens", "generated_tokens", "output_length", "completion_length",
            "response_length", "output_len", "completion_len", "response_tokens", "output_sequence_length",
            "output_seq_len", "osl", "tokens_out", "tokens_output", "tokens_completion", "native_tokens_completion",
            "tokens_generated", "out_tokens", "output_toks", "completion_toks", "num_completion_tokens",
            "num_output_tokens", "num_generated_tokens", "num_generation_tokens", "num_decode_tokens",
            "completion_token_count", "output_token_count", "candidates_token_count", "completion_tokens_count",
            "output_tokens_count", "n_completion_tokens", "n_output_tokens", "n_generated_tokens_total",
            "generation_tokens", "generation_length", "decode_tokens", "ausgabe_tokens", "ausgabetokens",
            "tokens_sortie", "tokens_salida",
        ),
        "cached": (
            "cached_tokens", "cached_input_tokens", "input_cached_tokens", "cached_prompt_tokens",
            "cached_content_token_count", "cache_read_input_tokens", "cache_read_tokens",
        ),
        "session": ("session_id", "session", "conversation_id", "conversation", "thread_id", "chat_id", "trace_id"),
        "client": ("client_id", "client", "tenant", "tenant_id", "user_id", "user", "api_key"),
        "class": ("class", "kind", "task", "model", "model_group", "type"),
        "id": ("request_id", "id", "uuid"),
        "hash_ids": ("hash_ids", "block_hashes", "blocks"),
        "total": ("total_tokens",),
        "requests": (
            "requests", "num_requests", "n_requests", "num_model_requests", "request_count", "api_requests", "anfragen",
        ),
        "cost": ("cost_usd", "cost", "spend", "kosten_usd", "kosten"),
        "status": ("status", "outcome", "finish_status"),
    }
)  # fmt: skip
IF_NUMBERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"prompt": ("prompt", "input", "in"), "output": ("completion", "output", "response", "out")}
)
"""Names that hold texts as often as counts: taken where the cells are numbers."""

UNITS: Mapping[str, str] = MappingProxyType(
    {
        "s": "s", "sec": "s", "secs": "s", "second": "s", "seconds": "s", "ms": "ms", "msec": "ms", "millis": "ms",
        "milliseconds": "ms", "us": "us", "usec": "us", "micros": "us", "microseconds": "us", "ns": "ns", "nanos": "ns",
        "nanoseconds": "ns",
    }
)  # fmt: skip


def time_unit(name: str) -> str | None:
    """The unit at the end of a name: ("arrival_ms") -> "ms"; None where there is none."""
    return UNITS.get(leaf(name).rpartition("_")[2])


def leaf(name: str) -> str:
    """The last part of a nested name."""
    return name.rpartition(".")[2]


def find_column(meaning: str, names: tuple[str, ...], numbers: frozenset[str]) -> str | None:
    """The column of a meaning, by the most usual name; names written whole come before parts of nested ones.

    numbers: columns whose cells are all numbers.
    """
    for read in (str, leaf):
        by_name: dict[str, str] = {}
        for name in names:
            by_name.setdefault(read(name), name)
        for usual in USUAL[meaning]:
            if usual in by_name:
                return by_name[usual]
            if meaning == "time":
                found = next((by_name[f"{usual}_{unit}"] for unit in UNITS if f"{usual}_{unit}" in by_name), None)
                if found:
                    return found
        for usual in IF_NUMBERS.get(meaning, ()):
            if by_name.get(usual) in numbers:
                return by_name[usual]
    return None
