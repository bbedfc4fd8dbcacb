"""A real browser against a live server. Skipped with the reason where Chromium is missing; failed where CI=true."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")  # Playwright's sync API runs an event loop in this thread

CHROMIUM = Path(os.environ.get("PLANNER_TEST_CHROMIUM", "/usr/bin/chromium"))
ARGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CSP_LISTENER = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error("CSP violation: " + event.violatedDirective + " " + event.blockedURI));
"""


def _missing(reason: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if not CHROMIUM.exists():
        _missing(f"no Chromium at {CHROMIUM}")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=str(CHROMIUM), args=ARGS)
        yield launched
        launched.close()


@dataclass
class Visitor:
    """A browser page that remembers what went wrong on it."""

    page: Any
    base: str
    faults: list[str] = field(default_factory=list)

    def go(self, path: str) -> Any:
        response = self.page.goto(self.base + path)
        self.page.wait_for_selector(".htmx-request", state="detached")  # half a second less than a quiet network
        self._charts_drawn()
        return response

    def settle(self) -> None:
        """After what was typed or pressed, which a page may answer a moment later."""
        self.page.wait_for_load_state("networkidle")
        self._charts_drawn()

    def _charts_drawn(self) -> None:
        if self.page.locator("[data-option]").count():
            self.page.wait_for_selector("html[data-charts=drawn]", state="attached")


@pytest.fixture
def visit(browser: Any, live_server: Any, artifacts: Path) -> Iterator[Any]:
    """visit(width, dark) opens a page; at the end no page may have had a console error or a CSP violation."""
    visitors: list[Visitor] = []

    def open_page(width: int = 1440, *, dark: bool = False, scripts: bool = True) -> Visitor:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            java_script_enabled=scripts,
        )
        context.set_default_timeout(15_000)
        visitor = Visitor(context.new_page(), live_server.url)
        if scripts:
            visitor.page.add_init_script(CSP_LISTENER)
        visitor.page.on("console", lambda message: _note(visitor, message))
        visitor.page.on("pageerror", lambda error: visitor.faults.append(str(error)))
        visitor.page.on("requestfailed", lambda request: _failed(visitor, request))
        visitor.page.on("request", lambda request: _foreign(visitor, request.url))
        visitors.append(visitor)
        return visitor

    yield open_page
    faults = [fault for visitor in visitors for fault in visitor.faults]
    for visitor in visitors:
        visitor.page.context.close()
    assert not faults


def _failed(visitor: Visitor, request: Any) -> None:
    """A request that broke off; one that the browser itself drops when it leaves a polling page is no fault."""
    if request.failure != "net::ERR_ABORTED":
        visitor.faults.append(f"failed: {request.url} {request.failure}")


def _note(visitor: Visitor, message: Any) -> None:
    expected = any(
        code in message.text for code in ("401", "403", "404", "409", "410", "422")
    )  # logged answers that tests ask for
    if message.type in ("error", "warning") and not expected:
        visitor.faults.append(message.text)


def _foreign(visitor: Visitor, url: str) -> None:
    if not url.startswith((visitor.base, "data:", "blob:")):
        visitor.faults.append(f"request to another host: {url}")


@pytest.fixture(scope="session")
def artifacts() -> Path:
    from django.conf import settings

    folder = settings.TEST_ARTIFACTS_DIR / "staircase-pages"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
