"""One case for every endpoint: who is let in, and what another team sees."""

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from planner.api.urls import urlpatterns
from planner.reports.models import ShareLink
from planner.reports.tables import TABLES
from planner.runs.models import Run
from planner.scenarios.models import Scenario
from planner.scenarios.upkeep import comment_add
from planner.teams.invitations import invitation_create
from planner.teams.models import ApiToken, Role, User
from planner.teams.services import link_token_create, token_create, token_revoke
from planner.webhooks.models import Webhook
from planner.webhooks.services import webhook_ping
from tests.factories import (
    add_member,
    make_calibration,
    make_entry,
    make_file,
    make_measurement,
    make_run,
    make_scenario,
    make_token,
    make_trace,
    make_upload,
    make_user,
    make_webhook,
    scenario_dict,
    team_of,
)
from tests.load_tests import DEPLOYMENT, bench_run, bench_serving
from tests.planner.api.flat import CALCULATIONS, QUESTION, cell
from tests.planner.api.support import Api, problem


@dataclass(frozen=True)
class Endpoint:
    """`path` may hold {run} or {scenario}, and `body` may be made of them; `needs` is the scope; `ok` what an allowed
    caller gets; `roles` who may: of none named, viewers what only reads, editors all."""

    method: str
    path: str
    needs: str
    ok: int
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    roles: tuple[str, ...] | None = None

    def allows(self, role: str) -> bool:
        if self.roles is not None:
            return role in self.roles
        return self.needs == "read" or role != "viewer"

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


