"""`manage.py up` as a newcomer runs it: one stack is started and looked at from all sides, then ended."""

import os
import re
import signal
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from planner import planning
from tests.factories import scenario_dict
from tests.processes import Process, alive, command_line, descendants, environment, http, manage, started, wait_for
from tests.services import free_port

EMAIL, PASSWORD = "ada@example.com", "correct horse battery staple"
LINK = r"Sample report: (http://127\.0\.0\.1:\d+)(/sign-in/link/[\w-]+/)"


@dataclass(frozen=True)
class Up:
    process: Process
    variables: dict[str, str]
    folder: Path
    address: str
    link: str

    def child(self, module: str) -> int:
        """Process id of the parent process of a child that `up` started."""
        found = [pid for pid in descendants(self.process.pid) if f" -m {module} " in command_line(pid)]
        return min(found)


def variables(folder: Path) -> dict[str, str]:
    return environment(PLANNER_LEASE_S="2", PLANNER_ADMIN_EMAIL=EMAIL, PLANNER_ADMIN_PASSWORD=PASSWORD)


def arguments(folder: Path, port: int = 0) -> list[str]:
    return ["manage.py", "up", "--port", str(port), "--data-dir", str(folder)]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    folder = tmp_path_factory.mktemp("up") / "made on the way"
    with started(arguments(folder), variables(folder)) as process:
        address, link = process.wait_for_line(LINK, 180).groups()
        yield Up(process, variables(folder) | {"PLANNER_DATA_DIR": str(folder)}, folder, address, link)


@pytest.fixture(scope="module")
def token(up: Up) -> str:
    return manage(up.variables, "token", EMAIL, "--scope", "write").strip()


def test_the_printed_address_opens_the_sample_report_signed_in_once(up: Up) -> None:
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    with opener.open(up.address + up.link, timeout=20) as page:
        assert re.fullmatch(r"/reports/[0-9a-f-]{36}/", page.url.removeprefix(up.address))
        assert planning.sample_scenario()["name"] in page.read().decode()
    assert http(up.address + up.link).status == 410


def test_the_wait_for_the_first_report_is_announced(up: Up) -> None:
    assert any(line.startswith(f"Pages at {up.address}/ - computing the sample report") for line in up.process.lines)


def test_it_is_ready(up: Up) -> None:
    answer = http(up.address + "/readyz")
    assert (answer.status, answer.json) == (200, {"status": "ok", "database": "ok", "broker": "ok", "worker": "ok"})


def test_the_given_admin_is_made_and_no_password_is_shown(up: Up) -> None:
    assert not [line for line in up.process.lines if "password" in line or PASSWORD in line]


def test_a_token_is_printed_and_nothing_else(token: str) -> None:
    assert re.fullmatch(r"stc_[0-9a-f]{12}_[0-9a-f]{40}", token)


def test_a_token_for_nobody_is_refused(up: Up) -> None:
    assert "nobody active" in manage(up.variables, "token", "nobody@example.com", code=1)


def test_a_second_start_on_the_same_data_says_so(up: Up) -> None:
    with started(arguments(up.folder), variables(up.folder)) as second:
        assert second.wait() == 1
        assert second.lines == [
            f"staircase: already running on {up.folder} (process {up.process.pid}, {up.address}/)",
        ]


def test_a_port_in_use_is_one_line(up: Up, tmp_path: Path) -> None:
    port = int(up.address.rpartition(":")[2])
    with started(arguments(tmp_path, port), variables(tmp_path)) as second:
        assert second.wait() == 1
        assert second.lines == [
            f"staircase: cannot listen on port {port}: Address already in use; choose another with --port",
        ]


@pytest.mark.parametrize("place", ["/proc/staircase", "/dev/null/staircase"])
def test_a_folder_that_cannot_be_written_is_one_line(place: str) -> None:
    with started(["manage.py", "up", "--data-dir", place], environment()) as process:
        assert process.wait() == 1
        (line,) = process.lines
        assert line.startswith(f"staircase: cannot write in {place}: ")


