"""Hostile and damaged files: refused by a stable code or read, never a crash and never a hang."""

import gzip
import io
import json
import os
import zipfile
import zlib
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.planning.importers import (
    Answers,
    ImportRefused,
    Source,
    bytes_source,
    file_source,
    open_trace,
    read_usage,
    sources,
)
from tests.planning.importers import samples
from tests.planning.importers.samples import opened, read

HEAD = b"timestamp_s,prompt_tokens,output_tokens\n"


def code(data, **answers):
    with pytest.raises(ImportRefused) as caught:
        read(data, **answers)
    return caught.value.code


def zipped(data):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trace.csv", data)
    return buffer.getvalue()


REFUSED = [
    (b"", "empty"),
    (b" \n\n", "empty"),
    (b"\x89PNG\r\n\x1a\n\x00\x00", "binary"),
    (b"(\xb5/\xfd....", "packing_unknown"),
    (b"\xd0\xcf\x11\xe0....", "workbook_refused"),
    (zipped(b"a,b\n"), "archive_refused"),
    (gzip.compress(zipped(b"a,b\n")), "archive_refused"),
    (gzip.compress(gzip.compress(HEAD)), "archive_refused"),
    (gzip.compress(HEAD + b"0,1,1\n" * 9)[:-9], "gzip_damaged"),
    (b"\x1f\x8b\x08\x00garbage", "gzip_damaged"),
    (HEAD, "no_rows"),
    (HEAD + b"x,y,z\n", "no_rows"),
    (b"date,cost\n2026-01-01,2\n", "unknown_format"),
    (b"just some words", "unknown_format"),
    (b"[" * 100_000, "json_too_deep"),
    (b'{"a":' * 100_000, "json_too_deep"),
    (b'[{"timestamp": 1', "json_invalid"),
    (b'{"timestamp": 1', "json_invalid"),
    (b"[]", "no_rows"),
    (b"\n<!DOCTYPE html><title>Sign in</title>", "web_page"),
    (b"PAR1" + b"\0" * 40, "parquet"),
    (HEAD + b'0,"1,1\n' + b"a" * 200_000 + b"\n", "cell_too_long"),
]


@pytest.mark.parametrize(("data", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_read_is_named(data, expected):
    found = code(data)
    assert found == expected or (expected == "parquet" and found in {"parquet_missing", "parquet_damaged"})


def test_a_line_of_ten_megabytes():
    long = b"1" * 10_000_000
    assert code(HEAD + b"0,1,1\n0," + long + b",1\n") == "line_too_long"
    assert code(b'{"timestamp": 0, "input_length": ' + long + b"}") in {"json_invalid", "line_too_long"}
    assert code(b'[{"timestamp": 0, "x": "' + long + b'"}, {}]') == "line_too_long"


def test_a_decompression_bomb_stops_early(monkeypatch):
    monkeypatch.setattr(sources, "RATIO_FROM_BYTES", 1 << 20)
    packer = zlib.compressobj(9, wbits=31)
    bomb = packer.compress(HEAD + b"0,1,1\n" * 2_000_000) + packer.flush()
    assert len(bomb) * sources.MAX_RATIO < 12_000_000
    assert code(bomb) == "decompression_bomb"


def test_more_bytes_than_are_read():
    data = HEAD + b"0,1,1\n" * 1_000
    for packed in (data, gzip.compress(data)):
        with pytest.raises(ImportRefused) as caught:
            open_trace(Source(lambda packed=packed: io.BytesIO(packed), most_bytes=1_000))
        assert caught.value.code == "too_large"


def test_links_pipes_and_folders_are_not_opened(tmp_path):
    target = tmp_path / "t.csv"
    target.write_text(samples.AZURE)
    link, pipe = tmp_path / "link.csv", tmp_path / "pipe"
    link.symlink_to(target)
    os.mkfifo(pipe)
    for path, expected in (
        (link, "symlink_refused"), (pipe, "not_a_file"), (tmp_path, "not_a_file"), (tmp_path / "no", "file_unreadable"),
    ):  # fmt: skip
        with pytest.raises(ImportRefused) as caught:
            open_trace(file_source(path))
        assert caught.value.code == expected


def test_deep_json_in_one_line_costs_that_line_only():
    rows, reading = read(samples.MOONCAKE + "\n" + '{"a":' * 50_000 + "\n{}\n")
    assert len(rows) == 3
    assert reading.problems.dropped["json_too_deep"] == 1


def attempt(data, **answers):
    try:
        rows, reading = read(data, **answers)
    except ImportRefused:
        return None
    assert len(rows) == reading.rows_used <= reading.rows_read
    assert (rows.arrival_ns[1:] >= rows.arrival_ns[:-1]).all()
    assert (rows.prompt_tokens >= 0).all()
    assert (rows.output_tokens >= 0).all()
    return rows


SAMPLES = [
    data.encode()
    for data in (
        samples.AZURE, samples.MOONCAKE, samples.BURSTGPT_8, samples.BAILIAN, samples.LITELLM, samples.LANGFUSE,
        samples.GERMAN, samples.OPENAI, samples.ANTHROPIC,
    )
]  # fmt: skip


@pytest.mark.parametrize("data", SAMPLES, ids=range(len(SAMPLES)))
def test_cut_at_any_byte(data):
    for end in range(0, len(data), max(1, len(data) // 150)):
        attempt(data[:end], decimal="point", dates="day_first")
    packed = gzip.compress(data)
    for end in range(0, len(packed) - 1, 40):
        assert attempt(packed[:end]) is None


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_after_a_header(data):
    attempt(HEAD + data)
    attempt(data)
    attempt(b'{"timestamp":0,"input_length":5,"output_length":1,"hash_ids":[]}\n' + data)


CELLS = st.one_of(
    st.integers(-5, 10_000_000).map(str),
    st.floats(allow_nan=True).map(str),
    st.sampled_from(
        ['"', "", "1.250", "1,5", "=1", "NaN", '"a\nb"', "é", "\u0663", "²", "1_000", "2026-11-01 10:00:00"]
    ),
    st.text(st.characters(codec="utf-8"), max_size=8),
)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.lists(CELLS, min_size=2, max_size=4), max_size=12),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    st.sampled_from(["point", "comma"]),
)
def test_any_cells_in_any_dialect(rows, delimiter, encoding, decimal):
    text = "\n".join(delimiter.join(row) for row in [["timestamp_s", "prompt_tokens", "output_tokens"], *rows])
    attempt(text.encode(encoding, "replace"), decimal=decimal, delimiter=None, negative_times="rebase")


PLAIN = st.tuples(
    st.decimals(0, 10**6, places=6).map(str) | st.integers(0, 10**6).map(str),
    st.integers(0, 10**5),
    st.integers(0, 500),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(PLAIN, min_size=2, max_size=30), st.lists(st.sampled_from(["x,1,1", "1,2", "", "9,0,7"]), max_size=3))
def test_the_fast_reader_and_the_careful_one_agree(rows, odd):
    lines = [f"{time},{prompt},{output}" for time, prompt, output in sorted(rows, key=lambda row: float(row[0]))]
    lines[1:1] = odd
    head = "timestamp_s,prompt_tokens,output_tokens"
    fast = attempt("\n".join([head, *lines, ""]).encode(), negative_times="reject", decimal="point")
    slow_lines = [line if not line or line in odd else '"' + line.replace(",", '","') + '"' for line in lines]
    slow = attempt("\n".join([head, *slow_lines, ""]).encode(), negative_times="reject", decimal="point")
    assert (fast is None) == (slow is None)
    if fast is not None:
        for name in ("arrival_ns", "prompt_tokens", "output_tokens", "failed", "row"):
            assert (getattr(fast, name) == getattr(slow, name)).all()


STAMPS = st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1))


