"""Which tool wrote a result file, by its keys and lines; None for what is no result file."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from planner.planning.importers.errors import ImportRefused
from planner.planning.importers.sources import Opened
from planner.planning.measurements import bench_serving, engine_logs, guidellm, own, perf_tools, printed, prometheus
from planner.planning.measurements.checks import add_checks
from planner.planning.measurements.plain_yaml import read_yaml
from planner.planning.measurements.printed import ANSI, messages_of_lines
from planner.planning.measurements.result import Measurement, Run, section

MAX_RESULT_BYTES = 64 << 20
MAX_LOG_BYTES = 32 << 20
MAX_YAML_BYTES = 128 << 10
MAX_DOCUMENTS = 1_000_000
MOST_WRAPPINGS = 4
MOST_WRAPPED = 1_000
_HEAD_CHARACTERS = 200_000

Reader = tuple[Callable[[Any], bool], str, str, Callable[[Any], list[Run]]]


def _single(make: Callable[[Any], Run]) -> Callable[[Any], list[Run]]:
    return lambda document: [make(document)]


def _aiperf_title(document: Any) -> str:
    return perf_tools.aiperf_tool(document)


_READERS: tuple[Reader, ...] = (
    (own.is_own, "staircase", "Load test of this product", own.own_runs),
    (bench_serving.is_bench_serving, "", "", _single(bench_serving.bench_serving_run)),
    (bench_serving.is_llm_optimizer, "llm_optimizer", "llm-optimizer result", _single(bench_serving.llm_optimizer_run)),
    (guidellm.is_guidellm, "guidellm", "GuideLLM report", guidellm.guidellm_runs),
    (perf_tools.is_aiperf, "", "", _single(perf_tools.aiperf_run)),
    (perf_tools.is_llmperf, "llmperf", "LLMPerf summary", _single(perf_tools.llmperf_run)),
    (perf_tools.is_inference_perf, "inference_perf", "inference-perf report", _single(perf_tools.inference_perf_run)),
    (perf_tools.is_llmd_report, "llmd_report", "llm-d benchmark report", _single(perf_tools.llmd_run)),
    (
        prometheus.is_query_result,
        "prometheus_query",
        "Prometheus query of a serving engine",
        lambda document: [prometheus.prometheus_run(prometheus.query_result(document))],
    ),
)
_TITLES = {
    "vllm": ("vllm_bench_serve", "vLLM bench serve result"),
    "sglang": ("sglang_bench_serving", "SGLang bench_serving result"),
    "aiperf": ("aiperf", "AIPerf summary"),
    "genai_perf": ("genai_perf", "genai-perf summary"),
}


def read_measurement(opened: Opened) -> Measurement | None:
    """The measurement in a file, None if it is of another kind. Raises ImportRefused(json_too_large)."""
    if opened.is_parquet:
        return None
    head = opened.head[:_HEAD_CHARACTERS].decode("utf-8", "replace")
    first = head.lstrip("\ufeff \t\r\n")[:1]
    measurement = _from_json(opened, head) if first in {"{", "["} else None
    if measurement is None and first == "{":
        messages = messages_of_lines(opened.head.decode("utf-8", "replace"))
        measurement = _from_log(ANSI.sub("", messages)) if messages else None
    elif measurement is None:  # lines of a log may begin with a bracket
        measurement = _from_text(opened, head)
    if measurement is not None:
        for run in measurement.runs:
            add_checks(run)
    return measurement


def _from_json(opened: Opened, head: str) -> Measurement | None:
    """Cheap signs first, so that a large trace is not read as one document."""
    if not any(sign in head for sign in _JSON_SIGNS):
        return None
    if _begins_otherwise(opened.head):
        return None
    documents, cut_off = _documents(opened)
    if not documents:
        if cut_off and any(sign in head for sign in _SURE_SIGNS):
            raise ImportRefused("json_invalid", f"This result cannot be read: {cut_off}. Send the whole file.")
        return None
    if perf_tools.is_aiperf_record(documents[0]):
        records = [each for each in documents if perf_tools.is_aiperf_record(each)]
        return Measurement("aiperf_records", "AIPerf records of requests", [perf_tools.aiperf_records_run(records)])
    runs: list[Run] = []
    found = None
    for document in _results_in(documents):
        reader = next(each for each in _READERS if each[0](document))
        found = found or (reader, document)
        runs += reader[3](document)
    if found is None:
        _refuse_other_series(documents[0])
        return None
    (_, key, title, _), document = found
    if not key:
        tool = bench_serving.tool_of(document) if bench_serving.is_bench_serving(document) else _aiperf_title(document)
        key, title = _TITLES[tool]
    notes = (
        []
        if len(documents) == len(runs) or key in {"guidellm", "staircase"}
        else [f"{len(documents)} entries, {len(runs)} runs"]
    )
    if cut_off:
        notes.append(f"the file ends in the middle of an entry ({cut_off}); what came before it was read")
    return Measurement(key, title, runs, notes=notes)


def _begins_otherwise(head: bytes) -> bool:
    """Whether the first object is whole and of no tool; then the rest, which may be long, is not read for it."""
    try:
        first, _ = json.JSONDecoder().raw_decode(head.decode("utf-8", "replace").lstrip())
    except (ValueError, RecursionError):
        return False
    known = perf_tools.is_aiperf_record(first) or bool(_results_in([first])) or "resultType" in section(first, "data")
    return isinstance(first, dict) and not known


def _is_result(document: Any) -> bool:
    return any(is_it(document) for is_it, *_ in _READERS)


def _results_in(documents: list[Any]) -> list[Any]:
    """Results, also those that something was wrapped around: {"results": {...}}, {"runs": [...]}, {"8": {...}}."""
    found: list[Any] = []
    level: list[Any] = documents
    for _ in range(MOST_WRAPPINGS):
        inner: list[Any] = []
        for each in level:
            if _is_result(each):
                found.append(each)
            elif isinstance(each, dict):
                inner += list(each.values())[:MOST_WRAPPED]
            elif isinstance(each, list):
                inner += each[:MOST_WRAPPED]
        level = [each for each in inner if isinstance(each, dict | list)][:MOST_WRAPPED]
        if found or not level:
            break
    return found


def _refuse_other_series(document: Any) -> None:
    """The answer of a Prometheus that has nothing of an engine: said here, as it is nothing else either."""
    if "resultType" in section(document, "data"):
        detail = (
            'The query\'s answer has no series of vLLM or SGLang. Ask for {__name__=~"vllm:.+"} itself: rate() and '
            "increase() take the names away."
        )
        raise ImportRefused("no_series", detail)


_JSON_SIGNS = (
    "staircase-measurement", "ttft", "time_to_first_token", "request_latency", "request_start_ns", '"benchmarks"',
    '"results"', "vllm:", "sglang:", "resultType",
)  # fmt: skip


_SURE_SIGNS = ('"mean_ttft_ms"', '"time_to_first_token_ms"', '"staircase-measurement"', '"total_output_tokens"')


def _documents(opened: Opened) -> tuple[list[Any], str]:
    """JSON values one after the other, on lines of their own or not, or the entries of one array; and why they end
    before the file does, "" where they do not."""
    text = _whole(opened, MAX_RESULT_BYTES)
    decoder = json.JSONDecoder()
    values: list[Any] = []
    at, broken = 0, ""
    while len(values) < MAX_DOCUMENTS:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at >= len(text):
            break
        try:
            value, at = decoder.raw_decode(text, at)
        except RecursionError:
            broken = "it is nested too deep"
            break
        except json.JSONDecodeError as error:
            broken = f"JSON breaks off in line {error.lineno}, column {error.colno}"
            break
        values.append(value)
    return (values[0] if len(values) == 1 and isinstance(values[0], list) else values), broken


def _from_text(opened: Opened, head: str) -> Measurement | None:
    if perf_tools.is_aiperf_csv(head):
        document = perf_tools.aiperf_csv_document(_whole(opened, MAX_LOG_BYTES))
        if perf_tools.is_aiperf(document):
            tool = "genai_perf" if perf_tools.aiperf_tool(document) == "genai_perf" else "aiperf"
            key, title = _TITLES[tool]
            return Measurement(f"{key}_csv", f"{title} as CSV", [perf_tools.aiperf_run(document)])
        return None
    if "request_latency" in head and "version:" in head and len(opened.head) <= MAX_YAML_BYTES and opened.is_whole:
        document = read_yaml(opened.head.decode("utf-8", "replace"))
        if perf_tools.is_llmd_report(document):
            return Measurement("llmd_report", "llm-d benchmark report", [perf_tools.llmd_run(document)])
    if prometheus.is_metrics_text(head):
        series = prometheus.metrics_text(_whole(opened, MAX_LOG_BYTES))
        return Measurement("prometheus_text", "Metrics of a serving engine", [prometheus.prometheus_run(series)])
    if printed.is_printed(ANSI.sub("", head)) or any(sign in head for sign in _SURE_SIGNS):
        found = _from_printed(ANSI.sub("", _whole(opened, MAX_LOG_BYTES)))
        if found is not None:
            return found
    return _from_log(ANSI.sub("", opened.head.decode("utf-8", "replace")))


def _from_printed(text: str) -> Measurement | None:
    """Tables that a tool printed, or results between lines of a log."""
    tables = printed.printed_documents(text)
    documents = tables or printed.documents_among_lines(text, bench_serving.is_bench_serving)
    if not documents:
        return None
    key, title = _TITLES[bench_serving.tool_of(documents[0])]
    title = f"{title} as printed" if tables else title
    return Measurement(key, title, [bench_serving.bench_serving_run(each) for each in documents])


def _from_log(text: str) -> Measurement | None:
    if engine_logs.is_engine_log(text):
        server, notes = engine_logs.engine_log(text)
        return Measurement("engine_log", "Start-up log of a serving engine", server=server, notes=notes)
    return None


def _whole(opened: Opened, most: int) -> str:
    data = bytearray()
    for block in opened.blocks():
        data += block
        if len(data) > most:
            raise ImportRefused("json_too_large", f"A result file may have {most >> 20} MiB.")
    return data.decode("utf-8", "replace")
