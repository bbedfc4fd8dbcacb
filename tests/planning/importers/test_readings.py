"""What is assumed, what is asked, and which rows are left out."""

import json

import numpy as np
import pytest

from planner.planning.importers import ImportRefused, clock, number_readings, trace_file
from planner.planning.importers.cells import number, stamp_ns, tokens
from planner.planning.importers.errors import BadCell
from tests.planning.importers.samples import opened, read

HEAD = "timestamp_s,prompt_tokens,output_tokens\n"


def refusal(data, **answers):
    with pytest.raises(ImportRefused) as caught:
        read(data, **answers)
    return caught.value


def questions(data, **answers):
    return {each.answer: dict(each.choices) for each in opened(data, **answers).reading.questions}


def test_one_cell_with_two_readings():
    assert number_readings("173,900") == (173.9, 173900)
    assert number_readings("1.250.000") == (1250000,)
    assert number_readings("12,75") == (12.75,)
    assert number_readings("12") == (12,)


def test_a_cell_with_two_readings_is_asked_and_not_guessed():
    data = "timestamp_s;prompt_tokens;output_tokens\n0;173,900;5\n1;200,000;6\n"
    asked = questions(data)
    assert asked["decimal"] == {"point": "173,900 is 173900", "comma": "173,900 is 173.900"}
    assert refusal(data).code == "unanswered"
    assert read(data, decimal="point")[0].prompt_tokens.tolist() == [173_900, 200_000]


def test_evidence_in_another_cell_decides():
    data = "timestamp_s;prompt_tokens;output_tokens\n0;1.900;5\n1,25;2.000;6\n"
    rows, _ = read(data)
    assert rows.prompt_tokens.tolist() == [1900, 2000]
    assert rows.arrival_ns.tolist() == [0, 1_250_000_000]


def test_contradicting_evidence_is_asked():
    assert "decimal" in questions("timestamp_s;prompt_tokens;output_tokens\n0,5;10;5\n1.75;20;6\n")


def test_quoted_thousands_between_commas():
    data = HEAD + '0.5,"1,250,000",5\n1.5,"2,000",6\n'
    rows, reading = read(data)
    assert rows.prompt_tokens.tolist() == [1_250_000, 2000]
    assert any(each.what == "quotation marks" for each in reading.assumptions)


@pytest.mark.parametrize("text", ["1 250", "1\u00a0250", "1\u202f250", "1'250", "1’250", "1250", "1,250"])
def test_thousands_set_apart(text):
    assert number(text) == 1250


@pytest.mark.parametrize(
    "text", ["1 25", "12 3456", "1,25,00", "123,45,678", "-", "0x10", "1e999", "１２x", "", "--1", "1..2", "٣x"]
)
def test_what_is_no_number(text):
    with pytest.raises(BadCell):
        number(text)


def test_thousands_in_groups_of_two():
    rows, reading = read("timestamp_s;prompt_tokens;output_tokens\n0.5;1,23,456;10\n1.5;12,345;20\n")
    assert rows.prompt_tokens.tolist() == [123_456, 12_345]
    assert ("thousands sign", "comma") in [(each.what, each.taken) for each in reading.assumptions]


def test_times_since_1970_in_two_units_are_refused():
    data = "timestamp,prompt_tokens,output_tokens\n1767225600,1,1\n1767225601000,1,1\n1767225602000,1,1\n"
    assert refusal(data).code == "mixed_time_units"


def test_dates_that_may_be_either_are_asked():
    data = "time,prompt_tokens,output_tokens\n01/02/2026 10:00,10,1\n03/02/2026 10:00,20,1\n"
    assert set(questions(data)["dates"]) == {"day_first", "month_first"}
    day, month = read(data, dates="day_first")[0], read(data, dates="month_first")[0]
    assert np.diff(day.arrival_ns)[0] == 2 * 86_400 * 10**9
    assert np.diff(month.arrival_ns)[0] == 59 * 86_400 * 10**9  # 2 January to 2 March


def test_a_thirteenth_month_decides():
    data = "time,prompt_tokens,output_tokens\n01/02/2026 10:00,10,1\n13/02/2026 10:00,20,1\n"
    rows, reading = read(data)
    assert np.diff(rows.arrival_ns)[0] == 12 * 86_400 * 10**9
    assert ("dates", "day first") in {(each.what, each.taken) for each in reading.assumptions}


def test_numbers_without_a_unit_are_asked_unless_they_are_times_since_1970():
    bare = "timestamp,prompt_tokens,output_tokens\n0,10,1\n500,20,1\n"
    assert questions(bare)["time_unit"]["ms"] == "0.5 s in all"
    assert read(bare, time_unit="ms")[0].arrival_ns.tolist() == [0, 500_000_000]
    for start, unit in ((1_777_142_838, 1), (1_777_142_838_000, 1000), (1_777_142_838_000_000_000, 10**9)):
        rows, reading = read(f"timestamp,prompt_tokens,output_tokens\n{start},10,1\n{start + unit},20,1\n")
        assert np.diff(rows.arrival_ns).tolist() == [10**9]
        assert reading.clock == "wall"


def test_the_delimiter_that_leaves_only_numbers_is_taken():
    rows, reading = read("0,1;2;3\n5,6;7;8\n9,5;1;1\n")
    assert rows.arrival_ns.tolist() == [100_000_000, 5_600_000_000, 9_500_000_000]
    assert {each.what: each.taken for each in reading.assumptions}["delimiter"] == "semicolon"


