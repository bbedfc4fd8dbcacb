"""SGLang's scheduler: prompts before decodes, admission by an estimate of future output, retraction if it was wrong."""

from simulator.config import EngineConfig
from simulator.reference.queues import Queues, Step
from simulator.reference.requests import Request
from simulator.reference.schedulers.common import tokens_in_vain, tokens_wanted

ONE = 2**20  # ratios are whole numbers of parts of this
CLIP_TOKENS = 4096
DECAY_STEPS = 600
RETRACT_DECODE_STEPS = 20


def ratios(config: EngineConfig) -> tuple[int, int, int]:
    """(At first, at least, and by how much it falls with a step of decodes)."""
    start = min(ONE, round(config.schedule_conservativeness * (ONE * 7 // 10)))
    least = start * 14 // 100
    return start, least, -(-(start - least) // DECAY_STEPS)


class Sglang:
    """A step is of prompts alone, while decodes stall, or of decodes alone; with `mixed_chunk` decodes run along.

    ratio  share of its remaining output that a running request is expected to take, in parts of ONE. It starts high,
           falls by the same amount with every decode step, is set anew by a retraction, and starts over on an idle
           engine
    full   no prompt could enter for lack of seats or memory: none is tried again until a request leaves

    At most one prompt is partly computed; it stands in the running list and goes on first. Sources:
    `python/sglang/srt/managers/schedule_policy.py` (PrefillAdder), `schedule_batch.py` (retract_decode) and
    `scheduler.py` of 0.5; up to 0.4 a retraction freed room for 20 decode steps instead of one.
    """

    def __init__(self, config: EngineConfig, queues: Queues) -> None:
        self.config, self.queues = config, queues
        self.start_ratio, self.least_ratio, self.decay = ratios(config)
        self.ratio = self.start_ratio
        self.full = False
        self.seated: list[Request] = []

    def rest(self) -> None:
        """The engine has nothing to do: the estimate starts over."""
        self.ratio = self.start_ratio

    def schedule(self, now_ps: int) -> Step:
        """The next step."""
        step, queues = Step(now_ps), self.queues
        if not queues.running and not queues.waiting:
            self.rest()
        if not queues.running or any(request not in queues.running for request in self.seated):
            self.full = False
        self._prefill(step)
        if not step.chunks:
            self._decode(step)
        self.seated = list(queues.running)
        return step

    def _partial(self) -> Request | None:
        return next((request for request in self.queues.running if request.prefilling), None)

    def _decoding(self) -> list[Request]:
        return [request for request in self.queues.running if not request.prefilling]

    def _prefill(self, step: Step) -> None:
        """The partly computed prompt goes on, then waiting ones enter, while the budget lasts."""
        partial = self._partial()
        if partial is None and (self.full or not self.queues.waiting):
            return
        decoding, budget = self._decoding(), self.config.max_num_batched_tokens
        if self.config.mixed_chunk:
            budget -= len(decoding)
            if not self._take_places(decoding):
                return
        reserved = self.ratio * sum(self._still_to_come(request) for request in decoding)
        if partial is not None:
            tokens = self._continue(step, partial, budget, reserved)
            budget -= tokens
            reserved += ONE * self._whole_output(partial)
        if partial is None or tokens == partial.left:
            self._admit(step, budget, reserved)
        if self.config.mixed_chunk and step.chunks:
            self._compute_next(step, decoding)

    def _still_to_come(self, request: Request) -> int:
        """Tokens of the pool that a running request takes if it generates all that was asked for, or CLIP_TOKENS."""
        now, left = request.prompt_tokens + request.generated, request.max_new_tokens - request.generated
        return self.config.places(now + min(left, CLIP_TOKENS)) - self.config.places(now)

    def _whole_output(self, request: Request) -> int:
        """As `_still_to_come`, as though a request that now enters had generated nothing."""
        output = min(request.max_new_tokens, CLIP_TOKENS)
        return self.config.places(request.target + output) - self.config.places(request.target)

    def _continue(self, step: Step, partial: Request, budget: int, reserved: int) -> int:
        """The next chunk of the partly computed prompt: what budget, estimate and pool allow."""
        kv = self.queues.kv
        kv.make_ready(partial)
        tokens = min(partial.left, budget)
        estimated = (ONE * self._free_tokens() - reserved) // (ONE * len(kv.windows))
        if estimated > 0:
            tokens = min(tokens, estimated)
        while tokens > 0 and kv.missing(partial, tokens) > kv.pool.free:
            tokens -= 1
        if tokens > 0:
            kv.extend(partial, tokens)
            step.chunks.append((partial, tokens))
        return tokens

    def _admit(self, step: Step, budget: int, reserved: int) -> None:
        """Waiting requests in order; the one that exceeds the budget is cut and the last.

        reserved: parts of tokens kept for the output of those that run.
        """
        queues, config = self.queues, self.config
        while queues.waiting and budget > 0:
            request = queues.waiting[0]
            if queues.seats_taken >= config.max_num_seqs:
                self.full = True
                return
            hits = queues.kv.find(request.content, request.target)
            tokens = min(request.target - hits.tokens, budget)
            end = hits.tokens + tokens
            if end < request.target and not config.enable_chunked_prefill:
                return
            left = min(request.max_new_tokens - request.generated, CLIP_TOKENS)
            asked = config.places(request.target + left) - config.places(hits.tokens - hits.tokens % config.block_size)
            found = sum(queues.pool.unreferenced(table) for table in hits.tables) * config.block_size
            enough = ONE * asked < ONE * (self._free_tokens() - found) - reserved
            if not enough or queues.kv.lacking(hits, end) > queues.pool.free:
                self.full = True
                return
            queues.kv.enter(request, hits, end)
            queues.waiting.popleft()
            queues.running.append(request)
            step.chunks.append((request, tokens))
            step.admitted.append(request)
            if end < request.target:
                return
            budget -= tokens
            reserved += ONE * self._whole_output(request)

    def _free_tokens(self) -> int:
        return self.queues.pool.free * self.config.block_size

    def _take_places(self, decoding: list[Request]) -> bool:
        """Give all decoding requests a place for their next tokens, or none if the pool has not enough."""
        kv = self.queues.kv
        alive = [request for request in decoding if not request.ended]
        for request in alive:
            kv.make_ready(request)
        if sum(kv.missing(request, tokens_wanted(self.config, request)) for request in alive) > kv.pool.free:
            return False
        for request in alive:
            kv.extend(request, tokens_wanted(self.config, request))
        return True

    def _compute_next(self, step: Step, decoding: list[Request]) -> None:
        for request in decoding:
            tokens = tokens_wanted(self.config, request)
            if request.ended:
                tokens = tokens_in_vain(self.config, self.queues, request, tokens)
            if tokens:
                step.chunks.append((request, tokens))

    def _decode(self, step: Step) -> None:
        decoding = self._decoding()
        if not decoding:
            return
        if self._take_places(decoding):
            self.ratio = max(self.least_ratio, self.ratio - self.decay)
        else:
            self._retract(step, decoding)
        self._compute_next(step, self._decoding())

    def _retract(self, step: Step, decoding: list[Request]) -> None:
        """Send requests back to the end of the waiting line until the others' next tokens have a place.

        Those with the fewest generated tokens go first, of equal ones the longest prompt, then the latest. One stays;
        if it still lacks a block, the partly computed prompt goes. Only where blocks are kept for KV that is on its way
        from or to other engines, the last goes too.
        """
        step.closed = True
        order = sorted(decoding, key=lambda request: (-request.generated, request.prompt_tokens))
        while not self._take_places(order):
            partial = self._partial()
            self._send_back(step, partial if len(order) == 1 and partial is not None else order.pop())
        generated = sum(request.generated for request in order)
        most = sum(request.max_new_tokens for request in order)
        self.ratio = min(ONE, ONE * (generated + RETRACT_DECODE_STEPS * len(order)) // (most + 1))
        self.full = False

    def _send_back(self, step: Step, victim: Request) -> None:
        self.queues.running.remove(victim)
        self.queues.kv.release(victim)
        if not victim.ended:
            victim.start_over()
            self.queues.waiting.append(victim)
            step.preempted.append(victim)
