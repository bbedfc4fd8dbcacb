"""The cache that web processes share."""

import multiprocessing
from pathlib import Path

import pytest

from planner.core.shared_cache import SharedCache


def cache_at(folder: Path, **options: int) -> SharedCache:
    return SharedCache(folder / "cache.sqlite3", {"OPTIONS": options} if options else {})


def test_what_is_kept_comes_back_until_it_ends(tmp_path: Path) -> None:
    cache = cache_at(tmp_path)
    cache.set("bytes", b"\x00x")
    cache.set("ended", 1, timeout=0)
    assert cache.get("bytes") == b"\x00x"
    assert cache.get("ended", "none") == "none"
    assert cache.add("ended", 2)
    assert not cache.add("ended", 3)
    assert cache.get("ended") == 2
    assert cache.delete("ended")
    assert not cache.delete("ended")
    with pytest.raises(ValueError, match="not kept"):
        cache.incr("ended")


def count(folder: Path) -> None:
    cache = cache_at(folder)
    for _ in range(50):
        cache.incr("count")


def test_counts_are_exact_across_processes(tmp_path: Path) -> None:
    cache = cache_at(tmp_path)
    cache.set("count", 0)
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=count, args=(tmp_path,)) for _ in range(2)]
    for child in children:
        child.start()
    count(tmp_path)
    for child in children:
        child.join(60)
    assert cache.get("count") == 150


def test_it_does_not_grow_without_end(tmp_path: Path) -> None:
    cache = cache_at(tmp_path, MAX_ENTRIES=100)
    for number in range(500):
        cache.set(str(number), number)
    kept = [number for number in range(500) if cache.get(str(number)) is not None]
    assert len(kept) < 400
    assert kept[-1] == 499
