"""What the API answers, as types. Made by scripts/client_kinds.py from the OpenAPI document; not edited."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class AuditRow(TypedDict):
    """One change. Names are as they were at the time."""

    id: str
    created_at: str
    actor: str
    via: str
    action: str
    object_kind: str
    object_id: str
    object_label: str
    details: dict[str, Any]
    request_id: str


class BatchAnswer(TypedDict):
    """Answers in the order of the rows."""

    rows: list[BatchRow]


class BatchRow(TypedDict):
    """The answer to one row."""

    index: int
    cells: dict[str, Any] | None
    errors: list[Fault]


class CalculationAnswer(TypedDict):
    """An answer with how it came about."""

    formula: str
    worked: str
    result: dict[str, Any]


class CalibrationDetail(TypedDict):
    """A calibration with its factors, and every figure before and after."""

    id: str
    model: str
    weight_dtype: str
    gpu: str
    engine: str
    number: int
    state: str
    in_use: bool
    created_at: str
    link: str
    sources: list[dict[str, Any]]
    calibration: dict[str, Any] | None
    told: dict[str, Any] | None
    failure: str


class CalibrationSummary(TypedDict):
    """A calibration as lists show it."""

    id: str
    model: str
    weight_dtype: str
    gpu: str
    engine: str
    number: int
    state: str
    in_use: bool
    created_at: str
    link: str


class CommentSummary(TypedDict):
    """What someone said."""

    id: int
    text: str
    author: str
    version_number: int
    created_at: str
    link: str


class ComparedSide(TypedDict):
    """One side of a comparison."""

    of: str
    label: str
    scenario_id: str | None
    number: int | None
    run_id: str | None
    priced_at: str
    report: str | None


class Comparison(TypedDict):
    """Two to five scenarios, versions or runs side by side."""

    sides: list[ComparedSide]
    inputs: list[InputRow]
    results: list[ResultRow]
    link: str
    page: str


class DeliveryDetail(TypedDict):
    """A delivery with what is sent."""

    id: str
    event: str
    state: Literal["pending", "delivered", "failed"]
    attempts: int
    status: int | None
    error: str
    duration_ms: int | None
    next_attempt_at: str | None
    created_at: str
    ended_at: str | None
    body: dict[str, Any]


class DeliverySummary(TypedDict):
    """One event for a webhook."""

    id: str
    event: str
    state: Literal["pending", "delivered", "failed"]
    attempts: int
    status: int | None
    error: str
    duration_ms: int | None
    next_attempt_at: str | None
    created_at: str
    ended_at: str | None


class Diff(TypedDict):
    """Where two versions differ. Texts longer than 2,000 characters are named by length and SHA-256."""

    first: VersionAt
    second: VersionAt
    differences: list[DifferenceRow]


class DifferenceRow(TypedDict):
    """A place where two versions differ."""

    pointer: str
    old: Any
    new: Any


class Entry(TypedDict):
    """Something of the team's own."""

    id: str
    kind: Literal["accelerators", "models", "gpu-prices", "api-prices"]
    name: str
    value: dict[str, Any]
    source: str
    as_of: str
    created_by: str | None
    created_at: str


class Fault(TypedDict):
    """One thing that is wrong with a request."""

    code: str
    pointer: str
    given: str
    allowed: str
    detail: str


class InputRow(TypedDict):
    """A place where the scenarios differ."""

    pointer: str
    values: list[Any]


class InspectionAnswer(TypedDict):
    """What a file is and says; the same as `manage.py inspect --json`."""

    kind: str
    reading: dict[str, Any] | None
    profile: dict[str, Any] | None
    usage: dict[str, Any] | None
    rates: dict[str, Any] | None
    length_tables: dict[str, Any] | None
    measurement: dict[str, Any] | None


class Invitation(TypedDict):
    """An invitation that can still be used; its secret is not stored."""

    id: str
    role: Literal["owner", "editor", "viewer"]
    email: str
    created_by: str | None
    created_at: str
    expires_at: str


class InvitationMade(TypedDict):
    """A new invitation."""

    id: str
    role: Literal["owner", "editor", "viewer"]
    email: str
    created_by: str | None
    created_at: str
    expires_at: str
    join_url: str


class LastDelivery(TypedDict):
    """The newest delivery of a webhook."""

    id: str
    event: str
    state: Literal["pending", "delivered", "failed"]
    status: int | None
    error: str
    created_at: str


class LinkCreated(TypedDict):
    """A new link token."""

    id: int
    name: str
    prefix: str
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    token: str


class LinkSummary(TypedDict):
    """A link token as lists show it: without its secret."""

    id: int
    name: str
    prefix: str
    created_at: str
    expires_at: str | None
    last_used_at: str | None


