"""Block tables: which blocks of the pool hold which tokens of a request, in every layer group."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from simulator.config import EngineConfig
from simulator.reference.blocks import NOWHERE, BlockPool
from simulator.reference.content import Content
from simulator.reference.requests import Request


@dataclass(frozen=True, slots=True)
class Hits:
    """What the prefix cache holds of a request: `tokens` leading ones, and their blocks in each table."""

    tokens: int = 0
    tables: list[list[int]] = field(default_factory=list)


class KvManager:
    """The pool of one engine, and the rules by which requests take and give back its blocks.

    A request has one table for every block of the pool that `block_size` of its tokens take. Behind a window the
    table's blocks are freed before each step, those of tokens that neither the step's first token nor a later one
    attends to; NOWHERE keeps their place.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.pool = BlockPool(config.num_blocks)
        self.windows = config.windows
        self.contiguous = config.kv_allocation == "contiguous"

    def find(self, content: Content, target: int) -> Hits:
        """The longest hit: all its blocks in tables that keep all, those of the last window in the others.

        Whole blocks are held in common; with `partial_block_hits`, the tokens with which a block begins behind them are
        copied. Of `target` tokens one is left to compute: the step must give the next token.
        """
        keys = content.keys[: (target - 1) // self.config.block_size]
        for table, window in enumerate(self.windows):
            if window is None:
                keys = keys[: self._leading(table, keys)]
        found = [[self.pool.find((table, key)) for key in keys] for table in range(len(self.windows))]
        length = len(keys)
        sliding = [(_runs(blocks), w) for blocks, w in zip(found, self.windows, strict=True) if w is not None]
        while length and any(runs[length] < self._needed(length, window) for runs, window in sliding):
            length -= 1
        useless = [self._useless(length * self.config.block_size, window) for window in self.windows]
        return Hits(
            length * self.config.block_size + self._copied(content, length, target),
            [[NOWHERE] * gone + blocks[gone:length] for gone, blocks in zip(useless, found, strict=True)],
        )

    def _leading(self, table: int, keys: Sequence[int]) -> int:
        """How many of these keys are found in the table before the first that is not."""
        return next((i for i, key in enumerate(keys) if self.pool.find((table, key)) == NOWHERE), len(keys))

    def swapped(self, request: Request) -> Hits:
        """A request whose blocks are in host memory, as it comes back: its tokens are computed, but have no place."""
        useless = [self._useless(request.computed, window) for window in self.windows]
        return Hits(request.computed, [[NOWHERE] * gone for gone in useless])

    def lacking(self, hits: Hits, tokens: int, whole_tokens: int = 0) -> int:
        """Free blocks that a request with these hits takes to hold `tokens` tokens.

        whole_tokens  and all of so many, which are not there at the same time: of a window's table no more is asked
                      than it ever holds
        """
        return sum(
            max(0, self._reach(tokens, whole_tokens, window) - len(table)) + self.pool.unreferenced(table)
            for table, window in zip(hits.tables, self.windows, strict=True)
        )

    def enter(self, request: Request, hits: Hits, tokens: int, whole_tokens: int = 0) -> None:
        """The request is admitted: it holds its hits, and takes blocks for `tokens` tokens in all; see `lacking`."""
        for table in hits.tables:
            self.pool.hold(table)
        request.tables, request.computed, request.published = hits.tables, hits.tokens, len(hits.tables[0])
        request.begun = False
        self._take(request, tokens, whole_tokens)

    def lacking_received(self, hits: Hits, target: int) -> int:
        """As `lacking`, for a request whose KV comes from elsewhere, all but the last of `target` tokens."""
        return self.lacking(self._trimmed(hits, target - 1), target)

    def receive(self, request: Request, hits: Hits, target: int) -> None:
        """Hold the hits, and take blocks for the KV that comes and for one token more."""
        self.enter(request, self._trimmed(hits, target - 1), target)
        request.published = hits.tokens // self.config.block_size

    def _trimmed(self, hits: Hits, computed: int) -> Hits:
        """The hits without what lies behind the windows when `computed` tokens are there."""
        useless = [self._useless(computed, window) for window in self.windows]
        return Hits(
            hits.tokens, [[NOWHERE] * gone + table[gone:] for gone, table in zip(useless, hits.tables, strict=True)]
        )

    def make_ready(self, request: Request) -> None:
        """Free what lies behind the windows of a running request's next token."""
        for table, window in zip(request.tables, self.windows, strict=True):
            gone = self._useless(request.computed, window)
            self.pool.release(table[:gone])
            table[:gone] = [NOWHERE] * gone

    def missing(self, request: Request, tokens: int) -> int:
        """Blocks that a running request must take to compute `tokens` more, and look ahead."""
        asked = self.places(request, tokens)
        return sum(
            max(0, self._reach(asked, 0, window) - len(table))
            for table, window in zip(request.tables, self.windows, strict=True)
        )

    def extend(self, request: Request, tokens: int) -> None:
        """Take the blocks that are missing."""
        self._take(request, self.places(request, tokens))

    def places(self, request: Request, tokens: int) -> int:
        """Tokens that must have a place for a request to compute `tokens` more, and look ahead."""
        return min(request.computed + tokens + self.config.lookahead_tokens, self.config.max_model_len)

    def to_come(self, request: Request, whole_tokens: int) -> int:
        """Blocks that a running request may still have to take until it holds `whole_tokens` tokens."""
        return sum(
            max(0, self._reach(0, whole_tokens, window) - sum(block != NOWHERE for block in table))
            for table, window in zip(request.tables, self.windows, strict=True)
        )

    def useful(self, request: Request) -> int:
        """Blocks with tokens that a running request has computed and will attend to."""
        full = -(-request.computed // self.config.block_size)
        return sum(full - self._useless(request.computed, window) for window in self.windows)

    def release(self, request: Request) -> None:
        """Free all blocks of a request."""
        for table in request.tables:
            self.pool.release(table)
        request.tables = []

    def publish(self, request: Request) -> None:
        """Offer the blocks that are full and computed to the prefix cache, and the one where the shared tokens end."""
        content, size = request.content, self.config.block_size
        for index in range(request.published, min(len(content.keys), request.computed // size)):
            for number, table in enumerate(request.tables):
                if table[index] != NOWHERE:
                    self.pool.publish(table[index], (number, content.keys[index]))
            request.published = index + 1
        begun, rest = divmod(content.leading_tokens, size)
        if self.config.partial_block_hits and rest and not request.begun and request.computed >= content.leading_tokens:
            for number, table in enumerate(request.tables):
                if table[begun] != NOWHERE:
                    self.pool.begin(table[begun], (number, content.beginnings[begun]), rest)
            request.begun = True

    def tokens_held(self, requests: list[tuple[Request, int]]) -> int:
        """Tokens in the blocks that these requests hold when they have computed so many; a shared block counts once."""
        size, held = self.config.block_size, 0
        for request, computed in requests:
            for table, window in zip(request.tables, self.windows, strict=True):
                gone = 0 if window is None else sum(block == NOWHERE for block in table)
                held += max(0, min(computed - gone * size, (len(table) - gone) * size))
        return held - self.pool.shared * size

    def _copied(self, content: Content, length: int, target: int) -> int:
        """Tokens behind a hit of `length` blocks that some block begins with; they are copied before it is evicted."""
        size = self.config.block_size
        wanted = min(content.leading_tokens, target - 1) - length * size
        if not self.config.partial_block_hits or wanted <= 0:
            return 0
        name = content.beginnings[length]
        return min(wanted, *(self.pool.beginning((table, name), size) for table in range(len(self.windows))))

    def _take(self, request: Request, tokens: int, whole_tokens: int = 0) -> None:
        for table, window in zip(request.tables, self.windows, strict=True):
            table += self.pool.take(max(0, self._reach(tokens, whole_tokens, window) - len(table)))

    def _reach(self, tokens: int, whole_tokens: int, window: int | None) -> int:
        """Length of a table that reaches to `tokens` tokens, and has as many blocks as `whole_tokens` ever take."""
        if self.contiguous:
            return self.config.table_blocks(self.config.max_model_len, window)
        return max(-(-tokens // self.config.block_size), self.config.table_blocks(whole_tokens, window))

    def _useless(self, computed: int, window: int | None) -> int:
        """Leading blocks that no further token attends to."""
        if window is None or self.contiguous:
            return 0
        return max(0, computed - window + 1) // self.config.block_size

    def _needed(self, length: int, window: int | None) -> int:
        """Of a hit of `length` blocks, how many at its end a table must hold."""
        return length - self._useless(length * self.config.block_size, window)


def _runs(blocks: list[int]) -> list[int]:
    """For every length, how many blocks before it are there without a gap."""
    runs = [0]
    for block in blocks:
        runs.append(0 if block == NOWHERE else runs[-1] + 1)
    return runs
