"""The same requests as many programs and people write them: names of columns, times, encodings, wrappers of JSON."""

import json

import pytest

from planner.planning.importers import ImportRefused, bytes_source
from planner.planning.importers.cells import stamp_ns
from planner.planning.importers.errors import BadCell
from planner.planning.inspection import inspect_source
from tests.planning.importers.samples import opened, read

START_NS = 1_768_482_000_000_000_000  # 2026-01-15 13:00:00 UTC
HEAD = "timestamp,prompt_tokens,output_tokens\n"
ROWS = [{"timestamp": f"2026-01-15T13:00:0{i}Z", "prompt_tokens": 5 + i, "output_tokens": 6} for i in range(3)]


def as_wanted(data):
    rows, reading = read(data)
    assert rows.arrival_ns.tolist() == [START_NS, START_NS + 10**9, START_NS + 2 * 10**9]
    assert rows.prompt_tokens.tolist() == [5, 6, 7]
    assert rows.output_tokens.tolist() == [6, 6, 6]
    return {each.what: each.taken for each in reading.assumptions}


@pytest.mark.parametrize(
    ("time", "prompt", "output"),
    [
        ("Timestamp (ms)", "Prompt Tokens", "Completion Tokens"),
        ("time[ms]", "ISL", "OSL"),
        ("@timestamp", "usage.prompt_tokens", "usage.completion_tokens"),
        ("arrived_at", "num_prompt_tokens", "num_generation_tokens"),
        ("requestTime", "promptTokenCount", "candidatesTokenCount"),
        ("epoch_ms", "prompt_length", "completion_length"),
        ("created", "tokens_prompt", "tokens_completion"),
        ("ts", "Input", "Output"),
        ("elapsed-ms", "input_len", "output_len"),
        ("llm.start_time", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
    ],
)
def test_columns_by_their_many_names(time, prompt, output):
    ms = START_NS // 10**6
    as_wanted(f"{time},{prompt},{output}\n" + "".join(f"{ms + 1000 * i},{5 + i},6\n" for i in range(3)))


@pytest.mark.parametrize(
    "stamp",
    [
        "20260115T130000Z",
        "2026-01-15 13:00:00 GMT",
        "2026-01-15T09:30:00-03:30",
        '"Thu, 15 Jan 2026 13:00:00 GMT"',
        "15/Jan/2026:13:00:00 +0000",
        "15-Jan-2026 13:00:00",
        '"January 15, 2026 13:00:00"',
        "01/15/2026 1:00:00 PM",
        "15/01/2026 01:00:00 p.m.",
        '"2026-01-15 13:00:00,000"',
    ],
)
def test_times_as_mail_servers_and_spreadsheets_write_them(stamp):
    later = [stamp.replace(":00:00", f":00:0{i}").replace("130000", f"13000{i}").replace("09:30:00", f"09:30:0{i}")
             for i in range(3)]  # fmt: skip
    as_wanted(HEAD + "".join(f"{each},{5 + i},6\n" for i, each in enumerate(later)))


@pytest.mark.parametrize(
    "text", ["13:00 PM 2026", "01/15/26", "2026-01-15 13:00:00 CET", "2026-01-15 13:00 PM", "0 Foo 2026", "15 Jan 26"]
)
def test_times_that_are_not_guessed(text):
    with pytest.raises(BadCell):
        stamp_ns(text)


def test_midnight_and_noon_of_twelve_hours():
    assert stamp_ns("1970-01-01 12:30:00 AM") == 1_800 * 10**9
    assert stamp_ns("1970-01-01 12:30 PM") == 45_000 * 10**9


def test_a_day_and_a_time_in_columns_of_their_own():
    text = "date,time,prompt_tokens,output_tokens\n" + "".join(f"2026-01-15,13:00:0{i},{5 + i},6\n" for i in range(3))
    assert as_wanted(text)["time"] == "date and time together"
    with pytest.raises(ImportRefused, match="have no day"):
        read(text.replace("date,", "note,").replace("2026-01-15,", "x,"))


@pytest.mark.parametrize(
    ("codec", "taken"),
    [("utf-16", "utf-16"), ("utf-16-le", "utf-16-le"), ("utf-16-be", "utf-16-be"), ("utf-32", "utf-32")],
)
def test_text_in_pairs_and_fours(codec, taken):
    text = HEAD + "".join(f"{row['timestamp']},{row['prompt_tokens']},6\n" for row in ROWS)
    assert as_wanted(text.encode(codec))["encoding"] == taken


def test_lines_above_the_table_are_told():
    table = HEAD + "".join(f"{row['timestamp']},{row['prompt_tokens']},6\n" for row in ROWS)
    assert as_wanted("# export of a gateway\n# 15 January\n" + table)["lines above the table"] == "2 skipped"
    semicolons = "Usage report;;\n\n" + table.replace(",", ";")
    assert as_wanted(semicolons)["delimiter"] == "semicolon"
    assert read(semicolons)[0].row.tolist() == [4, 5, 6]


def nested(row):
    return {"at": {"timestamp": row["timestamp"]}, "response": {"usage": {k: row[k] for k in list(row)[1:]}}}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"meta": {"page": 1}, "records": ROWS}),
        json.dumps([list(ROWS[0]), *(list(row.values()) for row in ROWS)]),
        json.dumps({"errors": [{"code": 5}], "requests": ROWS, "models": [{"name": "m"}]}),
        json.dumps({"hits": {"total": 3, "hits": [{"_source": row} for row in ROWS]}}, indent=1),
        json.dumps({name: [row[name] for row in ROWS] for name in ROWS[0]}),
        json.dumps({name: {str(i): row[name] for i, row in enumerate(ROWS)} for name in ROWS[0]}),
        json.dumps({"columns": list(ROWS[0]), "index": [0, 1, 2], "data": [list(row.values()) for row in ROWS]}),
        "\n".join(json.dumps(row, indent=2) for row in ROWS),
        "".join(f"\x1e{json.dumps(row)}\n" for row in ROWS),
        "\n".join(json.dumps(nested(row)) for row in ROWS),
        json.dumps([nested(row) for row in ROWS]),
    ],
    ids=[
        "wrapped",
        "rows",
        "beside",
        "deeply",
        "columns",
        "indexed",
        "split",
        "over_lines",
        "sequence",
        "nested_lines",
        "nested_array",
    ],
)
def test_json_as_exports_wrap_it(text):
    as_wanted(text)


