"""Which columns or keys make which format, and what each of them means.

A format is known by the names that its records carry, never by the name of the file. Names are compared in lower case
with spaces and hyphens as underscores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from planner.planning.importers.cells import printable
from planner.planning.importers.errors import ImportRefused
from planner.planning.importers.plain_names import USUAL, find_column, leaf, time_unit
from planner.planning.importers.reading import Answers
from planner.planning.importers.records import (
    Record,
    adding,
    anthropic_console,
    anthropic_usage,
    bailian_conversations,
    gateway_usage,
    langfuse_generation,
    litellm_request,
    mooncake_turns,
)
from planner.planning.importers.vllm_log import counted_request

MEANINGS = (
    "time", "prompt", "output", "cached", "session", "client", "class", "id", "status", "hash_ids", "total",
    "requests", "cost",
)  # fmt: skip

_BETWEEN = re.compile(r"[\s\-()\[\]/:]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SPELLINGS = {"starttime": "start_time", "endtime": "end_time", "usagedetails": "usage_details"}

PERSONAL = frozenset(
    {
        "api_key", "user", "end_user", "user_id", "user_name", "user_email", "email", "api_key_id", "messages",
        "prompt", "response", "completion", "input", "output", "requester_ip_address", "ip",
        "proxy_server_request", "metadata",
        "name", "content", "request_body", "response_body", "organization_id", "team_id", "customer",
    }
)  # fmt: skip
"""Names of columns that may hold people, keys or texts. They never leave the reader: dropped, or numbered in order of
appearance where they tell clients or conversations apart."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One format. columns: meaning -> normalised name.

    unit: of a numeric time, None: calendar stamps or to be found out. ordered: rows come in order of time, so that a
    clock that goes back is a fault; otherwise they are sorted. prepare: makes the hook that turns a record into one
    that the columns fit (a fresh one for each file); it raises Dropped or BadCell.
    kind: requests (one row each), usage (one row for many requests), rates (of clients by window) or lengths.
    """

    format: str
    title: str
    columns: Mapping[str, str]
    unit: str | None = None
    ordered: bool = True
    block_tokens: int | None = None
    cached_included: bool = True
    kind: str = "requests"
    prepare: Callable[[], Callable[[Record], Record]] | None = None
    notes: tuple[tuple[str, str, str], ...] = field(default=())


@lru_cache(maxsize=2_000)
def normalised(name: str) -> str:
    """A column's name as layouts compare it: startTime and START TIME are start_time, Time (s) is time_s."""
    text = _HUMP.sub("_", name.strip().strip('"').strip().lstrip("@")[:80])
    text = _BETWEEN.sub("_", text.lower()).strip("_")
    return _SPELLINGS.get(text, text)


def _layout(format: str, title: str, columns: dict[str, str], **more: Any) -> Layout:  # noqa: A002 - the field's name
    return Layout(format, title, MappingProxyType(columns), **more)


