"""Every operation of the OpenAPI document, tried with what it allows and what it does not: no failure of the server,
and no answer that the document does not name.

Longer by hand: `PLANNER_SCHEMATHESIS_EXAMPLES=300 manage.py test tests/planner/api/test_schemathesis.py`.
"""

import io
import os
from typing import Any

import pytest
import requests
import schemathesis
import urllib3
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks

from planner.api.views import runs
from planner.api.views.service import OPENAPI_FILE
from planner.teams.models import User
from tests.factories import make_token
from tests.planner.api.test_permissions import MADE, Things

EXAMPLES = int(os.environ.get("PLANNER_SCHEMATHESIS_EXAMPLES", "5"))
SERVER = "http://testserver"
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
OPERATIONS = [found.ok() for found in schemathesis.openapi.from_path(str(OPENAPI_FILE)).get_all_operations()]
GROUPS = sorted({operation.path.split("/")[3] for operation in OPERATIONS})


@pytest.fixture
def caller(user: User, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A token that may do everything, and ids of things that are there."""
    monkeypatch.setattr(runs, "wait_while", lambda *_: None)
    things = Things(user)
    return {"token": make_token(user)[1], "things": {name: things[name] for name in MADE}}


@pytest.mark.parametrize("group", GROUPS)
def test_every_answer_is_one_that_the_document_names(group: str, caller: dict[str, Any]) -> None:
    for operation in OPERATIONS:
        if operation.path.split("/")[3] == group:
            try_operation(operation, caller)


def try_operation(operation: Any, caller: dict[str, Any]) -> None:
    allowed = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    refused = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=EXAMPLES < 100,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=st.one_of(allowed, refused), there=st.sampled_from([True, True, True, False]))
    def each(case: Any, there: bool) -> None:
        for name in (case.path_parameters or {}) if there else ():
            known = caller["things"].get(name.removesuffix("_id"))
            if known is not None:
                case.path_parameters[name] = known if isinstance(known, int) else str(known)
        cache.clear()  # limits
        with transaction.atomic():
            answered = send(case, caller["token"])
            transaction.set_rollback(True)  # each case finds the same things
        case.validate_response(answered, checks=CHECKS)

    each()


def send(case: Any, token: str) -> requests.Response:
    """The case through Django's own client: the WSGI application would close the test's database."""
    parts = case.as_transport_kwargs(base_url=SERVER)
    wanted = {name: parts.get(name) for name in ("method", "url", "headers", "params", "data", "json", "cookies")}
    asked = requests.Request(**wanted).prepare()
    body = asked.body if isinstance(asked.body, bytes) else (asked.body or "").encode()
    headers = {**asked.headers, "Authorization": f"Bearer {token}"}
    kind = headers.pop("Content-Type", "")
    client = Client(raise_request_exception=False)
    path = asked.url.removeprefix(SERVER) if asked.url else ""
    answered = client.generic(case.method, path, body, content_type=kind, headers=headers)
    content = b"".join(answered.streaming_content) if answered.streaming else answered.content
    raw = urllib3.HTTPResponse(
        io.BytesIO(content), headers=dict(answered.items()), status=answered.status_code, preload_content=False
    )
    return requests.adapters.HTTPAdapter().build_response(asked, raw)
