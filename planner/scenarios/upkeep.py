"""What a team does with scenarios besides editing them: tags, archive, comments, copies."""

from collections.abc import Iterable

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.utils import timezone

from planner import planning
from planner.planning.errors import show
from planner.scenarios.models import MAX_TAG_CHARACTERS, Comment, Scenario, ScenarioTag, ScenarioVersion
from planner.scenarios.search import words_of
from planner.scenarios.selectors import person, version_newest
from planner.scenarios.services import scenario_create
from planner.teams.audit import Detail, record
from planner.teams.models import Role, Team, User
from planner.teams.rules import Action, allows, role_of

MOST_TAGS = 20
COPY = " (copy)"
MAX_NAME_CHARACTERS = 200


@transaction.atomic
def scenario_tag(*, scenario: Scenario, user: User | None, names: Iterable[str]) -> list[str]:
    """Gives the scenario these tags and no others; returns them as stored: trimmed, small letters, in order.

    ValidationError: more than 20, or one longer than 40 characters or with a comma or a control character.
    """
    Scenario.objects.select_for_update().get(pk=scenario.pk)
    wanted = sorted({" ".join(name.split()).lower() for name in names} - {""})
    if len(wanted) > MOST_TAGS:
        raise ValidationError(f"At most {MOST_TAGS} tags.")
    for name in wanted:
        if len(name) > MAX_TAG_CHARACTERS or "," in name or not name.isprintable():
            allowed = f"at most {MAX_TAG_CHARACTERS} characters, no commas, nothing that does not print"
            raise ValidationError(f"{show(name)} is no tag: {allowed}.")
    scenario.tags.all().delete()
    ScenarioTag.objects.bulk_create(ScenarioTag(scenario=scenario, name=name) for name in wanted)
    scenario.words = words_of(scenario)
    scenario.save(update_fields=["words"])
    details = {"tags": ", ".join(wanted)}
    record(team=scenario.team, actor=user, action="scenario.tagged", thing=scenario, details=details)
    return wanted


@transaction.atomic
def scenario_archive(*, scenario: Scenario, user: User | None) -> None:
    """Puts the scenario away: it leaves the list and stays readable. Doing it twice changes nothing."""
    if Scenario.objects.filter(pk=scenario.pk, archived_at=None).update(archived_at=timezone.now()):
        record(team=scenario.team, actor=user, action="scenario.archived", thing=scenario)


@transaction.atomic
def scenario_unarchive(*, scenario: Scenario, user: User | None) -> None:
    """Brings an archived scenario back to the list."""
    if Scenario.objects.filter(pk=scenario.pk, archived_at__isnull=False).update(archived_at=None):
        record(team=scenario.team, actor=user, action="scenario.brought_back", thing=scenario)


def comment_add(*, scenario: Scenario, user: User, text: str) -> Comment:
    """Says something about the scenario as it stands. ValidationError: empty or longer than 4,000 characters."""
    comment = Comment(scenario=scenario, version=version_newest(scenario), created_by=user, text=_plain(text))
    comment.full_clean()
    comment.save()
    return comment


@transaction.atomic
def comment_delete(*, comment: Comment, user: User) -> None:
    """Takes a comment back. PermissionDenied: it is someone else's, and the user does not own the team."""
    if comment.created_by_id != user.pk and role_of(user, comment.scenario.team) != Role.OWNER:
        raise PermissionDenied("Only who wrote a comment, or an owner of the team, can delete it.")
    details = {"by": person(comment.created_by), "said": f"{comment.created_at:%Y-%m-%d %H:%M}"}
    scenario = comment.scenario
    record(team=scenario.team, actor=user, action="comment.deleted", thing=scenario, details=details)
    comment.delete()


def _plain(text: str) -> str:
    """Line ends as \\n, nothing else that does not print."""
    return "".join(c for c in text.replace("\r\n", "\n") if c == "\n" or c.isprintable()).strip()


@transaction.atomic
def scenario_copy(*, version: ScenarioVersion, team: Team, user: User, name: str | None = None) -> ScenarioVersion:
    """Saves a version's content as version 1 of a new scenario of `team`; nothing else goes along.

    Without a name, a copy within the team is called "… (copy)" and one to another team keeps its name.
    The caller has seen to it that the user may save in the version's own team. PermissionDenied: not in `team`.
    planning.ScenarioInvalid: what was saved under an earlier catalog or schema is no longer valid, or the name is too
    long. ValidationError: the note is too long.
    """
    same_team = version.scenario.team_id == team.pk
    if not same_team and not allows(role_of(user, team), Action.EDIT):
        raise PermissionDenied("You may not save scenarios in that team.")
    document = version.document
    if not same_team:  # what a team measured is its own
        document.pop("calibrations", None)
    if name is not None:
        document["name"] = name
    elif same_team:
        document["name"] = copy_name(document["name"])
    note = f"Copy of version {version.number} of {version.scenario.name}"
    copy = scenario_create(team=team, user=user, parsed=planning.parse_scenario(document), note=note)
    if not same_team:  # the other team's log says that it was saved; this one's, that it left
        scenario = version.scenario
        details: dict[str, Detail] = {"version": version.number, "to": team.name}
        record(team=scenario.team, actor=user, action="scenario.copied_away", thing=scenario, details=details)
    return copy


def copy_name(name: str) -> str:
    """ "Chat" -> "Chat (copy)", within the longest name."""
    return name[: MAX_NAME_CHARACTERS - len(COPY)] + COPY