def test_negative_times_are_asked_then_left_out_or_rebased():
    data = "timestamp_ms,prompt_tokens,output_tokens\n-5000,1,1\n0,2,1\n1000,3,1\n"
    assert "negative_times" in questions(data)
    rows, reading = read(data, negative_times="reject")
    assert rows.prompt_tokens.tolist() == [2, 3]
    assert [(p.code, p.row) for p in reading.problems] == [("negative_time", 2)]
    rebased, _ = read(data, negative_times="rebase")
    assert np.diff(rebased.arrival_ns).tolist() == [5_000_000_000, 1_000_000_000]


def test_a_clock_that_goes_back_a_little_is_sorted_and_counted():
    rows, reading = read(HEAD + "0.0,1,1\n1.2,2,1\n1.1,3,1\n2.5,4,1\n")
    assert (rows.arrival_ns / 1e9).tolist() == [0.0, 1.1, 1.2, 2.5]
    assert rows.prompt_tokens.tolist() == [1, 3, 2, 4]
    assert reading.out_of_order_rows == 1
    assert reading.max_backstep_ns == 100_000_000


def test_a_clock_that_goes_back_far_or_often_is_refused_by_row():
    far = refusal(HEAD + "0,1,1\n5,1,1\n3.9,1,1\n9,1,1\n")
    assert (far.code, far.row) == ("clock_backward", 4)
    often = HEAD + "".join(
        f"{i + (0.6 if i % 50 == 0 else -0.6 if i % 50 == 1 else 0):.3f},1,1\n" for i in range(1, 1101)
    )
    assert refusal(often).code == "clock_backward"


def test_the_hour_that_comes_twice_is_named():
    times = ("02:59:58", "02:59:59", "02:00:00")
    refused = refusal("time,prompt_tokens,output_tokens\n" + "".join(f"2026-10-25 {at},1,1\n" for at in times))
    assert (refused.code, refused.row) == ("clock_backward", 4)
    assert "Write the times in UTC" in str(refused)


def test_newest_first_is_sorted():
    rows, reading = read(HEAD + "30,3,1\n20,2,1\n10,1,1\n")
    assert rows.prompt_tokens.tolist() == [1, 2, 3]
    assert ("order of rows", "newest first, sorted") in {(each.what, each.taken) for each in reading.assumptions}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("1,NaN,1", "not_finite"),
        ("inf,1,1", "not_finite"),
        ("1,-1,1", "negative_tokens"),
        ("1,1.5,1", "not_whole"),
        ("1,0,5", "no_prompt"),
        ("1,99999999,5", "too_many_tokens"),
        ("1,=1+1,5", "formula_cell"),
        ("1,@SUM(A1),5", "formula_cell"),
        ("1,+cmd,5", "formula_cell"),
        ("x,1,5", "bad_time"),
        (",1,5", "bad_time"),
        ("2026-02-30 10:00:00,1,5", "bad_time"),
        ("1,5", "wrong_columns"),
        ("1,5,6,7", "wrong_columns"),
        ('1,"5"6,7', "bad_quoting"),
    ],
)
def test_a_bad_row_is_left_out_and_named(line, code):
    rows, reading = read(HEAD + f"0,1,1\n{line}\n2,3,1\n")
    assert rows.prompt_tokens.tolist() == [1, 3]
    assert [(problem.code, problem.row, problem.kept) for problem in reading.problems] == [(code, 3, False)]
    assert reading.rows_read == 3 or code == "bad_quoting"


def test_a_formula_as_a_columns_name_is_refused():
    assert refusal("=cmd(),timestamp_s,prompt_tokens,output_tokens\n1,2,3,4\n").code == "formula_header"


def test_a_log_in_any_order_is_merged_piece_by_piece(monkeypatch):
    monkeypatch.setattr(clock, "SORTED_PIECE_ROWS", 7)
    monkeypatch.setattr(trace_file, "CHUNK_ROWS", 5)
    times = np.random.default_rng(3).permutation(100) // 2
    lines = [json.dumps({"arrival_time": int(t), "input_toks": i + 1, "output_toks": 1}) for i, t in enumerate(times)]
    rows, _ = read("\n".join(lines))
    order = np.argsort(times, kind="stable")
    assert (rows.arrival_ns == times[order] * 10**9).all()
    assert (rows.prompt_tokens == order + 1).all()
    assert (rows.row == order + 1).all()


def test_one_row_without_a_line_end_is_a_row():
    rows, _ = read(HEAD + "5,6,7")
    assert (rows.arrival_ns[0], rows.prompt_tokens[0], rows.output_tokens[0]) == (5_000_000_000, 6, 7)


def test_repeated_rows_are_kept_and_told():
    rows, reading = read(HEAD + "0,1,1\n0,1,1\n0,1,1\n2,3,1\n")
    assert len(rows) == 4
    assert reading.problems.kept == {"repeats_previous_row": 2}


def test_many_bad_rows_are_counted_and_ten_named():
    _, reading = read(HEAD + "0,1,1\n" + "x,1,1\n" * 400 + "1,1,1\n" * 500)
    assert reading.problems.dropped["bad_time"] == 400
    assert sum(problem.code == "bad_time" for problem in reading.problems) == 10


def test_latin_letters_of_windows():
    rows, reading = read("zeit;eingabe_tokens;ausgabe_tokens;bemerkung\n2026-11-01 10:00;10;1;Größe\n".encode("cp1252"))
    assert len(rows) == 1
    assert reading.assumptions[0].taken == "Windows-1252"


def test_stamps():
    assert stamp_ns("1970-01-01 00:00:00.0000001") == 100
    assert stamp_ns("1970-01-01T02:00:00+02:00") == 0
    assert stamp_ns("1.2.1970") == 31 * 86_400 * 10**9
    assert stamp_ns("2/1/1970", "month_first") == 31 * 86_400 * 10**9
    assert tokens("12.0") == 12
