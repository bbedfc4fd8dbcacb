import gzip
import json
from io import StringIO

import pytest
from django.core.management import call_command

from planner.planning import ScenarioInvalid, parse_scenario, plan, report_bytes
from planner.planning.command import read_document
from planner.planning.traffic.traces import read_trace_csv
from tests.planning.scenarios import changed

SMALL = changed("hardware", {"gpus": ["H200-SXM-141GB"], "tensor_parallel": [1]})


def run(path, *options):
    """(exit code, standard output, standard error) of the command."""
    out, err = StringIO(), StringIO()
    try:
        call_command("plan", str(path), *options, stdout=out, stderr=err)
    except SystemExit as stop:
        return stop.code, out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


@pytest.fixture
def written(tmp_path):
    def write(document, name="scenario.json"):
        path = tmp_path / name
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return write


def test_json_is_exactly_the_report(written):
    code, out, _ = run(written(SMALL), "--json")
    assert code == 0
    assert out.encode() == report_bytes(plan(parse_scenario(SMALL)))


def test_text_holds_verdict_fleet_and_assumptions(written):
    code, out, _ = run(written(SMALL))
    assert code == 0
    for part in (
        "Support chat",
        "-- Fleet --",
        "vllm serve",
        "TTFT p95",
        "KV cache pool",
        "-- Break-even --",
        "seed 1",
    ):
        assert part in out


def test_no_fleet_is_exit_3_and_the_report_says_why(written):
    code, out, _ = run(written(changed("slo", {"ttft_p95_ms": 10}, SMALL)))
    assert code == 3
    assert "No candidate meets the targets" in out
    assert "Even without other load" in out


def test_faults_are_exit_2_all_at_once(written):
    bad = changed("slo", {"ttft_p95_ms": 1}, changed("traffic.arrival.mean_rps", -1, SMALL))
    code, out, _ = run(written(bad), "--json")
    errors = json.loads(out)["errors"]
    assert code == 2
    assert {error["pointer"] for error in errors} == {"/traffic/arrival/mean_rps", "/slo/ttft_p95_ms"}
    assert set(errors[0]) == {"code", "pointer", "given", "allowed", "detail"}
    code, out, err = run(written(bad))
    assert (code, out) == (2, "")
    assert "did you mean 1000 ms" in err


def test_a_missing_file_and_a_file_that_is_no_json(tmp_path):
    code, out, _ = run(tmp_path / "none.json", "--json")
    assert (code, json.loads(out)["errors"][0]["code"]) == (2, "file_unreadable")
    (tmp_path / "binary.json").write_bytes(b"\x89PNG\x00")
    code, out, _ = run(tmp_path / "binary.json", "--json")
    assert (code, json.loads(out)["errors"][0]["code"]) == (2, "not_utf8")


def test_a_trace_file_beside_the_scenario(tmp_path, written):
    rows = "".join(f"{0.5 * i},{300 + i},{40 + i % 9}\n" for i in range(60))
    (tmp_path / "trace.csv").write_text(rows, encoding="utf-8")
    traffic = {"trace": {"file": "trace.csv"}, "shape": {"kind": "constant"}}
    code, out, _ = run(written(changed("traffic", traffic, SMALL)), "--json")
    assert code == 0
    inline = changed("traffic", {**traffic, "trace": {"csv": rows}}, SMALL)
    assert out.encode() == report_bytes(plan(parse_scenario(inline)))


@pytest.mark.parametrize(
    ("content", "code"),
    [(None, "file_unreadable"), (b"", "trace_empty"), (b"\x00\xff", "trace_binary"), (b"a,b\n1,2\n", "trace_columns")],
)
def test_a_bad_trace_file_is_named(tmp_path, written, content, code):
    if content is not None:
        (tmp_path / "trace.csv").write_bytes(content)
    document = changed("traffic", {"trace": {"file": "trace.csv"}, "shape": {"kind": "constant"}}, SMALL)
    exit_code, out, _ = run(written(document), "--json")
    assert exit_code == 2
    assert json.loads(out)["errors"][0]["code"] == code


def test_a_trace_file_of_another_format_is_planned_as_its_rows(tmp_path, written):
    rows = [(0.5 * i, 300 + i, 40 + i % 9) for i in range(60)]
    records = [
        {"timestamp": 500 * i, "input_length": prompt, "output_length": output, "hash_ids": []}
        for i, (_, prompt, output) in enumerate(rows)
    ]
    (tmp_path / "trace").write_bytes(gzip.compress("\n".join(map(json.dumps, records)).encode()))
    traffic = {"trace": {"file": "trace"}, "shape": {"kind": "constant"}}
    document = read_document(written(changed("traffic", traffic, SMALL)).read_bytes(), tmp_path)
    assert parse_scenario(document).traffic.trace.csv.splitlines()[:3] == [
        "timestamp_s,prompt_tokens,output_tokens",
        "0.000000000,300,40",
        "0.500000000,301,41",
    ]
    assert read_trace_csv(document["traffic"]["trace"]["csv"]).rows == 60


def test_a_trace_file_that_needs_answers_takes_them_from_the_scenario(tmp_path):
    (tmp_path / "trace").write_text("t,a,b\n0,10,1\nx,0,0\n500,20,2\n")
    trace = {"file": "trace", "columns": {"time": "t", "prompt": "a", "output": "b"}}

    def told(**more):
        try:
            return read_document(json.dumps({"traffic": {"trace": {**trace, **more}}}).encode(), tmp_path)
        except ScenarioInvalid as invalid:
            return [(error.code, error.detail) for error in invalid.errors]

    assert told()[0][0] == "trace_ambiguous"
    assert told(answers={"time_unit": "hours"})[0][0] == "unknown_answer"
    assert told(answers={"time_unit": "ms"}) == [("trace_bad_row", "Row 3: 'x' is not a number.")]
    text = told(answers={"time_unit": "ms"}, leave_out_bad_rows=True)["traffic"]["trace"]
    assert text == {"csv": "timestamp_s,prompt_tokens,output_tokens\n0.000000000,10,1\n0.500000000,20,2\n"}


def test_a_seed_on_the_command_line(written):
    _, out, _ = run(written(SMALL), "--json", "--seed", "7")
    assert json.loads(out)["provenance"]["seed"] == 7