AZURE = _layout(
    "azure_llm_trace",
    "Azure LLM inference trace",
    {"time": "timestamp", "prompt": "context_tokens", "output": "generated_tokens"},
)
MOONCAKE = _layout(
    "mooncake",
    "Mooncake trace",
    {"time": "timestamp", "prompt": "input_length", "output": "output_length", "hash_ids": "hash_ids"},
    unit="ms",
    block_tokens=512,
    prepare=mooncake_turns,
    notes=(("time unit", "milliseconds", "Mooncake's format"), ("hash blocks", "512 tokens", "Mooncake's format")),
)
BAILIAN = _layout(
    "qwen_bailian",
    "Qwen-Bailian trace",
    {
        "time": "timestamp",
        "prompt": "input_length",
        "output": "output_length",
        "hash_ids": "hash_ids",
        "session": "conversation",
        "class": "type",
        "id": "chat_id",
    },
    unit="s",
    block_tokens=16,
    prepare=bailian_conversations,
    notes=(("time unit", "seconds", "Bailian's format"), ("hash blocks", "16 tokens", "Bailian's format")),
)
BURSTGPT = _layout(
    "burstgpt",
    "BurstGPT trace",
    {
        "time": "timestamp",
        "prompt": "request_tokens",
        "output": "response_tokens",
        "total": "total_tokens",
        "session": "session_id",
        "class": "log_type",
    },
    unit="s",
    notes=(
        ("time unit", "seconds", "BurstGPT's format"),
        ("failed requests", "0 response tokens", "BurstGPT's format"),
    ),
)
WEKA = _layout(
    "weka",
    "WEKA trace",
    {"time": "t", "prompt": "in", "output": "out", "hash_ids": "hash_ids", "id": "id"},
    block_tokens=64,
    notes=(("hash blocks", "64 tokens", "WEKA's format"),),
)
LITELLM = _layout(
    "litellm_spend_logs",
    "LiteLLM spend logs",
    {
        "time": "start_time",
        "prompt": "prompt_tokens",
        "output": "completion_tokens",
        "total": "total_tokens",
        "cached": "cached_tokens",
        "session": "session_id",
        "client": "client",
        "class": "model_group",
        "id": "request_id",
        "status": "status",
        "cost": "spend",
    },
    ordered=False,
    prepare=litellm_request,
    notes=(("input tokens", "cached tokens included", "prompt_tokens of LiteLLM"),),
)
LANGFUSE = _layout(
    "langfuse",
    "Langfuse observations",
    {
        "time": "start_time",
        "prompt": "input_tokens",
        "output": "output_tokens",
        "cached": "cached_tokens",
        "session": "session_id",
        "client": "user_id",
        "class": "model",
        "id": "id",
        "status": "level",
    },
    ordered=False,
    prepare=langfuse_generation,
)
VLLM_STATS = _layout(
    "vllm_request_log",
    "vLLM request log",
    {"time": "arrival_time", "prompt": "input_toks", "output": "output_toks", "id": "request_id"},
    unit="s",
    ordered=False,
    notes=(("time unit", "seconds", "vLLM's request statistics"),),
)
_LOGGED = (
    ("tokens", "the token ids that the log lists are counted", "--max-log-len cuts the lists where it is set"),
    ("time unit", "seconds, counted from January of the first line's year", "the log's own times name no year"),
)
VLLM_TEXT = _layout(
    "vllm_text_log",
    "vLLM server log",
    {"time": "arrival_time", "prompt": "input_toks", "output": "output_toks", "id": "request_id"},
    unit="s",
    ordered=False,
    prepare=counted_request,
    notes=_LOGGED,
)
VLLM_TEXT_RATES = _layout(
    "vllm_text_log_rates",
    "vLLM server log, by its lines of throughput",
    {"time": "timestamp_s", "prompt": "prompt", "output": "output", "requests": "requests"},
    unit="s",
    ordered=False,
    kind="usage",
    notes=(("tokens", "throughput times the time between two lines", "the log lists no token ids"), _LOGGED[1]),
)
OPENAI_OLD_USAGE = _layout(
    "openai_usage_2023",
    "OpenAI usage of 2023, by 5 minutes",
    {
        "time": "aggregation_timestamp",
        "prompt": "n_context_tokens_total",
        "cached": "n_cached_context_tokens_total",
        "output": "n_generated_tokens_total",
        "requests": "n_requests",
        "class": "snapshot_id",
    },
    unit="s",
    ordered=False,
    kind="usage",
    notes=(("input tokens", "cached tokens included", "context tokens of OpenAI's usage"),),
)
OPENAI_USAGE = _layout(
    "openai_usage",
    "OpenAI usage export",
    {
        "time": "start_time",
        "prompt": "input_tokens",
        "cached": "input_cached_tokens",
        "output": "output_tokens",
        "requests": "num_model_requests",
        "class": "model",
    },
    unit="s",
    ordered=False,
    kind="usage",
    notes=(("input tokens", "cached tokens included", "input_tokens of OpenAI's usage"),),
)
ANTHROPIC_USAGE = _layout(
    "anthropic_usage",
    "Anthropic usage export",
    {
        "time": "starting_at",
        "prompt": "input_tokens",
        "cached": "cache_read_input_tokens",
        "output": "output_tokens",
        "requests": "requests",
        "class": "model",
    },
    ordered=False,
    kind="usage",
    prepare=anthropic_usage,
    notes=(("input tokens", "cached tokens added", "Anthropic's input_tokens exclude reads and writes of the cache"),),
)
ANTHROPIC_CONSOLE = _layout(
    "anthropic_console",
    "Anthropic console export by day",
    {
        "time": "usage_date_utc",
        "prompt": "input_tokens",
        "cached": "usage_input_tokens_cache_read",
        "output": "usage_output_tokens",
        "class": "model_version",
    },
    ordered=False,
    kind="usage",
    prepare=anthropic_console,
    notes=(("input tokens", "cached tokens added", "reads and writes of the cache have columns of their own"),),
)
LITELLM_DAILY = _layout(
    "litellm_daily",
    "LiteLLM daily spend",
    {
        "time": "date",
        "prompt": "prompt_tokens",
        "cached": "cache_read_input_tokens",
        "output": "completion_tokens",
        "requests": "api_requests",
        "class": "model_group",
        "cost": "spend",
    },
    ordered=False,
    kind="usage",
    notes=(("input tokens", "cached tokens included", "prompt_tokens of LiteLLM"),),
)
GATEWAY_DAILY = _layout(
    "gateway_daily",
    "Usage of a coding gateway by day",
    {
        "time": "day",
        "prompt": "input_tokens",
        "cached": "cache_read_tokens",
        "output": "output_tokens",
        "requests": "requests",
        "class": "model",
        "cost": "cost_usd",
    },
    ordered=False,
    cached_included=False,
    kind="usage",
    prepare=gateway_usage,
    notes=(("input tokens", "cached tokens added", "reads and writes of the cache have columns of their own"),),
)

SERVEGEN = _layout(
    "servegen_rates",
    "ServeGen rates by client and window",
    {"time": "window_start_s", "rate": "rate_rps", "cv": "cv_interarrival", "client": "client_id"},
    unit="s",
    ordered=False,
    kind="rates",
)

