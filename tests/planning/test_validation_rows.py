"""Reading measured tables: every fault is a counted reason, nothing raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.planning.validation import read_measured
from planner.planning.validation.rows import REQUIRED_COLUMNS

HEADER = "id,model,gpu,engine,load_type,load_value,isl_mean,osl_mean,output_tok_s,req_s,ttft_mean_ms,ttft_p50_ms,tp\n"
GOOD = "aic-1,Qwen3-32B,H100-SXM-80GB,vLLM,concurrency,16,1024,128,,,,61.5,4\n"


def table(*lines: str) -> bytes:
    return (HEADER + "".join(lines)).encode()


def test_a_row_is_read_with_its_source_and_numbers() -> None:
    (row,) = read_measured(table(GOOD)).rows
    assert (row.id, row.source, row.tp, row.load_value, row.ttft_ms) == ("aic-1", "aic", 4, 16.0, 61.5)
    assert row.ttft_is_median
    assert row.throughput_tok_s is None


def test_throughput_follows_from_requests_per_second() -> None:
    (row,) = read_measured(table("x-1,m,g,vLLM,offline-max,inf,128,200,,3.5,,,1\n")).rows
    assert row.throughput_tok_s == pytest.approx(700)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (",m,g,vLLM,concurrency,4,1,1,,,,,1\n", "no id or load type"),
        ("x,m,g,vLLM,,4,1,1,,,,,1\n", "no id or load type"),
        ("x,m,g,vLLM,concurrency,4,abc,1,,,,,1\n", "isl_mean is not a number"),
        ("x,m,g,vLLM,concurrency,4,nan,1,,,,,1\n", "isl_mean is out of range"),
        ("x,m,g,vLLM,concurrency,4,-3,1,,,,,1\n", "isl_mean is out of range"),
        ("x,m,g,vLLM,concurrency,4,1,1,inf,,,,1\n", "output_tok_s is out of range"),
    ],
)
def test_a_bad_row_is_left_out_with_its_reason(line: str, reason: str) -> None:
    measured = read_measured(table(line, GOOD))
    assert [row.id for row in measured.rows] == ["aic-1"]
    assert measured.skipped == {reason: 1}


def test_a_repeated_id_counts_once() -> None:
    measured = read_measured(table(GOOD, GOOD))
    assert len(measured.rows) == 1
    assert measured.skipped == {"repeated id": 1}


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00\x01\x02", b"a,b\n1,2\n", b"\xff\xfe\x00", b"id\n", b"PK\x03\x04 not a table"],
)
def test_what_is_no_such_table_gives_no_rows_and_one_reason(content: bytes) -> None:
    measured = read_measured(content)
    assert measured.rows == ()
    assert sum(measured.skipped.values()) == 1


def test_a_byte_order_mark_and_windows_line_ends_are_fine() -> None:
    assert len(read_measured(b"\xef\xbb\xbf" + table(GOOD).replace(b"\n", b"\r\n")).rows) == 1


@given(st.binary(max_size=400))
def test_any_bytes_are_survived(content: bytes) -> None:
    read_measured(content)
    read_measured(",".join(sorted(REQUIRED_COLUMNS)).encode() + b"\n" + content)
