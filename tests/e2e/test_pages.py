"""Every page in light and dark, wide and narrow: axe finds nothing, nothing scrolls sideways, paper holds it all."""

import base64
import hmac
import re
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.urls import resolve

from planner.runs.models import Run
from planner.teams.models import User
from planner.teams.signing_in import CONFIRMED_AT
from planner.web.urls import urlpatterns
from tests.e2e.conftest import Visitor
from tests.e2e.world import World, build_world
from tests.planner.reports.example import SECTIONS

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
WIDE_PX = 1440
FAULTS_ALONE = {"resultTypes": ["violations"]}
CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}, **FAULTS_ALONE}
UNCOVERED = """
scrollTo(0, 0);
document.querySelectorAll(".est-bar").forEach((bar) => { bar.style.position = "static"; });
"""
"""What a bar that stays happens to cover half is no small target."""
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], **FAULTS_ALONE}


@pytest.fixture
def world(db: None) -> World:
    return build_world()


def addresses(world: World) -> dict[str, str]:
    assert world.done.scenario_version is not None
    saved = world.done.scenario_version.scenario_id
    return {
        "home": "/",
        "scenarios": "/scenarios/",
        "scenario": f"/scenarios/{saved}/",
        "archived": "/scenarios/?archived=1",
        "diff": f"/scenarios/{saved}/diff/?from=1&to=2",
        "compare": f"/compare/?of=run:{world.done.pk},{saved}:2,run:{world.infeasible.pk}",
        "compare-none": "/compare/",
        "share": f"/reports/{world.done.pk}/share/",
        "shared": f"/shared/{world.share_secret}/",
        "form": "/scenarios/new/?from=chat",
        "traces": "/traces/",
        "trace": f"/traces/{world.trace.pk}/",
        "trace-new": "/traces/new/",
        "trace-upload": f"/traces/uploads/{world.upload.pk}/",
        "run": f"/runs/{world.running.pk}/",
        "report": f"/reports/{world.done.pk}/",
        "infeasible": f"/reports/{world.infeasible.pk}/",
        "sheet": f"/reports/{world.done.pk}/sheet/",
        "operations": "/operations/",
        "operations-prices": f"/operations/prices/{world.refresh.pk}/",
        "what-if": f"/reports/{world.done.pk}/what-if/",
        "scenarios-none": "/scenarios/?q=nothing-like-it",
        "form-hand": "/scenarios/new/?from=hand",
        "edit": f"/scenarios/{saved}/edit/",
        **{
            f"catalog-{kind}": f"/catalog/?list={kind}"
            for kind in ("accelerators", "models", "gpu-prices", "api-prices")
        },
        "catalog-none": "/catalog/?q=nothing-like-it",
        "team": "/team/",
        "audit": "/team/audit/",
        "audit-none": "/team/audit/?action=run.failed",
        "team-delete": "/team/delete/",
        "account": "/account/",
        "join": f"/join/{world.invitation_secret}/",
        "measurements": "/measurements/",
        "measurement-new": "/measurements/new/",
        "measurement-upload": f"/measurements/uploads/{world.file.pk}/",
        "measurement": f"/measurements/{world.measurement.pk}/",
        "calibration": f"/calibrations/{world.calibration.pk}/",
        "missing": "/nothing/",
    }


WITHOUT_ACCOUNT = {
    "sign-in": "/sign-in/",
    "question": "/",
    "shared-nothing": "/shared/nothing/",
    "join-nothing": "/join/no/",
}
OF_A_NEWCOMER = {"home-new": "/", "scenarios-new": "/scenarios/", "traces-new": "/traces/", "team-new": "/team/"}
NO_PAGES = {
    "sign-in-link", "sign-out", "scenario-estimate", "draft-keep", "draft-discard", "scenario-run",
    "scenario-tags", "scenario-archive", "scenario-copy", "comment", "uncomment", "run-cancel", "share-revoke",
    "report-json", "report-xlsx", "report-csv", "report-what-if-run", "trace-upload-forget", "trace-delete",
    "entry-add", "entry-remove", "team-defaults", "team-name", "team-export", "team-leave", "member-role",
    "member-remove", "member-password-link", "invitation-create", "invitation-revoke", "token-create",
    "token-revoke", "link-token-revoke", "account-name", "account-password", "team-new", "webhook-create",
    "webhook-ping", "webhook-pause", "webhook-enable", "webhook-delete",
    "measurement-upload-forget", "measurement-delete", "measurement-compare", "measurement-plan",
    "measurement-calibrate", "calibration-use",
    "operations-cancel", "operations-decide", "operations-limits", "sign-out-elsewhere",
    "second-factor", "second-factor-begin", "second-factor-remove",  # answers to forms, looked at below
    "run-line", "run-progress",  # parts of a page
}  # fmt: skip
"""Addresses that are sent to, downloaded from, or parts of a page."""


