from hypothesis import given
from hypothesis import strategies as st

from planner.reports.marks import WIDTH, mark, scale_over

amounts = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False)


@given(st.lists(amounts, min_size=3, max_size=3), amounts)
def test_low_middle_and_high_keep_their_order_on_the_axis(values: list[float], limit: float) -> None:
    low, mid, high = sorted(values)
    drawn = mark(scale_over([*values, limit]), low, mid, high, words="", limit=limit)
    assert drawn is not None
    assert drawn.limit is not None
    assert 0 <= drawn.low <= drawn.mid <= WIDTH
    assert drawn.low <= drawn.high
    assert 0 <= drawn.limit <= WIDTH


def test_an_interval_that_holds_its_limit_crosses_it() -> None:
    scale = scale_over([30.0, 60.0])
    across = mark(scale, 38.0, 45.0, 53.0, words="", limit=50.0)
    below = mark(scale, 38.0, 41.0, 45.0, words="", limit=50.0)
    assert across is not None
    assert below is not None
    assert across.crosses
    assert not below.crosses


def test_a_missing_end_gives_no_mark() -> None:
    assert mark(scale_over([1.0]), None, 1.0, 2.0, words="") is None
