"""The example in the package's own documentation runs."""

import doctest

import costmodel


def test_the_package_example_runs() -> None:
    result = doctest.testmod(costmodel)
    assert result.attempted > 0
    assert result.failed == 0
