"""`manage.py inspect`: exit codes, JSON, and texts for people."""

import json

import pytest
from django.core.management import call_command

from planner.planning.importers import bytes_source
from planner.planning.inspection import inspect_source, inspection_text
from tests.planning.importers import samples
from tests.planning.measurements.test_results import VLLM


def inspect(capsys, path, *arguments):
    """Exit code and standard output."""
    code = 0
    try:
        call_command("inspect", str(path), *arguments)
    except SystemExit as stopped:
        code = stopped.code
    return code, capsys.readouterr()


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "upload.bin"
        path.write_text(text)
        return path

    return write


def test_a_trace(capsys, file):
    code, out = inspect(capsys, file(samples.AZURE))
    assert code == 0
    assert "Azure LLM inference trace" in out.out
    assert "rows: 3 read, 3 used, 0 failed requests" in out.out
    code, out = inspect(capsys, file(samples.AZURE), "--json")
    told = json.loads(out.out)
    assert told["kind"] == "requests"
    assert told["profile"]["requests"] == 3
    assert told["profile"]["preview"][1]["arrival_s"] == pytest.approx(4.314579)


def test_a_measurement_and_a_usage_export(capsys, file):
    code, out = inspect(capsys, file(json.dumps(VLLM)))
    assert code == 0
    assert "vLLM bench serve result" in out.out
    assert "check littles_law" not in out.out or "agrees" in out.out
    code, out = inspect(capsys, file(samples.OPENAI), "--json")
    assert (code, json.loads(out.out)["usage"]["requests"]) == (0, 8)


def test_a_question_is_asked_with_its_own_exit_code(capsys, file):
    data = "timestamp,prompt_tokens,output_tokens\n0,10,1\n500,20,1\n"
    code, out = inspect(capsys, file(data))
    assert code == 4
    assert "--answer time_unit=" in out.out
    code, out = inspect(capsys, file(data), "--answer", "time_unit=ms", "--json")
    assert (code, json.loads(out.out)["profile"]["span_s"]) == (0, 0.5)


def test_what_cannot_be_read(capsys, file, tmp_path):
    code, out = inspect(capsys, file("just words"), "--json")
    assert (code, json.loads(out.out)["errors"][0]["code"]) == (2, "unknown_format")
    code, out = inspect(capsys, tmp_path / "none")
    assert code == 2
    assert "[file_unreadable]" in out.err
    code, out = inspect(capsys, file(samples.AZURE), "--answer", "decimal=maybe")
    assert code == 2
    assert "unknown_answer" in out.err


def test_columns_by_name(capsys, file):
    data = "t0;a;b\n0,5;10;1\n1,5;20;2\n"
    columns = [part for each in ("time=t0", "prompt=a", "output=b") for part in ("--column", each)]
    code, out = inspect(capsys, file(data), "--answer", "time_unit=s", "--json", *columns)
    assert (code, json.loads(out.out)["profile"]["span_s"]) == (0, 1.0)


@pytest.mark.parametrize(
    "data", [samples.MOONCAKE, samples.BURSTGPT_8, samples.BAILIAN, samples.LITELLM, samples.GERMAN]
)
def test_everything_told_is_json_and_text(data):
    told = inspect_source(bytes_source(data.encode()))
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert inspection_text(told).count("\n") > 5


def test_a_table_of_lengths():
    told = inspect_source(bytes_source(b"[[64, 0.25], [128, 1.0]]"))
    assert told["length_tables"] == {"lengths": [[0.0, 1.0], [0.25, 64.0], [1.0, 128.0]]}


@pytest.mark.parametrize("odd", ["\\u0000", "\\ud800", "\\u001b[31m", "x" * 5000])
def test_odd_names_can_be_shown_and_stored(odd):
    trace = json.dumps({"timestamp": 0, "input_length": 5, "output_length": 1, "hash_ids": []})
    named = trace[:-1] + f', "{odd}": 1, "type": "{odd}"}}'
    measurement = json.dumps({**VLLM, "model_id": "MODEL"}).replace("MODEL", odd)
    tables = f'{{"{odd}": [[64, 0.25], [128, 1.0]]}}'
    for data in (named + "\n" + named, measurement, tables):
        told = inspect_source(bytes_source(data.encode()))
        text = json.dumps(told, ensure_ascii=False) + inspection_text(told)
        assert not {"\0", "\ud800", "\x1b"} & set(text)
        assert text.encode()
        assert len(text) < 20_000
