import json
from io import StringIO

import pytest
from django.core.management import call_command

from planner.planning import parse_scenario, plan, report_bytes
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


def test_a_seed_on_the_command_line(written):
    _, out, _ = run(written(SMALL), "--json", "--seed", "7")
    assert json.loads(out)["provenance"]["seed"] == 7
