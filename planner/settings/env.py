"""Everything the environment can set, in one typed place; `base.py` reads only this."""

import ipaddress
import os
import re
import secrets
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

PRICE_FEED = re.compile(r"(skypilot:[a-z0-9-]+|gpuhunt(:[a-z0-9-]+)?|genai-prices)=https?://\S+")
HOST_OR_NETWORK = re.compile(r"[0-9A-Za-z._-]+(/[0-9]{1,3})?|[0-9A-Fa-f:.]+(/[0-9]{1,3})?")
BEARER_TOKEN = re.compile(r"[0-9A-Za-z._~+/=-]{24,512}")
PROJECT_DIR = Path(__file__).resolve().parents[2]
TLS_OF_POSTGRES = ("sslmode", "sslrootcert", "sslcert", "sslkey")
SCHEMES = {
    "database_url": ("postgres", "postgresql"),
    "broker_url": ("redis", "rediss", "amqp", "amqps", "filebroker"),
}


class Env(BaseSettings):
    """Settings from `PLANNER_*` variables, an `.env` file, or one file per secret: in PLANNER_SECRETS_DIR, or named by
    the variable with `_FILE` at its end."""

    model_config = SettingsConfigDict(
        env_prefix="PLANNER_", env_file=PROJECT_DIR / ".env", extra="ignore", env_ignore_empty=True
    )

    debug: bool = False
    secret_key: SecretStr | None = Field(None, description="Signing key; made once in data_dir when absent.")
    data_dir: Path = Field(PROJECT_DIR / "var", description="SQLite file, file broker, generated key, caches.")
    database_url: SecretStr | None = Field(None, description="postgres://user:password@host:port/name, else SQLite.")
    broker_url: SecretStr | None = Field(None, description="redis://… or amqp://…, else files in data_dir.")
    allowed_hosts: Annotated[list[str], NoDecode] = ["localhost", "127.0.0.1", "[::1]"]
    https: bool = Field(False, description="Served over HTTPS: secure cookies, HSTS, forwarded protocol trusted.")
    proxies: int = Field(
        0,
        ge=0,
        le=8,
        description="Proxies in front that add to X-Forwarded-For; the client's address is read past them.",
    )
    session_idle_hours: float = Field(12.0, gt=0, le=720, description="Signed out after so long without a request.")
    session_days: float = Field(7.0, gt=0, le=90, description="Signed out so long after signing in, whatever happens.")
    breached_passwords_file: Path | None = Field(
        None, description="SHA-1 hashes of known passwords, ordered, one a line (`HASH:count`); none of them is taken."
    )
    lease_s: float = Field(
        15.0, ge=1, le=3600, description="A worker that does not renew its run for this long loses it."
    )
    worker_processes: int = Field(2, ge=1, le=64, description="Runs computed at the same time by one worker.")
    open_runs_per_team: int = Field(
        1000, ge=0, description="Runs of one team waiting or under way; more are refused. 0: no limit."
    )
    stored_runs_per_team: int = Field(
        0, ge=0, description="Runs that one team may keep; more are refused. 0: no limit."
    )
    keep_runs_days: int = Field(0, ge=0, description="Finished runs are deleted after so many days. 0: never.")
    web_processes: int | None = Field(
        None, ge=1, le=16, description="Web processes of `up`; left out: two where two cores and 3 GiB are there."
    )
    webhook_private_targets: bool = Field(
        False,
        description="Webhooks may call private addresses and plain http, which reaches what this machine reaches.",
    )
    measure_targets: Annotated[list[str], NoDecode] = Field(
        [], description="Servers beyond this machine that `measure` may load: host names, addresses, networks; commas."
    )
    price_feeds: Annotated[list[str], NoDecode] = Field(
        [], description="Price lists that may be fetched, FORMAT=ADDRESS, by commas: skypilot:aws=https://…/vms.csv."
    )
    price_refresh_hours: float = Field(
        0, ge=0, le=8760, description="Fetch each of them after so many hours and report the difference; 0: never."
    )
    price_feeds_private: bool = Field(False, description="Price lists may lie on private addresses and plain http.")
    metrics_token: SecretStr | None = Field(
        None, description="Bearer token that reads /metrics from elsewhere than this machine."
    )
    static_root: Path | None = Field(None, description="Collected static files (set in the image).")
    admin_email: str = Field("admin@localhost", description="The first admin, made by `up` when there is nobody yet.")
    admin_password: SecretStr | None = Field(None, description="Theirs; generated and printed once when absent.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["text", "json"] = Field("text", description="Lines for people, or JSON objects for collectors.")

    @field_validator("database_url", "broker_url")
    @classmethod
    def _known(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        known = SCHEMES[str(info.field_name)]
        if value is not None and value.get_secret_value().partition("://")[0] not in known:
            raise ValueError(f"must start with {' or '.join(f'{scheme}://' for scheme in known)}")
        return value

    @field_validator("metrics_token")
    @classmethod
    def _bearer(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not BEARER_TOKEN.fullmatch(value.get_secret_value()):
            raise ValueError("must have 24 to 512 letters, digits or -._~+/=")
        return value

    @field_validator("allowed_hosts", "measure_targets", "price_feeds", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [host.strip() for host in value.split(",") if host.strip()] if isinstance(value, str) else value

    @field_validator("price_feeds")
    @classmethod
    def _feeds(cls, value: list[str]) -> list[str]:
        if not all(PRICE_FEED.fullmatch(entry) for entry in value):
            raise ValueError("must be skypilot:CLOUD=ADDRESS, gpuhunt=ADDRESS or genai-prices=ADDRESS, by commas")
        return value

    @field_validator("measure_targets")
    @classmethod
    def _targets(cls, value: list[str]) -> list[str]:
        for entry in value:
            if not HOST_OR_NETWORK.fullmatch(entry):
                raise ValueError("must be host names, addresses or networks such as 10.0.0.0/8, by commas")
            if "/" in entry:
                ipaddress.ip_network(entry, strict=False)
        return value


SECRETS = tuple(name for name, field in Env.model_fields.items() if field.annotation == SecretStr | None)


def load_env() -> Env:
    """Reads the environment. A bad value ends the start (SystemExit) with a line for each, without the values: they may
    be secrets."""
    folder = os.environ.get("PLANNER_SECRETS_DIR") or None
    if folder is not None and not os.path.isdir(folder):
        raise SystemExit(f"staircase: PLANNER_SECRETS_DIR: there is no folder {folder}")
    try:
        env = Env(_secrets_dir=folder, **_from_files())
    except ValidationError as error:
        lines = [f"PLANNER_{str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors(include_input=False)]
        raise SystemExit("\n".join(f"staircase: {line}" for line in lines)) from None
    return env


def _from_files() -> dict[str, Any]:
    """Secrets from the files that PLANNER_<NAME>_FILE names; SystemExit: unreadable, or the value is given as well."""
    found: dict[str, Any] = {}
    for name in SECRETS:
        variable = f"PLANNER_{name.upper()}"
        path = os.environ.get(f"{variable}_FILE")
        if not path:
            continue
        if os.environ.get(variable):
            raise SystemExit(f"staircase: {variable}_FILE: {variable} is given as well; leave one out")
        try:
            found[name] = Path(path).read_text().strip() or None
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise SystemExit(f"staircase: {variable}_FILE: {path} cannot be read: {reason}") from None
    return found


def secret_key(env: Env) -> str:
    """The given key, or one made on the first start and kept in the data folder, readable by its owner alone."""
    if env.secret_key is not None:
        return env.secret_key.get_secret_value()
    path = env.data_dir / "secret_key"
    if not path.exists():
        env.data_dir.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{secrets.token_hex(8)}")
        temporary.touch(mode=0o600)
        temporary.write_text(secrets.token_urlsafe(50))
        try:
            os.link(temporary, path)  # the first of two simultaneous starts wins, the other reads its key
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    return path.read_text()


def broker_options(env: Env, url: str) -> dict[str, Any]:
    """Celery's transport options. Redis: what a killed worker held comes back at the first sweep after an hour; the
    reaper is far quicker, so the sweep only has to lose nothing. RabbitMQ redelivers when the connection drops.
    """
    if url.startswith("filebroker:"):
        return {"folder": str(env.data_dir / "broker"), "polling_interval": 0.05}
    if url.startswith("redis"):
        return {
            "visibility_timeout": 3600,
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            "socket_connect_timeout": 4,
            "socket_keepalive": True,
        }
    return {}


def static_storage(env: Env) -> str:
    """Names with a content hash once collected (in the image); otherwise the files are served from where they lie."""
    if env.static_root is None:
        return "django.contrib.staticfiles.storage.StaticFilesStorage"
    return "whitenoise.storage.CompressedManifestStaticFilesStorage"


def database(env: Env) -> dict[str, Any]:
    """Django's DATABASES entry: PostgreSQL by address, or SQLite in the data folder with write-ahead logging."""
    if env.database_url is None:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": env.data_dir / "staircase.sqlite3",
            "CONN_MAX_AGE": 60,
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=20000;",
            },
        }
    url = urlsplit(env.database_url.get_secret_value())
    given = dict(parse_qsl(url.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": url.path.lstrip("/"),
        "USER": unquote(url.username or ""),
        "PASSWORD": unquote(url.password or ""),
        "HOST": url.hostname or "",
        "PORT": url.port or "",
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {name: given[name] for name in TLS_OF_POSTGRES if name in given},
    }