def test_what_a_response_tells_of_its_cache():
    openai = {"prompt_tokens": 50, "completion_tokens": 6, "prompt_tokens_details": {"cached_tokens": 20}}
    anthropic = {
        "input_tokens": 20, "output_tokens": 6, "cache_read_input_tokens": 25, "cache_creation_input_tokens": 5,
    }  # fmt: skip
    for usage, cached in ((openai, 20), (anthropic, 25)):
        lines = [json.dumps({"created": 1_790_000_000 + i, "usage": usage}) for i in range(2)]
        rows, _ = read("\n".join(lines))
        assert rows.prompt_tokens.tolist() == [50, 50]
        assert rows.cached_tokens.tolist() == [cached, cached]


def test_a_column_that_is_there_twice_is_refused():
    with pytest.raises(ImportRefused) as caught:
        read("timestamp_s,prompt_tokens,prompt_tokens,output_tokens\n0,1,2,3\n")
    assert caught.value.code == "column_twice"


def test_nothing_usable_says_why_by_row():
    with pytest.raises(ImportRefused) as caught:
        read(HEAD + "2026-13-45 00:00:00,5,6\nyesterday,5,6\n")
    assert caught.value.row == 2
    assert "not a day" in caught.value.detail


def test_json_lines_that_are_no_traffic_are_named_as_that():
    text = "\n".join(json.dumps({"a": {"b": i}}) for i in range(3))
    with pytest.raises(ImportRefused) as caught:
        inspect_source(opened_source(text))
    assert caught.value.code == "unknown_format"


def opened_source(text):
    return bytes_source(text.encode())


def test_turns_that_wait_for_an_answer_have_no_time():
    lines = [
        json.dumps({"session_id": "a", "input_length": 9, "output_length": 2, "hash_ids": [1], **when})
        for when in ({"timestamp": 0}, {"delay": 500}, {"timestamp": 900})
    ]
    rows, reading = read("\n".join(lines))
    assert rows.arrival_ns.tolist() == [0, 900_000_000]
    assert reading.problems.dropped == {"sent_after_answer": 1}


def test_older_usage_exports():
    page = {"data": [
        {"n_requests": 2, "snapshot_id": "m", "n_context_tokens_total": 1000, "n_generated_tokens_total": 300,
         "aggregation_timestamp": 1_790_000_000},
        {"n_requests": 1, "snapshot_id": "m", "n_context_tokens_total": 100, "n_generated_tokens_total": 30,
         "aggregation_timestamp": 1_790_000_300},
    ]}  # fmt: skip
    usage = inspect_source(opened_source(json.dumps(page)))["usage"]
    assert (usage["requests"], usage["prompt_tokens"], usage["output_tokens"]) == (3, 1100, 330)
    console = (
        "usage_date_utc,model_version,usage_input_tokens_no_cache,usage_input_tokens_cache_write_5m,"
        "usage_input_tokens_cache_write_1h,usage_input_tokens_cache_read,usage_output_tokens\n"
        "2026-11-01,m,100,10,5,700,50\n2026-11-02,m,1,0,0,0,2\n"
    )
    usage = inspect_source(opened_source(console))["usage"]
    assert (usage["prompt_tokens"], usage["cached_tokens"], usage["output_tokens"]) == (816, 700, 52)


def test_an_older_langfuse_table_keeps_generations_only():
    table = "id,type,startTime,endTime,promptTokens,completionTokens,totalTokens\n" + "".join(
        f"o{i},{kind},2026-01-15T13:00:0{i}Z,,10,5,15\n" for i, kind in enumerate(("GENERATION", "SPAN", "GENERATION"))
    )
    rows, reading = read(table)
    assert rows.prompt_tokens.tolist() == [10, 10]
    assert reading.problems.dropped == {"not_a_generation": 1}
    assert opened(table).layout.format == "langfuse"
