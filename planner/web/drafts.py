"""Drafts of the scenario form: kept while typing, gone once saved or discarded."""

import uuid
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet

from planner.scenarios.models import Scenario
from planner.teams.models import Team, User
from planner.web.forms.values import Values, first
from planner.web.models import Draft

MAX_DRAFT_CHARACTERS = 500_000
MAX_DRAFTS = 50
MOST_DRAFTS_SHOWN = 5


class DraftTooLarge(ValueError):  # noqa: N818 - the name says what happened
    """More text than a draft holds."""


@dataclass(frozen=True, slots=True)
class Edited:
    """The scenario that a draft changes, and the version that it began with."""

    scenario: Scenario
    base_number: int


@transaction.atomic
def draft_save(*, team: Team, user: User, draft_id: uuid.UUID, values: Values, edited: Edited | None = None) -> Draft:
    """Makes the draft or replaces its texts; of more than 50, those untouched for longest go.

    Draft.DoesNotExist: someone else's. DraftTooLarge.
    """
    if sum(len(text) for texts in values.values() for text in texts) > MAX_DRAFT_CHARACTERS:
        raise DraftTooLarge
    draft = Draft.objects.select_for_update().filter(pk=draft_id).first()
    if draft is None:
        draft = Draft(pk=draft_id, team=team, user=user)
        _make_room(team, user)
    elif (draft.team_id, draft.user_id) != (team.pk, user.pk):
        raise Draft.DoesNotExist
    draft.scenario = edited.scenario if edited else None
    draft.base_number = edited.base_number if edited else None
    draft.name = "".join(c for c in first(values, "name", "") if c.isprintable()).strip()[:200]
    draft.values = values
    draft.save()
    return draft


def drafts_of(team: Team, user: User) -> QuerySet[Draft]:
    """The person's drafts in the team, the last touched first, without their texts."""
    return Draft.objects.filter(team=team, user=user).select_related("scenario").defer("values").order_by("-updated_at")


def draft_get(team: Team, user: User, draft_id: uuid.UUID) -> Draft:
    """One draft of the person. Draft.DoesNotExist: none of theirs."""
    return Draft.objects.get(team=team, user=user, pk=draft_id)


def draft_of_edit(team: Team, user: User, scenario: Scenario) -> Draft | None:
    """What the person typed last into the form of this scenario."""
    return Draft.objects.filter(team=team, user=user, scenario=scenario).order_by("-updated_at").first()


def draft_discard(*, team: Team, user: User, draft_id: uuid.UUID) -> None:
    """Forgets a draft of the person; one that is not there changes nothing."""
    Draft.objects.filter(team=team, user=user, pk=draft_id).delete()


def _make_room(team: Team, user: User) -> None:
    old = drafts_of(team, user).values_list("pk", flat=True)[MAX_DRAFTS - 1 :]
    Draft.objects.filter(pk__in=list(old)).delete()
