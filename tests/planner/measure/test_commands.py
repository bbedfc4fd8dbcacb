"""The two commands: what they refuse in one line, and one load test from end to end."""

import json
import os
import signal
import subprocess
import sys
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from planner.planning.errors import ScenarioInvalid
from planner.planning.measuring.served import served
from tests.planner.measure.parts import SCENARIO

ROOT = Path(__file__).parents[3]


def command(name: str, *arguments: str) -> tuple[int, str, str]:
    out, err = StringIO(), StringIO()
    try:
        call_command(name, *arguments, stdout=out, stderr=err)
    except SystemExit as end:
        return int(str(end.code)), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(SCENARIO))
    return str(path)


@pytest.mark.parametrize(
    ("url", "options", "words"),
    [
        ("nonsense", [], "URL: It must be https://host/path. [invalid_url]"),
        ("http://192.0.2.1:80", [], "PLANNER_MEASURE_TARGETS. [not_allowed]"),
        ("http://127.0.0.1:9", [], "http://127.0.0.1:9: it cannot be reached: Connection refused [unreachable]"),
        ("http://127.0.0.1:9", ["--api-key-env", "NO_SUCH_KEY"], "the environment has no NO_SUCH_KEY"),
        ("http://127.0.0.1:9", ["--api-key-file", "/nowhere"], "--api-key-file"),
        ("http://127.0.0.1:9", ["--output", "/nowhere/x.json"], "--output: /nowhere/x.json: No such file"),
    ],
    ids=["url", "far", "nobody", "variable", "file", "output"],
)
def test_measure_refuses(scenario: str, url: str, options: list[str], words: str) -> None:
    code, out, err = command("measure", url, "--model", "m", "--scenario", scenario, *options)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("option", ["--rates=1,x", "--rates=0", "--at-a-time=1.5", "--duration=inf", "--warm-up=-1"])
def test_measure_refuses_numbers_that_cannot_be(scenario: str, option: str) -> None:
    with pytest.raises(CommandError, match="must be"):
        command("measure", "http://127.0.0.1:9", "--model", "m", "--scenario", scenario, option)


def test_measure_names_every_fault_of_the_scenario(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text('{"model": {"id": "no-such"}, "slo": {}}')
    code, _, err = command("measure", "http://127.0.0.1:9", "--model", "m", "--scenario", str(path))
    assert code == 2
    assert "/traffic" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "SCENARIO, or --model and --gpu"),
        (["--model", "llama-3.1-8b-instruct", "--gpu", "no-such"], "no-such"),
        (["--model", "llama-3.1-8b-instruct", "--gpu", "h100", "--tp", "0"], "--tp"),
        (["--model", "llama-3.3-70b-instruct", "--gpu", "l4", "--tp", "1"], "GiB"),
        (["--model", "llama-3.1-8b-instruct", "--gpu", "h100", "--engine", "max_num_seqs=-1"], "/engine/max_num_seqs"),
        (["--speed", "0"], "--speed"),
    ],
    ids=["nothing", "gpu", "tp", "too large", "engine", "speed"],
)
def test_serve_simulated_refuses(arguments: list[str], words: str) -> None:
    code, out, err = command("serve_simulated", *arguments)
    assert (code, out) == (2, "")
    assert words in err or words in err.replace(",", "")
    assert "Traceback" not in err


def test_a_deployment_without_a_plan() -> None:
    document: dict[str, Any] = {**SCENARIO, "engine": {"max_model_len": 4096, "max_num_seqs": 32}}
    found = served(document, date(2026, 11, 30), planned=True, gpu="h100 sxm 80gb", tp=1, replicas=3, max_waiting=5)
    pool = found.fleet.pools[0]
    assert (found.replicas, pool.replicas, found.lanes) == (3, 3, 1)
    assert (pool.config.max_num_seqs, pool.config.max_model_len) == (32, 4096)
    assert found.fleet.admission.max_waiting == 5
    with pytest.raises(ScenarioInvalid):
        served(document, date(2026, 11, 30), planned=True, gpu="h100 sxm 80gb", tp=3)


def test_from_end_to_end(scenario: str, tmp_path: Path) -> None:
    """Both commands as people start them; times are real, so only what does not depend on them is looked at."""
    environment = {**os.environ, "PLANNER_MANAGED_ENV": "0", "PLANNER_DATA_DIR": str(tmp_path), "LLM_KEY": "s3cret"}
    start = [sys.executable, "manage.py"]
    server = subprocess.Popen(
        [*start, "serve-simulated", scenario, "--gpu", "h100 sxm 80gb", "--tp", "1", "--port", "0",
         "--served-model-name", "tiny"],
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        url = next(word for word in line.split() if word.startswith("http://"))
        output = tmp_path / "measured.json"
        measure = subprocess.run(
            [*start, "measure", url, "--model", "tiny", "--scenario", scenario, "--rates", "20", "--warm-up", "0.2",
             "--duration", "1", "--max-duration", "1", "--output", str(output), "--api-key-env", "LLM_KEY"],
            cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
    finally:
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=60)
    assert server.returncode == 0
    assert "Traceback" not in errors + measure.stderr
    assert measure.returncode in (0, 3), measure.stderr
    assert "20 requests/s" in measure.stdout
    document = json.loads(output.read_text())
    assert document["steps"][0]["completed"] > 5
    assert document["steps"][0]["failed"] == 0
    assert "s3cret" not in output.read_text() + measure.stdout + measure.stderr