ANY = (("If-Match", "*"),)
OWNERS = ("owner",)
OWN_PRICE = {
    "kind": "gpu-prices",
    "value": {"gpu": "H200-SXM-141GB", "usd_per_gpu_hour": 2.5},
    "source": "Contract 17",
    "as_of": "2026-11-01",
}
SAME_ENTRY = {
    "value": {"gpu": "H100-SXM5-80GB", "usd_per_gpu_hour": 1.8},
    "source": "Contract 18",
    "as_of": "2026-11-02",
}
EVERYONE = ("owner", "editor", "viewer")
ENDPOINTS = [
    Endpoint("GET", "/runs", "read", 200),
    Endpoint("POST", "/runs", "run", 202, scenario_dict(name="Another")),
    Endpoint("GET", "/runs/{run}", "read", 200),
    Endpoint("DELETE", "/runs/{run}", "run", 204),
    Endpoint("GET", "/runs/{run}/report", "read", 409),
    Endpoint("GET", "/runs/{run}/requests", "read", 409),
    *(Endpoint("GET", f"/runs/{{run}}/{name}", "read", 409) for name in TABLES),
    Endpoint("GET", "/scenarios", "read", 200),
    Endpoint("GET", "/scenarios/{scenario}", "read", 200),
    Endpoint("POST", "/scenarios", "write", 201, {"scenario": scenario_dict(name="Saved")}),
    Endpoint("GET", "/scenarios/{scenario}/versions", "read", 200),
    Endpoint("POST", "/scenarios/{scenario}/versions", "write", 201, {"scenario": scenario_dict(seed=3)}, ANY),
    Endpoint("GET", "/scenarios/{scenario}/versions/1", "read", 200),
    Endpoint("GET", "/scenarios/{scenario}/diff?from=1", "read", 200),
    Endpoint("POST", "/scenarios/{scenario}/copy", "write", 201, {}),
    Endpoint("PUT", "/scenarios/{scenario}/archive", "write", 204),
    Endpoint("DELETE", "/scenarios/{scenario}/archive", "write", 204),
    Endpoint("GET", "/scenarios/{scenario}/tags", "read", 200),
    Endpoint("PUT", "/scenarios/{scenario}/tags", "write", 200, {"tags": ["eu"]}),
    Endpoint("GET", "/scenarios/{scenario}/comments", "read", 200),
    Endpoint("POST", "/scenarios/{scenario}/comments", "write", 201, {"text": "Looks right."}),
    Endpoint("GET", "/comparisons?of={scenario},run:{run}", "read", 200),
    Endpoint(
        "POST", "/comparisons", "read", 200, lambda things: {"of": [str(things["scenario"]), f"run:{things['run']}"]}
    ),
    Endpoint("GET", "/share-links", "read", 200),
    Endpoint("POST", "/share-links", "write", 422, lambda things: {"run_id": str(things["run"])}),  # it is not done
    Endpoint("GET", "/share-links/{share}", "read", 200),
    Endpoint("DELETE", "/share-links/{share}", "write", 204),
    Endpoint("DELETE", "/scenarios/{scenario}/comments/{comment}", "write", 204, roles=OWNERS),  # or its author
    Endpoint("GET", "/scenarios/{scenario}/comments/{comment}", "read", 200),
    Endpoint("POST", "/scenarios/validate", "read", 200, scenario_dict()),
    Endpoint("POST", "/estimates", "read", 200, scenario_dict()),
    Endpoint("POST", "/estimates/batch", "read", 200, {"rows": [QUESTION]}),
    Endpoint("GET", cell(), "read", 200),
    Endpoint("GET", "/sheets/links", "read", 200),
    *(Endpoint("GET", f"/calculators/{name}?{urlencode(query)}", "read", 200) for name, query in CALCULATIONS.items()),
    Endpoint("POST", "/calculators/lesson", "read", 200, {"slots": 1, "requests": [{"output_tokens": 1}]}),
    Endpoint("POST", "/sheets/links", "write", 201, {"name": "A sheet"}),
    Endpoint("GET", "/sheets/links/{link}", "read", 200),
    Endpoint("DELETE", "/sheets/links/{link}", "write", 204),
    Endpoint("GET", "/traces", "read", 200),
    Endpoint("GET", "/traces/{trace}", "read", 200),
    Endpoint("GET", "/traces/{trace}/scenario-trace", "read", 200),
    Endpoint("DELETE", "/traces/{trace}", "write", 204),
    Endpoint("GET", "/traces/uploads", "read", 200),
    Endpoint("POST", "/traces/uploads", "write", 201, {"name": "A file"}),
    Endpoint("GET", "/traces/uploads/{upload}", "read", 200),
    Endpoint("POST", "/traces/uploads/{upload}/parts?number=2", "write", 200, b"2,10,5\n"),
    Endpoint("POST", "/traces/uploads/{upload}/preview", "write", 200, {}),
    Endpoint("POST", "/traces/uploads/{upload}/confirm", "write", 201, {}),
    Endpoint("DELETE", "/traces/uploads/{upload}", "write", 204),
    Endpoint("GET", "/measurements", "read", 200),
    Endpoint("GET", "/measurements/{measurement}", "read", 200),
    Endpoint("DELETE", "/measurements/{measurement}", "write", 204),
    Endpoint("POST", "/measurements/{measurement}/comparison", "write", 202),
    Endpoint("PUT", "/measurements/{measurement}/plan", "write", 200, lambda things: {"run_id": str(things["run"])}),
    Endpoint("DELETE", "/measurements/{measurement}/plan", "write", 200),
    Endpoint("GET", "/measurements/uploads", "read", 200),
    Endpoint("POST", "/measurements/uploads", "write", 201, {"name": "A file"}),
    Endpoint("GET", "/measurements/uploads/{file}", "read", 200),
    Endpoint("POST", "/measurements/uploads/{file}/parts?number=2", "write", 200, b"{}"),
    Endpoint("POST", "/measurements/uploads/{file}/preview", "write", 200),
    Endpoint("POST", "/measurements/uploads/{file}/confirm", "write", 201, {"deployment": DEPLOYMENT}),
    Endpoint("DELETE", "/measurements/uploads/{file}", "write", 204),
    Endpoint("GET", "/calibrations", "read", 200),
    Endpoint("POST", "/calibrations", "write", 202, lambda things: {"measurement_id": str(things["measurement"])}),
    Endpoint("GET", "/calibrations/{calibration}", "read", 200),
    Endpoint("PUT", "/calibrations/{calibration}/use", "write", 422),  # it waits for a worker
    Endpoint("DELETE", "/calibrations/{calibration}/use", "write", 422),
    Endpoint("GET", "/webhooks", "write", 200),
    Endpoint("POST", "/webhooks", "write", 201, {"url": "https://example.com/hook"}),
    Endpoint("GET", "/webhooks/{webhook}", "write", 200),
    Endpoint("DELETE", "/webhooks/{webhook}", "write", 204),
    Endpoint("POST", "/webhooks/{webhook}/ping", "write", 202),
    Endpoint("POST", "/webhooks/{webhook}/enable", "write", 200),
    Endpoint("GET", "/webhooks/{webhook}/deliveries", "write", 200),
    Endpoint("GET", "/webhooks/{webhook}/deliveries/{delivery}", "write", 200),
    Endpoint("GET", "/catalog/entries", "read", 200),
    Endpoint("POST", "/catalog/entries", "write", 201, OWN_PRICE),
    Endpoint("GET", "/catalog/entries/{entry}", "read", 200),
    Endpoint("PUT", "/catalog/entries/{entry}", "write", 200, SAME_ENTRY, ANY),
    Endpoint("DELETE", "/catalog/entries/{entry}", "write", 204),
    Endpoint("GET", "/teams", "read", 200),
    Endpoint("GET", "/teams/{team}", "read", 200),
    Endpoint("PATCH", "/teams/{team}", "write", 200, {"name": "Renamed"}, roles=OWNERS),
    Endpoint("GET", "/teams/{team}/members", "read", 200),
    Endpoint("GET", "/teams/{team}/members/{user}", "read", 200),
    Endpoint("PATCH", "/teams/{team}/members/{user}", "write", 200, {"role": "viewer"}, roles=OWNERS),
    Endpoint("DELETE", "/teams/{team}/members/{user}", "write", 204, roles=OWNERS),
    Endpoint("GET", "/teams/{team}/invitations", "read", 200),
    Endpoint("POST", "/teams/{team}/invitations", "write", 201, {"role": "viewer"}, roles=OWNERS),
    Endpoint("GET", "/teams/{team}/invitations/{invitation}", "read", 200),
    Endpoint("DELETE", "/teams/{team}/invitations/{invitation}", "write", 204, roles=OWNERS),
    Endpoint("GET", "/teams/{team}/tokens", "read", 200),
    Endpoint("POST", "/teams/{team}/tokens", "write", 201, {"scope": "read"}, roles=EVERYONE),
    Endpoint("GET", "/teams/{team}/tokens/{token}", "read", 200),
    Endpoint("DELETE", "/teams/{team}/tokens/{token}", "write", 204, roles=OWNERS),
    Endpoint("GET", "/teams/{team}/audit", "read", 200),
    *(
        Endpoint("GET", f"/catalog/{kind}", "read", 200)
        for kind in ("accelerators", "models", "gpu-prices", "api-prices")
    ),
]
OF_ONE_THING = [endpoint for endpoint in ENDPOINTS if "{" in endpoint.path]
OF_NO_TEAM = (
    "/catalog/accelerators",
    "/catalog/models",
    "/catalog/gpu",
    "/catalog/api",
    "/sheets/estimate",
    "/calculators",
)
PUBLIC = {"openapi.json", "docs", "docs/spreadsheets", ""}


