"""The client: one server, one token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from staircase_client.http import Http, Send, send
from staircase_client.results import Estimate
from staircase_client.run import Run


class Client:
    """Calls of the Staircase API. timeout_s: of one request, refusals for the load of the moment included."""

    def __init__(self, url: str, token: str, *, timeout_s: float = 60, send: Send = send) -> None:
        self._http = Http(url, token, timeout_s=timeout_s, send=send)

    def plan(self, scenario: Mapping[str, Any], *, idempotency_key: str | None = None) -> Run:
        """Starts a run of the scenario, or finds the one that answers the same question already.

        ApiError: the scenario is not valid (`faults` has every fault), or the server refused.
        """
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else None
        return Run(self._http, self._http.call("POST", "/runs", body=dict(scenario), headers=headers).json())

    def run(self, run_id: str) -> Run:
        """A run by its id."""
        return Run(self._http, self._http.call("GET", f"/runs/{run_id}").json())

    def runs(self, **filters: Any) -> Iterator[Run]:
        """All runs of the team, newest first."""
        return (Run(self._http, item) for item in self._http.pages("/runs", filters))

    def scenarios(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """All saved scenarios of the team, newest first."""
        return self._http.pages("/scenarios", filters)

    def validate(self, scenario: Mapping[str, Any]) -> dict[str, Any]:
        """The scenario with every default written out. ApiError: it is not valid."""
        checked: dict[str, Any] = self._http.call("POST", "/scenarios/validate", body=dict(scenario)).json()
        return checked

    def estimate(self, scenario: Mapping[str, Any]) -> Estimate:
        """The closed-form estimate, at once; nothing is stored."""
        return Estimate(self._http.call("POST", "/estimates", body=dict(scenario)).json())

    def estimate_rows(
        self, rows: Sequence[Mapping[str, Any]], *, fields: Sequence[str] | None = None
    ) -> list[dict[str, Any]]:
        """Up to 500 estimates: for each row `index`, `cells` (None where it is wrong) and `errors`."""
        body = {"rows": [dict(row) for row in rows], **({"fields": list(fields)} if fields else {})}
        answers: list[dict[str, Any]] = self._http.call("POST", "/estimates/batch", body=body).json()["rows"]
        return answers

    def cells(self, **parameters: Any) -> dict[str, Any]:
        """One estimate as a flat row: the parameters of GET /sheets/estimate."""
        query = {**parameters, "format": "json"}
        row: dict[str, Any] = self._http.call("GET", "/sheets/estimate", query=query).json()
        return row

    def calculate(self, name: str, **parameters: Any) -> dict[str, Any]:
        """A calculator: `formula`, `worked` and `result`."""
        found: dict[str, Any] = self._http.call("GET", f"/calculators/{name}", query=parameters).json()
        return found

    def catalog(self, kind: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """Rows of accelerators, models, gpu-prices or api-prices."""
        return self._http.pages(f"/catalog/{kind}", filters)

    def webhooks(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """All webhooks of the team, each with its last delivery. Needs scope `write`, as all that follows."""
        return self._http.pages("/webhooks", filters)

    def create_webhook(self, url: str, *, events: Sequence[str] | None = None, name: str = "") -> dict[str, Any]:
        """A new webhook; its `secret` is shown this once. ApiError: the address may not be called."""
        body = {"url": url, "name": name, **({"events": list(events)} if events else {})}
        made: dict[str, Any] = self._http.call("POST", "/webhooks", body=body).json()
        return made

    def ping_webhook(self, webhook_id: str) -> dict[str, Any]:
        """Sends a test; the delivery tells what became of it."""
        delivery: dict[str, Any] = self._http.call("POST", f"/webhooks/{webhook_id}/ping").json()
        return delivery

    def enable_webhook(self, webhook_id: str) -> dict[str, Any]:
        """Brings a webhook back that repeated failure disabled."""
        enabled: dict[str, Any] = self._http.call("POST", f"/webhooks/{webhook_id}/enable").json()
        return enabled

    def delete_webhook(self, webhook_id: str) -> None:
        """Ends a webhook."""
        self._http.call("DELETE", f"/webhooks/{webhook_id}")

    def deliveries(self, webhook_id: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """What a webhook was sent, or will be, newest first."""
        return self._http.pages(f"/webhooks/{webhook_id}/deliveries", filters)
