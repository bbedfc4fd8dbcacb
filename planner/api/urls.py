"""REST addresses below /api/v1/. Each is taken with and without a slash at its end; none redirects."""

from django.urls import URLPattern, path, re_path
from rest_framework.views import APIView

from planner.api.views.calculators import CALCULATORS, LessonCalculator
from planner.api.views.calibrations import CalibrationItem, CalibrationList, CalibrationUse
from planner.api.views.catalog import Accelerators, ApiPrices, GpuPrices, Models
from planner.api.views.comparisons import Comparisons
from planner.api.views.estimates import EstimateBatch, EstimateOne
from planner.api.views.measurements import (
    MeasurementComparison,
    MeasurementItem,
    MeasurementList,
    MeasurementPlan,
    MeasurementUploadConfirm,
    MeasurementUploadItem,
    MeasurementUploadList,
    MeasurementUploadParts,
    MeasurementUploadPreview,
)
from planner.api.views.own_catalog import EntryItem, EntryList
from planner.api.views.run_requests import RunRequests
from planner.api.views.runs import RunItem, RunList, RunReport, run_table
from planner.api.views.scenario_parts import (
    CommentItem,
    CommentList,
    ScenarioArchive,
    ScenarioCopy,
    ScenarioDiff,
    ScenarioTags,
)
from planner.api.views.scenarios import ScenarioCheck, ScenarioItem, ScenarioList, VersionItem, VersionList
from planner.api.views.service import Manual, OpenApiDocument, Spreadsheets, Start, UnknownAddress
from planner.api.views.share_links import ShareLinkItem, ShareLinks
from planner.api.views.sheets import SheetEstimate, SheetLink, SheetLinks
from planner.api.views.team_access import InvitationItem, InvitationList, TokenItem, TokenList
from planner.api.views.teams import AuditList, MemberItem, MemberList, TeamItem, TeamList
from planner.api.views.traces import (
    TraceForScenario,
    TraceItem,
    TraceList,
    UploadConfirm,
    UploadItem,
    UploadList,
    UploadParts,
    UploadPreview,
)
from planner.api.views.webhooks import (
    WebhookDeliveries,
    WebhookDelivery,
    WebhookEnable,
    WebhookItem,
    WebhookList,
    WebhookPing,
)
from planner.reports.tables import TABLES


def _both(route: str, view: type[APIView], name: str) -> list[URLPattern]:
    answer = view.as_view()
    return [path(route, answer, name=f"api-{name}"), path(f"{route}/", answer)]


