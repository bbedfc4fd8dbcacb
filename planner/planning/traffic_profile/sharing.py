"""What requests have in common: conversations, clients, and prefixes that a cache could serve again."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from planner.planning.importers import Blocks, Chunk
from planner.planning.traffic.block_cache import BlockCache
from planner.planning.traffic_profile.arrivals import NS_PER_S

IntArray = npt.NDArray[np.int64]

CACHE_TOKENS = (16_384, 262_144, 4_194_304, None)
MAX_BLOCK_TOUCHES = 2_000_000
LEADING_BLOCKS = 64
MOST_TURNS_SHOWN = 12
CLIENT_POINTS = 40
MOST_PLACES = 200_000


class ConversationCounter:
    """Turns of each conversation, and the time from one turn to the next."""

    def __init__(self) -> None:
        self._turns = np.zeros(0, dtype=np.int64)
        self._last_ns = np.zeros(0, dtype=np.int64)
        self._gaps_s: list[float] = []

    def add(self, chunk: Chunk) -> None:
        """Counts the rows that belong to a conversation."""
        own = chunk.session >= 0
        if not own.any():
            return
        order = np.argsort(chunk.session[own], kind="stable")
        session, time_ns = chunk.session[own][order], chunk.arrival_ns[own][order]
        self._grow(int(session[-1]) + 1)
        first = np.append(True, np.diff(session) != 0)
        before = np.where(first, self._last_ns[session], np.append(0, time_ns[:-1]))
        follows = ~first | (self._turns[session] > 0)
        if len(self._gaps_s) < 1_000_000:
            self._gaps_s.extend(((time_ns - before)[follows] / NS_PER_S).tolist())
        self._turns += np.bincount(session, minlength=len(self._turns))
        last = np.append(first[1:], True)
        self._last_ns[session[last]] = time_ns[last]

    def _grow(self, size: int) -> None:
        if size > len(self._turns):
            more = np.zeros(max(size, 2 * len(self._turns)) - len(self._turns), dtype=np.int64)
            self._turns = np.concatenate((self._turns, more))
            self._last_ns = np.concatenate((self._last_ns, more))

    def summary(self) -> dict[str, object] | None:
        """None where no row names a conversation."""
        turns = self._turns[self._turns > 0]
        if not len(turns):
            return None
        gaps = np.array(self._gaps_s)
        return {
            "conversations": len(turns),
            "turns_mean": float(turns.mean()),
            "turns_p95": float(np.quantile(turns, 0.95)),
            "several_turns_ratio": float((turns > 1).mean()),
            "next_turn_p50_s": float(np.median(gaps)) if len(gaps) else None,
        }

    def turn_shares(self) -> list[float] | None:
        """Shares of the conversations that have 1, 2, ... turns, the last one so many or more; None without them."""
        turns = self._turns[self._turns > 0]
        if not len(turns):
            return None
        counts = np.bincount(np.minimum(turns, MOST_TURNS_SHOWN), minlength=MOST_TURNS_SHOWN + 1)[1:]
        return [float(share) for share in counts / len(turns)]


class ClientCounter:
    """Requests of each client."""

    def __init__(self) -> None:
        self._requests = np.zeros(0, dtype=np.int64)

    def add(self, chunk: Chunk) -> None:
        """Counts the rows that name a client."""
        own = chunk.client[chunk.client >= 0]
        if len(own):
            counts = np.bincount(own, minlength=len(self._requests))
            counts[: len(self._requests)] += self._requests
            self._requests = counts

    def summary(self) -> dict[str, object] | None:
        """How unequal clients are; None where no row names one. gini: 0 all alike, towards 1 one has all."""
        requests = np.sort(self._requests[self._requests > 0])[::-1]
        n = len(requests)
        if not n:
            return None
        rising = requests[::-1]
        gini = float(((2 * np.arange(1, n + 1) - n - 1) * rising).sum() / (n * rising.sum()))
        return {
            "clients": n,
            "largest_share": float(requests[0] / requests.sum()),
            "top_tenth_share": float(requests[: max(1, round(n / 10))].sum() / requests.sum()),
            "gini": gini,
        }

    def cumulated_shares(self) -> list[float] | None:
        """Shares of the requests that the busiest 0, 1/40, 2/40, ... of the clients send; None below two clients."""
        requests = np.sort(self._requests[self._requests > 0])[::-1]
        if len(requests) < 2:
            return None
        sent = np.concatenate(([0], np.cumsum(requests))) / requests.sum()
        at = np.linspace(0, len(requests), CLIENT_POINTS + 1)
        return [float(share) for share in np.interp(at, np.arange(len(sent)), sent)]


class PrefixCounter:
    """Leading blocks of prompts that an earlier prompt had too, for least-recently-used caches of several sizes."""

    def __init__(self, block_tokens: int) -> None:
        self._block_tokens = block_tokens
        self._caches = [BlockCache(None if size is None else size // block_tokens) for size in CACHE_TOKENS]
        self._hit_tokens = [0] * len(CACHE_TOKENS)
        self._hit_blocks = self._blocks = self._tokens = self._rows = 0
        self._places: dict[tuple[int, int], int] = {}  # beginnings as a tree: (the place before, block) -> place
        self._times: list[int] = []
        self._depths: list[int] = []
        self.is_partial = False

    def add(self, chunk: Chunk) -> None:
        """Looks up each prompt in turn; stops after 2 million blocks."""
        if chunk.blocks is None:
            return
        for i in range(len(chunk)):
            if self._blocks >= MAX_BLOCK_TOUCHES:
                self.is_partial = True
                return
            self._look_up(_ids(chunk.blocks, i), int(chunk.prompt_tokens[i]))

    def _look_up(self, ids: list[int], prompt_tokens: int) -> None:
        self._rows += 1
        self._blocks += len(ids)
        self._tokens += prompt_tokens
        for place, (cache, size) in enumerate(zip(self._caches, CACHE_TOKENS, strict=True)):
            run = cache.look_up(ids)
            self._hit_tokens[place] += min(run * self._block_tokens, max(0, prompt_tokens - 1))
            if size is None:
                self._hit_blocks += run
        before = -1
        for block in ids[:LEADING_BLOCKS]:
            if len(self._places) >= MOST_PLACES and (before, block) not in self._places:
                break
            place = self._places.setdefault((before, block), len(self._places))
            if place == len(self._times):
                self._times.append(0)
                self._depths.append(self._depths[before] + 1 if before >= 0 else 1)
            self._times[place] += 1
            before = place

    def summary(self) -> dict[str, object] | None:
        """Shares of prompt tokens that could have been reused; None where no row has blocks."""
        if not self._blocks:
            return None
        head = self.common_prefix_tokens()
        return {
            "block_tokens": self._block_tokens,
            "requests_seen": self._rows,
            "is_partial": self.is_partial,
            "reusable_block_ratio": self._hit_blocks / self._blocks,
            "reusable_token_ratio_by_cache_tokens": {
                "unbounded" if size is None else str(size): hits / self._tokens if self._tokens else 0.0
                for size, hits in zip(CACHE_TOKENS, self._hit_tokens, strict=True)
            },
            "common_prefix_tokens": head,
        }

    def common_prefix_tokens(self) -> int:
        """The longest beginning, in whole blocks, that at least half of all prompts have."""
        half = self._rows / 2
        common = (depth for times, depth in zip(self._times, self._depths, strict=True) if times >= half)
        longest = max(common, default=0)
        return longest * self._block_tokens


def _ids(blocks: Blocks, row: int) -> list[int]:
    ids: list[int] = blocks.ids[blocks.offsets[row] : blocks.offsets[row + 1]].tolist()
    return ids
