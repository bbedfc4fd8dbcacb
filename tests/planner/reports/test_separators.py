import pytest

from planner.reports import numbers
from planner.reports.separators import ENGLISH, current, reading_with, separators_of


@pytest.mark.parametrize(
    ("accept_language", "text"),
    [
        ("", "1,234.5"),
        ("*", "1,234.5"),
        ("en-US,en;q=0.9,de;q=0.8", "1,234.5"),
        ("de-DE,de;q=0.9,en;q=0.8", "1.234,5"),
        ("en;q=0.5, DE-de", "1.234,5"),
        ("de-AT", "1\u00a0234,5"),
        ("de-CH-1996", "1\u2019234.5"),
        ("fr", "1\u202f234,5"),
        ("sr-Latn-RS", "1.234,5"),
        ("es-MX", "1,234.5"),
        ("en-DE", "1.234,5"),
        ("ja", "1,234.5"),
        ("de;q=0", "1,234.5"),
        ("<script>, fr;q=2, nl;q=0.1", "1.234,5"),
        ("x" * 10_000, "1,234.5"),
    ],
)
def test_marks_are_those_of_the_language_wanted_most(accept_language: str, text: str) -> None:
    with reading_with(separators_of(accept_language)):
        assert numbers.number(1234.5, 1) == text
    assert current() is ENGLISH


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("costs $16.8k a month, $1,234.50 more.", "costs $16,8k a month, $1.234,50 more."),
        ("-0.91 GiB, 3 x 2.5, 73.5%", "−0,91 GiB, 3 × 2,5, 73,5\u00a0%"),
        ("5.53 requests/s, 0.5/s; (1,024)", "5,53 requests/s, 0,5/s; (1.024)"),
        ("Llama-3.3-70B, Llama 3.3 on vLLM 0.22, 0.22.1", "Llama-3.3-70B, Llama 3.3 on vLLM 0.22, 0.22.1"),
        ("since 2026-11-30, CC-BY-4.0, a,b 1,2", "since 2026-11-30, CC-BY-4.0, a,b 1,2"),
    ],
)
def test_engine_text_has_the_readers_marks_but_ids_versions_and_dates_stay(english: str, german: str) -> None:
    with reading_with(separators_of("de")):
        assert numbers.tidy(english) == german


def test_text_about_fields_has_dots_as_they_are_typed() -> None:
    assert numbers.as_typed("0.5 to 60,000") == "0.5 to 60,000"
    with reading_with(separators_of("de")):
        assert numbers.as_typed("0.5 to 60,000") == "0.5 to 60\u202f000"


def test_zeros_at_the_end_go_in_any_marks() -> None:
    assert [numbers.plain_decimal(value) for value in (2.5, 3.0, 1155, 0.8)] == ["2.5", "3", "1,155", "0.8"]
    with reading_with(separators_of("de")):
        assert [numbers.plain_decimal(value) for value in (2.5, 1155.25)] == ["2,5", "1.155,25"]
