"""A fleet's run, instant by instant. Time is a whole number of picoseconds in Python ints.

At each instant: the steps that end there are settled, in the order of the replicas; KV transfers that end there come
in; replicas between two steps let go of requests whose time has passed; replicas come and go; what was prefilled is
routed to decode replicas; those at the gate enter that now may, and what arrives there is routed, in the order of the
requests; then every replica without a step under way begins one, if it has anything to compute.
In a pipeline, steps begin also when its first stage gets free, and anywhere when a transfer from the host is done.
"""

from collections.abc import Callable, Sequence

import numpy as np

from simulator.errors import SimulationCancelled, beyond_horizon
from simulator.fleet import Fleet
from simulator.records import FINISHED, NEVER, REJECTED, TENANT_CAP, UNFINISHED, UNSERVABLE, EventLog, pack_itl
from simulator.reference.arrivals import Arrivals, KnownArrivals
from simulator.reference.content import BlockContent, Contents
from simulator.reference.control import Control
from simulator.reference.dispatch import Disaggregated, Dispatch
from simulator.reference.expiry import expiry
from simulator.reference.gangs import Gang, Pipeline
from simulator.reference.gate import Gate, refusal
from simulator.reference.replica import Replica, Shared
from simulator.reference.requests import Request
from simulator.reference.transfers import Handover, Links
from simulator.steptime import HORIZON_PS, IntArray
from simulator.transfer import Role
from simulator.workload import Workload

INSTANTS_PER_REPORT = 4096


def simulate_reference(
    fleet: Fleet,
    workload: Workload,
    draws: IntArray,
    word: int = 0,
    until_ps: int | None = None,
    on_progress: Callable[[float], bool] | None = None,
) -> EventLog:
    """Run the workload to its end; with `until_ps`, begin no step and start no idle instant at or after that time.

    Nor are requests dropped from then on, but for those whose last token comes after their time.
    """
    arrivals = KnownArrivals(workload)
    contents = [
        BlockContent(workload, pool.config) if pool.config.enable_prefix_caching else None for pool in fleet.pools
    ]
    run = Run(fleet, arrivals, contents, draws, word, until_ps, workload=workload)
    instants = 0
    while run.advance():
        instants += 1
        if (
            on_progress is not None
            and instants % INSTANTS_PER_REPORT == 0
            and not on_progress(run.ended / len(workload))
        ):
            raise SimulationCancelled
    return event_log(run, arrivals)


