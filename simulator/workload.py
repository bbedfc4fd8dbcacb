"""The requests of one run: when they come, how long they are, which beginnings they share, and whose they are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.checks import as_array, check_fields
from simulator.errors import SimulatorError, require_int
from simulator.steptime import IntArray

MAX_TIME_PS = 2**61  # 26 days: the last arrival; the rest of 64 bits is left for the run itself
MAX_TOKENS = 10**9
NO_DEADLINE_PS = 2**62  # later than any run can last
MAX_PRIORITY = 255
MAX_BLOCK_ID = 2**40
# Columns of millions of requests are gone through in parts, so that what lies between takes little memory.
ROWS_AT_A_TIME = 65_536


class ColumnRule(NamedTuple):
    """What an optional column may hold, and what a workload without it means."""

    low: int
    high: int
    default: int


OPTIONAL_COLUMNS: Mapping[str, ColumnRule] = {
    "prefix_group": ColumnRule(-1, 2**31 - 1, -1),
    "prefix_tokens": ColumnRule(0, MAX_TOKENS, 0),
    "front_tokens": ColumnRule(0, MAX_TOKENS, 0),
    "think_ps": ColumnRule(0, MAX_TIME_PS, 0),
    "tenant": ColumnRule(0, 2**31 - 1, 0),
    "priority": ColumnRule(0, MAX_PRIORITY, 0),
    "session": ColumnRule(-1, 2**31 - 1, -1),
    "deadline_ps": ColumnRule(0, NO_DEADLINE_PS, NO_DEADLINE_PS),
    "traffic_class": ColumnRule(0, 2**31 - 1, 0),
    "recorded_tokens": ColumnRule(-1, 2 * MAX_TOKENS, -1),
}


@dataclass(frozen=True, slots=True)
class BlockHashes:
    """Recorded content as chained block hashes (for example Mooncake's, 512 tokens each).

    Request i begins with the blocks `ids[offsets[i]:offsets[i + 1]]` of `block_tokens` tokens each; the last may be
    partly filled. An id stands for its block and all before it: equal ids mean equal prompts up to there, or as
    far as both reach (the next turn of a conversation fills the block in which the one before ended).
    """

    offsets: IntArray
    ids: IntArray
    block_tokens: int

    def __post_init__(self) -> None:
        _set(self, "block_tokens", require_int("block_hashes.block_tokens", self.block_tokens, 1))
        _set(self, "offsets", whole_numbers("block_hashes.offsets", self.offsets, 0, 2**62))
        _set(self, "ids", whole_numbers("block_hashes.ids", self.ids, 0, MAX_BLOCK_ID))
        offsets = self.offsets
        rising = offsets.size > 0 and offsets[0] == 0 and not (np.diff(offsets) < 0).any()
        if not rising or int(offsets[-1]) > self.ids.size:
            raise SimulatorError("shape", "block_hashes.offsets", f"must rise from 0 to at most {self.ids.size}")

    def __len__(self) -> int:
        """Requests whose content is told."""
        return int(self.offsets.size) - 1

    def take(self, indices: IntArray) -> "BlockHashes":
        """The content of these requests, in this order."""
        lengths = np.diff(self.offsets)[indices]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        source = np.repeat(self.offsets[indices] - offsets[:-1], lengths)
        source += np.arange(offsets[-1])
        return BlockHashes(offsets, self.ids[source], self.block_tokens)

    def part(self, start: int, stop: int) -> "BlockHashes":
        """The content of requests start to stop - 1, without a copy."""
        offsets = self.offsets[start : stop + 1]
        return BlockHashes(offsets - offsets[0], self.ids[int(offsets[0]) : int(offsets[-1])], self.block_tokens)


@dataclass(frozen=True, slots=True)
class Workload:
    """Requests in order of arrival; all arrays int64 and of one length. Those that may be None have a default.

    arrival_ps                    when they are sent, sorted, from 0
    prompt_tokens, output_tokens  lengths, at least 1; the output includes the first token
    prefix_group                  requests with the same group (0, 1, ...) begin with the same tokens; -1: with none
    prefix_tokens                 how many tokens of the prompt are the group's
    block_hashes                  recorded content instead of groups
    concurrency                   closed loop: at most this many in flight (below); None: open
    front_tokens                  tokens of its own (a time, a request's number) before the group's tokens or before the
                                  recorded blocks: with them no beginning is the same; default 0
    think_ps                      closed loop: time between an answer and the next question (below); default 0
    tenant                        whose request it is; default 0
    priority                      0 (most urgent, the default) to 255
    session                       requests of one conversation, in order, have one number; -1, the default: none
    deadline_ps                   time after arrival by which it must be admitted, or is rejected where the admission
                                  policy looks at deadlines; NO_DEADLINE_PS, the default: never
    traffic_class                 the class that metrics keep apart; default 0
    recorded_tokens               tokens of prompt and answer together that the recorded blocks tell, so that a next
                                  turn's prompt can find its answer's blocks too; -1, the default: the prompt's

    Closed loop with concurrency c: the first c requests are sent at their arrival_ps. The k-th end in the run (from 0;
    any outcome is an end; ends at one instant count in the order in which the engine settles them) starts a think time
    of think_ps[c + k]. Whoever has thought sends the next request in order: with ready_ps the instants at which think
    times end, sorted,

        sent_ps[i] = max(arrival_ps[i], ready_ps[i - c])        i >= c

    so sent times never go back, and users think apart from each other: a long think time holds up nobody else. The
    log's arrival_ps is sent_ps. think_ps of the first c requests has no meaning.
    """

    arrival_ps: IntArray
    prompt_tokens: IntArray
    output_tokens: IntArray
    prefix_group: IntArray | None = None
    prefix_tokens: IntArray | None = None
    block_hashes: BlockHashes | None = None
    concurrency: int | None = None
    think_ps: IntArray | None = None
    front_tokens: IntArray | None = None
    tenant: IntArray | None = None
    priority: IntArray | None = None
    session: IntArray | None = None
    deadline_ps: IntArray | None = None
    traffic_class: IntArray | None = None
    recorded_tokens: IntArray | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        _set(self, "arrival_ps", whole_numbers("arrival_ps", self.arrival_ps, 0, MAX_TIME_PS))
        if self.arrival_ps.size == 0:
            raise SimulatorError("empty", "arrival_ps", "a workload needs at least one request")
        if (self.arrival_ps[1:] < self.arrival_ps[:-1]).any():
            raise SimulatorError("not_sorted", "arrival_ps", "must be sorted")
        for field in ("prompt_tokens", "output_tokens"):
            self._check_column(field, 1, MAX_TOKENS)
        for field, rule in OPTIONAL_COLUMNS.items():
            if getattr(self, field) is not None:
                self._check_column(field, rule.low, rule.high)
        self._check_prefixes()
        self._check_hashes()
        if self.concurrency is not None:
            _set(self, "concurrency", require_int("concurrency", self.concurrency, 1))
        elif self.think_ps is not None:
            raise SimulatorError("ambiguous", "think_ps", "think times belong to a closed loop: give concurrency too")

    def __len__(self) -> int:
        return int(self.arrival_ps.size)

    def column(self, name: str) -> IntArray:
        """The optional column of this name, or its default for every request; SimulatorError for another name."""
        if name not in tuple(OPTIONAL_COLUMNS):
            known = ", ".join(OPTIONAL_COLUMNS)
            raise SimulatorError("unknown_column", "name", f"must be one of {known}, got {name!r}")
        values: IntArray | None = getattr(self, name)
        return np.full(len(self), OPTIONAL_COLUMNS[name].default, np.int64) if values is None else values

    def head(self, count: int) -> "Workload":
        """The first `count` requests as a workload of their own."""
        return self.take(slice(require_int("count", count, 1)))

    def take(self, which: npt.ArrayLike | slice) -> "Workload":
        """The requests of these numbers (rising), or of a slice, with all their columns.

        Raises SimulatorError where a number is none of a request, or the arrivals taken are not sorted.
        """
        if isinstance(which, slice) and which.step in (None, 1):
            start, stop, _ = which.indices(len(self))
            hashes = self.block_hashes and self.block_hashes.part(start, max(start, stop))
            return self._picked(which, self.arrival_ps, hashes)
        last = len(self) - 1
        picked = np.arange(last + 1)[which] if isinstance(which, slice) else whole_numbers("indices", which, 0, last)
        return self._picked(picked, self.arrival_ps, self.block_hashes and self.block_hashes.take(picked))

    def sent_at(self, arrival_ps: npt.ArrayLike) -> "Workload":
        """The same requests at other times, given in today's order, and in order of these; ties stay in order."""
        times = whole_numbers("arrival_ps", arrival_ps, 0, MAX_TIME_PS)
        if times.size != len(self):
            raise SimulatorError("shape", "arrival_ps", f"has {times.size} entries for {len(self)} requests")
        order = np.argsort(times, kind="stable")
        return self._picked(order, times, self.block_hashes and self.block_hashes.take(order))

    def _picked(self, place: IntArray | slice, arrival_ps: IntArray, hashes: BlockHashes | None) -> "Workload":
        """A slice makes views, nothing is copied."""
        columns = {
            field: None if (values := getattr(self, field)) is None else values[place] for field in OPTIONAL_COLUMNS
        }
        return Workload(
            arrival_ps=arrival_ps[place],
            prompt_tokens=self.prompt_tokens[place],
            output_tokens=self.output_tokens[place],
            block_hashes=hashes,
            concurrency=self.concurrency,
            **columns,
        )

    def _check_column(self, field: str, low: int, high: int) -> None:
        values = whole_numbers(field, getattr(self, field), low, high)
        if values.size != self.arrival_ps.size:
            raise SimulatorError("shape", field, f"has {values.size} entries for {self.arrival_ps.size} arrivals")
        _set(self, field, values)

    def _check_prefixes(self) -> None:
        if (self.prefix_group is None) != (self.prefix_tokens is None):
            raise SimulatorError("ambiguous", "prefix_group", "prefix_group and prefix_tokens belong together")
        if self.prefix_group is None or self.prefix_tokens is None:
            return
        if self.block_hashes is not None:
            raise SimulatorError("ambiguous", "block_hashes", "give prefix groups or recorded hashes, not both")
        if (self.prefix_tokens + self.column("front_tokens") > self.prompt_tokens).any():
            raise SimulatorError("prefix_too_long", "prefix_tokens", "a prefix cannot be longer than its prompt")

    def _check_hashes(self) -> None:
        hashes = self.block_hashes
        if hashes is None:
            return
        if len(hashes) != len(self):
            raise SimulatorError("shape", "block_hashes", f"tell {len(hashes)} requests of {len(self)}")
        if (self.column("recorded_tokens") > self.prompt_tokens + self.output_tokens).any():
            raise SimulatorError("prefix_too_long", "recorded_tokens", "cannot be more than prompt and output")


def whole_numbers(field: str, values: npt.ArrayLike, low: int, high: int) -> IntArray:
    """`values` as one int64 array, or SimulatorError where an entry is no whole number within low..high."""
    array = as_array(field, values)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise SimulatorError("not_an_integer", field, "must be a one-dimensional array of whole numbers")
    if array.size and (array.min() < low or array.max() > high):
        raise SimulatorError("out_of_range", field, f"entries must lie in {low}..{high}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _set(instance: object, field: str, value: object) -> None:
    object.__setattr__(instance, field, value)
