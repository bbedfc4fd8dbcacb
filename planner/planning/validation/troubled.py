"""Measured rows that are not counted, by rules on what the row is; none looks at a prediction.

The list comes from an earlier study of the same rows, which no formula fitted, and was taken over unchanged before the
shipped constants were fitted. Grounds: figures that contradict each other or identical runs beside them, clients that
were the limit, runs that their own authors doubt.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from planner.planning.validation.rows import MeasuredRow

Test = Callable[[MeasuredRow], bool]

SPECULATIVE_DATES = ("2026-01-14", "2026-02-05", "2026-02-06")


@dataclass(frozen=True, slots=True)
class Rule:
    """`metrics` empty: the whole row is left out; else only those metrics of it."""

    reason: str
    test: Test
    metrics: frozenset[str] = frozenset()


def _id(pattern: str) -> Test:
    compiled = re.compile(pattern)
    return lambda row: compiled.search(row.id) is not None


def _speculative_deepseek(row: MeasuredRow) -> bool:
    is_run = row.model == "DeepSeek-R1" and row.engine == "TensorRT-LLM" and row.source == "aic"
    return is_run and row.source_date[:10] in SPECULATIVE_DATES


def _fast_qwen35(row: MeasuredRow) -> bool:
    is_run = row.model == "Qwen3.5-397B-A17B" and row.gpu.startswith("B300") and row.weight_dtype == "fp8"
    return is_run and row.tp == 4 and row.source_date.startswith("2026-04-03")


def _gpt_oss_h100(row: MeasuredRow) -> bool:
    is_run = row.model == "gpt-oss-120b" and row.gpu.startswith("H100") and row.engine == "vLLM"
    return is_run and row.source == "aic" and row.source_date.startswith("2025-12-08")


def _four_tokens(row: MeasuredRow) -> bool:
    return row.source == "gpustack" and row.output_tokens is not None and row.output_tokens <= 4


def _gpustack_trt_h100(row: MeasuredRow) -> bool:
    return row.source == "gpustack" and row.engine == "TensorRT-LLM" and row.gpu.startswith("H100")


TTFT = frozenset({"ttft_low", "ttft_closed", "ttft_open"})
RULES: tuple[Rule, ...] = (
    Rule("probably multi-token prediction without a label", _speculative_deepseek),
    Rule("probably multi-token prediction without a label", _id(r"^aic-2026_0\d.*_deepseek_r1_b200_sxm_sglang_fp8")),
    Rule("probably multi-token prediction without a label", _fast_qwen35),
    Rule("TPOT contradicts its twins", _gpt_oss_h100),
    Rule("TPOT contradicts its twins", _id(r"^aic-.*qwen3_32b.*gb200")),
    Rule("TPOT contradicts its twins", _id(r"^aic-nvidia_deepseek_.*nvfp4")),
    Rule("TPOT contradicts its twins", _id(r"^aic-dsr1_b300_sglang_fp8.*cfg720$")),
    Rule("TPOT contradicts its twins", _id(r"kimi_k2_5_h200.*c16.*_605$")),
    Rule("TTFT contradicts its twins", _id(r"dsr1_b200_sglang_fp4.*cfg(88|99)$"), TTFT),
    Rule("TTFT contradicts its twins", _id(r"llama_3_1_8b.*h200.*sglang"), TTFT),
    Rule("TTFT contradicts its twins", lambda row: row.source == "gpustack" and row.model == "Qwen3.5-9B", TTFT),
    Rule("client was the limit", _four_tokens),
    Rule("client was the limit", _gpustack_trt_h100),
    Rule("source calls the runs likely wrong", lambda row: row.source == "ixexp"),
    Rule("engine build of its time, 2 to 4 times slower", lambda row: row.source in ("dstack405", "dstack405s")),
)


def row_trouble(row: MeasuredRow) -> str | None:
    """Why the whole row is not counted, or None."""
    return next((rule.reason for rule in RULES if not rule.metrics and rule.test(row)), None)


def metric_trouble(row: MeasuredRow, metric: str) -> str | None:
    """Why one metric of the row is not counted, or None."""
    return next((rule.reason for rule in RULES if metric in rule.metrics and rule.test(row)), None)
