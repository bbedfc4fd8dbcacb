"""The one door for scenarios: every fault at once, or a Scenario that can be planned."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import date
from typing import Any

from pydantic import ValidationError

from planner.planning.errors import FieldError, ScenarioInvalid
from planner.planning.own_catalog import OwnCatalog, with_own
from planner.planning.schema.catalog_checks import catalog_errors
from planner.planning.schema.catalog_ids import with_catalog_ids
from planner.planning.schema.checks import cross_field_errors
from planner.planning.schema.read import check_plain, read_object
from planner.planning.schema.scenario import Scenario, with_date
from planner.planning.schema.structural import field_errors

MAX_FIELD_ERRORS = 100


def parse_scenario(
    data: Mapping[str, Any] | bytes | str, *, today: date | None = None, own: OwnCatalog | None = None
) -> Scenario:
    """Validate a scenario document.

    own: what a team puts in where the document says nothing else.

    today: written in as priced_at where the document has none, so that later readings give the same result; without
    it priced_at is required.
    Raises ScenarioInvalid with every fault found; of faults in single fields, the first 100.
    """
    document = read_object(data) if isinstance(data, bytes | str) else dict(data)
    check_plain(document)
    if today is not None:
        document = with_date(document, today)
    if own is not None:
        document = with_own(document, own)
    errors: list[FieldError] = []
    scenario: Scenario | None = None
    try:
        scenario = Scenario.model_validate(document)
    except ValidationError as error:
        errors.extend(field_errors(error, document, MAX_FIELD_ERRORS))
    known = {e.pointer for e in errors}
    errors.extend(e for e in cross_field_errors(document) if e.pointer not in known or e.code == "one_of")
    errors.extend(catalog_errors(document, _date(document)))
    if errors or scenario is None:
        raise ScenarioInvalid(tuple(errors))
    return with_catalog_ids(scenario)


def _date(document: dict[str, Any]) -> date | None:
    try:
        return date.fromisoformat(str(document.get("priced_at")))
    except ValueError:
        return None


def canonical_json(scenario: Scenario) -> str:
    """One text per meaning: defaults filled, absent fields left out, keys sorted; parsing it gives it back."""
    plain = scenario.model_dump(mode="json", exclude_none=True)
    return json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def scenario_digest(scenario: Scenario) -> str:
    """SHA-256 of the canonical JSON, in hex."""
    return hashlib.sha256(canonical_json(scenario).encode()).hexdigest()
