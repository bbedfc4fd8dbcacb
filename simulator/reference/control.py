"""Which replicas are on: autoscalers and outages, at the instants at which they act."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from simulator.control import Autoscaling, Outage
from simulator.fleet import Fleet
from simulator.records import FINISHED
from simulator.reference.gangs import Gang
from simulator.reference.requests import Request
from simulator.transfer import Role

OFF, STARTING, ON, LEAVING = range(4)


@dataclass(slots=True)
class Power:
    """State of one replica. ready_ps: when one that starts is on;  since_ps: since when it is paid for.

    warned: the router sends nothing more, as an outage is near
    """

    state: int = ON
    ready_ps: int = 0
    since_ps: int = 0
    paid_ps: int = 0
    warned: bool = False


@dataclass(slots=True)
class Scaler:
    """One pool's autoscaler: its numbers of replicas wanted at former ticks, and what was measured since the last."""

    rule: Autoscaling
    role: Role
    replicas: Sequence[int]
    history: deque[int]
    next_tick_ps: int = 0
    sum_ps: int = 0
    samples: int = 0


class Control:
    """Switches replicas on and off. `resend` is called with the requests of a lost replica, in order of arrival."""

    def __init__(self, fleet: Fleet, gangs: Sequence[Gang], resend: Callable[[Sequence[Request]], None]) -> None:
        self.gangs, self.resend = gangs, resend
        self.power = [Power() for _ in gangs]
        self.starts: list[tuple[int, int, int]] = []
        self.outages = deque(sorted(fleet.outages, key=lambda outage: (outage.at_ps, outage.replica)))
        self.warnings = deque(
            sorted(
                (outage for outage in fleet.outages if outage.notice_ps),
                key=lambda outage: (outage.at_ps - outage.notice_ps, outage.replica),
            )
        )
        self.scalers = []
        first = 0
        for pool in fleet.pools:
            numbers = range(first, first + pool.replicas)
            first += pool.replicas
            if pool.autoscaling is not None:
                self.scalers.append(self._scaler(pool.autoscaling, pool.role, numbers))

    def _scaler(self, rule: Autoscaling, role: Role, numbers: range) -> Scaler:
        for number in numbers[max(rule.initial, rule.least(0)) :]:
            self.power[number] = Power(OFF)
        ticks = 1 + max(rule.up_window_ps, rule.down_window_ps) // rule.interval_ps
        return Scaler(rule, role, numbers, deque(maxlen=ticks), next_tick_ps=rule.interval_ps)

    def accepts(self, replica: int) -> bool:
        """Whether the router may send to it now."""
        power = self.power[replica]
        return power.state == ON and not power.warned

    def instants(self) -> list[int]:
        """When something here happens next."""
        ready = [power.ready_ps for power in self.power if power.state == STARTING]
        ticks = [scaler.next_tick_ps for scaler in self.scalers]
        losses = [outage.at_ps for outage in self.outages][:1]
        return ready + ticks + losses + [outage.at_ps - outage.notice_ps for outage in self.warnings][:1]

    def act(self, now_ps: int, at_gate: Callable[[], Mapping[Role, int]]) -> None:
        """Outages, then replicas that become ready, then the autoscalers' ticks that fall on this instant.

        at_gate  tells requests that wait for a replica of a role to be on, those just lost included
        """
        self._switch_off_empty(now_ps)
        while self.warnings and self.warnings[0].at_ps - self.warnings[0].notice_ps <= now_ps:
            self.power[self.warnings.popleft().replica].warned = True
        while self.outages and self.outages[0].at_ps <= now_ps:
            self._lose(self.outages.popleft(), now_ps)
        for power in self.power:
            if power.state == STARTING and power.ready_ps <= now_ps:
                power.state = ON
        for scaler in self.scalers:
            if scaler.next_tick_ps <= now_ps:
                self._tick(scaler, now_ps, at_gate()[scaler.role])

    def _switch_off_empty(self, now_ps: int) -> None:
        for power, gang in zip(self.power, self.gangs, strict=True):
            if power.state == LEAVING and not gang.outstanding:
                gang.retire()
                self._off(power, now_ps)

    def _off(self, power: Power, now_ps: int) -> None:
        power.paid_ps += now_ps - power.since_ps
        power.state = OFF

    def _lose(self, outage: Outage, now_ps: int) -> None:
        power = self.power[outage.replica]
        power.warned = False
        if power.state in (OFF, STARTING):
            return
        lost = self.gangs[outage.replica].lose(now_ps)
        if power.state == LEAVING:
            self._off(power, now_ps)
        else:
            power.state, power.ready_ps = STARTING, now_ps + outage.reload_ps
            self.starts.append((outage.replica, now_ps, power.ready_ps))
        self.resend(sorted(lost, key=lambda request: request.number))

    def wake(self, candidates: Sequence[Gang], now_ps: int) -> None:
        """A request found none of `candidates` on: start one, where none is starting and a pool may."""
        for scaler in self.scalers:
            mine = [gang.number for gang in candidates if gang.number in scaler.replicas]
            if mine and not self._alive(scaler):
                self._more(scaler, 1, now_ps)
                return

    def _alive(self, scaler: Scaler) -> list[int]:
        return [number for number in scaler.replicas if self.power[number].state in (STARTING, ON)]

    def finished(self, request: Request, replica: int) -> None:
        """A request has finished: for autoscalers that measure TPOT."""
        if request.outcome == FINISHED and request.output_tokens > 1:
            gaps_ps = request.finish_ps - request.first_token_ps
            self._measure("tpot", replica, gaps_ps // (request.output_tokens - 1))

    def first_token(self, request: Request, replica: int) -> None:
        """A request has its first token: for autoscalers that measure TTFT."""
        self._measure("ttft", replica, request.first_token_ps - request.arrival_ps)

    def _measure(self, metric: str, replica: int, value_ps: int) -> None:
        for scaler in self.scalers:
            if scaler.rule.metric == metric and replica in scaler.replicas:
                scaler.sum_ps += value_ps
                scaler.samples += 1

    def _tick(self, scaler: Scaler, now_ps: int, at_gate: int) -> None:
        rule = scaler.rule
        scaler.next_tick_ps += rule.interval_ps
        alive = len(self._alive(scaler))
        measured = self._measured(scaler, at_gate)
        scaler.history.append(alive if measured is None else rule.wanted(measured, alive))
        wanted = self._stabilised(scaler, alive)
        least = max(rule.least(now_ps), int(at_gate > 0))  # else one that is just on could go before the gate opens
        wanted = min(max(wanted, least), len(scaler.replicas))
        if wanted > alive:
            self._more(scaler, wanted - alive, now_ps)
        else:
            self._fewer(scaler, alive - wanted, now_ps)

    def _measured(self, scaler: Scaler, at_gate: int) -> int | None:
        """The metric now, None where nothing was measured."""
        metric = scaler.rule.metric
        on = [self.gangs[number] for number in scaler.replicas if self.power[number].state == ON]
        if metric == "queue":
            return at_gate + sum(member.waiting for gang in on for member in gang.members)
        if metric == "concurrency":
            return at_gate + sum(gang.outstanding for gang in on)
        if metric == "kv":
            pools = [member.queues.pool for gang in on for member in gang.members]
            blocks = sum(pool.num_blocks for pool in pools)
            return sum(pool.used for pool in pools) * 10**6 // blocks if blocks else None
        mean_ps = scaler.sum_ps // scaler.samples if scaler.samples else None
        scaler.sum_ps = scaler.samples = 0
        return mean_ps

    def _stabilised(self, scaler: Scaler, alive: int) -> int:
        rule, history = scaler.rule, list(scaler.history)
        wanted = history[-1]
        if wanted > alive:
            return max(alive, min(history[-1 - rule.up_window_ps // rule.interval_ps :]))
        return min(alive, max(history[-1 - rule.down_window_ps // rule.interval_ps :]))

    def _more(self, scaler: Scaler, count: int, now_ps: int) -> None:
        """Those that are leaving come back first; then the lowest numbers that are off start."""
        for state in (LEAVING, OFF):
            for number in scaler.replicas:
                power = self.power[number]
                if not count or power.state != state:
                    continue
                count -= 1
                if state == LEAVING:
                    power.state = ON
                    continue
                power.state, power.since_ps = STARTING, now_ps
                power.ready_ps = now_ps + scaler.rule.ready_after_ps
                self.starts.append((number, now_ps, power.ready_ps))

    def _fewer(self, scaler: Scaler, count: int, now_ps: int) -> None:
        """Those that are starting go first, then those that are on, the highest numbers first."""
        for state in (STARTING, ON):
            for number in reversed(scaler.replicas):
                power = self.power[number]
                if not count or power.state != state:
                    continue
                count -= 1
                power.state = LEAVING
        self._switch_off_empty(now_ps)

    def paid_ps(self, replica: int, end_ps: int) -> int:
        """How long it was paid for by the end of the run: on, starting or leaving."""
        power = self.power[replica]
        return power.paid_ps + (end_ps - power.since_ps if power.state != OFF else 0)
