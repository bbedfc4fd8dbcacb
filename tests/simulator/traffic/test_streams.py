"""Sources of requests: the same bytes for every chunk size, mixtures that lose nothing."""

import doctest
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import NO_DEADLINE_PS, SimulatorError, Workload, traffic
from simulator.steptime import PS_PER_S
from simulator.traffic import (
    OnOff,
    PrefixLayer,
    RateCurve,
    Source,
    changed,
    client_requests,
    conversations,
    cut_lengths,
    draw_clients,
    exponential_think_times,
    gamma_gaps,
    generate,
    geometric_turns,
    independent_lengths,
    joint_lengths,
    labelled,
    layered_prefix,
    merge_workloads,
    mixture,
    plain_requests,
    recorded_requests,
    renewal_arrivals,
    shared_prefix,
    steady_rate,
    stream,
    trough_arrivals_ps,
    uniform_tokens,
    weekly_shape,
    weibull_gaps,
    with_front_token,
)
from simulator.workload import OPTIONAL_COLUMNS
from tests.simulator.test_workload_columns import rows, workloads

LENGTHS = independent_lengths(lambda n, r: uniform_tokens(40, 90, n, r), lambda n, r: uniform_tokens(1, 30, n, r))
WEEK = RateCurve(6.0 * weekly_shape("diurnal", 2.4))
CHAT = plain_requests(
    renewal_arrivals(WEEK, gamma_gaps(2.0)), LENGTHS, lambda p, r: shared_prefix(p.size, 4, 32, r, exponent=1.0)
)
BURSTS = plain_requests(renewal_arrivals(steady_rate(3.0), bursts=OnOff(10.0, 5.0, 60.0)), LENGTHS)
WEIBULL = plain_requests(renewal_arrivals(steady_rate(1.0), weibull_gaps(1.5)), joint_lengths([9, 5], [2, 3]))
LAYERED = plain_requests(
    renewal_arrivals(steady_rate(2.0)),
    LENGTHS,
    lambda p, r: layered_prefix(p, [PrefixLayer(16), PrefixLayer(16, 5)], r),
)
TALKS = conversations(
    renewal_arrivals(steady_rate(0.4)),
    geometric_turns(5.0, 20),
    LENGTHS,
    exponential_think_times(30.0),
    max_model_len=1024,
    system_tokens=64,
    block_tokens=16,
)
CLIENTS = client_requests(
    draw_clients(
        60, np.random.default_rng(1), prompt_tokens_median=50, output_tokens_mean=9, cv_median=2.0, cv_sigma=0.5
    ),
    WEEK,
    500,
)
SOURCES = {
    "chat": CHAT,
    "bursts": BURSTS,
    "weibull": WEIBULL,
    "layered": LAYERED,
    "conversations": TALKS,
    "clients": CLIENTS,
    "front token": changed(CHAT, with_front_token),
    "mixture": mixture(labelled(LAYERED, priority=2), labelled(TALKS, tenant=3, deadline_ps=10**12), CLIENTS, BURSTS),
}


def columns(workload: Workload) -> dict[str, bytes | None]:
    names = ["arrival_ps", "prompt_tokens", "output_tokens", *OPTIONAL_COLUMNS]
    found = {name: None if (c := getattr(workload, name)) is None else c.tobytes() for name in names}
    if workload.block_hashes is not None:
        found |= {"offsets": workload.block_hashes.offsets.tobytes(), "ids": workload.block_hashes.ids.tobytes()}
    return found


def pieces(workload: Workload, sizes: list[int]) -> Source:
    """The workload as a source whose blocks have these sizes (the last as many as are left)."""

    def blocks(rng: np.random.Generator) -> Iterator[Workload]:
        start = 0
        for size in [*sizes, len(workload)]:
            if start < len(workload):
                yield workload.take(slice(start, start + size))
            start += size

    return blocks


def test_the_package_doc_runs() -> None:
    assert doctest.testmod(traffic).failed == 0


@pytest.mark.parametrize("name", SOURCES)
def test_chunks_of_any_size_hold_the_same_bytes(name: str) -> None:
    source, count = SOURCES[name], 140_000
    whole = generate(source, np.random.default_rng(2), count)
    assert len(whole) == count
    start = 0
    for chunk in stream(source, np.random.default_rng(2), count=count, chunk_requests=33_333):
        assert columns(chunk) == columns(whole.take(slice(start, start + len(chunk))))
        start += len(chunk)
    assert start == count