class Run:
    """A fleet and its clock. contents: of each pool's requests, None where nothing is cached.

    arrived, ended  requests that have come, and that have ended
    """

    def __init__(
        self,
        fleet: Fleet,
        arrivals: Arrivals,
        contents: Sequence[Contents | None],
        draws: IntArray,
        word: int,
        until_ps: int | None = None,
        *,
        workload: Workload | None = None,
    ) -> None:
        self.fleet, self.arrivals, self.until_ps = fleet, arrivals, until_ps
        self.links = None if fleet.transfer is None else Links(fleet.transfer)
        self.shared = Shared(arrivals.expected, fleet.admission, self._end, self._first_token, word, self.links)
        self.replicas = [
            Replica(number, place, pool.config.member, pool.step_time, contents[place], self.shared, pool.role)
            for number, place in enumerate(fleet.pool_of_replica)
            for pool in (fleet.pools[place],)
        ]
        self.gangs = [self._gang(number, numbers) for number, numbers in enumerate(fleet.gangs)]
        self.gang_of = [number for number, numbers in enumerate(fleet.gangs) for _ in numbers]
        self.dispatch = (Disaggregated if fleet.disaggregated else Dispatch)(fleet, self.gangs, workload, draws)
        self.control = Control(fleet, self.gangs, self._resend)
        self.gate = Gate(fleet.admission)
        self.stranded: list[Request] = []  # they find no replica on
        self.now_ps = self.arrived = self.ended = 0

    def _gang(self, number: int, numbers: range) -> Gang:
        members = [self.replicas[engine] for engine in numbers]
        pool = self.fleet.pools[members[0].pool]
        return (Pipeline if pool.config.pipeline_stages > 1 else Gang)(number, pool.weight, members)

    def next_ps(self) -> int | None:
        """The next instant, as far as arrivals are known; None when there is nothing more to do."""
        sent = [] if self.links is None else self.links.next_ps()
        arrival_ps = self.arrivals.next_ps()
        instants = self._ends() + sent + ([] if arrival_ps is None else [arrival_ps]) + self._wakes()
        if instants or self.ended < self.arrived:
            instants += self.control.instants()
        return min(instants, default=None)

    def _ends(self) -> list[int]:
        return [replica.end_ps for replica in self.replicas if replica.end_ps is not None]

    def advance(self) -> bool:
        """One instant; False when there is nothing more to do."""
        instant_ps, until_ps = self.next_ps(), self.until_ps
        if instant_ps is None:
            return False
        if until_ps is not None and instant_ps >= until_ps and not self._ends():
            self.now_ps = max(self.now_ps, until_ps)
            return False
        if instant_ps >= HORIZON_PS:
            raise beyond_horizon()
        self.now_ps = instant_ps
        for replica in self.replicas:
            if replica.end_ps == self.now_ps:
                replica.settle()
        if self.links is not None:
            self._come_in(self.links)
        if self._goes_on():
            for gang in self.gangs:
                gang.expire(self.now_ps)
        if self.links is not None:
            self._give_up(self.links)
        self.control.act(self.now_ps, self._stranded)
        self._open_gate()
        self._receive()
        if self._goes_on():
            for gang in self.gangs:
                gang.begin(self.now_ps)
        return True

    def _goes_on(self) -> bool:
        """Whether replicas still do anything by themselves at this instant."""
        return self.until_ps is None or self.now_ps < self.until_ps

    def _wakes(self) -> list[int]:
        wakes = [wake for gang in self.gangs if (wake := gang.wake_ps(self.now_ps)) is not None]
        if not self._goes_on():
            return wakes
        return wakes + [due + 1 for gang in self.gangs if (due := gang.due_ps()) is not None]

    def _come_in(self, links: Links) -> None:
        """KV that has come frees the blocks that it came from."""
        for handover in links.arrived(self.now_ps):
            request = handover.request
            if not request.ended:
                request.transfer_ps = self.now_ps - request.handed_ps
            self.replicas[handover.source].release_held(handover.held)
            self.replicas[request.replica].take_in(request)

    def _give_up(self, links: Links) -> None:
        """Blocks are free whose KV will not be sent any more, as its request has ended."""
        given_up, links.given_up = links.given_up, []
        for handover in given_up:
            self.replicas[handover.source].release_held(handover.held)

    def _receive(self) -> None:
        """Take in the requests that have arrived; those that can never be served, or may not enter, end here."""
        while (arrival_ps := self.arrivals.next_ps()) is not None and arrival_ps <= self.now_ps:
            request = self.arrivals.pop()
            self.arrived += 1
            reason = self.dispatch.unservable_reason(request)
            if reason:
                self._end(request, UNSERVABLE, reason, self.now_ps)
            elif self.gate.lets_in(request):
                self._route(request)
            elif not self.gate.holds(request):
                self._end(request, REJECTED, TENANT_CAP, self.now_ps)

    def _route(self, request: Request) -> None:
        """Send the request to a replica, which may turn it away; without any on that could serve it, it is stranded."""
        choices = self.dispatch.choices(request)
        choice = next(((routing, on) for routing, candidates in choices if (on := self._on(candidates))), None)
        if choice is None:
            self.stranded.append(request)
            self.control.wake(choices[-1][1], self.now_ps)
            return
        end = expiry(self.fleet.admission, request, self.now_ps)
        if end is None:
            chosen = choice[0].choose(request, choice[1])
            end = refusal(self.fleet.admission, request, chosen)
            if end is None:
                chosen.receive(request)
                return
        self._end(request, *end, self.now_ps)

    def _hand_over(self, handover: Handover) -> None:
        """Send what has been prefilled to a decode replica, or leave it where it is while none is on.

        If its time has passed when it is its turn, it ends, and its blocks are free.
        """
        routing, candidates = self.dispatch.decoders(handover.request)
        if on := self._on(candidates):
            end = expiry(self.fleet.admission, handover.request, self.now_ps)
            if end is not None:
                self.replicas[handover.source].release_held(handover.held)
                self._end(handover.request, *end, self.now_ps)
                return
            routing.choose(handover.request, on, handed_over=True).receive_prefilled(handover)
            return
        self.shared.handed.append(handover)
        self.control.wake(candidates, self.now_ps)

    def _on(self, candidates: Sequence[Gang]) -> list[Gang]:
        return [gang for gang in candidates if self.control.accepts(gang.number)]

    def _stranded(self) -> dict[Role, int]:
        """Requests that wait for a replica of each role to be on."""
        stranded = len(self.stranded)
        return {"both": stranded, "prefill": stranded, "decode": len(self.shared.handed)}

    def _open_gate(self) -> None:
        """What was prefilled, those that were stranded, then those whose tenants have room again."""
        handed, self.shared.handed = self.shared.handed, []
        for handover in handed:
            self._hand_over(handover)
        stranded, self.stranded = self.stranded, []
        for request in stranded:
            self._route(request)
        while (held := self.gate.next_held()) is not None:
            self._route(held)

    def _resend(self, lost: Sequence[Request]) -> None:
        """What a lost replica had stands at the gate, behind those already there."""
        self.stranded.extend(lost)

    def _first_token(self, request: Request) -> None:
        self.control.first_token(request, self.gang_of[request.replica])

    def _end(self, request: Request, outcome: int, reason: int, at_ps: int) -> None:
        request.outcome, request.reason, request.finish_ps = outcome, reason, at_ps
        if request.preempted_at_ps != NEVER:
            request.preempted_ps += at_ps - request.preempted_at_ps
            request.preempted_at_ps = NEVER
        self.gate.leave(request)
        if outcome == FINISHED:
            self.control.finished(request, self.gang_of[request.replica])
        self.arrivals.ended(request, at_ps)
        self.ended += 1