class MeasurementDetail(TypedDict):
    """A measurement with what was read, and what was predicted."""

    id: str
    name: str
    format: str
    model: str
    weight_dtype: str
    gpu: str
    engine: str
    measured_on: str
    runs: int
    digest: str
    state: str
    outside: int | None
    created_at: str
    link: str
    deployment: dict[str, Any]
    measurement: dict[str, Any]
    definitions: list[dict[str, Any]]
    replicas: int
    plan: PlanFollowed | None
    backtest: dict[str, Any] | None
    comparison: dict[str, Any] | None
    failure: str


class MeasurementPreview(TypedDict):
    """What a file says, before it is kept."""

    measurement: dict[str, Any]
    definitions: list[dict[str, Any]]
    says: dict[str, Any]
    asked: list[str]
    known: str | None


class MeasurementSummary(TypedDict):
    """A measurement as lists show it."""

    id: str
    name: str
    format: str
    model: str
    weight_dtype: str
    gpu: str
    engine: str
    measured_on: str
    runs: int
    digest: str
    state: str
    outside: int | None
    created_at: str
    link: str


class Member(TypedDict):
    """Someone in the team."""

    id: int
    email: str
    name: str
    role: Literal["owner", "editor", "viewer"]
    created_at: str


class PlanFollowed(TypedDict):
    """A plan as a measurement names it."""

    run_id: str | None
    scenario_id: str | None
    number: int | None
    link: str
    report: str | None


class ResultRow(TypedDict):
    """A result of every side."""

    name: str
    label: str
    unit: str
    values: list[Any]


class RunFailure(TypedDict):
    """Why a run failed."""

    code: str
    detail: str


class RunLinks(TypedDict):
    """Paths below the server's address."""

    self: str
    report: str | None


class ScenarioDetail(TypedDict):
    """A saved scenario with its versions and the content of the newest."""

    id: str
    name: str
    newest_number: int
    created_at: str
    link: str
    changed_at: str
    archived_at: str | None
    tags: list[str]
    versions: list[VersionSummary]
    scenario: dict[str, Any]


class ScenarioRef(TypedDict):
    """A version of a saved scenario."""

    scenario_id: str
    number: int


class ScenarioSummary(TypedDict):
    """A saved scenario as lists show it."""

    id: str
    name: str
    newest_number: int
    created_at: str
    link: str
    changed_at: str
    archived_at: str | None
    tags: list[str]


class ScenarioTrace(TypedDict):
    """`traffic.trace` of a scenario that replays the requests."""

    csv: str
    block_tokens: int | None


class ShareLinkCreated(TypedDict):
    """A new share link."""

    id: str
    name: str
    run_id: str
    author: str
    created_at: str
    expires_at: str
    expired: bool
    last_used_at: str | None
    link: str
    path: str


class ShareLinkSummary(TypedDict):
    """A share link as lists show it: without its secret."""

    id: str
    name: str
    run_id: str
    author: str
    created_at: str
    expires_at: str
    expired: bool
    last_used_at: str | None
    link: str


SimulatedRequest = TypedDict(
    "SimulatedRequest",
    {
        "request": int,
        "replica": int,
        "class": str,
        "arrival_s": float,
        "first_token_s": float | None,
        "end_s": float | None,
        "prompt_tokens": int,
        "output_tokens": int,
        "cached_tokens": int,
        "ttft_ms": float | None,
        "tpot_ms": float | None,
        "e2e_ms": float | None,
        "preemptions": int,
        "outcome": Literal["finished", "unservable", "unfinished", "rejected", "timed_out"],
        "judged": bool,
    },
)
"""One simulated request of the run that confirmed the recommended fleet; times as its client sees them."""


class Tags(TypedDict):
    """The tags of a scenario."""

    tags: list[str]


class TeamDetail(TypedDict):
    """A team with what its plans start from."""

    id: str
    name: str
    role: Literal["owner", "editor", "viewer"]
    created_at: str
    link: str
    defaults: dict[str, Any]


class TeamSummary(TypedDict):
    """A team as the caller sees it."""

    id: str
    name: str
    role: Literal["owner", "editor", "viewer"]
    created_at: str
    link: str


class Token(TypedDict):
    """A token without its secret."""

    id: int
    name: str
    prefix: str
    kind: Literal["personal", "team"]
    user: str
    scope: Literal["read", "run", "write"]
    created_at: str
    expires_at: str | None
    last_used_at: str | None


class TokenMade(TypedDict):
    """A new token."""

    id: int
    name: str
    prefix: str
    kind: Literal["personal", "team"]
    user: str
    scope: Literal["read", "run", "write"]
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    token: str


class TraceDetail(TypedDict):
    """A trace with all that was found in it."""

    id: str
    name: str
    format: str
    requests: int
    digest: str
    created_at: str
    link: str
    reading: dict[str, Any]
    profile: dict[str, Any]