def test_four_times_the_requests_need_no_more_memory() -> None:
    def peak_bytes(count: int) -> int:
        tracemalloc.start()
        assert sum(map(len, stream(mixture(CHAT, CLIENTS), np.random.default_rng(1), count=count))) == count
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert peak_bytes(800_000) < 1.3 * peak_bytes(200_000)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("size", [1, 7, 299, 300, 301])
def test_small_chunks_too(name: str, size: int) -> None:
    source = SOURCES[name]
    whole = generate(source, np.random.default_rng(4), 300)
    chunks = list(stream(source, np.random.default_rng(4), count=300, chunk_requests=size))
    assert [len(chunk) for chunk in chunks] == [size] * (300 // size) + ([300 % size] if 300 % size else [])
    assert [row for chunk in chunks for row in rows(chunk)] == rows(whole)


@given(workloads(), st.lists(st.integers(1, 4), max_size=4), st.integers(1, 9))
def test_recutting_keeps_every_request(workload: Workload, sizes: list[int], chunk: int) -> None:
    chunks = list(stream(pieces(workload, sizes), np.random.default_rng(0), chunk_requests=chunk))
    assert [row for part in chunks for row in rows(part)] == rows(workload)
    assert all(len(part) == chunk for part in chunks[:-1])


@given(
    st.sampled_from(["groups", "hashes"]).flatmap(
        lambda c: st.lists(st.tuples(workloads(c), st.lists(st.integers(1, 4), max_size=4)), min_size=1, max_size=4)
    )
)
def test_a_mixture_is_the_merger_of_its_sources_however_they_come(parts: list[tuple[Workload, list[int]]]) -> None:
    plain = [
        (Workload(*_three(w), w.prefix_group, w.prefix_tokens, w.block_hashes, tenant=w.tenant), s) for w, s in parts
    ]
    mixed = generate(mixture(*[pieces(w, sizes) for w, sizes in plain]), np.random.default_rng(0))
    assert rows(mixed) == rows(merge_workloads(*[w for w, _ in plain]))


def _three(workload: Workload) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return workload.arrival_ps, workload.prompt_tokens, workload.output_tokens


def test_a_source_draws_the_same_whoever_stands_beside_it() -> None:
    alone = generate(mixture(CHAT), np.random.default_rng(3), 500)
    together = generate(mixture(CHAT, WEIBULL), np.random.default_rng(3), 800)
    own = together.take(np.flatnonzero(together.column("traffic_class") == 0))
    shared = min(len(own), 500)
    assert own.arrival_ps[:shared].tolist() == alone.arrival_ps[:shared].tolist()
    assert own.prompt_tokens[:shared].tolist() == alone.prompt_tokens[:shared].tolist()


def test_labels_are_on_every_request_of_the_class() -> None:
    mixed = generate(
        mixture(labelled(CHAT, priority=2, tenant=7), labelled(WEIBULL, deadline_ps=5)), np.random.default_rng(1), 999
    )
    first = mixed.column("traffic_class") == 0
    assert 0.05 < first.mean() < 0.95
    assert set(mixed.column("priority")[first]) == {2}
    assert set(mixed.column("priority")[~first]) == {0}
    assert set(mixed.column("tenant")[~first]) == {0}
    assert set(mixed.column("deadline_ps")[first]) == {NO_DEADLINE_PS}
    assert set(mixed.column("deadline_ps")[~first]) == {5}


def test_batch_work_mixes_with_interactive_traffic() -> None:
    day = RateCurve(np.array([3.0, 1.0]))
    batch = Workload(trough_arrivals_ps(3600, day, 7200.0), np.full(3600, 99), np.full(3600, 9))
    mixed = generate(
        mixture(plain_requests(renewal_arrivals(day), LENGTHS), recorded_requests(batch)),
        np.random.default_rng(1),
        19_000,
    )
    second = mixed.column("traffic_class") == 1
    assert second.sum() == 3600
    assert mixed.arrival_ps[second].min() >= 3600 * PS_PER_S


def test_a_source_that_ends_early_says_so_after_its_last_request() -> None:
    once = plain_requests(renewal_arrivals(RateCurve(np.array([100.0]), 1.0, repeats=False)), LENGTHS)
    chunks = stream(once, np.random.default_rng(1), count=10**6, chunk_requests=10)
    seen: list[int] = []
    with pytest.raises(SimulatorError) as caught:
        seen.extend(map(len, chunks))
    assert caught.value.code == "too_few"
    assert str(sum(seen)) in caught.value.detail
    assert len(generate(once, np.random.default_rng(1))) == sum(seen)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: mixture(), "empty"),
        (lambda: generate(mixture(CHAT, LAYERED), np.random.default_rng(1), 10), "mixed_content"),
        (lambda: generate(mixture(mixture(CHAT)), np.random.default_rng(1), 10), "ambiguous"),
        (lambda: stream(CHAT, np.random.default_rng(1), chunk_requests=0), "too_small"),
        (lambda: stream(CHAT, np.random.default_rng(1), count=0), "too_small"),
        (lambda: labelled(CHAT, priority=256), "too_large"),
        (lambda: labelled(CHAT, tenant=-1), "too_small"),
        (lambda: cut_lengths(LENGTHS, 1), "too_small"),
        (lambda: joint_lengths([1, 2], [1]), "shape"),
        (
            lambda: generate(pieces(Workload(*[np.ones(2, int)] * 3).head(1), []), np.random.default_rng(1), 2),
            "too_few",
        ),
    ],
)
def test_bad_streams_are_refused_with_a_code(make: Callable[[], object], code: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        make()
    assert caught.value.code == code
