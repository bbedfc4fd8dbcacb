"""The page of the REST API in a browser: our own files alone, under the CSP, in both themes, by keyboard."""

from typing import Any

import pytest

from planner.api.problems import KINDS
from tests.e2e.test_pages import RULES, WIDE_PX

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def opened(visit: Any, width: int, dark: bool, path: str = "/api/v1/docs/") -> Any:
    visitor = visit(width, dark=dark)
    visitor.go(path)
    visitor.page.wait_for_selector("html[data-api=drawn]", state="attached")
    visitor.page.wait_for_selector(".opblock-tag")
    return visitor


@pytest.mark.parametrize(("width", "dark"), [(WIDE_PX, False), (390, True)])
def test_it_lists_every_tag_in_the_pages_theme(visit: Any, width: int, dark: bool, artifacts: Any) -> None:
    visitor = opened(visit, width, dark)
    page = visitor.page
    look = f"{width}-{'dark' if dark else 'light'}"
    page.screenshot(path=str(artifacts / f"api-{look}.png"))
    assert page.locator("#api-operations .opblock-tag").count() >= 8
    assert page.evaluate("document.documentElement.classList.contains('dark-mode')") is dark
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.locator("[id='operations-tag-runs'] button").first.press("Enter")
    page.locator("#operations-runs-runs_list button").first.press("Enter")
    page.wait_for_selector("#operations-runs-runs_list .responses-wrapper")
    page.locator("#operations-tag-runs").scroll_into_view_if_needed()
    page.screenshot(path=str(artifacts / f"api-open-{look}.png"))
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_our_part_of_it_is_accessible(visit: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    visitor = opened(visit, 1440, False)
    context = {"exclude": [".swagger-ui"]}  # its buttons hold links, which we cannot mend
    found = Axe().run(visitor.page, context=context, options=RULES).response["violations"]
    told = [f"{v['id']}: {node['html'][:160]}" for v in found for node in v["nodes"]]
    assert not told, "\n".join(told)


def test_the_type_of_a_problem_leads_to_its_paragraph(visit: Any, artifacts: Any) -> None:
    visitor = opened(visit, 1440, False, f"/api/v1/docs#{KINDS[-1].anchor}")
    place = visitor.page.locator(f"#{KINDS[-1].anchor}")
    visitor.settle()
    assert place.bounding_box()["y"] < 900
    assert str(KINDS[-1].status) in place.inner_text()


def test_an_operation_can_be_tried(visit: Any) -> None:
    visitor = opened(visit, 1440, False)
    page = visitor.page
    page.locator("[id='operations-tag-calculators'] button").first.click()
    assert page.locator(".opblock").count() > 3
    assert page.locator(".btn.authorize").count() == 1
