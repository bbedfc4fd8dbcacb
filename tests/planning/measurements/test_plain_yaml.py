"""YAML that someone sends: never a traceback, and no work beyond its size."""

import math

import pytest

from planner.planning.measurements.plain_yaml import read_yaml

HEAD = "version: 1\nrequest_latency: "
HOSTILE = {
    "deep list": HEAD + "[" * 100_000,
    "deep mapping": HEAD + "{" * 100_000,
    "base 60": HEAD + "1" + ":10" * 30_000,
    "base 60 with a fraction": HEAD + "1" + ":10" * 30_000 + ".5",
    "empty whole number": HEAD + "!!int ''",
    "no date": HEAD + "!!timestamp x",
    "object": HEAD + "!!python/object/apply:os.system [x]",
    "long number": HEAD + "9" * 100_000,
    "alias of itself": "&a [*a]",
    "merged keys": "a: &a {x: 1}\n" + "".join(f"b{i}: {{<<: [*a, *a]}}\n" for i in range(1_000)),
    "list as a key": "? [a]\n: b",
    "half of a character": 'a: "\\ud800"',
    "control character": "a: \x01",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents_are_read_as_texts_or_not_at_all(name):
    read_yaml(HOSTILE[name])


def test_scalars_are_texts_but_for_nothing_and_infinity():
    read = read_yaml("a: 1:30\nb: .inf\nc: ~\nd: [yes, 2026-11-01, 0x10]\n")
    assert read == {"a": "1:30", "b": math.inf, "c": None, "d": ["yes", "2026-11-01", "0x10"]}
