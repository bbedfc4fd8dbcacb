"""Pictures of replays: the curves are counts, the table is the statistics, the file is small and well-formed."""

import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from django.core.management import call_command

from planner.planning.validation.replay_pictures import replay_picture, replay_table, running_at, waiting_at
from planner.planning.validation.request_logs import read_request_log, replay_request_log
from planner.planning.validation.svg import ticks
from tests.planning.request_log import NAME, lines, meta, record, steady

SVG = "{http://www.w3.org/2000/svg}"
DOCS = Path(__file__).parents[2] / "docs"


def test_running_and_waiting_are_counted_from_the_times_of_each_request() -> None:
    requests = [record(0.0, 0.5, 2.0), record(0.2, 0.9, 2.6, seen_s=0.5), record(0.3, 1.2, 3.0, seen_s=0.5)]
    measured = read_request_log(NAME, meta(), lines(requests)).measured
    times = np.array([0.1, 0.25, 0.4, 0.6, 2.3, 3.5])
    assert waiting_at(measured, times).tolist() == [0, 1, 2, 0, 0, 0]
    assert running_at(measured, times).tolist() == [1, 1, 1, 3, 2, 0]


def test_a_picture_is_small_well_formed_and_the_same_every_time() -> None:
    replay = replay_request_log(read_request_log(NAME, meta(), steady(400, 0.05)))
    picture = replay_picture(replay)
    assert picture.file_name == "replay-rtxpro6000-small.svg"
    assert len(picture.svg) < 60_000
    root = ElementTree.fromstring(picture.svg)
    assert len(root.findall(f"{SVG}polyline")) == 10, "two curves of two sides, three distributions of two"
    words = " ".join(root.itertext())
    assert all(name in words for name in ("Requests running", "Requests waiting", "TTFT, s", "TPOT, ms", "E2E, s"))
    assert replay_picture(replay).svg == picture.svg


def test_every_point_of_a_picture_lies_on_it() -> None:
    picture = replay_picture(replay_request_log(read_request_log(NAME, meta(), steady())))
    root = ElementTree.fromstring(picture.svg)
    _, _, width, height = (float(part) for part in root.attrib["viewBox"].split())
    points = [
        tuple(map(float, p.split(","))) for mark in root.iter(f"{SVG}polyline") for p in mark.attrib["points"].split()
    ]
    assert all(0 <= x <= width and 0 <= y <= height for x, y in points)


def test_the_table_says_measured_predicted_and_error() -> None:
    requests = lines([record(at, at + 0.4, at + 2.38, prompt=512) for at in range(0, 60, 3)])
    replay = replay_request_log(read_request_log(NAME, meta(), requests))
    rows = {row.split(" | ")[0].strip("| "): row.strip("| ").split(" | ") for row in replay_table(replay).splitlines()}
    assert rows["TTFT, s"][1] == rows["TTFT, s"][4] == rows["TTFT, s"][7] == "0.40"
    assert rows["TPOT, ms"][1] == "20.0"
    assert rows["E2E, s"][1] == "2.38"
    predicted_ms = replay.predicted.latency_ms("tpot").mean()
    assert rows["TPOT, ms"][2:4] == [f"{predicted_ms:.1f}", f"{100 * (predicted_ms / 20 - 1):+.0f} %"]


def test_a_log_of_one_token_requests_has_a_picture_without_tpot() -> None:
    requests = lines([record(at, at + 0.2, at + 0.2, output=1) for at in range(3)])
    picture = replay_picture(replay_request_log(read_request_log(NAME, meta(), requests)))
    assert "TPOT" not in picture.svg + picture.table


@pytest.mark.parametrize("largest", [0.003, 0.9, 1, 7, 128, 172, 99_999])
def test_ticks_are_few_round_and_reach_the_largest(largest: float) -> None:
    found = ticks(largest)
    assert found[0] == 0
    assert found[-2] < largest <= found[-1] * (1 + 1e-9)
    assert 2 <= len(found) <= 6
    assert re.fullmatch(r"[125](\.0+)?e[+-]\d+", f"{found[1]:.6e}")


def log_folder(tmp_path: Path) -> Path:
    logs = tmp_path / "logs"
    (logs / NAME).mkdir(parents=True)
    (logs / NAME / "meta.json").write_bytes(meta())
    (logs / NAME / "requests.jsonl").write_bytes(steady())
    (logs / "broken").mkdir()
    (logs / "broken" / "requests.jsonl").write_bytes(b"{")
    return logs


def test_the_command_writes_a_picture_per_log_and_prints_its_table(tmp_path: Path) -> None:
    pictures, printed = tmp_path / "new" / "pictures", io.StringIO()
    call_command("validate", "--requests", str(log_folder(tmp_path)), "--pictures", str(pictures), stdout=printed)
    assert [path.name for path in pictures.iterdir()] == ["replay-rtxpro6000-small.svg"]
    assert "| TTFT, s |" in printed.getvalue()
    assert "broken: request log not readable" in printed.getvalue()


def test_json_stays_the_documented_object_when_pictures_are_drawn(tmp_path: Path) -> None:
    printed = io.StringIO()
    arguments = ("--requests", str(log_folder(tmp_path)), "--pictures", str(tmp_path / "pictures"), "--json")
    call_command("validate", *arguments, stdout=printed)
    report = json.loads(printed.getvalue())
    assert (report["requests"]["predicted"], report["requests"]["skipped"]) == (9, {"request log not readable": 1})
    assert (tmp_path / "pictures" / "replay-rtxpro6000-small.svg").is_file()


def test_pictures_without_logs_or_without_a_folder_exit_2(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    for arguments in (
        ("--pictures", str(tmp_path / "pictures")),
        ("--requests", str(tmp_path), "--pictures", str(blocked)),
        ("--requests", str(tmp_path), "--pictures", str(blocked / "below")),
    ):
        problem = io.StringIO()
        with pytest.raises(SystemExit) as stopped:
            call_command("validate", *arguments, stderr=problem, stdout=io.StringIO())
        assert stopped.value.code == 2
        assert problem.getvalue().count("\n") == 1


def test_the_pictures_of_the_document_are_there_and_small() -> None:
    named = re.findall(r"!\[[^\]]+\]\(([^)]+\.svg)\)", (DOCS / "validation.md").read_text())
    assert named
    for name in named:
        ElementTree.parse(DOCS / name)
        assert (DOCS / name).stat().st_size < 60_000
