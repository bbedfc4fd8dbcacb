"""Predicting published measurements and saying how far off the predictions are."""

from planner.planning.validation.compare import (
    Comparison,
    Missing,
    compare_serving_row,
    compare_throughput_row,
)
from planner.planning.validation.errors import Report, error_report, error_table
from planner.planning.validation.kv_rows import compare_kv_caches
from planner.planning.validation.request_logs import compare_request_log
from planner.planning.validation.rows import MeasuredFile, MeasuredRow, read_measured

__all__ = [
    "Comparison",
    "MeasuredFile",
    "MeasuredRow",
    "Missing",
    "Report",
    "compare_kv_caches",
    "compare_request_log",
    "compare_serving_row",
    "compare_throughput_row",
    "error_report",
    "error_table",
    "read_measured",
]