_KNOWN: tuple[tuple[Layout, frozenset[str]], ...] = (
    (AZURE, frozenset({"timestamp", "context_tokens", "generated_tokens"})),
    (BAILIAN, frozenset({"chat_id", "parent_chat_id", "timestamp", "input_length", "output_length"})),
    (MOONCAKE, frozenset({"timestamp", "input_length", "output_length", "hash_ids"})),
    (BURSTGPT, frozenset({"timestamp", "request_tokens", "response_tokens", "total_tokens", "log_type"})),
    (WEKA, frozenset({"t", "in", "out", "hash_ids"})),
    (LANGFUSE, frozenset({"type", "start_time", "prompt_tokens", "completion_tokens"})),
    (LITELLM, frozenset({"start_time", "end_time", "prompt_tokens", "completion_tokens"})),
    (LANGFUSE, frozenset({"start_time", "usage_details", "type"})),
    (VLLM_STATS, frozenset({"arrival_time", "input_toks", "output_toks"})),
    (OPENAI_USAGE, frozenset({"start_time", "end_time", "input_tokens", "output_tokens", "num_model_requests"})),
    (ANTHROPIC_USAGE, frozenset({"starting_at", "ending_at", "output_tokens"})),
    (OPENAI_OLD_USAGE, frozenset({"aggregation_timestamp", "n_context_tokens_total", "n_generated_tokens_total"})),
    (ANTHROPIC_CONSOLE, frozenset({"usage_date_utc", "usage_input_tokens_no_cache", "usage_output_tokens"})),
    (SERVEGEN, frozenset({"window_start_s", "rate_rps", "cv_interarrival"})),
    (LITELLM_DAILY, frozenset({"date", "prompt_tokens", "completion_tokens", "api_requests"})),
    (GATEWAY_DAILY, frozenset({"day", "requests", "input_tokens", "output_tokens", "cache_read_tokens"})),
)


def recognise(names: tuple[str, ...], answers: Answers, numbers: frozenset[str] = frozenset()) -> Layout:
    """The layout of records with these normalised names; numbers: those whose cells are all numbers.

    Raises ImportRefused with unknown_format or unknown_column.
    """
    present = frozenset(names)
    mapped = {meaning: normalised(name) for meaning, name in answers.columns.items()}
    for meaning, name in mapped.items():
        if meaning not in MEANINGS:
            raise ImportRefused("unknown_column", f"{meaning!r} is none of {', '.join(MEANINGS)}.")
        if name not in present:
            raise ImportRefused("unknown_column", f"There is no column {name!r}; there are {_listed(names)}.")
    if not mapped:
        for layout, needed in _KNOWN:
            if needed <= present:
                return layout
    return _plain(names, mapped, numbers)


def _plain(names: tuple[str, ...], mapped: dict[str, str], numbers: frozenset[str]) -> Layout:
    """Columns known by their usual names, or named by a person."""
    columns: dict[str, str] = {}
    free = tuple(name for name in names if name not in mapped.values())
    for meaning in USUAL:
        found = mapped.get(meaning) or find_column(meaning, free, numbers)
        if found and found not in columns.values():
            columns[meaning] = found
    columns |= mapped
    missing = [meaning for meaning in ("prompt", "output") if meaning not in columns]
    if missing:
        detail = f"No column is known as {' or '.join(missing)} tokens; there are {_listed(names)}. Name the columns."
        raise ImportRefused("unknown_format", detail)
    if "time" not in columns:
        return _layout("plain_lengths", "Pairs of lengths without times", columns, kind="lengths")
    kind = "usage" if "requests" in columns else "requests"
    layout = _layout(
        "plain",
        "Table with a row for each request",
        columns,
        unit=time_unit(columns["time"]),
        kind=kind,
        ordered=kind == "requests",
    )
    return _with_cached_reads(layout, names) if "cached" in columns else layout


def _with_cached_reads(layout: Layout, names: tuple[str, ...]) -> Layout:
    """Reads of the cache beside `input_tokens` are apart from them, as Anthropic counts; all others are included."""
    cached, prompt = layout.columns["cached"], layout.columns["prompt"]
    if not leaf(cached).startswith("cache_read") or leaf(prompt) != "input_tokens":
        return replace(layout, notes=(("input tokens", "cached tokens included", f"{cached} beside {prompt}"),))
    written = next((name for name in names if leaf(name) == "cache_creation_input_tokens"), None)
    because = f"{cached} beside {prompt}: Anthropic's input excludes the cache"
    return replace(
        layout,
        cached_included=False,
        prepare=adding(prompt, written) if written else None,
        notes=(("input tokens", "cached tokens added", because),),
    )


def by_day(layout: Layout) -> Layout:
    """A plain table whose times are days: each row stands for the requests of a day."""
    return replace(layout, format="plain_daily", title="Table with a row for each day", kind="usage", ordered=False)


def _listed(names: tuple[str, ...]) -> str:
    shown = [repr(printable(name)) for name in names[:12]]
    return ", ".join(shown) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
