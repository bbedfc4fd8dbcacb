"""A file that waits for a yes names nobody, and is read as it was."""

import json

import pytest

from planner.planning.importers import bytes_source, joined, open_trace, without_people
from planner.planning.inspection import storable
from tests.planning.importers import samples
from tests.planning.importers.test_vllm_log import answered, received

SECRETS = ("sk-", "example.org", "SECRET", "ann", "bob")
NESTED = "\n".join(
    json.dumps({"created": 1_790_000_000 + i, "user": "ann", "messages": [{"role": "user", "content": "SECRET"}],
                "response": {"usage": {"prompt_tokens": 5, "completion_tokens": 6},
                             "choices": [{"message": {"content": "SECRET " * 90}}]}})
    for i in range(2)
)  # fmt: skip
TEXTS = (
    "timestamp_s,user_id,prompt,note,prompt_tokens,output_tokens\n"
    '0,ann,"SECRET\nof two lines",x,5,6\n1,bob,"SECRET, too",,7,8\nx,ann,,,1,1\n'
)
UNKNOWN_NAMES = (
    "Zeitpunkt;Kunde;Bemerkung;Rohdaten;Eingabe-Tokens;Ausgabe-Tokens\n"
    '2026-11-02 10:00:00;ann;01.11.2026;"{""wer"": ""bob"", ""n"": 4}";5;6\n'
    '2026-11-02 10:00:01;bob@example.org;wahr;[];7;8\n2026-11-02 10:00:02;ann;SECRET;"{bob";9;1\n'
)
UNKNOWN_KEYS = "\n".join(
    json.dumps({"ts": 1_790_000_000 + i, "input_tokens": 5, "output_tokens": 6, "wer": "ann", "kind": "chat",
                "by": {"bob@example.org": 3}, "at": "2026-11-02T10:00:00Z"})
    for i in range(2)
)  # fmt: skip
COLUMNS = ("timestamp", "prompt_tokens", "output_tokens", "user", "prompt", "wer")
CELLS = tuple(
    (f"2026-11-01T10:00:0{i}Z", 100 + i, 10 + i, who, "SECRET text", "example.org")
    for i, who in enumerate(("ann", "bob"))
)
IN_ROWS = json.dumps([COLUMNS, *CELLS])
APART = json.dumps({"columns": COLUMNS, "index": [0, 1], "data": CELLS})
BY_COLUMN = json.dumps(dict(zip(COLUMNS, zip(*CELLS, strict=True), strict=True)))
BY_COLUMN_OVER_LINES = json.dumps(dict(zip(COLUMNS, zip(*CELLS, strict=True), strict=True)), indent=1)
LOG = "\n".join(line for i in range(3) for line in (received(i, f"r{i}", 4), answered(i + 1, f"r{i}", 2)))


def read(data):
    file = open_trace(bytes_source(data))
    return joined(list(file.chunks())), file.reading


@pytest.mark.parametrize(
    "text",
    [
        samples.LITELLM,
        samples.LANGFUSE,
        NESTED,
        TEXTS,
        LOG,
        json.dumps(json.loads("[" + NESTED.replace("\n", ",") + "]")),
        UNKNOWN_NAMES,
        UNKNOWN_KEYS,
        IN_ROWS,
        APART,
        BY_COLUMN,
        BY_COLUMN_OVER_LINES,
    ],
    ids=[
        "litellm",
        "langfuse",
        "nested",
        "texts",
        "log",
        "array",
        "other names",
        "other keys",
        "rows",
        "apart",
        "columns",
        "columns over lines",
    ],
)
def test_nobody_is_named_and_the_same_is_read(text):
    scrubbed = without_people(bytes_source(text.encode()))
    assert not any(secret in scrubbed.decode() for secret in SECRETS)
    before, reading = read(text.encode())
    after, again = read(scrubbed)
    for name in ("arrival_ns", "prompt_tokens", "output_tokens", "cached_tokens", "session", "client", "row"):
        assert getattr(before, name).tolist() == getattr(after, name).tolist(), name
    assert reading.as_dict()["rows"] == again.as_dict()["rows"]
    assert [(each.code, each.row) for each in reading.problems] == [(each.code, each.row) for each in again.problems]
    assert without_people(bytes_source(scrubbed)) in (None, scrubbed)


def test_a_logs_start_stays_without_its_keys():
    start = "INFO 12-31 23:58:01 [api_server.py:1] args: Namespace(api_key=['sk-1', 'sk-2'], port=8000)"
    web = 'INFO:     10.0.0.7:57978 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
    lines = without_people(bytes_source("\n".join((start, web, LOG)).encode())).decode().split("\n")
    assert lines[:2] == ["INFO 12-31 23:58:01 [api_server.py:1] args: Namespace(api_key=None, port=8000)", ""]


@pytest.mark.parametrize("text", [samples.AZURE, samples.MOONCAKE, samples.GERMAN, samples.BURSTGPT_6, samples.BAILIAN])
def test_a_file_that_names_nobody_stays_as_it_is(text):
    assert without_people(bytes_source(text.encode())) is None


def test_what_stands_above_a_table_is_not_kept():
    text = "Report for ann\nsk-1234\n\n" + samples.AZURE
    scrubbed = without_people(bytes_source(text.replace("\n", ",x\n").replace("Tokens,x", "Tokens,note").encode()))
    assert scrubbed.decode().startswith("\n\n")
    assert b"ann" not in scrubbed
    assert len(joined(list(open_trace(bytes_source(scrubbed)).chunks()))) == 3


def test_words_that_are_no_table_leave_their_shape():
    assert without_people(bytes_source(b"dear ann\nSECRET 12\n")) == b"x x\nx x\n"


def test_a_benchmarks_result_loses_its_texts():
    record = {"metadata": {"request_start_ns": 1}, "metrics": {"time_to_first_token": {"value": 4.5, "unit": "ms"}}}
    talks = {**record, "output_text": "SECRET", "payload": {"messages": [{"role": "user", "content": "SECRET"}]}}
    kept = storable(bytes_source("\n".join(map(json.dumps, (talks, record))).encode()))
    assert b"SECRET" not in kept
    assert json.loads(kept.splitlines()[0])["metrics"] == record["metrics"]
    assert json.loads(kept.splitlines()[1]) == record


def test_a_table_in_parquet_is_stored_without_people(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
    from pyarrow import parquet

    table = pyarrow.table(
        {"timestamp_s": [0.0, 1.0], "prompt_tokens": [5, 6], "output_tokens": [7, 8], "user": ["ann", "bob"],
         "wer": pyarrow.array(["ann", "ann"]).dictionary_encode(), "raw": [b"SECRET", b""],
         "call": [{"messages": ["SECRET"], "n": 3}, {"messages": [], "n": 4}]}
    )  # fmt: skip
    parquet.write_table(table, tmp_path / "t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    scrubbed = without_people(bytes_source(data))
    (tmp_path / "s.parquet").write_bytes(scrubbed)
    rows = parquet.read_table(tmp_path / "s.parquet").to_pylist()
    assert rows[0] == {
        "timestamp_s": 0.0, "prompt_tokens": 5, "output_tokens": 7, "user": "#1", "wer": "#1", "raw": None,
        "call": {"messages": [], "n": 3},
    }  # fmt: skip
    assert read(data)[0].client.tolist() == read(scrubbed)[0].client.tolist() == [0, 1]


def test_a_benchmarks_result_without_texts_stays_as_it_is():
    record = {"metadata": {"request_start_ns": 1}, "metrics": {"time_to_first_token": {"value": 4.5, "unit": "ms"}}}
    assert storable(bytes_source(json.dumps(record).encode())) is None
