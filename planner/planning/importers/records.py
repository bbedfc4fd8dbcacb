"""Formats whose records need more than a renaming of columns. Each hook sees one file, from its first record on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from planner.planning.importers.cells import count, tokens
from planner.planning.importers.errors import BadCell, Dropped

Record = dict[str, Any]
MAX_CHATS = 1_000_000

JOINED_TIME = "day_and_time"
_CACHED_KEYS = ("input_cached_tokens", "cache_read_input_tokens", "input_cache_read", "input_cached")
_WRITTEN_KEYS = ("cache_creation_input_tokens", "input_cache_creation", "input_cache_write")
_GATEWAY_CACHE = frozenset({"true", "1", "yes", "t"})


def bailian_conversations() -> Callable[[Record], Record]:
    """Follows parent_chat_id to the first turn, so that turns of a conversation share one name."""
    first_turn: dict[Any, Any] = {}

    def prepare(record: Record) -> Record:
        chat, parent = record.get("chat_id"), record.get("parent_chat_id")
        if isinstance(chat, list | dict) or isinstance(parent, list | dict):
            raise BadCell("bad_session", "chat_id and parent_chat_id must be numbers or texts.")
        root = first_turn.get(parent, parent) if parent not in (None, -1, "-1", "") else chat
        if len(first_turn) < MAX_CHATS:
            first_turn[chat] = root
        return {**record, "conversation": root}

    return prepare


def litellm_request() -> Callable[[Record], Record]:
    """Leaves out what never reached a model server, and names the client by end_user, user or key."""

    def prepare(record: Record) -> Record:
        if str(record.get("cache_hit") or "").strip().lower() in _GATEWAY_CACHE:
            raise Dropped("answered_by_gateway_cache")
        client = next((record[key] for key in ("end_user", "user", "api_key") if record.get(key)), None)
        group = record.get("model_group") or record.get("model")
        return {**record, "client": client, "model_group": group, "cached_tokens": _litellm_cached(record)}

    return prepare


def _litellm_cached(record: Record) -> Any:
    """Tokens read from the provider's cache, where the metadata tell them."""
    usage = _mapping(record.get("metadata")).get("usage_object")
    details = _mapping(_mapping(usage).get("prompt_tokens_details"))
    return details.get("cached_tokens") if details else None


def langfuse_generation() -> Callable[[Record], Record]:
    """Takes generations only; adds up usage details, whose input leaves out what was read from a cache.

    Where input and output alone already make the stated total, cached tokens are part of the input.
    """

    def prepare(record: Record) -> Record:
        if str(record.get("type", "")).strip().upper() not in {"GENERATION", ""}:
            raise Dropped("not_a_generation")
        usage = _mapping(record.get("usage_details")) or _mapping(record.get("usage")) or _flat_usage(record)
        if not usage:
            raise BadCell("no_usage", "The observation tells no token counts.")
        given = tokens(usage.get("input", usage.get("prompt_tokens", 0)) or 0)
        output = tokens(usage.get("output", usage.get("completion_tokens", 0)) or 0)
        cached = sum(tokens(usage.get(key) or 0) for key in _CACHED_KEYS)
        written = sum(tokens(usage.get(key) or 0) for key in _WRITTEN_KEYS)
        included = "total" in usage and tokens(usage["total"] or 0) == given + output
        prompt = given if included else given + cached + written
        model = record.get("provided_model_name") or record.get("model")
        return {**record, "input_tokens": prompt, "output_tokens": output, "cached_tokens": cached, "model": model}

    return prepare


def _flat_usage(record: Record) -> Mapping[str, Any]:
    """Counts of older exports, which stand in columns of their own."""
    columns = {"input": "prompt_tokens", "output": "completion_tokens", "total": "total_tokens"}
    usage = {key: record[name] for key, name in columns.items() if record.get(name) not in (None, "")}
    return usage if {"input", "output"} & set(usage) else {}


def mooncake_turns() -> Callable[[Record], Record]:
    """Leaves out turns that are sent some time after the answer before them: when they arrive depends on the server."""

    def prepare(record: Record) -> Record:
        if "timestamp" not in record and record.get("delay") is not None:
            raise BadCell("sent_after_answer", "The turn has a delay after an answer, and no time of its own.")
        return record

    return prepare


def joining(day: str, hours: str) -> Callable[[], Callable[[Record], Record]]:
    """Puts a day and a time of day together as `JOINED_TIME`."""

    def prepare(record: Record) -> Record:
        parts = (record.get(day), record.get(hours))
        return {**record, JOINED_TIME: " ".join(str(part).strip() for part in parts if part)}

    return lambda: prepare


def adding(prompt: str, written: str) -> Callable[[], Callable[[Record], Record]]:
    """Adds writes to the cache, in a column of their own, to the input."""

    def prepare(record: Record) -> Record:
        return {**record, prompt: counts_sum(record.get(prompt) or 0, record.get(written) or 0)}

    return lambda: prepare


def anthropic_console() -> Callable[[Record], Record]:
    """Adds up the console's columns of input, which are apart."""

    def prepare(record: Record) -> Record:
        names = ("no_cache", "cache_write_5m", "cache_write_1h", "cache_read")
        parts = (record.get(f"usage_input_tokens_{name}") or 0 for name in names)
        return {**record, "input_tokens": counts_sum(*parts)}

    return prepare


def anthropic_usage() -> Callable[[Record], Record]:
    """Adds reads and writes of the cache to the input, which excludes both."""

    def prepare(record: Record) -> Record:
        given = record.get("uncached_input_tokens", record.get("input_tokens"))
        if given is None:
            raise BadCell("no_usage", "The row tells no input tokens.")
        written = record.get("cache_creation_input_tokens")
        if written is None:
            written = counts_sum(*(part or 0 for part in _mapping(record.get("cache_creation")).values()))
        read = record.get("cache_read_input_tokens") or 0
        whole = counts_sum(given, written or 0, read)
        return {**record, "input_tokens": whole, "cache_read_input_tokens": read}

    return prepare


def gateway_usage() -> Callable[[Record], Record]:
    """Adds writes to the cache to the input; reads stand in a column of their own."""

    def prepare(record: Record) -> Record:
        writes = (record.get(f"cache_write_{kept}_tokens") or 0 for kept in ("5m", "1h"))
        return {**record, "input_tokens": counts_sum(record.get("input_tokens") or 0, *writes)}

    return prepare


def counts_sum(*values: Any) -> int:
    """Counts added up; sums over many requests may be large. Raises BadCell."""
    return sum(count(value) for value in values)


def _mapping(value: Any) -> Mapping[str, Any]:
    """An object, or JSON text of one; empty for anything else."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}