def enter(visitor: Visitor, client: Any, who: World | User) -> None:
    client.force_login(who.user if isinstance(who, World) else who)
    cookie = client.cookies["staircase_session"].value
    visitor.page.context.add_cookies([{"name": "staircase_session", "value": cookie, "url": visitor.base}])


def violations(visitor: Visitor, options: Any = RULES) -> list[str]:
    """What axe finds. Of long tables a dozen rows are looked at: the others are made by the same template."""
    from axe_playwright_python.sync_playwright import Axe

    visitor.page.evaluate(UNCOVERED)
    visitor.page.evaluate("document.querySelectorAll('tbody tr:nth-child(n+13)').forEach((row) => row.remove())")
    found = Axe().run(visitor.page, options=options).response["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html'][:160]}" for v in found]


def looked_at(visitor: Visitor, name: str, path: str, width: int, artifacts: Any) -> list[str]:
    """What is wrong with a page of this width; what only some open is open. Dark colours are looked at on wide pages,
    which have all of them."""
    visitor.go(path)
    page = visitor.page
    page.evaluate("document.querySelectorAll('.own-form').forEach((form) => { form.open = true; })")
    page.screenshot(path=str(artifacts / f"{name}-{width}-light.png"))
    overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    faults = [f"is {overflow} px too wide"] if overflow > 0 else []
    faults += violations(visitor)
    if width == WIDE_PX:
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=str(artifacts / f"{name}-{width}-dark.png"))
        faults += [f"dark {fault}" for fault in violations(visitor, CONTRAST)]
        page.emulate_media(color_scheme="light")
    return [f"{name} {fault}" for fault in faults]


@pytest.mark.parametrize("width", [WIDE_PX, 390])
def test_pages_are_accessible_and_fit_the_window(
    visit: Any, client: Any, world: World, width: int, artifacts: Any
) -> None:
    visitor = visit(width)
    opens = addresses(world) | {"new-password": f"/password/{world.password_secret}/"}
    paths = [*opens.values(), *WITHOUT_ACCOUNT.values(), "/sample/", "/lab/", "/"]
    visited = {resolve(urlsplit(path).path).url_name for path in paths if not path.startswith("/nothing")}
    assert {pattern.name for pattern in urlpatterns} - visited - NO_PAGES == set()
    faults = []
    for name, path in WITHOUT_ACCOUNT.items():
        faults += looked_at(visitor, name, path, width, artifacts)
    enter(visitor, client, world.newcomer)
    for name, path in OF_A_NEWCOMER.items():
        faults += looked_at(visitor, name, path, width, artifacts)
    enter(visitor, client, world.user)
    User.objects.filter(pk=world.user.pk).update(is_staff=True)
    for name, path in opens.items():
        faults += looked_at(visitor, name, path, width, artifacts)
    assert not faults, "\n".join(faults)


def test_errors_of_the_form_are_accessible(visit: Any, client: Any, world: World) -> None:
    visitor = visit()
    enter(visitor, client, world)
    visitor.go("/scenarios/new/")
    visitor.page.get_by_label("TPOT p95").fill("0.05")
    visitor.page.get_by_label("Model", exact=True).fill("llama-9")
    visitor.page.get_by_role("button", name="Save and run").click()
    visitor.page.locator(".summary-errors").wait_for()
    assert violations(visitor) == []
    visitor.page.locator(".summary-errors a").first.click()
    assert visitor.page.evaluate("document.activeElement.tagName") == "INPUT"


def test_a_second_factor_is_set_up_and_signs_in_on_accessible_pages(
    visit: Any, client: Any, world: World, artifacts: Any
) -> None:
    visitor = visit(390)
    page, faults = visitor.page, []
    enter(visitor, client, world)
    session = client.session
    del session[CONFIRMED_AT]  # signed in some time ago
    session.save()
    visitor.go("/account/")
    for name, button in (("confirm", "Set up a second factor"), ("key", "Go on"), ("codes", "Turn it on")):
        if name == "key":
            page.get_by_label("Password").fill(world.password)
        elif name == "codes":
            page.get_by_label("Code").fill(_digits_of(page.locator("form b").inner_text()))
        page.get_by_role("button", name=button).click()
        faults += [f"{name} {fault}" for fault in _now_looked_at(visitor, f"second-factor-{name}", artifacts)]
    recovery_code = page.locator("ul.mono li").first.inner_text()
    page.get_by_role("link", name="They are kept").click()
    assert "10 recovery codes left" in page.locator("#second-factor").inner_text()
    page.context.clear_cookies()
    visitor.go("/sign-in/")
    page.get_by_label("E-mail").fill(world.user.email)
    page.get_by_label("Password").fill(world.password)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Code").wait_for()
    faults += [f"sign-in {fault}" for fault in _now_looked_at(visitor, "second-factor-sign-in", artifacts)]
    page.get_by_label("Code").fill(recovery_code)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Scenarios").first.wait_for()
    assert faults == []


