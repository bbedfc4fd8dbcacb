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

    def scenario(self, scenario_id: str) -> dict[str, Any]:
        """A saved scenario: the content of its newest version, all versions, tags."""
        return self._json("GET", f"/scenarios/{scenario_id}")

    def create_scenario(
        self, scenario: Mapping[str, Any], *, note: str = "", tags: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Saves a scenario as its version 1; nothing is run. Needs scope `write`, as every change."""
        return self._json("POST", "/scenarios", body={"scenario": dict(scenario), "note": note, "tags": list(tags)})

    def save_version(
        self, scenario_id: str, scenario: Mapping[str, Any], *, began_with: int, note: str = ""
    ) -> dict[str, Any]:
        """Saves the next version, or returns the newest where nothing differs. began_with: the one changed.

        ApiError of status 412 and kind `version-conflict`: someone saved one meanwhile; nothing was changed.
        """
        body, headers = {"scenario": dict(scenario), "note": note}, {"If-Match": f'"{began_with}"'}
        return self._json("POST", f"/scenarios/{scenario_id}/versions", body=body, headers=headers)

    def versions(self, scenario_id: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """Who saved which version when, newest first."""
        return self._http.pages(f"/scenarios/{scenario_id}/versions", filters)

    def version(self, scenario_id: str, number: int) -> dict[str, Any]:
        """One version with its content."""
        return self._json("GET", f"/scenarios/{scenario_id}/versions/{number}")

    def diff(self, scenario_id: str, **which: Any) -> dict[str, Any]:
        """Where two versions differ: `to=3` and what the OpenAPI document has besides (`from` as `**{"from": 1}`)."""
        return self._json("GET", f"/scenarios/{scenario_id}/diff", query=which)

    def compare(self, *of: str) -> dict[str, Any]:
        """Two to five side by side: each a scenario (`ID`), a version (`ID:3`) or a run (`run:ID`)."""
        return self._json("POST", "/comparisons", body={"of": list(of)})

    def share_links(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """The team's share links, without their secrets."""
        return self._http.pages("/share-links", filters)

    def create_share_link(self, run_id: str, *, name: str = "", expires_in_days: int = 30) -> dict[str, Any]:
        """A page that shows a finished run's report to whoever has its path, which is told this once."""
        body = {"run_id": run_id, "name": name, "expires_in_days": expires_in_days}
        return self._json("POST", "/share-links", body=body)

    def delete_share_link(self, share_id: str) -> None:
        """Ends a share link."""
        self._http.call("DELETE", f"/share-links/{share_id}")

    def teams(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """The token's team."""
        return self._http.pages("/teams", filters)

    def members(self, team_id: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """Who belongs to the team, in which role."""
        return self._http.pages(f"/teams/{team_id}/members", filters)

    def tokens(self, team_id: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """API tokens that the caller may see, without their secrets."""
        return self._http.pages(f"/teams/{team_id}/tokens", filters)

    def create_token(self, team_id: str, scope: str, *, name: str = "", expires_in_days: int = 365) -> dict[str, Any]:
        """A token of the caller's, of no wider scope than this one; its `token` is shown this once."""
        body = {"scope": scope, "name": name, "expires_in_days": expires_in_days}
        return self._json("POST", f"/teams/{team_id}/tokens", body=body)

    def delete_token(self, team_id: str, token_id: int) -> None:
        """Revokes a token."""
        self._http.call("DELETE", f"/teams/{team_id}/tokens/{token_id}")

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

    def _json(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        body: dict[str, Any] = self._http.call(method, path, **sent).json()
        return body