urlpatterns: list[URLPattern] = [
    *_both("sheets/estimate", SheetEstimate, "sheet-estimate"),  # first: asked by far the most, and looked up in order
    *_both("runs", RunList, "runs"),
    *_both("runs/<uuid:run_id>", RunItem, "run"),
    *_both("runs/<uuid:run_id>/report", RunReport, "run-report"),
    *_both("runs/<uuid:run_id>/requests", RunRequests, "run-requests"),
    *(pattern for name in TABLES for pattern in _both(f"runs/<uuid:run_id>/{name}", run_table(name), f"run-{name}")),
    *_both("scenarios", ScenarioList, "scenarios"),
    *_both("scenarios/validate", ScenarioCheck, "scenario-check"),
    *_both("scenarios/<uuid:scenario_id>", ScenarioItem, "scenario"),
    *_both("scenarios/<uuid:scenario_id>/versions", VersionList, "versions"),
    *_both("scenarios/<uuid:scenario_id>/versions/<int:number>", VersionItem, "version"),
    *_both("scenarios/<uuid:scenario_id>/diff", ScenarioDiff, "scenario-diff"),
    *_both("scenarios/<uuid:scenario_id>/copy", ScenarioCopy, "scenario-copy"),
    *_both("scenarios/<uuid:scenario_id>/archive", ScenarioArchive, "scenario-archive"),
    *_both("scenarios/<uuid:scenario_id>/tags", ScenarioTags, "scenario-tags"),
    *_both("scenarios/<uuid:scenario_id>/comments", CommentList, "comments"),
    *_both("scenarios/<uuid:scenario_id>/comments/<int:comment_id>", CommentItem, "comment"),
    *_both("comparisons", Comparisons, "comparisons"),
    *_both("share-links", ShareLinks, "share-links"),
    *_both("share-links/<uuid:share_id>", ShareLinkItem, "share-link"),
    *_both("estimates", EstimateOne, "estimates"),
    *_both("estimates/batch", EstimateBatch, "estimates-batch"),
    *(pattern for name, view in CALCULATORS.items() for pattern in _both(f"calculators/{name}", view, f"calc-{name}")),
    *_both("calculators/lesson", LessonCalculator, "calc-lesson"),
    *_both("traces", TraceList, "traces"),
    *_both("traces/uploads", UploadList, "trace-uploads"),
    *_both("traces/uploads/<uuid:upload_id>", UploadItem, "trace-upload"),
    *_both("traces/uploads/<uuid:upload_id>/parts", UploadParts, "trace-upload-parts"),
    *_both("traces/uploads/<uuid:upload_id>/preview", UploadPreview, "trace-upload-preview"),
    *_both("traces/uploads/<uuid:upload_id>/confirm", UploadConfirm, "trace-upload-confirm"),
    *_both("traces/<uuid:trace_id>", TraceItem, "trace"),
    *_both("traces/<uuid:trace_id>/scenario-trace", TraceForScenario, "trace-for-scenario"),
    *_both("measurements", MeasurementList, "measurements"),
    *_both("measurements/uploads", MeasurementUploadList, "measurement-uploads"),
    *_both("measurements/uploads/<uuid:upload_id>", MeasurementUploadItem, "measurement-upload"),
    *_both("measurements/uploads/<uuid:upload_id>/parts", MeasurementUploadParts, "measurement-upload-parts"),
    *_both("measurements/uploads/<uuid:upload_id>/preview", MeasurementUploadPreview, "measurement-upload-preview"),
    *_both("measurements/uploads/<uuid:upload_id>/confirm", MeasurementUploadConfirm, "measurement-upload-confirm"),
    *_both("measurements/<uuid:measurement_id>", MeasurementItem, "measurement"),
    *_both("measurements/<uuid:measurement_id>/comparison", MeasurementComparison, "measurement-comparison"),
    *_both("measurements/<uuid:measurement_id>/plan", MeasurementPlan, "measurement-plan"),
    *_both("calibrations", CalibrationList, "calibrations"),
    *_both("calibrations/<uuid:calibration_id>", CalibrationItem, "calibration"),
    *_both("calibrations/<uuid:calibration_id>/use", CalibrationUse, "calibration-use"),
    *_both("webhooks", WebhookList, "webhooks"),
    *_both("webhooks/<uuid:webhook_id>", WebhookItem, "webhook"),
    *_both("webhooks/<uuid:webhook_id>/ping", WebhookPing, "webhook-ping"),
    *_both("webhooks/<uuid:webhook_id>/enable", WebhookEnable, "webhook-enable"),
    *_both("webhooks/<uuid:webhook_id>/deliveries", WebhookDeliveries, "webhook-deliveries"),
    *_both("webhooks/<uuid:webhook_id>/deliveries/<uuid:delivery_id>", WebhookDelivery, "webhook-delivery"),
    *_both("teams", TeamList, "teams"),
    *_both("teams/<uuid:team_id>", TeamItem, "team"),
    *_both("teams/<uuid:team_id>/members", MemberList, "team-members"),
    *_both("teams/<uuid:team_id>/members/<int:user_id>", MemberItem, "team-member"),
    *_both("teams/<uuid:team_id>/invitations", InvitationList, "team-invitations"),
    *_both("teams/<uuid:team_id>/invitations/<uuid:invitation_id>", InvitationItem, "team-invitation"),
    *_both("teams/<uuid:team_id>/tokens", TokenList, "team-tokens"),
    *_both("teams/<uuid:team_id>/tokens/<int:token_id>", TokenItem, "team-token"),
    *_both("teams/<uuid:team_id>/audit", AuditList, "team-audit"),
    *_both("sheets/links", SheetLinks, "sheet-links"),
    *_both("sheets/links/<int:link_id>", SheetLink, "sheet-link"),
    *_both("catalog/accelerators", Accelerators, "catalog-accelerators"),
    *_both("catalog/models", Models, "catalog-models"),
    *_both("catalog/gpu-prices", GpuPrices, "catalog-gpu-prices"),
    *_both("catalog/api-prices", ApiPrices, "catalog-api-prices"),
    *_both("catalog/entries", EntryList, "catalog-entries"),
    *_both("catalog/entries/<uuid:entry_id>", EntryItem, "catalog-entry"),
    *_both("openapi.json", OpenApiDocument, "openapi"),
    *_both("docs", Manual, "docs"),
    *_both("docs/spreadsheets", Spreadsheets, "docs-spreadsheets"),
    path("", Start.as_view(), name="api"),
    re_path(r"", UnknownAddress.as_view()),
]