def _now_looked_at(visitor: Visitor, name: str, artifacts: Any) -> list[str]:
    visitor.page.wait_for_load_state()
    visitor.page.screenshot(path=str(artifacts / f"{name}-390-light.png"))
    faults = violations(visitor)
    visitor.page.emulate_media(color_scheme="dark")
    faults += violations(visitor, CONTRAST)
    visitor.page.emulate_media(color_scheme="light")
    return faults


def _digits_of(seed: str) -> str:
    """What an authenticator app shows (RFC 6238)."""
    digest = hmac.digest(base64.b32decode(seed.replace(" ", "")), (int(time.time()) // 30).to_bytes(8, "big"), "sha1")
    at = digest[-1] & 15
    return f"{(int.from_bytes(digest[at : at + 4], 'big') & 0x7FFFFFFF) % 10**6:06d}"


def test_the_report_at_hand(visit: Any, client: Any, world: World) -> None:
    """Terms, computations, files, sorting and the theme, on one opened report."""
    visitor = visit()
    enter(visitor, client, world)
    visitor.go(addresses(world)["report"])
    page = visitor.page
    _opens_terms_and_computations_by_keyboard(visitor)
    _sorts_candidates(page)
    _saves_charts_and_tables(page)
    _follows_the_theme(visitor)


def _opens_terms_and_computations_by_keyboard(visitor: Visitor) -> None:
    page = visitor.page
    page.locator("#slo .term").first.focus()
    page.locator(".tip:popover-open").wait_for()
    page.keyboard.press("Escape")
    assert page.locator(".tip:popover-open").count() == 0
    page.locator(".how").nth(1).focus()
    page.keyboard.press("Enter")
    assert page.locator(".pop:popover-open").inner_text().startswith("Self-host cost of a month")
    assert violations(visitor) == []
    page.keyboard.press("Escape")


def _sorts_candidates(page: Any) -> None:
    page.locator("#candidates").get_by_role("button", name="TPOT").click()
    values = page.locator("#candidates tbody tr td:nth-child(8)").all_inner_texts()
    known = [float(text.split()[0]) for text in values]
    assert known == sorted(known)
    last = page.locator("#candidates tbody tr").last
    assert "off" in last.get_attribute("class")
    assert "Memory" in last.inner_text()


def _saves_charts_and_tables(page: Any) -> None:
    for name, kind, start in (("cost", "png", b"\x89PNG"), ("tornado", "svg", b"<svg")):
        with page.expect_download() as download:
            page.locator(f"#fig-{name} [data-export={kind}]").click()
        assert download.value.suggested_filename == f"{name}.{kind}"
        assert download.value.path().read_bytes().startswith(start)
    page.locator(".exports summary").press("Enter")
    for name, start in (("Workbook, XLSX", b"PK"), ("Candidates, CSV", b"id,gpu,tp")):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        assert download.value.path().read_bytes().startswith(start)
    page.keyboard.press("Escape")


def _follows_the_theme(visitor: Visitor) -> None:
    page = visitor.page
    ground = "getComputedStyle(document.body).backgroundColor"
    label = "document.querySelector('#fig-break-even svg text').getAttribute('fill')"
    light = page.evaluate(ground), page.evaluate(label)
    toggle = page.get_by_role("button", name="Colour theme")
    toggle.click()
    toggle.click()
    dark = page.evaluate(ground), page.evaluate(label)
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    visitor.go("/scenarios/")
    assert page.evaluate(ground) == dark[0]


def test_scripts_write_and_read_the_marks_of_the_page(visit: Any, client: Any, world: World) -> None:
    """Sliders, axes and sorting, for a German reader."""
    visitor = visit()
    enter(visitor, client, world)
    page = visitor.page
    page.set_extra_http_headers({"Accept-Language": "de"})
    visitor.go(addresses(world)["report"])
    page.locator("#what-if").get_by_label("Load").press("ArrowRight")
    assert "2,42 req/s" in page.locator("#what-if output").first.inner_text()
    ticks = page.locator("#fig-ttft svg text").all_text_contents()
    assert "1.000" in ticks
    page.locator("#candidates").get_by_role("button", name="TPOT").click()
    cells = page.locator("#candidates tbody tr td:nth-child(8)").all_inner_texts()
    known = [float(text.split()[0].replace(".", "").replace(",", ".")) for text in cells]
    assert any("," in text for text in cells)
    assert known == sorted(known)


def test_a_phone_folds_what_only_some_need_and_opens_what_is_gone_to(visit: Any, client: Any, world: World) -> None:
    visitor = visit(390)
    enter(visitor, client, world)
    visitor.go(addresses(world)["report"])
    page = visitor.page
    assert page.evaluate("document.documentElement.scrollHeight") < 7_000
    assert page.locator("#fig-cost .plot svg").is_visible()
    assert not page.locator("#fig-memory").is_visible()
    assert page.locator("#memory .finding").is_visible()
    page.get_by_role("navigation", name="Report sections").get_by_role("link", name="Memory").click()
    page.locator("#fig-memory .plot svg").wait_for()
    assert page.locator(".toc").bounding_box()["y"] < 60  # stays at hand
    visitor.go(addresses(world)["report"] + "#fig-tornado")
    page.locator("#fig-tornado .plot svg").wait_for()
    assert 0 < page.locator("#fig-tornado").bounding_box()["y"] < 844
    _shows_the_first_rows_until_more_are_wanted(visitor)


def _shows_the_first_rows_until_more_are_wanted(visitor: Visitor) -> None:
    visitor.go("/catalog/?list=models")
    page = visitor.page
    rows = "[...document.querySelectorAll('#models tbody tr')].filter((row) => row.checkVisibility()).length"
    assert page.evaluate(rows) == 12
    page.get_by_label("Search Models").fill("qwen")
    assert page.evaluate(rows) > 12
    page.get_by_label("Search Models").fill("")
    page.get_by_label("Show all").check()
    assert page.evaluate(rows) > 70


def test_paper_holds_every_section(visit: Any, client: Any, world: World, artifacts: Any) -> None:
    visitor = visit()
    enter(visitor, client, world)
    visitor.go(addresses(world)["report"])
    page = visitor.page
    pdf = page.pdf(path=str(artifacts / "report.pdf"), format="A4", prefer_css_page_size=True)
    assert pdf.startswith(b"%PDF")
    page.emulate_media(media="print")
    for title in SECTIONS:
        assert page.get_by_role("heading", name=title, exact=True).is_visible()
    assert not page.locator(".site").is_visible()
    assert not page.get_by_role("button", name="Print or PDF").is_visible()


def test_the_manager_gets_one_page_of_paper(visit: Any, client: Any, world: World, artifacts: Any) -> None:
    visitor = visit()
    enter(visitor, client, world)
    for name, run in (("sheet", world.done), ("sheet-infeasible", world.infeasible)):
        visitor.go(f"/reports/{run.pk}/sheet/")
        pdf = visitor.page.pdf(path=str(artifacts / f"{name}.pdf"), format="A4", prefer_css_page_size=True)
        assert re.search(rb"/Type /Pages\b[^>]*?/Count (\d+)|/Count (\d+)[^>]*?/Type /Pages\b", pdf)[0].count(
            b"/Count 1"
        )


def test_sliders_answer_by_keyboard_and_start_a_run(visit: Any, client: Any, world: World) -> None:
    visitor = visit()
    enter(visitor, client, world)
    visitor.go(addresses(world)["report"])
    page = visitor.page
    section = page.locator("#what-if")
    section.scroll_into_view_if_needed()
    answer = section.locator("table tbody tr").filter(has_text="API, a month").locator("td")
    answer.first.wait_for()
    assert answer.nth(0).inner_text() == answer.nth(1).inner_text()
    assert page.get_by_role("button", name="Run in full").is_disabled()
    section.get_by_label("Load").press("ArrowRight")
    assert "2.42 req/s" in section.locator("output").first.inner_text()
    section.locator("td.accent-ink").first.wait_for()
    assert answer.nth(0).inner_text() != answer.nth(1).inner_text()
    assert violations(visitor) == []
    page.get_by_role("button", name="Run in full").click()
    page.wait_for_url("**/runs/**")
    newest = Run.objects.order_by("-created_at").first()
    assert newest is not None
    assert newest.scenario_version is not None
    assert newest.scenario_version.note.startswith("What if: Load 2.42")


def test_a_page_is_light_on_the_wire(visit: Any, client: Any, world: World) -> None:
    import zlib

    visitor = visit()
    enter(visitor, client, world)
    bodies: list[bytes] = []
    visitor.page.on("response", lambda response: bodies.append(response.body()))
    for path in (addresses(world)["report"], "/lab/"):
        bodies.clear()
        visitor.go(path)
        assert sum(len(zlib.compress(body)) for body in bodies) < 600_000
