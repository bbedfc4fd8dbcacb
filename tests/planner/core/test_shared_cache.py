"""The cache that web processes share."""

import multiprocessing
import sqlite3
from pathlib import Path

import pytest

from planner.core import shared_cache
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


def used(cache: SharedCache) -> list[object]:
    """What every call says, of a key that is kept in a file that can be used."""
    calls = (
        lambda: cache.get("kept", "none"),
        lambda: cache.add("new", 1),
        lambda: cache.set("new", 1),
        lambda: cache.touch("kept"),
        lambda: cache.delete("kept"),
        lambda: cache.clear(),
    )
    with pytest.raises(ValueError, match="not kept"):
        cache.incr("kept")
    return [call() for call in calls]


def test_a_locked_file_keeps_nothing_and_fails_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_cache, "BUSY_S", 0.01)
    cache = cache_at(tmp_path)
    cache.set("kept", 1)
    holder = sqlite3.connect(tmp_path / "cache.sqlite3", isolation_level=None)
    holder.execute("begin immediate")
    assert used(cache) == [1, False, None, False, False, None], "a reader is let past a writer"
    holder.execute("rollback")
    holder.close()
    assert cache.incr("kept") == 2


def test_a_broken_file_keeps_nothing_and_fails_nothing(tmp_path: Path) -> None:
    (tmp_path / "cache.sqlite3").write_bytes(b"no database" * 1000)
    assert used(cache_at(tmp_path)) == ["none", False, None, False, False, None]


def test_a_value_that_the_file_cannot_hold_is_a_fault_of_the_program(tmp_path: Path) -> None:
    cache = cache_at(tmp_path)
    with pytest.raises(sqlite3.Error):
        cache.set("kept", {"not": "bytes"})
