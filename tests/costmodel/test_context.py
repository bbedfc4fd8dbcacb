"""The context held on average is weighted by the time that requests stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costmodel import token_time_mean_context, token_time_mean_context_from_moments

LENGTHS = st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 2000)), min_size=1, max_size=30)


def test_equal_requests_hold_the_prompt_and_half_the_output() -> None:
    assert token_time_mean_context([1000, 1000], [200, 200]) == 1100


def test_long_answers_weigh_more_than_the_mean_request() -> None:
    assert token_time_mean_context([100, 100], [10, 990]) > 100 + 500 / 2


@given(LENGTHS)
def test_it_is_the_average_over_every_decoded_token(pairs: list[tuple[int, int]]) -> None:
    prompts, outputs = [p for p, _ in pairs], [n for _, n in pairs]
    held = sum(p + step + 0.5 for p, n in pairs for step in range(n)) / sum(outputs)
    assert token_time_mean_context(prompts, outputs) == pytest.approx(held)


def test_moments_give_the_same() -> None:
    by_moments = token_time_mean_context_from_moments(prompt_mean=100, output_mean=500, output_sd=490)
    assert by_moments == pytest.approx(token_time_mean_context([100, 100], [10, 990]))


@pytest.mark.parametrize("samples", [([], []), ([1], [1, 2]), ([1], [0]), ([-1], [5]), ([1], [float("nan")])])
def test_bad_samples_are_refused(samples: tuple[list[float], list[float]]) -> None:
    with pytest.raises(ValueError):
        token_time_mean_context(*samples)
