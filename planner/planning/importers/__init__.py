"""Recorded traffic and usage from files: recognised by what they hold, read in bounded memory.

`open_trace` recognises a file and tells how it is read; `TraceFile.chunks` gives its requests in order of time,
`read_usage` the buckets of a billing export, `read_rate_windows` rates of clients.
"""

from planner.planning.importers.cells import number_readings, printable
from planner.planning.importers.columns import Blocks, Chunk, joined
from planner.planning.importers.errors import ImportRefused, RowProblem
from planner.planning.importers.jsons import is_json_lines, json_document, looks_like_json
from planner.planning.importers.length_tables import length_tables, quantiles
from planner.planning.importers.people import without_people, without_texts
from planner.planning.importers.rate_windows import RateWindows, rate_summary, read_rate_windows
from planner.planning.importers.reading import ANSWERS, Answers, Assumption, Question, Reading
from planner.planning.importers.sources import Opened, Source, bytes_source, file_source, open_source
from planner.planning.importers.trace_file import TraceFile, open_trace
from planner.planning.importers.usage import Usage, read_usage, usage_summary
from planner.planning.importers.vllm_log import is_vllm_log

__all__ = [
    "ANSWERS",
    "Answers",
    "Assumption",
    "Blocks",
    "Chunk",
    "ImportRefused",
    "Opened",
    "Question",
    "RateWindows",
    "Reading",
    "RowProblem",
    "Source",
    "TraceFile",
    "Usage",
    "bytes_source",
    "file_source",
    "is_json_lines",
    "is_vllm_log",
    "joined",
    "json_document",
    "length_tables",
    "looks_like_json",
    "number_readings",
    "open_source",
    "open_trace",
    "printable",
    "quantiles",
    "rate_summary",
    "read_rate_windows",
    "read_usage",
    "usage_summary",
    "without_people",
    "without_texts",
]
