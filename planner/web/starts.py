"""Where a new scenario starts from: a use case, users, recorded traffic, or the sample."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from planner import planning
from planner.datasets.models import Trace
from planner.datasets.selectors import trace_get
from planner.reports.numbers import number
from planner.reports.separators import NO_BREAK
from planner.teams.models import Team
from planner.web.forms.chain import chain_of
from planner.web.forms.values import TEAM_TRACE, TRACE, Values, values_of

WAYS = {"users": "users", "trace": "trace", "hand": "rate"}
"""Starts that are the chat's figures with another way of saying how many requests there are."""
RATE = "traffic.arrival.mean_rps"


@dataclass(frozen=True, slots=True)
class StartCard:
    """A use case in three lines."""

    id: str
    title: str
    lengths: str
    targets: str


def start_cards() -> tuple[StartCard, ...]:
    """The use cases as the first page offers them."""
    return tuple(_card(preset) for preset in planning.presets())


def start_values(start: str) -> Values:
    """The form's first texts: those of a preset, of a way, or of the sample. KeyError: no such start."""
    if not start:
        values = values_of(planning.sample_scenario())
    elif start in WAYS:
        values = values_of(planning.preset_get("chat").document()) | {"way.traffic": [WAYS[start]]}
    else:
        values = values_of(planning.preset_get(start).document())
    if start not in _preset_ids():
        values["name"] = ["New scenario"]
    mean_rps = chain_of(values).mean_rps
    if mean_rps is not None and RATE not in values:
        values[RATE] = [f"{mean_rps:.3g}"]
    return values


def with_defaults(values: Values, team: Team) -> Values:
    """The same with the team's default assumptions."""
    laid = values_of(team.defaults) if team.defaults else {}
    return values | {name: texts for name, texts in laid.items() if name.startswith(("billing.", "engine."))}


def with_trace(values: Values, team: Team, trace_id: UUID) -> Values:
    """The same with a trace of the team chosen. Trace.DoesNotExist."""
    trace = trace_get(team, trace_id)
    return values | {"way.traffic": ["trace"], TRACE: [f"{TEAM_TRACE}{trace.pk}"]}


def with_fitted(values: Values, team: Team, trace_id: UUID) -> Values:
    """The same with the synthetic traffic that stands for a trace. Trace.DoesNotExist: none, or none was fitted."""
    fitted: dict[str, Any] | None = trace_get(team, trace_id).inspection["profile"]["fitted"]
    if fitted is None:
        raise Trace.DoesNotExist
    laid = values_of({"traffic": fitted["traffic"]})
    kept = {name: texts for name, texts in values.items() if not name.startswith("traffic.")}
    return kept | {name: texts for name, texts in laid.items() if name != "way.model"}


def _card(preset: planning.Preset) -> StartCard:
    document = preset.document()
    traffic = document["traffic"]
    means = [number(traffic[side]["mean"]) for side in ("prompt_tokens", "output_tokens")]
    targets = [_target(key, limit) for key, limit in document["slo"].items()]
    return StartCard(preset.id, preset.title, f"{means[0]} in, {means[1]} out", ", ".join(targets))


def _target(key: str, limit_ms: float) -> str:
    metric = key.partition("_")[0].upper()
    limit = f"{number(limit_ms / 1000)} s" if limit_ms >= 10_000 else f"{number(limit_ms)} ms"
    return f"{metric} {limit}".replace(" ", NO_BREAK)


def _preset_ids() -> set[str]:
    return {preset.id for preset in planning.presets()}
