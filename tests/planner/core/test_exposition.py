"""The text format of metrics, by the rules of https://prometheus.io/docs/instrumenting/exposition_formats/."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.exposition import Family, Sample, exposition, number


def test_a_family_is_its_meaning_its_kind_and_its_samples() -> None:
    family = Family(
        "a_seconds", "gauge", "One\nline \\ only.", [Sample(1.5, {"x": "y", "z": ""}), Sample(2, {}, "_sum")]
    )
    assert exposition([family]) == (
        '# HELP a_seconds One\\nline \\\\ only.\n# TYPE a_seconds gauge\na_seconds{x="y",z=""} 1.5\na_seconds_sum 2\n'
    )


@given(st.text())
def test_any_label_stays_on_its_line_and_reads_back(text: str) -> None:
    *_, line, rest = exposition([Family("a", "gauge", "", [Sample(0, {"x": text})])]).split("\n")
    assert rest == ""
    found = re.fullmatch(r'a\{x="((?:[^"\\\n]|\\["\\n])*)"\} 0', line)
    assert found is not None
    assert re.sub(r"\\(.)", lambda mark: {"n": "\n"}.get(mark[1], mark[1]), found[1]) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (3.0, "3"),
        (-2, "-2"),
        (0.1, "0.1"),
        (1e-7, "1e-07"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, "NaN"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text
