"""The client: one server, one token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from staircase_client import kinds
from staircase_client.http import Http, Send, send
from staircase_client.results import Estimate
from staircase_client.run import Run

PART_BYTES = 4 << 20


class Client:
    """Calls of the Staircase API; every operation of its document has a name here.

    timeout_s: of one request, refusals for the load of the moment included. What lists return is read page by page
    while it is gone through; `filters` are the parameters of that list in the document. Changes need a token of scope
    `write`. if_match: an ETag; the change is made only while the thing is still that, else ApiError of status 412.
    """

    def __init__(self, url: str, token: str, *, timeout_s: float = 60, send: Send = send) -> None:
        self._http = Http(url, token, timeout_s=timeout_s, send=send)

    # --- runs ---

    def plan(self, scenario: Mapping[str, Any], *, idempotency_key: str | None = None) -> Run:
        """Starts a run of the scenario, or finds the one that answers the same question already.

        ApiError: the scenario is not valid (`faults` has every fault), or the server refused.
        """
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else None
        return Run(self._http, self._http.call("POST", "/runs", body=dict(scenario), headers=headers).json())

    def plan_saved(
        self,
        scenario_id: str,
        *,
        number: int | None = None,
        priced_at: str | None = None,
        idempotency_key: str | None = None,
    ) -> Run:
        """Starts a run of a saved scenario: its newest version or the one of this number, on its own prices or those of
        another day (YYYY-MM-DD)."""
        named = {"scenario_id": scenario_id, **({"number": number} if number else {})}
        body = {"scenario_version": named, **({"priced_at": priced_at} if priced_at else {})}
        return self.plan(body, idempotency_key=idempotency_key)

    def run(self, run_id: str) -> Run:
        """A run by its id."""
        return Run(self._http, self._http.call("GET", f"/runs/{run_id}").json())

    def runs(self, **filters: Any) -> Iterator[Run]:
        """All runs of the team, newest first."""
        return (Run(self._http, item) for item in self._http.pages("/runs", filters))

    # --- saved scenarios ---

    def scenarios(self, **filters: Any) -> Iterator[kinds.ScenarioSummary]:
        """All saved scenarios of the team, newest first."""
        return cast("Iterator[kinds.ScenarioSummary]", self._http.pages("/scenarios", filters))

    def scenario(self, scenario_id: str) -> kinds.ScenarioDetail:
        """A saved scenario: the content of its newest version, all versions, tags."""
        return cast(kinds.ScenarioDetail, self._json("GET", f"/scenarios/{scenario_id}"))

    def create_scenario(
        self, scenario: Mapping[str, Any], *, note: str = "", tags: Sequence[str] = ()
    ) -> kinds.ScenarioDetail:
        """Saves a scenario as its version 1; nothing is run."""
        body = {"scenario": dict(scenario), "note": note, "tags": list(tags)}
        return cast(kinds.ScenarioDetail, self._json("POST", "/scenarios", body=body))

    def save_version(
        self, scenario_id: str, scenario: Mapping[str, Any], *, began_with: int, note: str = ""
    ) -> kinds.VersionDetail:
        """Saves the next version, or returns the newest where nothing differs. began_with: the one changed.

        ApiError of status 412 and kind `version-conflict`: someone saved one meanwhile; nothing was changed.
        """
        body, headers = {"scenario": dict(scenario), "note": note}, {"If-Match": f'"{began_with}"'}
        path = f"/scenarios/{scenario_id}/versions"
        return cast(kinds.VersionDetail, self._json("POST", path, body=body, headers=headers))

    def versions(self, scenario_id: str, **filters: Any) -> Iterator[kinds.VersionSummary]:
        """Who saved which version when, newest first."""
        return cast("Iterator[kinds.VersionSummary]", self._http.pages(f"/scenarios/{scenario_id}/versions", filters))

    def version(self, scenario_id: str, number: int) -> kinds.VersionDetail:
        """One version with its content."""
        return cast(kinds.VersionDetail, self._json("GET", f"/scenarios/{scenario_id}/versions/{number}"))

    def diff(self, scenario_id: str, **which: Any) -> kinds.Diff:
        """Where two versions differ: `from_=1, to=3`, and `other=ID` for a version of another scenario."""
        query = {name.removesuffix("_"): value for name, value in which.items()}
        return cast(kinds.Diff, self._json("GET", f"/scenarios/{scenario_id}/diff", query=query))

    def copy_scenario(
        self, scenario_id: str, *, number: int | None = None, name: str | None = None
    ) -> kinds.ScenarioDetail:
        """A version, the newest without `number`, as version 1 of a new scenario."""
        body = {key: value for key, value in (("number", number), ("name", name)) if value is not None}
        return cast(kinds.ScenarioDetail, self._json("POST", f"/scenarios/{scenario_id}/copy", body=body))

    def archive_scenario(self, scenario_id: str) -> None:
        """Puts it away: it leaves the list and stays readable."""
        self._http.call("PUT", f"/scenarios/{scenario_id}/archive")

    def unarchive_scenario(self, scenario_id: str) -> None:
        """Brings it back."""
        self._http.call("DELETE", f"/scenarios/{scenario_id}/archive")

    def tags(self, scenario_id: str) -> list[str]:
        """The tags of a scenario."""
        return list(self._json("GET", f"/scenarios/{scenario_id}/tags")["tags"])

    def set_tags(self, scenario_id: str, tags: Sequence[str]) -> list[str]:
        """Replaces them as a whole; returns them as stored."""
        return list(self._json("PUT", f"/scenarios/{scenario_id}/tags", body={"tags": list(tags)})["tags"])

    def comments(self, scenario_id: str, **filters: Any) -> Iterator[kinds.CommentSummary]:
        """What was said about a scenario, newest first."""
        return cast("Iterator[kinds.CommentSummary]", self._http.pages(f"/scenarios/{scenario_id}/comments", filters))

    def comment(self, scenario_id: str, comment_id: int) -> kinds.CommentSummary:
        """One comment."""
        return cast(kinds.CommentSummary, self._json("GET", f"/scenarios/{scenario_id}/comments/{comment_id}"))

    def add_comment(self, scenario_id: str, text: str) -> kinds.CommentSummary:
        """Says something about a scenario, in plain text."""
        made = self._json("POST", f"/scenarios/{scenario_id}/comments", body={"text": text})
        return cast(kinds.CommentSummary, made)

    def delete_comment(self, scenario_id: str, comment_id: int) -> None:
        """Takes a comment back: one's own, or as an owner anybody's."""
        self._http.call("DELETE", f"/scenarios/{scenario_id}/comments/{comment_id}")

    def validate(self, scenario: Mapping[str, Any]) -> kinds.ValidScenario:
        """The scenario with every default written out. ApiError: it is not valid."""
        return cast(kinds.ValidScenario, self._json("POST", "/scenarios/validate", body=dict(scenario)))

    # --- comparisons and share links ---

    def compare(self, *of: str) -> kinds.Comparison:
        """Two to five side by side: each a scenario (`ID`), a version (`ID:3`) or a run (`run:ID`)."""
        return cast(kinds.Comparison, self._json("POST", "/comparisons", body={"of": list(of)}))

    def share_links(self, **filters: Any) -> Iterator[kinds.ShareLinkSummary]:
        """The team's share links, without their secrets."""
        return cast("Iterator[kinds.ShareLinkSummary]", self._http.pages("/share-links", filters))

    def share_link(self, share_id: str) -> kinds.ShareLinkSummary:
        """One share link."""
        return cast(kinds.ShareLinkSummary, self._json("GET", f"/share-links/{share_id}"))

    def create_share_link(self, run_id: str, *, name: str = "", expires_in_days: int = 30) -> kinds.ShareLinkCreated:
        """A page that shows a finished run's report to whoever has its path, which is told this once."""
        body = {"run_id": run_id, "name": name, "expires_in_days": expires_in_days}
        return cast(kinds.ShareLinkCreated, self._json("POST", "/share-links", body=body))

    def delete_share_link(self, share_id: str) -> None:
        """Ends a share link."""
        self._http.call("DELETE", f"/share-links/{share_id}")

    # --- estimates and cells ---

    def estimate(self, scenario: Mapping[str, Any]) -> Estimate:
        """The closed-form estimate, at once; nothing is stored."""
        return Estimate(self._http.call("POST", "/estimates", body=dict(scenario)).json())

    def estimate_rows(
        self, rows: Sequence[Mapping[str, Any]], *, fields: Sequence[str] | None = None
    ) -> list[kinds.BatchRow]:
        """Up to 500 estimates: for each row `index`, `cells` (None where it is wrong) and `errors`."""
        body = {"rows": [dict(row) for row in rows], **({"fields": list(fields)} if fields else {})}
        return cast(list[kinds.BatchRow], self._json("POST", "/estimates/batch", body=body)["rows"])

    def cells(self, **parameters: Any) -> dict[str, Any]:
        """One estimate as a flat row: the parameters of GET /sheets/estimate."""
        return self._json("GET", "/sheets/estimate", query={**parameters, "format": "json"})

    def calculate(self, name: str, **parameters: Any) -> kinds.CalculationAnswer:
        """A calculator: `formula`, `worked` and `result`."""
        return cast(kinds.CalculationAnswer, self._json("GET", f"/calculators/{name}", query=parameters))

    def lesson(
        self, requests: Sequence[Mapping[str, int]], *, slots: int, policy: str = "continuous", **more: Any
    ) -> kinds.CalculationAnswer:
        """The serving lesson: requests of so many output tokens in so many slots, step by step."""
        body = {"requests": [dict(each) for each in requests], "slots": slots, "policy": policy, **more}
        return cast(kinds.CalculationAnswer, self._json("POST", "/calculators/lesson", body=body))

    def link_tokens(self, **filters: Any) -> Iterator[kinds.LinkSummary]:
        """The team's tokens for addresses in cells, without their secrets."""
        return cast("Iterator[kinds.LinkSummary]", self._http.pages("/sheets/links", filters))

    def link_token(self, link_id: int) -> kinds.LinkSummary:
        """One of them."""
        return cast(kinds.LinkSummary, self._json("GET", f"/sheets/links/{link_id}"))

    def create_link_token(self, *, name: str = "", expires_in_days: int = 90) -> kinds.LinkCreated:
        """A token for addresses in cells; its `token` is shown this once."""
        body = {"name": name, "expires_in_days": expires_in_days}
        return cast(kinds.LinkCreated, self._json("POST", "/sheets/links", body=body))

    def delete_link_token(self, link_id: int) -> None:
        """Revokes it."""
        self._http.call("DELETE", f"/sheets/links/{link_id}")

    # --- catalog ---

    def catalog(self, kind: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """Rows of accelerators, models, gpu-prices or api-prices; the team's own stand in front."""
        return self._http.pages(f"/catalog/{kind}", filters)

    def entries(self, **filters: Any) -> Iterator[kinds.Entry]:
        """The team's own catalog entries, newest first."""
        return cast("Iterator[kinds.Entry]", self._http.pages("/catalog/entries", filters))

    def entry(self, entry_id: str) -> kinds.Entry:
        """One of them."""
        return cast(kinds.Entry, self._json("GET", f"/catalog/entries/{entry_id}"))

    def save_entry(self, kind: str, value: Mapping[str, Any], *, source: str, as_of: str) -> kinds.Entry:
        """Keeps a price, model or accelerator of the team's own; one of the same kind and name is replaced."""
        body = {"kind": kind, "value": dict(value), "source": source, "as_of": as_of}
        return cast(kinds.Entry, self._json("POST", "/catalog/entries", body=body))

    def change_entry(
        self, entry_id: str, value: Mapping[str, Any], *, source: str, as_of: str, if_match: str = "*"
    ) -> kinds.Entry:
        """Changes an entry; with an ETag of `etag` only while it is still that."""
        body = {"value": dict(value), "source": source, "as_of": as_of}
        path, headers = f"/catalog/entries/{entry_id}", {"If-Match": if_match}
        return cast(kinds.Entry, self._json("PUT", path, body=body, headers=headers))

    def delete_entry(self, entry_id: str) -> None:
        """Forgets an entry; scenarios that used it hold it themselves."""
        self._http.call("DELETE", f"/catalog/entries/{entry_id}")

    # --- traces ---

    def traces(self, **filters: Any) -> Iterator[kinds.TraceSummary]:
        """The team's recorded traffic, newest first."""
        return cast("Iterator[kinds.TraceSummary]", self._http.pages("/traces", filters))

    def trace(self, trace_id: str) -> kinds.TraceDetail:
        """One trace with its profile."""
        return cast(kinds.TraceDetail, self._json("GET", f"/traces/{trace_id}"))

    def scenario_trace(self, trace_id: str) -> kinds.ScenarioTrace:
        """Its requests, for `traffic.trace` of a scenario."""
        return cast(kinds.ScenarioTrace, self._json("GET", f"/traces/{trace_id}/scenario-trace"))

    def delete_trace(self, trace_id: str) -> None:
        """Forgets a trace; scenarios hold copies of their own."""
        self._http.call("DELETE", f"/traces/{trace_id}")

    def upload_trace(self, name: str, data: bytes) -> kinds.Upload:
        """Sends a file in parts; look at `preview_trace` and keep it with `confirm_trace`."""
        return self._sent("/traces/uploads", name, data)

    def uploads(self, **filters: Any) -> Iterator[kinds.Upload]:
        """Files that were not confirmed yet."""
        return cast("Iterator[kinds.Upload]", self._http.pages("/traces/uploads", filters))

    def upload(self, upload_id: str) -> kinds.Upload:
        """One of them."""
        return cast(kinds.Upload, self._json("GET", f"/traces/uploads/{upload_id}"))

    def preview_trace(self, upload_id: str, **answers: str) -> kinds.InspectionAnswer:
        """What the file is, and what `reading.questions` it leaves; answers: to these, such as time_unit="ms"."""
        told = self._json("POST", f"/traces/uploads/{upload_id}/preview", body={"answers": answers})
        return cast(kinds.InspectionAnswer, told)

    def confirm_trace(self, upload_id: str, **answers: str) -> kinds.TraceDetail:
        """Keeps the file as a trace."""
        kept = self._json("POST", f"/traces/uploads/{upload_id}/confirm", body={"answers": answers})
        return cast(kinds.TraceDetail, kept)

    def delete_upload(self, upload_id: str) -> None:
        """Gives an upload up."""
        self._http.call("DELETE", f"/traces/uploads/{upload_id}")

    # --- measurements and calibrations ---

    def measurements(self, **filters: Any) -> Iterator[kinds.MeasurementSummary]:
        """The team's measured runs of its own servers, newest first."""
        return cast("Iterator[kinds.MeasurementSummary]", self._http.pages("/measurements", filters))

    def measurement(self, measurement_id: str) -> kinds.MeasurementDetail:
        """One of them."""
        return cast(kinds.MeasurementDetail, self._json("GET", f"/measurements/{measurement_id}"))

    def delete_measurement(self, measurement_id: str) -> None:
        """Forgets one."""
        self._http.call("DELETE", f"/measurements/{measurement_id}")

    def compare_measurement(self, measurement_id: str) -> kinds.MeasurementDetail:
        """Sets it beside its prediction again; read it until it is ready."""
        return cast(kinds.MeasurementDetail, self._json("POST", f"/measurements/{measurement_id}/comparison"))

    def name_plan(self, measurement_id: str, **plan: Any) -> kinds.MeasurementDetail:
        """Says which plan the measured deployment followed: run_id, or scenario_id and number."""
        return cast(kinds.MeasurementDetail, self._json("PUT", f"/measurements/{measurement_id}/plan", body=plan))

    def leave_plan(self, measurement_id: str) -> None:
        """It followed none."""
        self._http.call("DELETE", f"/measurements/{measurement_id}/plan")

    def upload_measurement(self, name: str, data: bytes) -> kinds.Upload:
        """Sends a file in parts; look at `preview_measurement` and keep it with `confirm_measurement`."""
        return self._sent("/measurements/uploads", name, data)

    def measurement_uploads(self, **filters: Any) -> Iterator[kinds.Upload]:
        """Files that were not confirmed yet."""
        return cast("Iterator[kinds.Upload]", self._http.pages("/measurements/uploads", filters))

    def measurement_upload(self, upload_id: str) -> kinds.Upload:
        """One of them."""
        return cast(kinds.Upload, self._json("GET", f"/measurements/uploads/{upload_id}"))

    def preview_measurement(self, upload_id: str) -> kinds.MeasurementPreview:
        """What the file holds."""
        return cast(kinds.MeasurementPreview, self._json("POST", f"/measurements/uploads/{upload_id}/preview"))

    def confirm_measurement(
        self, upload_id: str, deployment: Mapping[str, Any], *, plan: Mapping[str, Any] | None = None
    ) -> kinds.MeasurementDetail:
        """Keeps the file as measured on this deployment; plan: {"run_id": …} that it followed."""
        path, body = f"/measurements/uploads/{upload_id}/confirm", {"deployment": dict(deployment)}
        body |= {"plan": dict(plan)} if plan else {}
        return cast(kinds.MeasurementDetail, self._json("POST", path, body=body))

    def delete_measurement_upload(self, upload_id: str) -> None:
        """Gives an upload up."""
        self._http.call("DELETE", f"/measurements/uploads/{upload_id}")

    def calibrations(self, **filters: Any) -> Iterator[kinds.CalibrationSummary]:
        """Step times fitted to the team's measurements, newest first."""
        return cast("Iterator[kinds.CalibrationSummary]", self._http.pages("/calibrations", filters))

    def calibration(self, calibration_id: str) -> kinds.CalibrationDetail:
        """One of them."""
        return cast(kinds.CalibrationDetail, self._json("GET", f"/calibrations/{calibration_id}"))

    def calibrate(self, measurement_id: str) -> kinds.CalibrationDetail:
        """Starts fitting to a measurement; read it again until it has ended."""
        body = {"measurement_id": measurement_id}
        return cast(kinds.CalibrationDetail, self._json("POST", "/calibrations", body=body))

    def use_calibration(self, calibration_id: str) -> None:
        """Lets the team's plans use it."""
        self._http.call("PUT", f"/calibrations/{calibration_id}/use")

    def drop_calibration(self, calibration_id: str) -> None:
        """Plans use it no longer."""
        self._http.call("DELETE", f"/calibrations/{calibration_id}/use")

    # --- team ---

    def teams(self, **filters: Any) -> Iterator[kinds.TeamSummary]:
        """The token's team."""
        return cast("Iterator[kinds.TeamSummary]", self._http.pages("/teams", filters))

    def team(self, team_id: str) -> kinds.TeamDetail:
        """The team with its settings: `defaults` of `billing` and `engine`."""
        return cast(kinds.TeamDetail, self._json("GET", f"/teams/{team_id}"))

    def change_team(
        self,
        team_id: str,
        *,
        name: str | None = None,
        defaults: Mapping[str, Any] | None = None,
        if_match: str | None = None,
    ) -> kinds.TeamDetail:
        """Renames the team or replaces its settings as a whole; for owners."""
        given = (("name", name), ("defaults", None if defaults is None else dict(defaults)))
        body, headers = {key: value for key, value in given if value is not None}, _held(if_match)
        return cast(kinds.TeamDetail, self._json("PATCH", f"/teams/{team_id}", body=body, headers=headers))

    def members(self, team_id: str, **filters: Any) -> Iterator[kinds.Member]:
        """Who belongs to the team, in which role."""
        return cast("Iterator[kinds.Member]", self._http.pages(f"/teams/{team_id}/members", filters))

    def member(self, team_id: str, user_id: int) -> kinds.Member:
        """One member."""
        return cast(kinds.Member, self._json("GET", f"/teams/{team_id}/members/{user_id}"))

    def change_member(self, team_id: str, user_id: int, role: str) -> kinds.Member:
        """Gives a member another role: editor or viewer; for owners."""
        path = f"/teams/{team_id}/members/{user_id}"
        return cast(kinds.Member, self._json("PATCH", path, body={"role": role}))

    def remove_member(self, team_id: str, user_id: int) -> None:
        """Removes a member, or oneself."""
        self._http.call("DELETE", f"/teams/{team_id}/members/{user_id}")

    def invitations(self, team_id: str, **filters: Any) -> Iterator[kinds.Invitation]:
        """Invitations that can still be used, without their links."""
        return cast("Iterator[kinds.Invitation]", self._http.pages(f"/teams/{team_id}/invitations", filters))

    def invitation(self, team_id: str, invitation_id: str) -> kinds.Invitation:
        """One of them."""
        return cast(kinds.Invitation, self._json("GET", f"/teams/{team_id}/invitations/{invitation_id}"))

    def invite(self, team_id: str, role: str, *, email: str = "", expires_in_days: int = 7) -> kinds.InvitationMade:
        """An invitation for an editor or viewer; its `join_url` is shown this once. For owners."""
        body = {"role": role, "email": email, "expires_in_days": expires_in_days}
        return cast(kinds.InvitationMade, self._json("POST", f"/teams/{team_id}/invitations", body=body))

    def delete_invitation(self, team_id: str, invitation_id: str) -> None:
        """Revokes an invitation."""
        self._http.call("DELETE", f"/teams/{team_id}/invitations/{invitation_id}")

    def tokens(self, team_id: str, **filters: Any) -> Iterator[kinds.Token]:
        """The API tokens of the team and its members, without their secrets."""
        return cast("Iterator[kinds.Token]", self._http.pages(f"/teams/{team_id}/tokens", filters))

    def token(self, team_id: str, token_id: int) -> kinds.Token:
        """One of them."""
        return cast(kinds.Token, self._json("GET", f"/teams/{team_id}/tokens/{token_id}"))

    def create_token(self, team_id: str, scope: str, *, name: str = "", expires_in_days: int = 365) -> kinds.TokenMade:
        """A token of the caller's, of no wider scope than this one; its `token` is shown this once."""
        body = {"scope": scope, "name": name, "expires_in_days": expires_in_days}
        return cast(kinds.TokenMade, self._json("POST", f"/teams/{team_id}/tokens", body=body))

    def delete_token(self, team_id: str, token_id: int) -> None:
        """Revokes a token."""
        self._http.call("DELETE", f"/teams/{team_id}/tokens/{token_id}")

    def audit(self, team_id: str, **filters: Any) -> Iterator[kinds.AuditRow]:
        """Who changed what, newest first; `action="run.started"`, `actor=`, `created_from=` and others narrow it."""
        return cast("Iterator[kinds.AuditRow]", self._http.pages(f"/teams/{team_id}/audit", filters))

    # --- webhooks ---

    def webhooks(self, **filters: Any) -> Iterator[kinds.WebhookSummary]:
        """All webhooks of the team, each with its last delivery. Needs scope `write`, as all that follows."""
        return cast("Iterator[kinds.WebhookSummary]", self._http.pages("/webhooks", filters))

    def webhook(self, webhook_id: str) -> kinds.WebhookSummary:
        """One webhook."""
        return cast(kinds.WebhookSummary, self._json("GET", f"/webhooks/{webhook_id}"))

    def create_webhook(self, url: str, *, events: Sequence[str] | None = None, name: str = "") -> kinds.WebhookCreated:
        """A new webhook; its `secret` is shown this once. ApiError: the address may not be called."""
        body = {"url": url, "name": name, **({"events": list(events)} if events else {})}
        return cast(kinds.WebhookCreated, self._json("POST", "/webhooks", body=body))

    def ping_webhook(self, webhook_id: str) -> kinds.DeliverySummary:
        """Sends a test; the delivery tells what became of it."""
        return cast(kinds.DeliverySummary, self._json("POST", f"/webhooks/{webhook_id}/ping"))

    def enable_webhook(self, webhook_id: str) -> kinds.WebhookSummary:
        """Brings a webhook back that repeated failure disabled."""
        return cast(kinds.WebhookSummary, self._json("POST", f"/webhooks/{webhook_id}/enable"))

    def delete_webhook(self, webhook_id: str) -> None:
        """Ends a webhook."""
        self._http.call("DELETE", f"/webhooks/{webhook_id}")

    def deliveries(self, webhook_id: str, **filters: Any) -> Iterator[kinds.DeliverySummary]:
        """What a webhook was sent, or will be, newest first."""
        return cast("Iterator[kinds.DeliverySummary]", self._http.pages(f"/webhooks/{webhook_id}/deliveries", filters))

    def delivery(self, webhook_id: str, delivery_id: str) -> kinds.DeliveryDetail:
        """One of them, with its body."""
        return cast(kinds.DeliveryDetail, self._json("GET", f"/webhooks/{webhook_id}/deliveries/{delivery_id}"))

    # --- whatever is read ---

    def etag(self, path: str) -> str:
        """The ETag of what stands at a path below /api/v1 or of a `link`, for `if_match`."""
        return self._http.call("GET", path).headers["etag"]

    def table(self, path: str, *, format: str = "csv", **filters: Any) -> bytes:  # noqa: A002 - the API's word
        """Any list, or a report, as one file: csv or xlsx. path: below /api/v1, such as /runs, or a `link`."""
        return self._http.call("GET", path, query={**filters, "format": format}, headers={"Accept": "*/*"}).body

    def _sent(self, uploads: str, name: str, data: bytes) -> kinds.Upload:
        upload = self._json("POST", uploads, body={"name": name})
        for number, start in enumerate(range(0, len(data), PART_BYTES), 1):
            path, part = f"{uploads}/{upload['id']}/parts", data[start : start + PART_BYTES]
            upload = self._http.call("POST", path, query={"number": number}, data=part).json()
        return cast(kinds.Upload, upload)

    def _json(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        body: dict[str, Any] = self._http.call(method, path, **sent).json()
        return body


def _held(if_match: str | None) -> dict[str, str]:
    return {} if if_match is None else {"If-Match": if_match}
