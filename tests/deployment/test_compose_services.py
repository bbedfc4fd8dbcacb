"""The services of docker-compose.yml, started here with their own commands and settings on real services."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from planner import planning
from planner.settings.env import PROJECT_DIR
from tests.deployment.compose import APP_SERVICES, Machine, compose
from tests.factories import scenario_dict
from tests.processes import ROOT, Process, environment, http, manage, started, wait_for
from tests.services import free_port, postgres_database, redis_server

pytestmark = [pytest.mark.postgres, pytest.mark.redis]

SERVICES = compose()["services"]


@dataclass(frozen=True)
class Deployment:
    address: str
    machine: Machine
    processes: dict[str, Process]

    def variables(self, name: str) -> dict[str, str]:
        return environment(**self.machine.variables(SERVICES[name]))


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("deployment")
    port = free_port()
    with ExitStack() as stack:
        redis_url = stack.enter_context(redis_server(folder))
        database_url = stack.enter_context(postgres_database())
        folders = {"/run/secrets": "secrets", "/srv/static": "static", "/data": "data"}
        for name in folders.values():
            (folder / name).mkdir()
        make_secrets(folder / "secrets", database_url)
        machine = Machine(
            folders={there: str(folder / name) for there, name in folders.items()}
            | {"/var/cache/numba": str(PROJECT_DIR / "var" / "numba")},
            addresses={
                "redis://redis:6379/0": redis_url,
                "0.0.0.0:8000": f"127.0.0.1:{port}",
                "http://127.0.0.1:8000/": f"http://127.0.0.1:{port}/",
            },
        )
        made = Deployment(f"http://127.0.0.1:{port}", machine, {})
        manage(made.variables("web"), "collectstatic", "--no-input", "--verbosity", "0")
        for name in APP_SERVICES:
            process = stack.enter_context(started(machine.arguments(SERVICES[name]["command"]), made.variables(name)))
            made.processes[name] = process
            if name == "prepare":
                assert process.wait(60) == 0, process.lines
        wait_for("ready", lambda: ready(made.address), 120)
        yield made


def make_secrets(folder: Path, database_url: str) -> None:
    subprocess.run(["bash", str(ROOT / "scripts" / "make_secrets.sh"), str(folder)], check=True, capture_output=True)
    secret = folder / "planner_database_url"
    assert urlsplit(secret.read_text()).hostname == "postgres"
    secret.chmod(0o600)
    secret.write_text(database_url)


def ready(address: str) -> bool:
    try:
        return http(address + "/readyz").status == 200
    except OSError:
        return False


@pytest.fixture(scope="module")
def token(deployment: Deployment) -> str:
    return manage(deployment.variables("web"), "token", "admin@localhost", "--scope", "run").strip()


def test_a_plan_runs_through_all_services(deployment: Deployment, token: str) -> None:
    answer = http(deployment.address + "/api/v1/runs", method="POST", body=scenario_dict(), token=token)
    assert answer.status == 202, answer.body
    run = deployment.address + urlsplit(answer.headers["Location"]).path
    wait_for("the run is done", lambda: http(run, token=token).json["state"] == "done", 120)
    report = planning.report_bytes(planning.plan(planning.parse_scenario(scenario_dict())))
    assert http(run + "/report", token=token).body == report


@pytest.mark.parametrize("name", ["web", "worker", "reaper"])
def test_the_health_checks_pass(deployment: Deployment, name: str) -> None:
    kind, *words = SERVICES[name]["healthcheck"]["test"]
    words = [deployment.machine.here(word) for word in words]
    check = subprocess.run(
        words[0] if kind == "CMD-SHELL" else words,
        shell=kind == "CMD-SHELL",
        cwd=ROOT,
        env=deployment.variables(name) | {"PLANNER_DATA_DIR": deployment.machine.here("/data")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert check.returncode == 0, check.stdout + check.stderr


def test_pages_name_their_files_by_content(deployment: Deployment) -> None:
    page = http(deployment.address + "/sign-in/").body.decode()
    addresses = [part.partition('"')[0] for part in page.split('href="/static/')[1:]]
    styles = [address for address in addresses if ".css" in address]
    assert styles
    for style in styles:
        answer = http(f"{deployment.address}/static/{style}")
        assert answer.status == 200
        assert "immutable" in answer.headers["Cache-Control"]


def test_the_first_admins_password_comes_from_its_secret_and_is_not_shown(deployment: Deployment) -> None:
    assert not [line for line in deployment.processes["prepare"].lines if "password" in line]
