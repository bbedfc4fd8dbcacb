"""What docker-compose.yml and Dockerfile promise, by reading them."""

import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from planner.settings.env import SECRETS, Env
from tests.deployment.compose import APP_SERVICES, compose, image_environment
from tests.processes import ROOT

SERVICES = compose()["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()


@pytest.mark.parametrize("name", APP_SERVICES)
def test_our_containers_are_read_only_and_powerless(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert any(entry.startswith("/data") for entry in service["tmpfs"])


def test_the_image_does_not_run_as_root() -> None:
    assert re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE)[-1] == "staircase"
    assert "--uid 10001" in DOCKERFILE
    assert DOCKERFILE.index("USER staircase") < DOCKERFILE.index("CMD")


def test_the_image_installs_by_hash_and_keeps_no_installer_cache() -> None:
    assert "--require-hashes -r requirements.txt" in DOCKERFILE
    assert "--no-cache-dir" in DOCKERFILE


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "prepare"])
def test_every_lasting_service_has_a_health_check(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")


def test_images_are_pinned_to_a_version() -> None:
    images = [service["image"] for service in SERVICES.values() if "build" not in service]
    images += re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert all(re.search(r":\d", image) for image in images)
    assert not any(image.endswith(":latest") for image in images)


def test_no_secret_is_in_the_environment() -> None:
    for service in SERVICES.values():
        names = service.get("environment", {})
        assert not [name for name in names if re.search("PASSWORD$|SECRET_KEY|DATABASE_URL", name)]


def test_every_secret_is_declared_and_made_by_the_script(tmp_path: Path) -> None:
    wanted = {secret for service in SERVICES.values() for secret in service.get("secrets", [])}
    assert wanted == set(compose()["secrets"])
    make = ["bash", str(ROOT / "scripts" / "make_secrets.sh"), str(tmp_path / "secrets")]
    subprocess.run(make, check=True, capture_output=True)
    made = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    assert set(made) == wanted
    assert all(len(text) >= 24 for text in made.values())
    assert made["postgres_password"] in made["planner_database_url"]
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    subprocess.run(make, check=True, capture_output=True)
    assert {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()} == made


def test_every_variable_is_one_that_the_settings_know() -> None:
    known = {f"PLANNER_{name.upper()}" for name in Env.model_fields}
    known |= {"PLANNER_SECRETS_DIR", "PLANNER_MANAGED_ENV", *(f"PLANNER_{name.upper()}_FILE" for name in SECRETS)}
    given = set(image_environment()) | {name for name in SERVICES for name in SERVICES[name].get("environment", {})}
    given |= set(re.findall(r"^# (PLANNER_\w+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert {name for name in given if name.startswith("PLANNER_")} <= known


def test_the_example_names_every_setting_an_operator_may_want() -> None:
    named = set(re.findall(r"PLANNER_\w+", (ROOT / ".env.example").read_text()))
    inside = {"PLANNER_DEBUG", "PLANNER_STATIC_ROOT"}
    assert {f"PLANNER_{name.upper()}" for name in Env.model_fields} - inside <= named


def test_only_what_runs_goes_into_the_image() -> None:
    copied = set(re.findall(r"^COPY (?!--)(\S+)", DOCKERFILE, re.MULTILINE))
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied == allowed
    assert all((ROOT / name).exists() for name in copied)


def test_workers_scale() -> None:
    worker: dict[str, Any] = SERVICES["worker"]
    assert "container_name" not in worker
    assert "ports" not in worker


def test_rabbitmq_comes_only_by_profile() -> None:
    assert SERVICES["rabbitmq"]["profiles"] == ["rabbitmq"]
    url = compose({"PLANNER_BROKER_URL": "amqp://rabbitmq"})["services"]["web"]["environment"]["PLANNER_BROKER_URL"]
    assert url == "amqp://rabbitmq"


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_has_limits(name: str) -> None:
    assert SERVICES[name]["mem_limit"]
    assert SERVICES[name]["cpus"]


def test_what_is_needed_is_healthy_first() -> None:
    assert SERVICES["prepare"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("web", "worker", "reaper"):
        needed = SERVICES[name]["depends_on"]
        assert needed["prepare"] == {"condition": "service_completed_successfully"}
        assert needed["redis"] == {"condition": "service_healthy"}
        assert needed["rabbitmq"] == {"condition": "service_healthy", "required": False}
