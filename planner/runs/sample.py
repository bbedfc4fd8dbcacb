"""The sample scenario that a new installation starts with."""

from planner import planning
from planner.prices.in_force import prices_in_force
from planner.runs.models import Run, State
from planner.runs.services import run_digest, run_submit
from planner.scenarios.models import ScenarioVersion
from planner.scenarios.services import scenario_create
from planner.teams.models import Team, User
from planner.teams.selectors import current_team


def sample_submit(*, user: User, team: Team | None = None) -> Run:
    """Saves the sample scenario in a team (left out: the user's first) unless it is there, and starts its run unless it
    already ran."""
    team = team or current_team(user)
    if team is None:
        raise ValueError(f"{user} belongs to no team")
    parsed = planning.parse_scenario(planning.sample_scenario())
    saved = ScenarioVersion.objects.filter(
        scenario__team=team, scenario__archived_at=None, digest=planning.scenario_digest(parsed)
    )
    version = saved.order_by("created_at").first() or scenario_create(team=team, user=user, parsed=parsed)
    with prices_in_force():
        return run_submit(team=team, user=user, parsed=parsed, scenario_version=version)


def sample_done() -> Run | None:
    """A finished run of the sample by the present engine and catalog, whoever's. It follows from the product's own data
    alone and says nothing of a team, so anyone may see its report. None: none has finished."""
    parsed = planning.parse_scenario(planning.sample_scenario())
    same = Run.objects.filter(scenario_version__digest=planning.scenario_digest(parsed), digest=run_digest(parsed))
    return same.filter(state=State.DONE).order_by("finished_at").first()