class Things(dict[str, Any]):
    """Ids by the names in the paths, each made when it is first asked for: most endpoints need one."""

    def __init__(self, user: User) -> None:
        self.user, self.team = user, team_of(user)

    def __missing__(self, name: str) -> Any:
        self[name] = MADE[name](self)
        return self[name]

    @property
    def colleague(self) -> User:
        return User.objects.get(pk=self["user"])


def _share(things: Things) -> Any:
    tomorrow = timezone.now() + timedelta(days=1)
    return ShareLink.objects.create(team=things.team, run_id=things["run"], expires_at=tomorrow).pk


def _comment(things: Things) -> Any:
    scenario = Scenario.objects.get(pk=things["scenario"])
    return comment_add(scenario=scenario, user=things.user, text="First.").pk


def _invitation(things: Things) -> Any:
    return invitation_create(team=things.team, actor=things.user, role=Role.VIEWER)[0].pk


MADE: dict[str, Callable[[Things], Any]] = {
    "webhook": lambda things: make_webhook(things.user)[0].pk,
    "delivery": lambda things: webhook_ping(webhook=Webhook.objects.get(pk=things["webhook"])).pk,
    "run": lambda things: make_run(things.user).pk,
    "share": _share,
    "entry": lambda things: make_entry(things.user).pk,
    "team": lambda things: things.team.pk,
    "user": lambda things: add_member(things.team).pk,
    "invitation": _invitation,
    "token": lambda things: make_token(things.colleague)[0].pk,
    "scenario": lambda things: make_scenario(things.user).scenario.pk,
    "comment": _comment,
    "link": lambda things: link_token_create(team=things.team, user=things.user)[0].pk,
    "upload": lambda things: make_upload(things.user).pk,
    "trace": lambda things: make_trace(things.user).pk,
    "measurement": lambda things: make_measurement(things.user).pk,
    "file": lambda things: make_file(things.user, bench_serving(bench_run(8, tpot_ms=8.0, ttft_ms=70.0))).pk,
    "calibration": lambda things: make_calibration(things.user).pk,
}