@settings(max_examples=60, deadline=None)
@given(st.lists(STAMPS, min_size=2, max_size=20), st.integers(1, 9), st.sampled_from(["", "Z", "+02:00", "-0530"]))
def test_stamps_read_fast_are_those_read_with_care(times, digits, zone):
    lines = [f"{t:%Y-%m-%d %H:%M:%S}.{t.microsecond:06d}000"[: 20 + digits] + zone + ",5,5" for t in sorted(times)]
    head = "timestamp,prompt_tokens,output_tokens"
    fast = attempt("\n".join([head, *lines, ""]).encode())
    slow = attempt("\n".join([head, *('"' + line.replace(",", '","') + '"' for line in lines), ""]).encode())
    assert (fast is None) == (slow is None)
    if fast is not None:
        assert (fast.arrival_ns == slow.arrival_ns).all()


def test_an_array_longer_than_one_block_is_streamed(monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_BYTES", 64)
    record = {"timestamp": 5, "input_length": 7, "output_length": 1, "hash_ids": [1, 2]}
    rows, _ = read(json.dumps([record] * 50))
    assert len(rows) == 50
    assert rows.blocks.offsets.tolist() == list(range(0, 101, 2))


def test_blocks_of_any_size_give_the_same_rows(monkeypatch):
    data = HEAD + b"".join(b"%d.5,%d,%d\r\n" % (i, i + 1, i % 7) for i in range(300))
    whole, _ = read(data)
    monkeypatch.setattr(sources, "BLOCK_BYTES", 97)
    cut, reading = read(data)
    assert (cut.arrival_ns == whole.arrival_ns).all()
    assert (cut.row == whole.row).all()
    assert reading.failed_rows == int((whole.output_tokens == 0).sum())


def test_nothing_is_said_before_questions_are_answered():
    file = open_trace(bytes_source(b"timestamp,prompt_tokens,output_tokens\n1,2,3\n2,3,4\n"), Answers())
    with pytest.raises(ImportRefused, match="seconds or milliseconds"):
        file.chunks()


@pytest.mark.parametrize("digits", [308, 400, 4000])
def test_a_count_of_hundreds_of_digits_is_a_bad_row_and_no_crash(digits):
    text = samples.OPENAI.replace('"output_tokens": 500', f'"output_tokens": {"9" * digits}')
    assert len(read_usage(opened(text)).start_ns) == 2  # of three rows
