"""Rows for tests, made through the services that make them in the product."""

import itertools
from datetime import date
from typing import Any

from planner import planning
from planner.datasets.calibrating import calibration_start
from planner.datasets.measurements import measurement_confirm
from planner.datasets.models import Calibration, CatalogEntry, EntryKind, Measurement, Purpose, Trace, TraceUpload
from planner.datasets.own import entry_save
from planner.datasets.services import upload_add, upload_begin, upload_confirm
from planner.planning.importers import Answers
from planner.runs.models import Run
from planner.runs.services import run_submit
from planner.scenarios.models import ScenarioVersion
from planner.scenarios.services import scenario_create
from planner.teams.models import ApiToken, Membership, Role, Team, User
from planner.teams.selectors import current_team
from planner.teams.services import token_create, user_create
from planner.webhooks.models import Event, Webhook
from planner.webhooks.services import webhook_create
from tests.load_tests import DEPLOYMENT, bench_serving

PASSWORD = "correct horse battery staple"

_numbers = itertools.count(1)


def make_user(email: str | None = None, **fields: Any) -> User:
    """A user with a personal team; the password is PASSWORD."""
    return user_create(email=email or f"person{next(_numbers)}@example.com", password=PASSWORD, **fields)


def team_of(user: User) -> Team:
    team = current_team(user)
    assert team is not None
    return team


def add_member(team: Team, role: Role = Role.EDITOR) -> User:
    """A new member of `team`, without a personal team, so that `team` is their current one."""
    user = make_user()
    team_of(user).delete()
    Membership.objects.create(team=team, user=user, role=role)
    return user


def make_token(user: User, scope: str = "write") -> tuple[ApiToken, str]:
    return token_create(team=team_of(user), user=user, scope=scope)


def scenario_dict(**changes: Any) -> dict[str, Any]:
    """A small valid scenario: one model, one GPU, short steady traffic. `changes` replace top-level keys."""
    return {
        "name": "Small chat",
        "model": {"id": "meta-llama/Llama-3.1-8B-Instruct"},
        "hardware": {"gpus": ["H100-SXM5-80GB"]},
        "traffic": {
            "arrival": {"kind": "poisson", "mean_rps": 2.0},
            "prompt_tokens": {"kind": "fixed", "tokens": 200},
            "output_tokens": {"kind": "fixed", "tokens": 50},
        },
        "slo": {"ttft_p95_ms": 1000, "tpot_p95_ms": 50},
        "priced_at": "2026-11-30",
        "seed": 1,
    } | changes


def parsed_scenario(**changes: Any) -> planning.Scenario:
    return planning.parse_scenario(scenario_dict(**changes))


def make_scenario(user: User, **changes: Any) -> ScenarioVersion:
    return scenario_create(team=team_of(user), user=user, parsed=parsed_scenario(**changes))


def make_run(user: User, **changes: Any) -> Run:
    """A queued run of `scenario_dict(**changes)`; no message is sent in tests."""
    return run_submit(team=team_of(user), user=user, parsed=parsed_scenario(**changes))


def make_upload(user: User, data: bytes = b"0,10,5\n1,10,5\n", name: str = "Traffic") -> TraceUpload:
    """A file that came in one part."""
    return upload_add(upload=upload_begin(team=team_of(user), user=user, name=name), number=1, data=data)


def make_trace(user: User, data: bytes = b"0,20,5\n2,30,6\n") -> Trace:
    return upload_confirm(upload=make_upload(user, data), answers=Answers(), user=user).trace


def make_webhook(user: User, url: str = "https://example.com/hook", **fields: Any) -> tuple[Webhook, str]:
    """A webhook for every event, and its secret; nothing is sent in tests unless they make an attempt."""
    return webhook_create(team=team_of(user), user=user, url=url, **{"events": Event.values, **fields})


def make_entry(user: User, gpu: str = "H100-SXM5-80GB", usd_per_gpu_hour: float = 1.9) -> CatalogEntry:
    """A GPU price of the team's own."""
    value = {"gpu": gpu, "usd_per_gpu_hour": usd_per_gpu_hour}
    return entry_save(
        team=team_of(user),
        actor=user,
        kind=EntryKind.GPU_PRICE,
        value=value,
        source="Contract 17",
        as_of=date(2026, 11, 1),
    )[0]


def make_file(user: User, data: bytes, name: str = "sweep.json") -> TraceUpload:
    """A file of measurements that came in one part."""
    upload = upload_begin(team=team_of(user), user=user, name=name, purpose=Purpose.MEASUREMENT)
    return upload_add(upload=upload, number=1, data=data)


def make_measurement(user: User, data: bytes | None = None, **said: Any) -> Measurement:
    """A load test of `DEPLOYMENT`, not yet beside its prediction."""
    upload = make_file(user, bench_serving() if data is None else data)
    return measurement_confirm(upload=upload, user=user, deployment={**DEPLOYMENT, **said}).measurement


def make_calibration(user: User) -> Calibration:
    """One that a worker has yet to make."""
    return calibration_start(measurement=make_measurement(user), user=user)


def make_ready_calibration(user: User) -> Calibration:
    """One of `DEPLOYMENT` that is in use: a server with four fifths of the bandwidth that is shipped."""
    key = {name: DEPLOYMENT[name] for name in ("model", "gpu", "engine")} | {"weight_dtype": "bf16"}
    stated = key | {
        "number": 1, "runs": 6, "measured_from": "2026-11-01", "measured_until": "2026-11-20", "bandwidth_factor": 0.8,
        "step_time_p10_ratio": 0.96, "step_time_p90_ratio": 1.05, "closed_ttft_p10_ratio": 0.9,
        "closed_ttft_p90_ratio": 1.2, "open_ttft_p10_ratio": 0.8, "open_ttft_p90_ratio": 1.1,
    }  # fmt: skip
    return Calibration.objects.create(
        team=team_of(user), **key, number=1, sources=[], stated=stated, told={}, state="ready", in_use=True
    )
