"""From prefill to decode: the links, what is on its way, and how a decode engine takes it in."""

import heapq
from collections import deque
from dataclasses import dataclass, field

from simulator.config import EngineConfig
from simulator.records import NEVER
from simulator.reference.content import NOTHING
from simulator.reference.queues import Queues
from simulator.reference.requests import Request
from simulator.transfer import Transfer


@dataclass(slots=True, eq=False)
class Handover:
    """A request whose prompt has been computed, until its KV is where it will be decoded.

    source  the prefill engine's number;  held: stands for the request there, with its blocks, until the KV has left
    """

    request: Request
    source: int
    held: Request


@dataclass(slots=True)
class Links:
    """The links of a fleet, and the transfers under way: (end, number of the transfer, what is sent).

    given_up  what will not be sent any more
    """

    transfer: Transfer
    free_ps: dict[int, int] = field(default_factory=dict)
    under_way: list[tuple[int, int, Handover]] = field(default_factory=list)
    given_up: list[Handover] = field(default_factory=list)
    started: int = 0

    def start(self, handover: Handover, target: int, tokens: int, now_ps: int) -> None:
        """Send the KV of `tokens` tokens to engine `target` as soon as the link is free; it takes at least 1 ps."""
        link = {"shared": 0, "prefill": handover.source, "decode": target}[self.transfer.link]
        sent_ps = max(now_ps, self.free_ps.get(link, 0)) + tokens * self.transfer.token_ps
        self.free_ps[link] = sent_ps
        end_ps = max(sent_ps + self.transfer.latency_ps, now_ps + 1)
        heapq.heappush(self.under_way, (end_ps, self.started, handover))
        self.started += 1

    def next_ps(self) -> list[int]:
        """When the next transfer ends, if any is under way."""
        return [self.under_way[0][0]] if self.under_way else []

    def arrived(self, now_ps: int) -> list[Handover]:
        """Transfers that end now, in the order of their numbers."""
        ended = []
        while self.under_way and self.under_way[0][0] <= now_ps:
            ended.append(heapq.heappop(self.under_way)[2])
        return ended


class Intake:
    """What an engine has to do with requests from elsewhere: they wait in `line` for room, and have `come`."""

    def __init__(self, number: int, config: EngineConfig, queues: Queues, links: Links) -> None:
        self.number, self.config, self.queues, self.links = number, config, queues, links
        self.line: deque[Handover] = deque()
        self.come: list[Request] = []

    @property
    def promised_blocks(self) -> int:
        """Blocks that the line will take, hits not counted."""
        targets = [handover.request.target for handover in self.line]
        return sum(self.queues.kv.lacking_received(self.queues.kv.find(NOTHING, target), target) for target in targets)

    def take_in(self, request: Request) -> None:
        """The request's KV is here; who has ended on the way gives up seat and blocks."""
        if request.ended:
            self._vacate(request)
            return
        request.computed, request.prefilling = request.target - 1, False
        self.come.append(request)

    def drop(self, request: Request) -> bool:
        """The request's time has passed; False if it is none of those that wait here for room or for their KV.

        In line it frees its blocks on the prefill side. A transfer that has begun goes on, and until it ends the blocks
        on both sides and the seat are taken.
        """
        for handover in self.line:
            if handover.request is request:
                self.line.remove(handover)
                self.links.given_up.append(handover)
                return True
        if request in self.come:
            self.come.remove(request)
            self._vacate(request)
            return True
        return request in self.queues.incoming

    def _vacate(self, request: Request) -> None:
        self.queues.incoming.remove(request)
        self.queues.kv.release(request)

    def join(self) -> list[Request]:
        """Those whose KV has come run from now on, behind those that decode and before prompts being computed."""
        joined, self.come = self.come, []
        running = self.queues.running
        place = next((index for index, request in enumerate(running) if request.prefilling), len(running))
        running[place:place] = joined
        for request in joined:
            self.queues.incoming.remove(request)
        return joined

    def serve(self, now_ps: int) -> None:
        """Reserve room for the line, first come first served, and let their transfers start.

        A request that was preempted here comes first: while one waits, nothing is reserved.
        """
        if any(request.preempted_at_ps != NEVER for request in self.queues.waiting):
            return
        while self.line and self._reserve(self.line[0], now_ps):
            self.line.popleft()

    def _reserve(self, handover: Handover, now_ps: int) -> bool:
        """A seat, and blocks for what is computed when the first step here has ended, beside the watermark."""
        request, queues = handover.request, self.queues
        hits = queues.kv.find(request.content, request.target)
        margin = self.config.watermark_blocks if queues.running else 0
        if queues.seats_taken >= self.config.max_num_seqs:
            return False
        if queues.kv.lacking_received(hits, request.target) + margin > queues.pool.free:
            return False
        queues.kv.receive(request, hits, request.target)
        queues.incoming.append(request)
        self.links.start(handover, self.number, request.prompt_tokens - hits.tokens, now_ps)
        return True
