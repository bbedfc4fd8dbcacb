"""What is compared: saved versions and runs of a team, by the short names that stand in a comparison's address."""

import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q

from planner.runs.models import Run, State
from planner.runs.selectors import newest_reports
from planner.scenarios.models import ScenarioVersion
from planner.teams.models import Team

FEWEST, MOST = 2, 5
_REF = re.compile(r"(?P<run>run:)?(?P<id>[0-9a-fA-F-]{32,36})(?::(?P<number>[0-9]{1,9}))?")


class NotComparable(ValueError):  # noqa: N818 - the name says what is the case
    """Too few or too many names, one that is none, one that stands twice; the message says which."""


@dataclass(frozen=True, slots=True)
class Ref:
    """Names a scenario's newest version (`ID`), one of its versions (`ID:3`), or a run (`run:ID`)."""

    id: uuid.UUID
    number: int | None = None
    is_run: bool = False

    def __str__(self) -> str:
        if self.is_run:
            return f"run:{self.id}"
        return f"{self.id}" if self.number is None else f"{self.id}:{self.number}"


@dataclass(frozen=True, slots=True)
class Compared:
    """One side of a comparison: a document, and the report of the run, where there is one.

    `ref` names it for good: a newest version goes by its number.
    """

    ref: Ref
    label: str
    document: Mapping[str, Any]
    report: Mapping[str, Any] | None
    version: ScenarioVersion | None
    run: Run | None


def read_refs(texts: Iterable[str]) -> tuple[Ref, ...]:
    """Two to five names, each once. NotComparable: they are not."""
    found = [_ref(text.strip()) for text in texts if text.strip()]
    if not FEWEST <= len(found) <= MOST:
        raise NotComparable(f"{FEWEST} to {MOST} scenarios, versions or runs can be compared; these are {len(found)}.")
    if len(set(found)) < len(found):
        raise NotComparable("One of them stands there twice.")
    return tuple(found)


def _ref(text: str) -> Ref:
    found = _REF.fullmatch(text)
    try:
        if found is None or (found["run"] and found["number"]):
            raise ValueError(text)
        number = int(found["number"]) if found["number"] else None
        return Ref(uuid.UUID(found["id"]), number, is_run=bool(found["run"]))
    except ValueError:
        raise NotComparable(f"{text[:60]!r} names no scenario (ID), version (ID:3) or run (run:ID).") from None


def compared(team: Team, refs: Sequence[Ref]) -> tuple[Compared, ...]:
    """The sides, in the order of their names; a version comes with its newest finished run on its own prices, else on
    any. In four queries however many there are. KeyError with the name that the team does not have."""
    runs = {run.pk: run for run in _runs(team).filter(pk__in=[ref.id for ref in refs if ref.is_run])}
    versions = _versions(team, [ref for ref in refs if not ref.is_run])
    of_versions = newest_reports(versions.values(), _with_versions())
    sides = []
    for ref in refs:
        if ref.is_run:
            run = _named(runs, ref.id, ref)
            sides.append(_side(ref, run.scenario_version, run))
        else:
            version = _named(versions, ref, ref)
            sides.append(_side(Ref(version.scenario_id, version.number), version, of_versions.get(version.pk)))
    return _with_labels(sides)


def _named(found: Mapping[Any, Any], key: object, ref: Ref) -> Any:
    if key not in found:
        raise KeyError(str(ref))
    return found[key]


def _runs(team: Team) -> Any:
    return _with_versions().filter(team=team)


def _with_versions() -> Any:
    return Run.objects.select_related("scenario_version__scenario").defer("partial")


def _versions(team: Team, refs: Sequence[Ref]) -> dict[Ref, ScenarioVersion]:
    """By name. The versions of each scenario that are asked for, and the newest where no number is."""
    if not refs:
        return {}
    wanted = reduce(or_, (Q(scenario=ref.id, **({"number": ref.number} if ref.number else {})) for ref in refs))
    found: dict[Ref, ScenarioVersion] = {}
    rows = ScenarioVersion.objects.filter(wanted, scenario__team=team).select_related("scenario").defer("body")
    for version in rows.order_by("number"):
        found[Ref(version.scenario_id, version.number)] = found[Ref(version.scenario_id)] = version
    bodies = dict(
        ScenarioVersion.objects.filter(pk__in={found[ref].pk for ref in refs if ref in found}).values_list("pk", "body")
    )
    for version in found.values():
        if version.pk in bodies:
            version.body = bodies[version.pk]
    return found


def _side(ref: Ref, version: ScenarioVersion | None, run: Run | None) -> Compared:
    body = run.body if run is not None else version.body if version is not None else "{}"
    report = json.loads(run.report) if run is not None and run.state == State.DONE else None
    name = version.scenario.name if version is not None else run.name if run is not None else ""
    return Compared(ref, name, json.loads(body), report, version, run)


def _with_labels(sides: Sequence[Compared]) -> tuple[Compared, ...]:
    """Names tell the sides apart; where they do not, the version's number and then the day of the prices join them."""
    labels = [side.label for side in sides]
    if len(set(labels)) < len(labels):
        labels = [f"{s.label}, v{s.version.number}" if s.version else s.label for s in sides]
    if len(set(labels)) < len(labels):
        labels = [f"{label}, prices of {side.document['priced_at']}" for label, side in zip(labels, sides, strict=True)]
    if len(set(labels)) < len(labels):
        labels = [f"{label} ({place})" for place, label in enumerate(labels, 1)]
    return tuple(replace(side, label=label) for side, label in zip(sides, labels, strict=True))
