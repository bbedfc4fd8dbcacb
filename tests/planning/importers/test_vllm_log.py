"""The text log of vLLM's server; lines laid out as vLLM 0.6 to 0.27 write them, with made-up requests."""

import json

import pytest

from planner.planning.importers import ImportRefused, bytes_source
from planner.planning.inspection import inspect_source
from tests.planning.importers.samples import read

PARAMS = "params: SamplingParams(n=1, temperature=0.7, max_tokens=100)"


def received(second, name, ids, *, text="SECRET", at="INFO 12-31 23:59"):
    listed = "None" if ids is None else str(list(range(ids)))
    return (
        f"(APIServer pid=1) {at}:{second:02d} [logger.py:42] Received request {name}: prompt: '{text}', {PARAMS}, "
        f"prompt_token_ids: {listed}, prompt_embeds shape: None, lora_request: None."
    )


def answered(second, name, ids, kind="", at="INFO 12-31 23:59"):
    listed = "None" if ids is None else str(list(range(ids)))
    return (
        f"{at}:{second:02d} [logger.py:80] Generated response {name}{kind}: output: 'SECRET [1, 2], 3', "
        f"output_token_ids: {listed}, finish_reason: stop"
    )


def test_requests_are_joined_with_their_responses_and_no_text_is_kept():
    liar = "output_token_ids: [1, 2, 3], prompt_token_ids: [9]"
    log = "\n".join(
        (
            "INFO 12-31 23:59:01 [api_server.py:1] vLLM API server version 0.10.0",
            received(50, "chatcmpl-a", 300),
            received(52, "chatcmpl-b", 20, text=liar),
            'INFO:     127.0.0.1:57978 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
            answered(55, "chatcmpl-b", 7),
            answered(56, "chatcmpl-a", 3, " (streaming delta)"),
            answered(57, "chatcmpl-a", 4, " (streaming delta)"),
            answered(58, "chatcmpl-a", None, " (streaming complete)"),
            received(1, "chatcmpl-c", 5, at="INFO 01-01 00:00"),
            received(2, "chatcmpl-d", 6, at="INFO 01-01 00:00"),
            answered(4, "chatcmpl-d", 0, at="INFO 01-01 00:00"),
        )
    )
    rows, reading = read(log)
    assert (rows.arrival_ns - rows.arrival_ns[0]).tolist() == [0, 2 * 10**9, 12 * 10**9]  # over the new year
    assert rows.prompt_tokens.tolist() == [300, 20, 6]
    assert rows.output_tokens.tolist() == [7, 7, 0]
    assert rows.row.tolist() == [2, 3, 10]
    assert reading.problems.dropped == {"no_output_tokens": 1}
    assert reading.format == "vllm_text_log"
    told = inspect_source(bytes_source(log.encode()))
    assert "SECRET" not in json.dumps(told)
    assert told["reading"]["personal"] == ["prompt", "output"]


def test_ids_in_the_details_of_newer_versions_and_stamps_of_a_container():
    log = "\n".join(
        line
        for i in range(3)
        for line in (
            f"2026-11-20T12:34:5{i}.250000000Z INFO 11-20 12:34:5{i} [request_logger.py:20] Received request r{i}: "
            f"{PARAMS}, lora_request: None.",
            f"2026-11-20T12:34:5{i}.260000000Z DEBUG 11-20 12:34:5{i} [request_logger.py:19] Request r{i} details: "
            f"prompt: 'x', prompt_token_ids: [1, 2, 3, 4], prompt_embeds shape: None.",
            f"2026-11-20T12:34:5{i}.900000000Z " + answered(50 + i, f"r{i}", 2, at="INFO 11-20 12:34"),
        )
    )
    rows, reading = read(log)
    assert reading.clock == "wall"
    assert rows.arrival_ns.tolist() == [(1_795_178_090 + i) * 10**9 + 250_000_000 for i in range(3)]
    assert rows.prompt_tokens.tolist() == [4, 4, 4]


def test_without_token_ids_the_lines_of_throughput_are_read():
    lines = []
    for window in range(4):
        lines += [received(10 * window + i, f"r{window}-{i}", None) for i in range(5)]
        lines.append(
            f"INFO 12-31 23:59:{10 * window + 9:02d} [loggers.py:127] Engine 000: Avg prompt throughput: 500.0 "
            "tokens/s, Avg generation throughput: 80.5 tokens/s, Running: 3 reqs, Waiting: 0 reqs"
        )
    told = inspect_source(bytes_source("\n".join(lines).encode()))
    usage = told["usage"]
    assert told["kind"] == "usage"
    assert (usage["requests"], usage["prompt_tokens"], usage["output_tokens"]) == (15, 15_000, 2_415)
    assert usage["prompt_tokens_mean"] == 1_000
    assert usage["mean_rps"] == pytest.approx(0.5)


def test_a_log_that_counts_nothing_is_refused_with_the_reason():
    with pytest.raises(ImportRefused) as caught:
        read("\n".join(received(i, f"r{i}", None) for i in range(3)))
    assert caught.value.code == "no_token_counts"


def test_a_log_cut_anywhere_is_read_or_refused():
    log = "\n".join(line for i in range(3) for line in (received(i, f"r{i}", 4), answered(i + 1, f"r{i}", 2))).encode()
    for end in range(0, len(log), 17):
        try:
            rows, _ = read(log[:end])
        except ImportRefused:
            continue
        assert len(rows) <= 3