class TraceSummary(TypedDict):
    """A trace as lists show it."""

    id: str
    name: str
    format: str
    requests: int
    digest: str
    created_at: str
    link: str


class Upload(TypedDict):
    """A file on its way in."""

    id: str
    name: str
    parts: int
    size_bytes: int
    created_at: str
    link: str


class ValidScenario(TypedDict):
    """The answer to a scenario that can be run."""

    digest: str
    scenario: dict[str, Any]


class VersionAt(TypedDict):
    """A version that is compared."""

    scenario_id: str
    number: int
    link: str


class VersionDetail(TypedDict):
    """A version with its content."""

    number: int
    digest: str
    note: str
    created_at: str
    author: str
    priced_at: str | None
    link: str
    scenario: dict[str, Any]


class VersionSummary(TypedDict):
    """One version of a saved scenario; it never changes."""

    number: int
    digest: str
    note: str
    created_at: str
    author: str
    priced_at: str | None
    link: str


class WebhookCreated(TypedDict):
    """A new webhook."""

    id: str
    name: str
    url: str
    events: list[Literal["run.done", "run.failed", "run.cancelled"]]
    enabled: bool
    disabled_reason: str
    failures: int
    created_at: str
    last_delivery: LastDelivery | None
    link: str
    secret: str


class WebhookSummary(TypedDict):
    """A webhook."""

    id: str
    name: str
    url: str
    events: list[Literal["run.done", "run.failed", "run.cancelled"]]
    enabled: bool
    disabled_reason: str
    failures: int
    created_at: str
    last_delivery: LastDelivery | None
    link: str


class ReportSections:
    """The sections of a report, as the documentation names them; None where an older server has none."""

    raw: dict[str, Any]

    @property
    def schema_version(self) -> Any:
        """Version of the report's format."""
        return self.raw.get("schema_version")

    @property
    def name(self) -> Any:
        """The scenario's name."""
        return self.raw.get("name")

    @property
    def precisions(self) -> Any:
        """The cheapest fleet in each number format; empty where the scenario names one."""
        return self.raw.get("precisions")

    @property
    def slo(self) -> Any:
        """The targets and what is predicted for the recommended fleet."""
        return self.raw.get("slo")

    @property
    def confirmation(self) -> Any:
        """The recommended fleet simulated whole: its peak hour behind its router and another, and the busiest day."""
        return self.raw.get("confirmation")

    @property
    def load(self) -> Any:
        """Rates, utilisation, concurrency, KV use, headroom."""
        return self.raw.get("load")

    @property
    def memory(self) -> Any:
        """The memory subtraction, line by line in GiB."""
        return self.raw.get("memory")

    @property
    def cost(self) -> Any:
        """Monthly lines and USD per million tokens."""
        return self.raw.get("cost")

    @property
    def api(self) -> Any:
        """The bill of each hosted model for the same tokens."""
        return self.raw.get("api")

    @property
    def owned(self) -> Any:
        """What the GPUs that the scenario owns can take within the targets."""
        return self.raw.get("owned")

    @property
    def break_even(self) -> Any:
        """The cost staircase and its crossings."""
        return self.raw.get("break_even")

    @property
    def hybrid(self) -> Any:
        """Base load self-hosted, overflow at the API: the cheapest split."""
        return self.raw.get("hybrid")

    @property
    def operation(self) -> Any:
        """The same fleet by schedule, autoscaled, to zero, committed or on spot."""
        return self.raw.get("operation")

    @property
    def batch(self) -> Any:
        """Requests with a deadline: what they add to the fleet, and the API's charge for them."""
        return self.raw.get("batch")

    @property
    def horizon(self) -> Any:
        """Both sides over the months: growth, further lines, later money, own hardware."""
        return self.raw.get("horizon")

    @property
    def curves(self) -> Any:
        """The recommended fleet at rising load."""
        return self.raw.get("curves")

    @property
    def frontier(self) -> Any:
        """Cost against TTFT and TPOT of every fleet, each with its curve and knee."""
        return self.raw.get("frontier")

    @property
    def knobs(self) -> Any:
        """What tokens per step and seats do to a replica's capacity."""
        return self.raw.get("knobs")

    @property
    def sensitivity(self) -> Any:
        """What the saving becomes when one assumption changes."""
        return self.raw.get("sensitivity")

    @property
    def uncertainty(self) -> Any:
        """How far predictions may be off, and on what that rests."""
        return self.raw.get("uncertainty")

    @property
    def advice(self) -> Any:
        """What to watch, limits, failure modes near, load-test plan, Kubernetes manifests."""
        return self.raw.get("advice")

    @property
    def provenance(self) -> Any:
        """Scenario, versions, seed, price dates, sources, assumptions."""
        return self.raw.get("provenance")
