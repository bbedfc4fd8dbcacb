"""What comes out of a reader: columns of requests, a chunk at a time, and names turned into numbers."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

MAX_NAMES = 1_000_000
UNKNOWN = -1


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Hashed blocks of prompts: those of row i are ids[offsets[i]:offsets[i + 1]], first block first."""

    offsets: IntArray
    ids: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some rows of a file, one entry each.

    arrival_ns: since 1970 where the clock is a calendar's, else since the file's own zero. prompt_tokens: whole
    prompts, cached tokens included. cached_tokens: of those, read from a cache; −1: not told. session, client,
    kind: numbers in order of appearance, −1: none. failed: arrived but was not answered. row: its line in the file.
    """

    arrival_ns: IntArray
    prompt_tokens: IntArray
    output_tokens: IntArray
    cached_tokens: IntArray
    session: IntArray
    client: IntArray
    kind: IntArray
    failed: BoolArray
    row: IntArray
    blocks: Blocks | None = None

    def __len__(self) -> int:
        return len(self.arrival_ns)

    def take(self, order: IntArray) -> Chunk:
        """Rows in another order, or some of them."""
        blocks = None if self.blocks is None else _taken(self.blocks, order)
        return Chunk(blocks=blocks, **{name: getattr(self, name)[order] for name in _COLUMNS})


_COLUMNS = (
    "arrival_ns", "prompt_tokens", "output_tokens", "cached_tokens", "session", "client", "kind", "failed", "row",
)  # fmt: skip


def _taken(blocks: Blocks, order: IntArray) -> Blocks:
    counts = np.diff(blocks.offsets)[order]
    offsets = np.concatenate(([0], np.cumsum(counts)))
    starts = np.repeat(blocks.offsets[:-1][order] - offsets[:-1], counts)
    return Blocks(offsets, blocks.ids[np.arange(offsets[-1]) + starts])


def joined(chunks: list[Chunk]) -> Chunk:
    """Chunks one after the other as one."""
    if len(chunks) == 1:
        return chunks[0]
    parts = [chunk.blocks for chunk in chunks]
    blocks = None
    if all(part is not None for part in parts):
        known = [part for part in parts if part is not None]
        counts = np.concatenate([np.diff(part.offsets) for part in known])
        offsets = np.concatenate(([0], np.cumsum(counts)))
        blocks = Blocks(offsets, np.concatenate([part.ids for part in known]))
    columns = {name: np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in _COLUMNS}
    return Chunk(blocks=blocks, **columns)


class Numbering:
    """Names become 0, 1, 2, ... in order of appearance; what they were is not kept (only a digest, while reading).

    The first `MAX_NAMES` names are told apart; later new ones are −1 and counted in `unnumbered`.
    """

    def __init__(self) -> None:
        self._known: dict[bytes | int, int] = {}
        self.unnumbered = 0

    def __len__(self) -> int:
        return len(self._known)

    def number(self, name: object) -> int:
        """The number of a name; −1 for none."""
        if name is None or name == "":
            return UNKNOWN
        key: bytes | int
        if isinstance(name, int) and -(2**62) < name < 2**62:
            key = int(name)
        else:
            key = blake2b(str(name).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MAX_NAMES:
                self.unnumbered += 1
                return UNKNOWN
            known = self._known[key] = len(self._known)
        return known