@pytest.fixture
def things(user: User) -> Things:
    return Things(user)


def in_turn(names: str, cases: Sequence[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes one test of a check of many cases: all things are made once, and what a case does to them is taken back.

    A test for each would make its people and things anew, which takes longer than asking.
    """
    given = names.split(",")

    def test_of(check: Callable[..., None]) -> Callable[..., None]:
        def test(things: Things, subtests: pytest.Subtests, **fixtures: Any) -> None:
            for name in MADE:
                things[name]  # made here, outside of what is taken back
            for case in cases:
                values = dict(zip(given, case if len(given) > 1 else (case,), strict=True))
                cache.clear()  # limits
                with subtests.test(case=" ".join(map(str, values.values()))), transaction.atomic():
                    check(things=things, **values, **fixtures)
                    transaction.set_rollback(True)

        fixtures = [
            each for name, each in inspect.signature(check).parameters.items() if name not in (*given, "things")
        ]
        own = list(inspect.signature(test).parameters.values())[:2]
        test.__signature__ = inspect.Signature([*own, *fixtures])  # type: ignore[attr-defined]
        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return test_of


def send(caller: Api, endpoint: Endpoint, things: Things, end: str = "") -> Any:
    path, question, query = endpoint.path.format_map(things).partition("?")
    body = endpoint.body(things) if callable(endpoint.body) else endpoint.body
    return caller.call(endpoint.method, path + end + question + query, body, dict(endpoint.headers))


def test_every_address_is_listed_here() -> None:
    def plain(route: str) -> str:
        route = route.replace("measurements/uploads/<uuid:upload_id>", "measurements/uploads/{file}")
        return re.sub(r"<(?:uuid|int):(\w+)_id>", r"{\1}", route).replace("<int:number>", "1")

    routes = {plain(str(p.pattern)).rstrip("/") for p in urlpatterns} - PUBLIC
    assert routes == {endpoint.path.removeprefix("/").partition("?")[0] for endpoint in ENDPOINTS}


def test_nobody_gets_in_without_credentials(things: Things, subtests: pytest.Subtests) -> None:
    """One test for all endpoints: what is refused changes nothing that the next would find."""
    for endpoint in ENDPOINTS:
        cache.clear()  # limits
        with subtests.test(endpoint=str(endpoint)):
            response = send(Api(), endpoint, things)
            problem(response, 401, "not-authenticated")
            assert response["WWW-Authenticate"].startswith('Basic realm="staircase"')


ENDS = ("revoked", "expired", "left", "inactive", "wrong", "garbage")
DEAD = [(endpoint, ENDS[number % len(ENDS)]) for number, endpoint in enumerate(ENDPOINTS)]
DEAD += [(ENDPOINTS[0], end) for end in ENDS[1:]]


@in_turn("endpoint,end", DEAD)
def test_a_dead_token_is_no_token(endpoint: Endpoint, end: str, user: User, things: Things) -> None:
    """Every endpoint with one kind of end, in turn, and the first with all: one place tells which token lives."""
    token, text = make_token(user)
    if end == "revoked":
        token_revoke(token=token)
    elif end == "expired":
        ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif end == "left":
        endpoint.path.format_map(things)  # made while there is a membership
        user.memberships.all().delete()
    elif end == "inactive":
        User.objects.update(is_active=False)
    elif end == "wrong":
        text = text[:-1] + ("0" if text[-1] != "0" else "1")
    else:
        text = "stc_\x00_é"
    problem(send(Api(text), endpoint, things), 401, "not-authenticated")


SCOPES = ("read", "run", "write")
AT_THE_EDGE = [
    (endpoint, scope)
    for endpoint in ENDPOINTS
    for scope in SCOPES[max(0, SCOPES.index(endpoint.needs) - 1) : SCOPES.index(endpoint.needs) + 1]
]


@in_turn("endpoint,scope", AT_THE_EDGE)
def test_the_scope_decides(endpoint: Endpoint, scope: str, user: User, things: Things) -> None:
    response = send(Api(make_token(user, scope)[1]), endpoint, things)
    if SCOPES.index(scope) >= SCOPES.index(endpoint.needs):
        assert response.status_code == endpoint.ok, response.content
    else:
        body = problem(response, 403, "forbidden")
        assert endpoint.needs in body["detail"]


@in_turn("endpoint,role", list(product(ENDPOINTS, ["viewer", "editor"])))
def test_the_role_decides(endpoint: Endpoint, role: str, user: User, things: Things) -> None:
    member = add_member(team_of(user), Role(role))
    response = send(Api(make_token(member)[1]), endpoint, things)
    if endpoint.allows(role):
        assert response.status_code == endpoint.ok, response.content
    else:
        problem(response, 403, "forbidden")
        assert not Run.objects.filter(cancel_requested=True).exists()


@in_turn("endpoint", ENDPOINTS)
def test_a_token_of_the_team_is_an_editors_without_a_person(endpoint: Endpoint, user: User, things: Things) -> None:
    _, text = token_create(team=team_of(user), user=user, scope="write", of_team=True)
    response = send(Api(text), endpoint, things)
    if endpoint.allows("editor") and endpoint.roles is not EVERYONE:
        assert response.status_code == endpoint.ok, response.content
    else:
        problem(response, 403, "forbidden")


@in_turn("endpoint", ENDPOINTS)
def test_another_team_sees_nothing(endpoint: Endpoint, user: User, things: Things) -> None:
    stranger = Api(make_token(make_user())[1])
    response = send(stranger, endpoint, things)
    if endpoint in OF_ONE_THING:
        problem(response, 404, "not-found")
        assert not Run.objects.filter(cancel_requested=True).exists()
    elif callable(endpoint.body):
        assert response.status_code in (404, 422), response.content
    elif endpoint.path == "/teams":
        assert str(things["team"]) not in response.content.decode()
    elif endpoint.method == "GET" and not endpoint.path.startswith(OF_NO_TEAM):
        assert response.json()["items"] == []


@in_turn("endpoint", ENDPOINTS)
def test_the_token_decides_the_team_not_its_user(endpoint: Endpoint, user: User, things: Things) -> None:
    other = add_member(team_of(user))
    elsewhere = team_of(make_user())
    elsewhere.memberships.create(user=other, role=Role.OWNER)
    _, text = token_create(team=elsewhere, user=other, scope="write")
    response = send(Api(text), endpoint, things)
    if endpoint in OF_ONE_THING:
        problem(response, 404, "not-found")


@in_turn("endpoint", ENDPOINTS)
def test_a_session_works_and_needs_its_csrf_token(endpoint: Endpoint, user: User, things: Things) -> None:
    caller = Api()
    caller.client.handler.enforce_csrf_checks = True
    caller.client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    response = send(caller, endpoint, things)
    if endpoint.method == "GET":
        assert response.status_code == endpoint.ok
    else:
        problem(response, 403, "forbidden")
    csrf = "a" * 32
    caller.client.cookies["csrftoken"] = csrf
    caller.auth = {"X-CSRFToken": csrf}
    assert send(caller, endpoint, things).status_code == endpoint.ok


@in_turn("endpoint", ENDPOINTS)
def test_a_slash_at_the_end_makes_no_difference(endpoint: Endpoint, api: Api, things: Things) -> None:
    assert send(api, endpoint, things, "/").status_code == endpoint.ok


def test_someone_without_a_team_is_told_so(things: Things, subtests: pytest.Subtests) -> None:
    loner = make_user()
    loner.memberships.all().delete()
    caller = Api()
    caller.client.force_login(loner, backend="django.contrib.auth.backends.ModelBackend")
    for endpoint in ENDPOINTS:
        cache.clear()  # limits
        with subtests.test(endpoint=str(endpoint)):
            response = send(caller, endpoint, things)
            assert "team" in problem(response, 403, "forbidden")["detail"]
