"""The optional columns of a workload: what they refuse, and that cutting and merging keep every one."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import NO_DEADLINE_PS, BlockHashes, SimulatorError, Workload, merge_workloads, simulate
from simulator.workload import OPTIONAL_COLUMNS
from tests.simulator.closed_loop import sent_ps
from tests.simulator.random_runs import configs, step_times
from tests.simulator.random_runs import workloads as random_workloads

ONES = np.ones(3, np.int64)
EXTRA = ("tenant", "priority", "session", "deadline_ps", "traffic_class")


@st.composite
def workloads(draw: st.DrawFn, content: str | None = None) -> Workload:
    count = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    content = content or draw(st.sampled_from(["none", "groups", "hashes"]))
    columns = {name: rng.integers(0, 5, count) for name in EXTRA if draw(st.booleans())}
    if content == "groups":
        columns |= {"prefix_group": rng.integers(-1, 3, count), "prefix_tokens": rng.integers(0, 9, count)}
    hashes = None
    if content == "hashes":
        offsets = np.concatenate(([0], np.cumsum(rng.integers(0, 4, count))))
        hashes = BlockHashes(offsets, rng.integers(0, 9, offsets[-1]), 16)
    return Workload(
        np.cumsum(rng.integers(0, 4, count)),
        rng.integers(9, 90, count),
        rng.integers(1, 9, count),
        block_hashes=hashes,
        **columns,
    )


def rows(workload: Workload) -> list[tuple[object, ...]]:
    """One tuple per request: all columns, and its blocks where there are any."""
    columns = [workload.arrival_ps, workload.prompt_tokens, workload.output_tokens]
    columns += [workload.column(name) for name in OPTIONAL_COLUMNS]
    found = list(zip(*(column.tolist() for column in columns), strict=True))
    hashes = workload.block_hashes
    if hashes is None:
        return [(*row, ()) for row in found]
    spans = zip(hashes.offsets[:-1].tolist(), hashes.offsets[1:].tolist(), strict=True)
    return [(*row, tuple(hashes.ids[a:b].tolist())) for row, (a, b) in zip(found, spans, strict=True)]


def test_a_workload_without_columns_means_their_defaults() -> None:
    plain = Workload(ONES, ONES, ONES)
    assert plain.tenant is None
    assert {name: set(plain.column(name).tolist()) for name in OPTIONAL_COLUMNS} == {
        "prefix_group": {-1},
        "prefix_tokens": {0},
        "front_tokens": {0},
        "think_ps": {0},
        "tenant": {0},
        "priority": {0},
        "session": {-1},
        "deadline_ps": {NO_DEADLINE_PS},
        "traffic_class": {0},
        "recorded_tokens": {-1},
    }


@given(workloads(), st.data())
def test_taking_keeps_every_column_of_the_requests_taken(workload: Workload, data: st.DataObject) -> None:
    numbers = sorted(data.draw(st.sets(st.integers(0, len(workload) - 1), min_size=1)))
    assert rows(workload.take(np.array(numbers))) == [rows(workload)[number] for number in numbers]
    start, stop = numbers[0], numbers[-1] + 1
    assert rows(workload.take(slice(start, stop))) == rows(workload)[start:stop]
    assert rows(workload.take(slice(start, stop)).head(1)) == rows(workload)[start : start + 1]


def test_requests_sent_at_other_times_move_whole_and_ties_stay_in_order() -> None:
    workload = Workload(np.arange(3), np.array([5, 6, 7]), ONES, tenant=np.array([1, 2, 3]))
    moved = workload.sent_at([9, 4, 4])
    assert [row[:3] for row in rows(moved)] == [(4, 6, 1), (4, 7, 1), (9, 5, 1)]
    assert moved.column("tenant").tolist() == [2, 3, 1]


def test_cutting_a_closed_loop_keeps_its_limit_and_think_times() -> None:
    loop = Workload(ONES, ONES, ONES, concurrency=2, think_ps=np.array([0, 5, 7])).take(slice(1, 3))
    assert loop.concurrency == 2
    assert loop.column("think_ps").tolist() == [5, 7]


@given(st.sampled_from(["groups", "hashes"]).flatmap(lambda c: st.lists(workloads(c), min_size=1, max_size=4)))
def test_merging_conserves_requests_and_keeps_classes_sessions_and_content_apart(parts: list[Workload]) -> None:
    merged = merge_workloads(*parts)
    assert len(merged) == sum(len(part) for part in parts)
    assert (np.diff(merged.arrival_ps) >= 0).all()
    first_class = 0
    expected: list[tuple[object, ...]] = []
    names = ["arrival_ps", "prompt_tokens", "output_tokens", *OPTIONAL_COLUMNS]
    for place, part in enumerate(parts):
        for row in rows(part):
            values = dict(zip(names, row[:-1], strict=True))
            for name in ("session", "prefix_group"):
                values[name] = values[name] * len(parts) + place if values[name] >= 0 else -1
            values["traffic_class"] += first_class
            expected.append((*values.values(), tuple(block * len(parts) + place for block in row[-1])))
        first_class += int(part.column("traffic_class").max()) + 1
    assert rows(merged) == sorted(expected, key=lambda row: row[0])


def test_at_one_instant_the_workload_named_first_comes_first() -> None:
    one, two = Workload(ONES, ONES, ONES), Workload(ONES[:2], 2 * ONES[:2], ONES[:2])
    merged = merge_workloads(one, two)
    assert merged.prompt_tokens.tolist() == [1, 1, 1, 2, 2]
    assert merged.traffic_class is not None
    assert merged.traffic_class.tolist() == [0, 0, 0, 1, 1]
    assert merge_workloads(merged, one).column("traffic_class").tolist() == [0, 0, 0, 1, 1, 2, 2, 2]


def test_sent_times_of_a_closed_loop_by_hand() -> None:
    """Two users; ends at 10, 30, 40 start 25, 1 and 2 of thought: ready at 35, 31, 42; the last request comes late."""
    loop = Workload(
        np.array([0, 0, 0, 0, 90]), *[np.ones(5, np.int64)] * 2, concurrency=2, think_ps=np.array([9, 9, 25, 1, 2])
    )
    assert sent_ps(loop, np.array([40, 10, 30, 99, 99])).tolist() == [0, 0, 31, 35, 90]


@given(st.data())
def test_the_engine_sends_a_closed_loop_as_defined(data: st.DataObject) -> None:
    config = data.draw(configs())
    step_time = data.draw(step_times(config))
    loop = replace(data.draw(random_workloads(config, step_time)), concurrency=data.draw(st.integers(1, 8)))
    log = simulate(config, step_time, loop, rng=np.random.default_rng(1), engine="reference")
    assert log.arrival_ps.tolist() == sent_ps(loop, log.finish_ps).tolist()


HASHES_16 = BlockHashes(np.zeros(4, np.int64), np.zeros(0, np.int64), 16)
HASHES_32 = BlockHashes(np.zeros(4, np.int64), np.zeros(0, np.int64), 32)
PLAIN = Workload(ONES, ONES, ONES)
HASHED = Workload(ONES, ONES, ONES, block_hashes=HASHES_16)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: Workload(ONES, ONES, ONES, tenant=-ONES), "out_of_range"),
        (lambda: Workload(ONES, ONES, ONES, priority=256 * ONES), "out_of_range"),
        (lambda: Workload(ONES, ONES, ONES, session=-2 * ONES), "out_of_range"),
        (lambda: Workload(ONES, ONES, ONES, deadline_ps=-ONES), "out_of_range"),
        (lambda: Workload(ONES, ONES, ONES, traffic_class=ONES / 2), "not_an_integer"),
        (lambda: Workload(ONES, ONES, ONES, tenant=ONES[:2]), "shape"),
        (lambda: Workload(ONES, ONES, ONES, think_ps=ONES), "ambiguous"),
        (lambda: Workload(ONES, ONES, ONES, concurrency=1, think_ps=-ONES), "out_of_range"),
        (lambda: PLAIN.take([0, 3]), "out_of_range"),
        (lambda: PLAIN.take([-1]), "out_of_range"),
        (lambda: PLAIN.take(np.array([True, False, True])), "not_an_integer"),
        (lambda: PLAIN.take([]), "empty"),
        (lambda: Workload(np.arange(3), ONES, ONES).take([2, 0]), "not_sorted"),
        (lambda: PLAIN.sent_at([1, 2]), "shape"),
        (lambda: PLAIN.sent_at([1, 2, -1]), "out_of_range"),
        (lambda: merge_workloads(), "empty"),
        (lambda: merge_workloads(PLAIN, Workload(ONES, ONES, ONES, concurrency=2)), "closed_loop"),
        (lambda: merge_workloads(HASHED, Workload(ONES, ONES, ONES, ONES, ONES)), "mixed_content"),
        (lambda: merge_workloads(HASHED, Workload(ONES, ONES, ONES, block_hashes=HASHES_32)), "mixed_content"),
    ],
)
def test_bad_columns_are_refused_with_a_code(make: Callable[[], object], code: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        make()
    assert caught.value.code == code
