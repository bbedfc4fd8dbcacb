"""Addresses of the pages."""

from django.urls import URLPattern, path

from planner.web.views import auth, catalog, drafts, home, lab, reports, runs, scenario_form, scenarios, traces

urlpatterns: list[URLPattern] = [
    path("", home.home, name="home"),
    path("sample/", home.sample_run, name="sample-run"),
    path("sign-in/", auth.SignIn.as_view(), name="sign-in"),
    path("sign-in/link/<str:secret>/", auth.sign_in_link, name="sign-in-link"),
    path("sign-out/", auth.SignOut.as_view(), name="sign-out"),
    path("scenarios/", scenarios.listing, name="scenarios"),
    path("scenarios/new/", scenario_form.new, name="scenario-new"),
    path("scenarios/estimate/", drafts.estimate, name="scenario-estimate"),
    path("scenarios/drafts/<uuid:draft_id>/", drafts.keep, name="draft-keep"),
    path("scenarios/drafts/<uuid:draft_id>/discard/", drafts.discard, name="draft-discard"),
    path("scenarios/<uuid:scenario_id>/", scenarios.detail, name="scenario"),
    path("scenarios/<uuid:scenario_id>/edit/", scenario_form.edit, name="scenario-edit"),
    path("scenarios/<uuid:scenario_id>/run/", scenarios.rerun, name="scenario-run"),
    path("runs/<uuid:run_id>/", runs.progress, name="run"),
    path("runs/<uuid:run_id>/progress/", runs.progress_part, name="run-progress"),
    path("runs/<uuid:run_id>/cancel/", runs.cancel, name="run-cancel"),
    path("reports/<uuid:run_id>/", reports.report, name="report"),
    path("reports/<uuid:run_id>/report.json", reports.report_json, name="report-json"),
    path("traces/", traces.listing, name="traces"),
    path("traces/new/", traces.new, name="trace-new"),
    path("traces/uploads/<uuid:upload_id>/", traces.upload, name="trace-upload"),
    path("traces/uploads/<uuid:upload_id>/forget/", traces.upload_forget, name="trace-upload-forget"),
    path("traces/<uuid:trace_id>/", traces.detail, name="trace"),
    path("traces/<uuid:trace_id>/delete/", traces.delete, name="trace-delete"),
    path("catalog/", catalog.catalog, name="catalog"),
    path("lab/", lab.lab, name="lab"),
]
