"""Starting and cancelling runs."""

import hashlib
from datetime import date

from django.db import transaction
from django.db.models.functions import Now

from planner import planning
from planner.datasets.calibrating import with_team_calibrations
from planner.runs.limits import must_have_room
from planner.runs.messages import wake
from planner.runs.models import IdempotencyKey, Run, State
from planner.scenarios.models import ScenarioVersion
from planner.teams.audit import record
from planner.teams.models import Team, User


class IdempotencyConflict(Exception):  # noqa: N818 - the name says what happened
    """The key was used before with another request."""


def run_digest(parsed: planning.Scenario) -> str:
    """What a result depends on: the canonical scenario with its seed, and the versions of engine and catalog."""
    return hashlib.sha256(f"{planning.scenario_digest(parsed)} {planning.result_version()}".encode()).hexdigest()


@transaction.atomic
def run_submit(
    *,
    team: Team,
    user: User | None,
    parsed: planning.Scenario,
    scenario_version: ScenarioVersion | None = None,
    idempotency_key: str | None = None,
    request_sha256: str | None = None,
) -> Run:
    """Starts a run with the team's calibrations in use, or returns the one that already answers the same question
    within the team.

    - A repeated idempotency key with the same request returns the run it made, whatever its state.
    - An identical run that is done, or under way and not being cancelled, is returned itself. Only when it belongs to
      another saved version is a row of its own made for `scenario_version`: done at once with the same report bytes.
    - Failed and cancelled runs are not shared: submitting again computes again.

    `request_sha256` says when two requests are the same; without it, those with the same digest and version are. The
    API gives the digest of the body, so that a request without a date can be repeated on the next day.

    LimitReached: the team has as many runs as it may.
    IdempotencyConflict: the key came with another request before. ValidationError: key or name too long.
    """
    Team.objects.select_for_update().get(pk=team.pk)  # one submission of a team at a time: doubles see each other
    parsed = with_team_calibrations(team, parsed)
    digest = run_digest(parsed)
    if request_sha256 is None:
        version_id = scenario_version.pk if scenario_version else None
        request_sha256 = hashlib.sha256(f"{digest} {version_id}".encode()).hexdigest()
    if idempotency_key is not None:
        known = IdempotencyKey.objects.select_related("run").filter(team=team, key=idempotency_key).first()
        if known is not None and known.request_sha256 != request_sha256:
            raise IdempotencyConflict
        if known is not None:
            return known.run
    run = _shared(team, digest, scenario_version) or _create(team, user, parsed, digest, scenario_version)
    if idempotency_key is not None:
        key = IdempotencyKey(team=team, key=idempotency_key, request_sha256=request_sha256, run=run)
        key.full_clean()
        key.save()
    return run


def version_run(*, version: ScenarioVersion, user: User | None, priced_at: date | None = None) -> Run:
    """Runs a saved version as it stands, or with the prices of another day; the same question has one run.

    The prices change in the run alone: the version stays what someone saved. planning.ScenarioInvalid: what was saved
    under an earlier catalog or schema, or with prices that this day does not have, cannot be run any more.
    """
    document = version.document if priced_at is None else {**version.document, "priced_at": priced_at.isoformat()}
    parsed = planning.parse_scenario(document)
    return run_submit(team=version.scenario.team, user=user, parsed=parsed, scenario_version=version)


def _shared(team: Team, digest: str, version: ScenarioVersion | None) -> Run | None:
    states = (State.DONE, State.RUNNING, State.QUEUED)
    same = Run.objects.filter(team=team, digest=digest, state__in=states, cancel_requested=False)
    if version is not None:
        same = same.filter(scenario_version=version)
    return same.order_by("state", "created_at").first()  # "done" sorts first


def _create(
    team: Team, user: User | None, parsed: planning.Scenario, digest: str, version: ScenarioVersion | None
) -> Run:
    must_have_room(team)
    run = Run(
        team=team,
        scenario_version=version,
        created_by=user,
        name=parsed.name,
        body=planning.canonical_json(parsed),
        digest=digest,
        priced_at=parsed.priced_at,
        result_version=planning.result_version(),
    )
    run.full_clean()
    done = Run.objects.filter(team=team, digest=digest, state=State.DONE).first()
    if done is not None:
        run.state, run.report, run.progress_ratio = State.DONE, done.report, 1.0
        run.started_at, run.finished_at = done.started_at, done.finished_at
    run.save()
    said = {"scenario": f"{version.scenario_id}:{version.number}" if version else None, "priced_at": f"{run.priced_at}"}
    record(team=team, actor=user, action="run.started", thing=run, label=run.name, details=said)
    if done is None:
        transaction.on_commit(lambda: wake(run.pk))
    return run


@transaction.atomic
def run_cancel(*, run: Run, user: User | None = None) -> Run:
    """Asks a run to stop: a queued one is cancelled at once, a running one at its worker's next beat.

    Cancelling a finished run, or one that was asked before, changes nothing. user: who asks; None: a command on the
    server. Returns the run as it now stands.
    """
    row = Run.objects.filter(pk=run.pk)
    asked = row.filter(state=State.QUEUED).update(state=State.CANCELLED, cancel_requested=True, finished_at=Now())
    if not asked:
        asked = row.filter(state=State.RUNNING, cancel_requested=False).update(cancel_requested=True)
    found = row.get()
    if asked:
        record(team=found.team, actor=user, action="run.cancelled", thing=found, label=found.name)
    return found
