"""The requests of one run: when they come, how long they are, and which beginnings they share."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.arrivals import MAX_TIME_PS
from simulator.errors import SimulatorError, require_int
from simulator.lengths import MAX_TOKENS
from simulator.steptime import IntArray


@dataclass(frozen=True, slots=True)
class BlockHashes:
    """Recorded content of prompts as chained block hashes (for example Mooncake's, 512 tokens each).

    Request i's prompt begins with the blocks `ids[offsets[i]:offsets[i + 1]]` of `block_tokens` tokens each; the last
    may be partly filled. An id stands for its block and all before it: equal ids mean equal prompts up to there.
    """

    offsets: IntArray
    ids: IntArray
    block_tokens: int


@dataclass(frozen=True, slots=True)
class Workload:
    """Requests in order of arrival; all arrays int64 and of one length.

    arrival_ps                    when they are sent, sorted, from 0
    prompt_tokens, output_tokens  lengths, at least 1; the output includes the first token
    prefix_group                  requests with the same group (0, 1, ...) begin with the same tokens; -1: with none
    prefix_tokens                 how many tokens of the prompt are the group's
    block_hashes                  recorded content instead of groups
    concurrency                   closed loop: at most this many in flight; a request is sent at its arrival time or
                                  when one before it ends, whichever is later
    """

    arrival_ps: IntArray
    prompt_tokens: IntArray
    output_tokens: IntArray
    prefix_group: IntArray | None = None
    prefix_tokens: IntArray | None = None
    block_hashes: BlockHashes | None = None
    concurrency: int | None = None

    def __post_init__(self) -> None:
        _set(self, "arrival_ps", _column("arrival_ps", self.arrival_ps, 0, MAX_TIME_PS))
        if self.arrival_ps.size == 0:
            raise SimulatorError("empty", "arrival_ps", "a workload needs at least one request")
        if (np.diff(self.arrival_ps) < 0).any():
            raise SimulatorError("not_sorted", "arrival_ps", "must be sorted")
        for field in ("prompt_tokens", "output_tokens"):
            _set(self, field, _column(field, getattr(self, field), 1, MAX_TOKENS))
            self._check_length(field, getattr(self, field))
        self._check_prefixes()
        self._check_hashes()
        if self.concurrency is not None:
            _set(self, "concurrency", require_int("concurrency", self.concurrency, 1))

    def __len__(self) -> int:
        return int(self.arrival_ps.size)

    def head(self, count: int) -> "Workload":
        """The first `count` requests as a workload of their own."""
        hashes = self.block_hashes
        if hashes is not None:
            hashes = BlockHashes(hashes.offsets[: count + 1], hashes.ids, hashes.block_tokens)
        return Workload(
            self.arrival_ps[:count],
            self.prompt_tokens[:count],
            self.output_tokens[:count],
            None if self.prefix_group is None else self.prefix_group[:count],
            None if self.prefix_tokens is None else self.prefix_tokens[:count],
            hashes,
            self.concurrency,
        )

    def _check_length(self, field: str, values: IntArray) -> None:
        if values.size != self.arrival_ps.size:
            raise SimulatorError("shape", field, f"has {values.size} entries for {self.arrival_ps.size} arrivals")

    def _check_prefixes(self) -> None:
        if (self.prefix_group is None) != (self.prefix_tokens is None):
            raise SimulatorError("ambiguous", "prefix_group", "prefix_group and prefix_tokens belong together")
        if self.prefix_group is None or self.prefix_tokens is None:
            return
        if self.block_hashes is not None:
            raise SimulatorError("ambiguous", "block_hashes", "give prefix groups or recorded hashes, not both")
        _set(self, "prefix_group", _column("prefix_group", self.prefix_group, -1, 2**31 - 1))
        _set(self, "prefix_tokens", _column("prefix_tokens", self.prefix_tokens, 0, MAX_TOKENS))
        self._check_length("prefix_group", self.prefix_group)
        self._check_length("prefix_tokens", self.prefix_tokens)
        if (self.prefix_tokens > self.prompt_tokens).any():
            raise SimulatorError("prefix_too_long", "prefix_tokens", "a prefix cannot be longer than its prompt")

    def _check_hashes(self) -> None:
        hashes = self.block_hashes
        if hashes is None:
            return
        require_int("block_hashes.block_tokens", hashes.block_tokens, 1)
        offsets = _column("block_hashes.offsets", hashes.offsets, 0, 2**62)
        ids = _column("block_hashes.ids", hashes.ids, 0, 2**40)
        if offsets.size != self.arrival_ps.size + 1 or (np.diff(offsets) < 0).any() or int(offsets[-1]) > ids.size:
            raise SimulatorError(
                "shape", "block_hashes.offsets", "must rise from 0 to len(ids), one more than requests"
            )
        _set(self, "block_hashes", BlockHashes(offsets, ids, hashes.block_tokens))


def shared_prefix(count: int, groups: int, tokens: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """(prefix_group, prefix_tokens) of `count` requests, each beginning with one of `groups` prefixes at random."""
    groups = require_int("groups", groups, 1)
    tokens = require_int("tokens", tokens, 1, MAX_TOKENS)
    return rng.integers(0, groups, count, dtype=np.int64), np.full(count, tokens, np.int64)


def _column(field: str, values: npt.ArrayLike, low: int, high: int) -> IntArray:
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise SimulatorError("not_an_integer", field, "must be a one-dimensional array of whole numbers")
    if array.size and (array.min() < low or array.max() > high):
        raise SimulatorError("out_of_range", field, f"entries must lie in {low}..{high}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _set(instance: object, field: str, value: object) -> None:
    object.__setattr__(instance, field, value)
