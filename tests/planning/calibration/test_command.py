"""`manage.py calibrate`: files in, a scenario that `plan` takes out; every fault as one line."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from planner.planning import parse_scenario
from tests.load_tests import DEPLOYMENT, bench_run, bench_serving, slower_server
from tests.planning.request_log import meta, steady


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    code = 0
    try:
        call_command("calibrate", *(str(each) for each in arguments))
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    found = capsys.readouterr()
    return code, found.out, found.err


def scenario(folder: Path, **hardware: Any) -> Path:
    document = {
        "model": {"id": DEPLOYMENT["model"]},
        "hardware": {"gpus": [DEPLOYMENT["gpu"]], "tensor_parallel": [1]} | hardware,
        "traffic": {
            "arrival": {"kind": "poisson", "mean_rps": 2.0},
            "prompt_tokens": {"kind": "fixed", "tokens": 200},
            "output_tokens": {"kind": "fixed", "tokens": 50},
        },
        "slo": {"ttft_p95_ms": 1000},
        "priced_at": "2026-11-30",
    }
    path = folder / "scenario.json"
    path.write_text(json.dumps(document))
    return path


def test_runs_in_a_scenario_with_its_calibration_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sweep.json").write_bytes(slower_server(1.25))
    out = tmp_path / "out.json"
    arguments = (tmp_path / "sweep.json", "--scenario", scenario(tmp_path), "--measured-on", "2026-11-20")
    code, text, _ = call(capsys, *arguments, "--out", out)
    assert code == 0
    assert "4 runs" in text
    planned = parse_scenario(out.read_text())
    assert planned.calibrations is not None
    assert planned.calibrations[0].host_factor > 1
    code, told, _ = call(capsys, *arguments, "--json")
    assert json.loads(told)["calibration"] == planned.calibrations[0].model_dump(mode="json")


def test_a_folder_of_single_requests_is_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "H100_log"
    log.mkdir()
    (log / "meta.json").write_bytes(meta())
    (log / "requests.jsonl").write_bytes(steady())
    code, told, _ = call(capsys, log, "--scenario", scenario(tmp_path), "--json")
    assert code == 0
    assert {figure["metric"] for figure in json.loads(told)["figures"]} == {"ttft", "tpot"}


@pytest.mark.parametrize(
    ("hardware", "code"),
    [({"gpus": "any"}, "not_one"), ({"tensor_parallel": [1, 2]}, "not_one"), ({"x": 1}, "unknown_field")],
    ids=["any", "two sizes", "unknown"],
)
def test_what_is_not_one_deployment_is_refused(
    hardware: dict[str, Any], code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sweep.json").write_bytes(bench_serving())
    stopped, told, _ = call(capsys, tmp_path / "sweep.json", "--scenario", scenario(tmp_path, **hardware), "--json")
    assert stopped == 2
    assert [error["code"] for error in json.loads(told)["errors"]] == [code]


def test_files_that_cannot_be_used_end_with_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trace.csv").write_text("0,10,5\n1,10,5\n")
    silent = bench_run(4, tpot_ms=7.0, ttft_ms=60.0, max_concurrency=None, request_rate=None)
    (tmp_path / "silent.json").write_bytes(bench_serving(silent))
    where = ("--scenario", scenario(tmp_path))
    for name, code in (
        ("trace.csv", "not_a_measurement"),
        ("silent.json", "nothing_to_fit"),
        ("none", "file_unreadable"),
    ):
        stopped, _, said = call(capsys, tmp_path / name, *where)
        assert stopped == 2
        assert f"[{code}]" in said
    (tmp_path / "sweep.json").write_bytes(bench_serving())
    stopped, _, said = call(capsys, tmp_path / "sweep.json", *where, "--out", tmp_path / "no" / "such")
    assert (stopped, "[file_unwritable]" in said) == (2, True)
