from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.planning import ScenarioInvalid
from planner.planning.traffic.builtin_traces import load_builtin_trace
from planner.planning.traffic.traces import read_trace_csv

AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
"""


def code(data):
    with pytest.raises(ScenarioInvalid) as caught:
        read_trace_csv(data)
    return caught.value.errors[0].code


def test_azure_stamps_of_seven_digits_are_exact():
    trace = read_trace_csv(AZURE)
    assert trace.span_s == pytest.approx(4.314579, abs=1e-6)
    assert trace.arrival_ns[1] == 4_314_579_000
    assert trace.prompt_tokens_mean == 385.0
    assert trace.output_tokens_mean == 76.5


def test_azure_stamps_with_a_zone_mean_the_same():
    zoned = AZURE.replace("46.6805900", "46.6805900+00:00").replace("50.9951690", "50.9951690Z")
    assert (read_trace_csv(zoned).arrival_ns == read_trace_csv(AZURE).arrival_ns).all()
    moved = AZURE.replace("18:15:50.9951690", "20:15:50.9951690+02:00").replace("46.6805900", "46.6805900Z")
    assert (read_trace_csv(moved).arrival_ns == read_trace_csv(AZURE).arrival_ns).all()


def test_a_byte_order_mark_and_windows_line_ends_are_accepted():
    data = b"\xef\xbb\xbf" + AZURE.replace("\n", "\r\n").encode()
    assert read_trace_csv(data).rows == 2


def test_three_plain_columns_with_and_without_a_header():
    rows = "0.0,10,5\n0.5,20,6\n2,30,7\n"
    plain, named = read_trace_csv(rows), read_trace_csv("timestamp_s,prompt_tokens,output_tokens\n" + rows)
    assert plain.rate_rps == named.rate_rps == 1.0
    assert plain.prompt_tokens.tolist() == [10, 20, 30]


def test_a_clock_that_goes_back_a_little_is_sorted_and_counted():
    trace = read_trace_csv("0.0,1,1\n1.2,2,1\n1.1,3,1\n2.5,4,1\n")
    assert (trace.arrival_ns / 1e9).tolist() == [0.0, 1.1, 1.2, 2.5]
    assert trace.prompt_tokens.tolist() == [1, 3, 2, 4]
    assert trace.out_of_order_rows == 1
    assert trace.max_backstep_s == pytest.approx(0.1, abs=1e-9)


def test_a_clock_that_goes_back_far_or_often_is_refused():
    assert code("0,1,1\n5,1,1\n3.9,1,1\n") == "trace_clock_backward"
    often = "".join(f"{i + (0.6 if i % 50 == 0 else -0.6 if i % 50 == 1 else 0):.3f},1,1\n" for i in range(1, 1101))
    assert code(often) == "trace_clock_backward"


def test_a_request_without_output_failed_it_arrives_but_does_not_count_as_fast():
    trace = read_trace_csv("10.0,100,20\n12.0,350,0\n14.0,300,40\n")
    assert trace.rows == 3
    assert trace.error_ratio == pytest.approx(1 / 3)
    assert trace.rate_rps == 0.5
    assert trace.prompt_tokens_mean == 200.0
    assert trace.output_tokens_mean == 30.0


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("", "trace_empty"),
        (" \n\n", "trace_empty"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n", "trace_no_requests"),
        (AZURE.rsplit("\n", 2)[0], "trace_single_row"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "trace_binary"),
        ("a\x00b,1,2\n", "trace_binary"),
        ("date,cost\n1,2\n", "trace_columns"),
        ("0,1,1\n1,NaN,1\n", "trace_bad_row"),
        ("0,1,1\ninf,1,1\n", "trace_bad_row"),
        ("-5,1,1\n0,1,1\n", "trace_bad_row"),
        ("0,1,1\n1,-1,1\n", "trace_bad_row"),
        ("0,1,1\n1,0,5\n", "trace_bad_row"),
        ("0,1,1\n1,5\n", "trace_bad_row"),
        ("0,1,1\n0,1,1\n", "trace_no_span"),
        ("0,1,0\n1,1,0\n", "trace_no_requests"),
        ("0,1,1\n90000,1,1\n", "trace_too_long"),
    ],
)
def test_what_is_no_trace_is_named(data, expected):
    assert code(data) == expected


def test_bad_rows_are_named_by_number():
    with pytest.raises(ScenarioInvalid) as caught:
        read_trace_csv("timestamp_s,prompt_tokens,output_tokens\n0,1,1\nx,1,1\n2,y,1\n")
    assert [e.detail.split(":")[0] for e in caught.value.errors] == ["Row 3", "Row 4"]


def test_the_vendored_trace_has_the_published_figures():
    trace = load_builtin_trace("azure-conversation-2023")
    assert trace.rows == 19_366
    assert trace.rate_rps == pytest.approx(5.53, abs=0.005)
    assert trace.prompt_tokens_mean == pytest.approx(1154.7, abs=0.05)
    assert trace.output_tokens_mean == pytest.approx(211.1, abs=0.05)
    assert (np.diff(trace.arrival_ns) >= 0).all()
    assert trace.arrival_ns[1] == 4_314_579_000


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_text_is_read_or_named(data):
    with suppress(ScenarioInvalid):
        assert read_trace_csv(data).rows >= 2
