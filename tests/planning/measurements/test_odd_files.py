"""Result files as they really come: wrapped, printed, cut off, coloured, with numbers as texts or none at all."""

import json
from typing import Any

import pytest

from planner.planning.importers import ImportRefused, bytes_source, open_source
from planner.planning.measurements import Measurement, read_measurement
from tests.planning.measurements.test_results import E2E, SGLANG, TPOT, TTFT, VLLM, N
from tests.planning.measurements.test_servers import VLLM_LOG

COLOURED = "\n".join(
    f"\x1b[36m(EngineCore pid=12)\x1b[0;0m {line.replace('size: ', 'size: ' + chr(27) + '[1m')}\x1b[0m"
    for line in VLLM_LOG.splitlines()
)
VLLM_PRINTED = """
============ Serving Benchmark Result ============
Successful requests:                     200
Failed requests:                         0
Maximum request concurrency:             10
Benchmark duration (s):                  50.00
Total input tokens:                      200,000
Total generated tokens:                  20200
Request throughput (req/s):              4.00
---------------Time to First Token----------------
Mean TTFT (ms):                          500.00
P99 TTFT (ms):                           900.00
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          20.00
----------------End-to-end Latency----------------
Mean E2EL (ms):                          2500.00
==================================================
"""
SGLANG_PRINTED = (
    VLLM_PRINTED.replace("Mean E2EL", "Mean E2E Latency")
    .replace("Failed requests:                         0", "Backend:                                 sglang")
    .replace("Maximum", "Max")
)


def read(text: str | bytes) -> Measurement | None:
    return read_measurement(open_source(bytes_source(text.encode() if isinstance(text, str) else text)))


def said(document: Any) -> str:
    return json.dumps(document)


SAME = {
    "numbers as texts": said({k: str(v) if isinstance(v, int | float) else v for k, v in VLLM.items()}),
    "thousands": said({**VLLM, "total_input_tokens": "200,000", "total_output_tokens": "20,200"}),
    "without percentiles": said({k: v for k, v in VLLM.items() if not k.startswith(("p99", "median"))}),
    "a mark of bytes": "\ufeff" + said(VLLM),
    "two-byte text": said(VLLM).encode("utf-16"),
    "wrapped": said({"version": 1, "results": VLLM}),
    "wrapped twice": said({"data": {"benchmark": VLLM}}),
    "among lines of a log": f"INFO starting\nNamespace(rate=1)\n{said(VLLM)}\nINFO done\n",
    "indented": json.dumps(VLLM, indent=4),
    "printed by vLLM": VLLM_PRINTED,
    "printed with colours": VLLM_PRINTED.replace("500.00", "\x1b[32m500.00\x1b[0m"),
    "printed by SGLang": SGLANG_PRINTED,
    "printed under a log": "INFO warm-up\n" * 50 + VLLM_PRINTED.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_the_same_run_is_read_from_each(text: str | bytes) -> None:
    found = read(text)
    assert found is not None
    (run,) = found.runs
    assert (run.completed, run.input_tokens, run.output_tokens) == (N, 200_000, 20_200)
    assert (run.latency("ttft"), run.latency("tpot"), run.latency("e2e")) == (TTFT, TPOT, E2E)
    assert run.max_concurrency == 10
    assert all(check.ok for check in run.checks)


SEVERAL = {
    "a list": said([VLLM, {**VLLM, "max_concurrency": 20}]),
    "a list within": said({"runs": [VLLM, VLLM]}),
    "by their load": said({"10": VLLM, "20": VLLM}),
    "one after the other": json.dumps(VLLM, indent=1) + json.dumps(VLLM, indent=1),
    "lines of another system": said(SGLANG) + "\r\n" + said(SGLANG) + "\r\n",
    "printed": VLLM_PRINTED * 2,
}


@pytest.mark.parametrize("text", SEVERAL.values(), ids=SEVERAL)
def test_several_runs_of_a_file_are_all_read(text: str) -> None:
    found = read(text)
    assert found is not None
    assert [run.completed for run in found.runs] == [N, N]


@pytest.mark.parametrize("text", [said(VLLM)[:-40], said(VLLM)[:-1] + ",}"], ids=["cut off", "a comma too many"])
def test_a_result_that_breaks_off_is_refused_by_its_place(text: str) -> None:
    with pytest.raises(ImportRefused, match="line 1, column") as caught:
        read(text)
    assert caught.value.code == "json_invalid"


def test_whole_entries_before_a_break_are_read_and_the_break_is_told() -> None:
    found = read(f"{said(VLLM)}\n{said(VLLM)[:200]}")
    assert found is not None
    assert len(found.runs) == 1
    assert any("ends in the middle of an entry" in note for note in found.notes)


def test_what_cannot_be_is_left_out_and_told() -> None:
    found = read(said({**VLLM, "mean_ttft_ms": -5.0, "duration": -3.0, "mean_tpot_ms": float("nan")}))
    assert found is not None
    (run,) = found.runs
    assert (run.duration_s, run.latency("ttft"), run.latency("ttft", "p50")) == (None, None, 480.0)
    assert sum("which cannot be" in note for note in run.notes) == 2


@pytest.mark.parametrize(("scale", "word"), [(1e-3, "too small"), (1e3, "too large")])
def test_another_unit_of_time_is_told_and_fails_a_check(scale: float, word: str) -> None:
    found = read(said({k: v * scale if k.endswith("_ms") else v for k, v in VLLM.items()}))
    assert found is not None
    assert any(word in note for note in found.runs[0].notes)
    assert "concurrency_limit" in [check.name for check in found.runs[0].checks if not check.ok]


LOGS = {
    "colours": COLOURED,
    "a container's JSON": "\n".join(said({"log": f"{line}\n", "stream": "stderr"}) for line in VLLM_LOG.splitlines()),
    "structured": "\n".join(said({"ts": 1, "message": line}) for line in VLLM_LOG.splitlines()),
    "stamps of a cluster": "".join(f"2026-11-02T10:00:00.1Z stderr F {line}\n" for line in VLLM_LOG.splitlines()),
    "progress bars": f"Capturing:   0%|   | 0/67\rCapturing: 100%|\r\n{VLLM_LOG}",
}


@pytest.mark.parametrize("text", LOGS.values(), ids=LOGS)
def test_a_start_up_log_is_read_whatever_was_put_around_it(text: str) -> None:
    found = read(text)
    assert found is not None
    assert (found.server["engine_version"], found.server["kv_cache_tokens"]) == ("0.19.1", 200_016)


def test_a_query_without_series_of_an_engine_says_how_to_ask() -> None:
    for result in ([], [{"metric": {"job": "vllm"}, "values": [[0, "1"], [60, "2"]]}]):
        with pytest.raises(ImportRefused, match="rate") as caught:
            read(said({"status": "success", "data": {"resultType": "matrix", "result": result}}))
        assert caught.value.code == "no_series"