def event_log(run: Run, arrivals: KnownArrivals) -> EventLog:
    """The columns, with the requests that never arrived before `until_ps` as unfinished rows."""
    unsent = range(len(arrivals.sent), arrivals.expected)
    arrival_ps = arrivals.arrival_ps
    if arrivals.workload.concurrency is not None:  # nobody knows when they would have been sent
        arrival_ps = [max(at_ps, run.now_ps + 1) for at_ps in arrival_ps]
    rows = arrivals.sent + [arrivals.request(number, arrival_ps[number]) for number in unsent]

    def column(name: str, dtype: type = np.int64) -> np.ndarray:
        return np.array([getattr(row, name) for row in rows], dtype)

    for replica in run.replicas:
        replica.close(run.now_ps)
    waiting_ps = sum(_waited_ps(request, run.now_ps) for request in arrivals.sent)
    transfer_wait_ps = sum(_transferred_ps(request, run.now_ps) for request in arrivals.sent)
    itl_slice, itl_upper_ps, itl_count = pack_itl(run.shared.itl)
    return EventLog(
        arrival_ps=column("arrival_ps"),
        admitted_ps=column("admitted_ps"),
        first_token_ps=column("first_token_ps"),
        finish_ps=column("finish_ps"),
        prompt_tokens=column("prompt_tokens"),
        output_tokens=column("output_tokens"),
        generated_tokens=column("generated"),
        cached_tokens=column("cached_tokens"),
        preemptions=column("preemptions"),
        preempted_ps=column("preempted_ps"),
        failovers=column("failovers"),
        transfer_ps=column("transfer_ps"),
        replica=column("replica", np.int32),
        prefill_replica=column("prefill_replica", np.int32),
        outcome=column("outcome", np.int8),
        reason=column("reason", np.int8),
        end_ps=run.now_ps,
        request_ps=run.fleet.pools[0].step_time.request_ps,
        request_token_ps=run.fleet.pools[0].step_time.request_token_ps,
        waiting_ps=waiting_ps,
        transfer_wait_ps=transfer_wait_ps,
        replicas=tuple(
            replica.totals(run.control.paid_ps(gang, run.now_ps))
            for replica, gang in zip(run.replicas, run.gang_of, strict=True)
        ),
        starts=tuple(run.control.starts),
        series=run.shared.bins.series(),
        itl_slice=itl_slice,
        itl_upper_ps=itl_upper_ps,
        itl_count=itl_count,
    )


def _waited_ps(request: Request, now_ps: int) -> int:
    """Time in the waiting line, first and preempted, up to the end of the run."""
    if request.admitted_ps < 0:
        return (now_ps if request.outcome == UNFINISHED else request.finish_ps) - request.arrival_ps
    if request.preempted_at_ps != NEVER:
        request.preempted_ps += now_ps - request.preempted_at_ps
    return request.admitted_ps - request.arrival_ps + request.preempted_ps


def _transferred_ps(request: Request, now_ps: int) -> int:
    """Time between prefill and decode, up to the end of the run."""
    if request.handed_ps == NEVER:
        return 0
    left_ps = request.finish_ps if request.ended else now_ps
    if not request.transfer_ps:
        request.transfer_ps = left_ps - request.handed_ps
    return (request.joined_ps if request.joined_ps != NEVER else left_ps) - request.handed_ps
