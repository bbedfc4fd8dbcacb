import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from planner.settings.env import PROJECT_DIR, Env, broker_options, database, load_env, secret_key


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Env.model_fields:
        monkeypatch.delenv(f"PLANNER_{name.upper()}", raising=False)
        monkeypatch.delenv(f"PLANNER_{name.upper()}_FILE", raising=False)
    monkeypatch.delenv("PLANNER_SECRETS_DIR", raising=False)


def env(**values: Any) -> Env:
    return Env(_env_file=None, **values)


def test_secrets_come_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planner_secret_key").write_text("from a file\n")
    monkeypatch.setenv("PLANNER_SECRETS_DIR", str(tmp_path))
    assert secret_key(load_env()) == "from a file"


def test_the_token_of_the_metrics_comes_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planner_metrics_token").write_text("0123456789abcdef01234567\n")
    monkeypatch.setenv("PLANNER_SECRETS_DIR", str(tmp_path))
    token = load_env().metrics_token
    assert token is not None
    assert token.get_secret_value() == "0123456789abcdef01234567"


def test_each_secret_may_stand_in_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("from its own file\n")
    monkeypatch.setenv("PLANNER_SECRET_KEY_FILE", str(tmp_path / "key"))
    assert secret_key(load_env()) == "from its own file"
    monkeypatch.setenv("PLANNER_SECRET_KEY", "hush")
    with pytest.raises(SystemExit, match="PLANNER_SECRET_KEY is given as well"):
        load_env()
    monkeypatch.delenv("PLANNER_SECRET_KEY")
    monkeypatch.setenv("PLANNER_SECRET_KEY_FILE", str(tmp_path / "none"))
    with pytest.raises(SystemExit, match="cannot be read"):
        load_env()


def test_cookies_of_a_deployment_belong_to_its_host_alone(tmp_path: Path) -> None:
    names = ["SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE"]
    names += ["SESSION_COOKIE_HTTPONLY", "CSRF_COOKIE_HTTPONLY", "SESSION_COOKIE_DOMAIN", "SESSION_COOKIE_PATH"]
    ask = f"from django.conf import settings; print(*(getattr(settings, name) for name in {names}))"
    world = os.environ | {
        "PLANNER_HTTPS": "true",
        "PLANNER_DATA_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "planner.settings.base",
    }
    said = subprocess.run(
        [sys.executable, "-c", ask], env=world, cwd=PROJECT_DIR, capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == ["__Host-staircase_session", "__Host-staircase_csrf", *["True"] * 4, "None", "/"]


def test_secrets_are_not_shown() -> None:
    assert "hush" not in repr(env(secret_key="hush", database_url="postgres://me:hush@db/x"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LEASE_S", "0"),
        ("LEASE_S", "soon"),
        ("LEASE_S", "inf"),
        ("LEASE_S", "nan"),
        ("BROKER_URL", "foo://me:hush@x"),
        ("DATABASE_URL", "mysql://me:hush@db/x"),
        ("SECRETS_DIR", "/no/such/folder"),
        ("WORKER_PROCESSES", "0"),
        ("HTTPS", "perhaps"),
        ("LOG_LEVEL", "LOUD"),
        ("METRICS_TOKEN", "hush"),
        ("METRICS_TOKEN", "hush, this is no bearer token"),
    ],
)
def test_a_bad_value_ends_the_start_with_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"PLANNER_{name}", value)
    with pytest.raises(SystemExit) as ended:
        load_env()
    line = str(ended.value)
    assert line.startswith(f"staircase: PLANNER_{name}: ")
    assert "\n" not in line
    assert "hush" not in line


def test_an_empty_value_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SECRET_KEY", "ALLOWED_HOSTS", "BROKER_URL", "LEASE_S"):
        monkeypatch.setenv(f"PLANNER_{name}", "")
    made = load_env()
    assert made.secret_key is None
    assert made.broker_url is None
    assert "localhost" in made.allowed_hosts


def test_hosts_are_a_list_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_ALLOWED_HOSTS", "a.example.com, b.example.com,")
    assert load_env().allowed_hosts == ["a.example.com", "b.example.com"]


def test_simultaneous_first_starts_share_one_key_that_only_the_owner_reads(tmp_path: Path) -> None:
    keys: list[str] = []
    starts = [threading.Thread(target=lambda: keys.append(secret_key(env(data_dir=tmp_path)))) for _ in range(8)]
    for start in starts:
        start.start()
    for start in starts:
        start.join(10)
    assert len(keys) == 8
    assert len(set(keys)) == 1
    assert len(keys[0]) > 50
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]


def test_sqlite_is_the_default_and_waits_for_locks(tmp_path: Path) -> None:
    settings = database(env(data_dir=tmp_path))
    assert settings["ENGINE"].endswith("sqlite3")
    assert settings["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


def test_postgres_is_one_address_with_any_character_in_its_password() -> None:
    settings = database(env(database_url="postgres://me:p%40ss%2Fw@db.example.com:6543/plans"))
    assert [settings[key] for key in ("NAME", "USER", "PASSWORD", "HOST", "PORT")] == [
        "plans",
        "me",
        "p@ss/w",
        "db.example.com",
        6543,
    ]


def test_postgres_speaks_tls_where_the_address_says_so() -> None:
    settings = database(env(database_url="postgres://me@db/plans?sslmode=verify-full&sslrootcert=/ca.pem&junk=1"))
    assert settings["OPTIONS"] == {"sslmode": "verify-full", "sslrootcert": "/ca.pem"}


def test_each_broker_gets_its_own_options(tmp_path: Path) -> None:
    made = env(data_dir=tmp_path)
    assert broker_options(made, "filebroker://localhost/")["folder"] == str(tmp_path / "broker")
    assert broker_options(made, "redis://h/0")["unacked_restore_interval"] == 5
    assert broker_options(made, "amqp://h//") == {}
