"""One engine: a scheduler, a block pool, and at most one step under way."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from simulator.admission import Admission
from simulator.config import EngineConfig
from simulator.records import (
    FINISHED,
    ITL_BINS,
    ITL_SLICES,
    NEVER,
    NO_REASON,
    UNFINISHED,
    ReplicaTotals,
    itl_bin,
    itl_slice_of,
)
from simulator.reference.content import NOTHING, Content, Contents
from simulator.reference.expiry import due_ps, expiry
from simulator.reference.host import HostMemory
from simulator.reference.kv import KvManager
from simulator.reference.lines import make_line
from simulator.reference.queues import Queues, Step
from simulator.reference.requests import Request
from simulator.reference.schedulers import make_scheduler
from simulator.reference.series import Bin, Bins
from simulator.reference.transfers import Handover, Intake, Links
from simulator.speculation import draw
from simulator.steptime import StepTime
from simulator.transfer import Role


@dataclass(slots=True)
class Shared:
    """What all replicas of a run write to.

    itl  gaps between tokens, counts[ITL_SLICES, ITL_BINS]
    end  called with each request that ends, its outcome, the reason if it has one, and the time
    first_token  called with each request that has its first token;  word: the run's random bits, for drafts
    emitted  called with each request that has got tokens, how many, and the time
    leaving  whether clients may have gone before their requests ended
    links, handed   of a disaggregated fleet: the KV links, and prompts that have been computed and not yet routed
    """

    requests: int
    admission: Admission
    end: Callable[[Request, int, int, int], None]
    first_token: Callable[[Request], None]
    word: int
    links: Links | None = None
    emitted: Callable[[Request, int, int], None] | None = None
    leaving: bool = False
    handed: list[Handover] = field(default_factory=list)
    bins: Bins = field(default_factory=Bins)
    itl: np.ndarray = field(default_factory=lambda: np.zeros((ITL_SLICES, ITL_BINS), np.int64))


class Replica:
    """Its waiting line, its running list, and the step under way: `end_ps` is None while there is none.

    Where scheduling overlaps, `inbox` holds requests that have come since a step was scheduled last, and `finished`
    those whose end became known after the step under way was scheduled: they keep seat and blocks until it ends.
    """

    def __init__(
        self,
        number: int,
        pool: int,
        config: EngineConfig,
        step_time: StepTime,
        content: Contents | None,
        shared: Shared,
        role: Role = "both",
    ) -> None:
        self.number, self.pool, self.config, self.step_time = number, pool, config, step_time
        self.content, self.shared = content, shared
        links = shared.links
        self.hands_over = role == "prefill"
        self.emits = not self.hands_over or links is None or links.transfer.first_output == "prefill"
        self._start_empty()
        self.step = Step(0)
        self.end_ps: int | None = None
        self.settled_ps = self.begun_ps = 0
        self.itl_slice: int = 0
        self.steps = self.busy_ps = self.seat_ps = self.prefill_tokens = 0
        self.kv_block_ps = self.kv_token_ps = self.kv_peak_blocks = self.kv_peak_tokens = 0

    def receive(self, request: Request) -> None:
        """A request joins the waiting line."""
        request.replica, request.joined = self.number, self.received
        self.received += 1
        request.content = self._content(request)
        request.max_new_tokens = self.config.max_new(request.prompt_tokens, request.output_tokens)
        self.outstanding += 1
        self.outstanding_tokens += request.prompt_tokens
        if self.hands_over:
            request.prefill_replica, request.max_new_tokens = self.number, 1
        (self.inbox if self.config.overlap_scheduling else self.queues.waiting).append(request)

    def receive_prefilled(self, handover: Handover) -> None:
        """A request that another engine has prefilled joins the line of those that want room for their KV."""
        assert self.intake is not None
        request = handover.request
        request.replica, request.joined = self.number, self.received
        self.received += 1
        request.content = self._content(request)
        request.max_new_tokens = self.config.max_new(request.prompt_tokens, request.output_tokens)
        self.outstanding += 1
        self.outstanding_tokens += request.prompt_tokens
        self.intake.line.append(handover)

    def take_in(self, request: Request) -> None:
        """The KV of a request that has room reserved is here."""
        assert self.intake is not None
        self.intake.take_in(request)

    def lose(self, now_ps: int) -> list[Request]:
        """The engine fails: its requests, with the tokens they have. Their KV, the prefix cache and the step under way
        are gone; what the step has computed by now counts as work, its time only up to now."""
        if self.end_ps is not None:
            self._cut(now_ps)
        self.hold(now_ps)
        lost = self._here()
        for request in lost:
            if request in self.queues.running:
                request.preempted_at_ps = now_ps
        for request in lost:
            request.restart()
        self._start_empty()
        return lost

    def _cut(self, now_ps: int) -> None:
        assert self.end_ps is not None
        left_ps = self.end_ps - now_ps
        seat_ps, kv_block_ps = left_ps * self.running, left_ps * self.queues.pool.used
        self.busy_ps -= left_ps
        self.seat_ps -= seat_ps
        self.kv_block_ps -= kv_block_ps
        self.kv_token_ps -= left_ps * self._tokens_held(self.step)
        self.shared.bins.at(self.begun_ps).add(Bin(busy_ps=-left_ps, seat_ps=-seat_ps, kv_block_ps=-kv_block_ps))
        self.end_ps, self.settled_ps = None, now_ps

    def _start_empty(self) -> None:
        kv, swap = KvManager(self.config), self.config.swap
        self.queues = Queues(kv, make_line(self.config, kv), None if swap is None else HostMemory(swap))
        self.inbox: list[Request] = []
        self.finished: list[Request] = []
        self.scheduler = make_scheduler(self.config, self.queues)
        self.received = self.outstanding = self.outstanding_tokens = 0
        links = self.shared.links
        self.intake = None if links is None else Intake(self.number, self.config, self.queues, links)

    def _content(self, request: Request) -> Content:
        return NOTHING if self.content is None else self.content.of(request.number)

    def cached_tokens(self, request: Request) -> int:
        """Prompt tokens that the prefix cache holds now of a request that has not been sent yet."""
        return self.queues.kv.find(self._content(request), request.prompt_tokens).tokens

    def pending_tokens(self) -> int:
        """Uncached prompt tokens, as asked for by a router, of the requests here that have no token yet."""
        return sum(request.uncached_tokens for request in self._here() if request.first_token_ps == NEVER)

    def _here(self) -> list[Request]:
        """All requests that were received and have not ended: running ones, then waiting ones in order."""
        running = [request for request in self.queues.running if not request.ended]
        return [*running, *self.queues.loading, *self.queues.waiting, *self.inbox]

    @property
    def waiting(self) -> int:
        """Requests that wait here for a seat."""
        return len(self.queues.waiting) + len(self.inbox) + (0 if self.intake is None else len(self.intake.line))

    @property
    def blocks_promised(self) -> int:
        """Blocks held, and those that prefilled requests in line will take."""
        return self.queues.pool.used + (0 if self.intake is None else self.intake.promised_blocks)

    @property
    def busy(self) -> bool:
        """Whether there is anything to do here."""
        coming = self.intake is not None and (self.intake.line or self.intake.come)
        return bool(self.queues.running or self.queues.loading or self.queues.waiting or self.inbox or coming)

    @property
    def running(self) -> int:
        """Running requests that have not ended."""
        return sum(not request.ended for request in self.queues.running)

    def hold(self, now_ps: int) -> None:
        """Who runs has kept seat and blocks since the last step ended: called where steps do not follow at once.

        Like a step, that time belongs to the bin in which it begins.
        """
        if now_ps == self.settled_ps or not (self.queues.running or self.queues.loading):
            return
        since_ps, self.settled_ps = self.settled_ps, now_ps
        held_ps = now_ps - since_ps
        seat_ps, kv_block_ps = held_ps * self.running, held_ps * self.queues.pool.used
        self.seat_ps += seat_ps
        self.kv_block_ps += kv_block_ps
        self.kv_token_ps += held_ps * self._tokens_held(Step(now_ps))
        self.shared.bins.at(since_ps).add(Bin(seat_ps=seat_ps, kv_block_ps=kv_block_ps))

    def close(self, now_ps: int) -> None:
        """The run ends, stopped while other engines computed longer: seats are counted up to here."""
        if self.running:
            self.hold(now_ps)

    def rest(self) -> None:
        """Tell the scheduler if there is nothing to do."""
        if not self.busy:
            self.scheduler.rest()

    def plan(self, now_ps: int) -> int | None:
        """Schedule a step and say how long it takes this engine; None where nobody can compute anything."""
        self._join(now_ps)
        self._schedule(now_ps)
        if not self.step.chunks and (self.inbox or self.finished):
            # Nothing is under way that this step could overlap with: all is known before it is scheduled.
            self.retire()
            self._empty_inbox()
            self._schedule(now_ps)
        self._empty_inbox()
        if self.intake is not None and not self.step.closed:
            self.intake.serve(now_ps)
        return self._duration_ps(self.step) if self.step.chunks else None

    def _join(self, now_ps: int) -> None:
        """Requests whose KV has come run from now on."""
        for request in [] if self.intake is None else self.intake.join():
            request.joined_ps = now_ps
            self.queues.kv.publish(request)
            self.itl_slice = itl_slice_of(request.number, self.shared.requests)

    def _schedule(self, now_ps: int) -> None:
        """Ask the scheduler; again where it only preempted, as blocks that are kept for others can bring that about."""
        while True:
            self.queues.waiting.arrange()
            self.step = self.scheduler.schedule(now_ps)
            self._note_moves(self.step, now_ps)
            if self.step.chunks or not self.step.closed:
                return

    def start(self, now_ps: int, duration_ps: int) -> None:
        """Begin the planned step, to end after `duration_ps`: with others in step or in the way, later than planned."""
        self._account(self.step, now_ps, duration_ps)
        self.begun_ps = now_ps
        self.end_ps = now_ps + duration_ps

    def settle(self) -> None:
        """The step under way has ended: its tokens are computed."""
        assert self.end_ps is not None
        self.settled_ps = now_ps = self.end_ps
        self.end_ps = None
        self.retire()
        for request, tokens in self.step.chunks:
            if not request.ended:
                self._compute(request, tokens, now_ps)

    def retire(self) -> None:
        """Those that had finished before this step give up seat and blocks."""
        for request in self.finished:
            self._vacate(request)
        self.finished.clear()

    def wake_ps(self, now_ps: int) -> int | None:
        """When, after now, a transfer from or to the host is done that an idle engine waits for."""
        if self.end_ps is not None:
            return None
        heads = self.queues.loading[:1]
        if self.queues.waiting:
            heads.append(self.queues.waiting[0])
        return min((request.ready_ps for request in heads if request.ready_ps > now_ps), default=None)

    def overdue(self, now_ps: int) -> bool:
        """Whether anyone's time here has passed."""
        due_ps = self.due_ps() if self.shared.admission.expires or self.shared.leaving else None
        return due_ps is not None and due_ps < now_ps

    def expire(self, now_ps: int) -> None:
        """Between steps: let go of those whose time has passed, in order of their numbers."""
        if not self.overdue(now_ps):
            return
        for request in sorted((*self._here(), *self._between()), key=lambda one: one.number):
            end = expiry(self.shared.admission, request, now_ps)
            if end is not None:
                if self.intake is None or not self.intake.drop(request):
                    self._vacate(request)
                self._count_out(request)
                self.shared.end(request, *end, now_ps)

    def due_ps(self) -> int | None:
        """The last instant of the one here whose time passes next."""
        dues = [due_ps(self.shared.admission, one) for one in (*self._here(), *self._between())]
        return min((due for due in dues if due is not None), default=None)

    def _between(self) -> list[Request]:
        """Requests that were prefilled elsewhere and do not run here yet: in line, on their way, and come."""
        if self.intake is None:
            return []
        return [handover.request for handover in self.intake.line] + [
            request for request in self.queues.incoming if not request.ended
        ]

    def _vacate(self, request: Request) -> None:
        """Take the request out of the list in which it stands, if it still stands in one."""
        queues = self.queues
        for here in (queues.running, queues.loading, queues.waiting, self.inbox):
            if request in here:
                here.remove(request)
        queues.kv.release(request)
        if queues.host is not None:
            queues.host.forget(request)

    def _count_out(self, request: Request) -> None:
        self.outstanding -= 1
        self.outstanding_tokens -= request.prompt_tokens

    def totals(self, paid_ps: int) -> ReplicaTotals:
        """Its sums over the run; `paid_ps`: how long it was switched on."""
        return ReplicaTotals(
            pool=self.pool,
            steps=self.steps,
            busy_ps=self.busy_ps,
            seat_ps=self.seat_ps,
            kv_block_ps=self.kv_block_ps,
            kv_token_ps=self.kv_token_ps,
            kv_peak_blocks=self.kv_peak_blocks,
            kv_peak_tokens=self.kv_peak_tokens,
            prefill_tokens=self.prefill_tokens,
            num_blocks=self.config.num_blocks,
            block_size=self.config.block_size,
            max_num_seqs=self.config.max_num_seqs,
            paid_ps=paid_ps,
        )

    def _empty_inbox(self) -> None:
        self.queues.waiting.extend(self.inbox)
        self.inbox.clear()

    def _note_moves(self, step: Step, now_ps: int) -> None:
        for request in step.returned:
            request.preempted_ps += now_ps - request.preempted_at_ps
            request.preempted_at_ps = NEVER
        for request in step.preempted:
            request.preemptions += 1
            request.preempted_at_ps = now_ps
        for request in step.admitted:
            if request.admitted_ps != NEVER:
                request.preempted_ps += now_ps - request.preempted_at_ps
                request.preempted_at_ps = NEVER
            else:
                request.admitted_ps = now_ps
                request.cached_tokens = request.computed
                self.itl_slice = itl_slice_of(request.number, self.shared.requests)

    def _duration_ps(self, step: Step) -> int:
        prefills = [(request.computed, tokens) for request, tokens in step.chunks if request.prefilling]
        transfer_ps = 0 if self.queues.host is None else self.queues.host.take_blocking_ps()
        return transfer_ps + self.step_time.step_ps(
            tokens=sum(tokens for _, tokens in step.chunks),
            decode_seqs=len(step.chunks) - len(prefills),
            context_tokens=sum(request.computed for request, _ in step.chunks),
            prefill_pairs=sum(chunk * before + chunk * (chunk + 1) // 2 for before, chunk in prefills),
            prefill_seqs=len(prefills),
            drafting=self.config.speculation is not None,
            window_context_tokens=sum(min(r.computed, self.step_time.window_tokens) for r, _ in step.chunks),
        )

    def _account(self, step: Step, now_ps: int, duration_ps: int) -> None:
        prefill = sum(tokens for request, tokens in step.chunks if request.prefilling)
        decode = sum(self._emitted(request, tokens) for request, tokens in step.chunks if not request.prefilling)
        seat_ps = duration_ps * self.running
        kv_block_ps = duration_ps * self.queues.pool.used
        self.steps += 1
        self.busy_ps += duration_ps
        self.seat_ps += seat_ps
        self.kv_block_ps += kv_block_ps
        self.kv_peak_blocks = max(self.kv_peak_blocks, self.queues.pool.used)
        tokens = self._tokens_held(step)
        self.kv_token_ps += duration_ps * tokens
        self.kv_peak_tokens = max(self.kv_peak_tokens, tokens)
        self.prefill_tokens += prefill
        self.shared.bins.at(now_ps).add(Bin(1, duration_ps, prefill, decode, seat_ps, kv_block_ps))

    def _tokens_held(self, step: Step) -> int:
        """Tokens in the pool when the step has ended."""
        computed = {r.number: r.computed + self._computed(r, tokens) for r, tokens in step.chunks}
        here = (*self.queues.running, *self.queues.loading, *self.queues.incoming, *self.queues.outgoing)
        return self.queues.kv.tokens_held([(r, computed.get(r.number, r.computed)) for r in here])

    def _emitted(self, request: Request, tokens: int) -> int:
        """Tokens that come out of a chunk: the next one when its prompt is done, and draft tokens that are kept."""
        if request.prefilling:
            return int(request.computed + tokens == request.target)
        emitted = 1
        if self.config.speculation is not None:
            bits = draw(self.shared.word, request.number, request.generated)
            emitted += sum(bits < threshold for threshold in self.config.speculation.thresholds[: tokens - 1])
        return min(emitted, request.output_tokens - request.generated)

    def _computed(self, request: Request, tokens: int) -> int:
        """Tokens of a chunk that stay computed."""
        return tokens if request.prefilling else self._emitted(request, tokens)

    def _compute(self, request: Request, tokens: int, now_ps: int) -> None:
        """The request's tokens are computed; where some come out, it has emitted them."""
        emitted = self._emitted(request, tokens)
        request.computed += self._computed(request, tokens)
        self.queues.kv.publish(request)
        if emitted and self.emits:
            self._emit(request, emitted, now_ps)
        if emitted and self.hands_over and request.outcome == UNFINISHED:
            self._hand_over(request, now_ps)

    def _hand_over(self, request: Request, now_ps: int) -> None:
        """The prompt is computed: the request gives up its seat, and its blocks when its KV has left."""
        self.queues.running.remove(request)
        request.handed_ps = now_ps
        held = replace(request)
        self.queues.outgoing.append(held)
        self.shared.handed.append(Handover(request, self.number, held))
        request.tables = []

    def release_held(self, held: Request) -> None:
        """The KV of a request that was handed over has left."""
        self.queues.kv.release(held)
        self.queues.outgoing.remove(held)
        self.outstanding -= 1
        self.outstanding_tokens -= held.prompt_tokens

    def _emit(self, request: Request, tokens: int, now_ps: int) -> None:
        request.prefilling = False
        request.generated += tokens
        request.target += tokens
        self.queues.waiting.charge(request, tokens)
        if request.first_token_ps == NEVER:
            request.first_token_ps = now_ps
            self.shared.first_token(request)
        else:
            self.shared.itl[self.itl_slice, itl_bin(now_ps - request.last_token_ps)] += 1
        request.last_token_ps = now_ps
        if self.shared.emitted is not None:
            self.shared.emitted(request, tokens, now_ps)
        if request.generated == request.output_tokens:
            self._count_out(request)
            if self.config.overlap_scheduling:
                self.finished.append(request)
            else:
                self._vacate(request)
            late = expiry(self.shared.admission, request, now_ps)
            self.shared.end(request, *(late or (FINISHED, NO_REASON)), now_ps)