def test_a_token_where_nothing_was_started_says_how_to_go_on(tmp_path: Path) -> None:
    with started(["manage.py", "token", EMAIL, "--data-dir", str(tmp_path)], environment()) as process:
        assert process.wait() == 1
        assert process.lines == [
            f"staircase: nothing has been started with data in {tmp_path} yet; start `up`, or name its folder with "
            "--data-dir"
        ]


def test_a_weak_admin_password_is_one_line(tmp_path: Path) -> None:
    weak = environment(PLANNER_ADMIN_PASSWORD="short")
    with started(arguments(tmp_path), weak) as process:
        assert process.wait() == 1
        assert [line for line in process.lines if line.startswith("staircase: PLANNER_ADMIN_")]


def submit(up: Up, token: str, **changes: object) -> str:
    answer = http(up.address + "/api/v1/runs", method="POST", body=scenario_dict(**changes), token=token)
    assert answer.status == 202, answer.body
    return up.address + answer.headers["Location"].removeprefix(up.address)


def test_a_run_by_api_gives_the_bytes_that_planning_gives(up: Up, token: str) -> None:
    run = submit(up, token)
    wait_for("the run is done", lambda: http(run, token=token).json["state"] == "done")
    report = planning.report_bytes(planning.plan(planning.parse_scenario(scenario_dict())))
    assert http(run + "/report", token=token).body == report


def test_the_worker_is_started_again_when_it_dies_and_its_run_completes(up: Up, token: str) -> None:
    sample = planning.sample_scenario() | {"seed": 77}
    run = submit(up, token, **sample)
    wait_for("the run is under way", lambda: http(run, token=token).json["state"] == "running")
    old = up.child("celery")
    for pid in (old, *descendants(old)):
        kill(pid)
    up.process.wait_for_line(r"The worker ended \(-9\) and was started again", 20)
    wait_for("the run is done", lambda: http(run, token=token).json["state"] == "done", 120)
    assert up.child("celery") != old


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def test_the_web_process_never_loads_the_compiler(up: Up) -> None:
    web = up.child("gunicorn")
    for pid in (web, *descendants(web)):
        assert "llvmlite" not in Path(f"/proc/{pid}/maps").read_text()


def test_the_logs_hold_no_secret(up: Up, token: str) -> None:
    logs = "".join(path.read_text() for path in (up.folder / "log").iterdir())
    for secret in (token.rpartition("_")[2], up.link.split("/")[-2], PASSWORD):
        assert secret not in logs


def test_stopping_while_busy_leaves_no_process_and_the_next_start_resumes(up: Up, token: str) -> None:
    sample = planning.sample_scenario() | {"seed": 78}
    run = submit(up, token, **sample)
    wait_for("the run is under way", lambda: http(run, token=token).json["state"] == "running")
    below = descendants(up.process.pid)
    assert below
    up.process.send(signal.SIGTERM)
    assert up.process.wait(30) == 0
    assert not [pid for pid in below if alive(pid)]
    with started(arguments(up.folder), up.variables) as second:
        address = second.wait_for_line(LINK, 60).group(1)
        again = address + run.removeprefix(up.address)
        done = wait_for("the run is done", lambda: (a := http(again, token=token).json)["state"] == "done" and a, 120)
        assert done["state"] == "done"
        second.send(signal.SIGINT)
        assert second.wait(30) == 0


def test_children_end_when_up_is_killed(tmp_path: Path) -> None:
    with started(arguments(tmp_path, free_port()), variables(tmp_path)) as process:
        process.wait_for_line(r"Staircase runs at", 90)
        below = descendants(process.pid)
        kill(process.pid)
        wait_for("they are gone", lambda: not [pid for pid in below if alive(pid)], 30)
