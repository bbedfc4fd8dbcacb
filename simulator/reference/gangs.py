"""How the engines of one replica step together: ranks in lock step, or lanes of a pipeline. Most are a gang of one."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from simulator.reference.replica import Replica
from simulator.reference.requests import Request

WAITING_WEIGHT = 4


@dataclass(slots=True, eq=False)
class Gang:
    """Attention-DP ranks: all step together, and a step lasts as long as its slowest rank.

    While one rank has work, a rank without takes part with a dummy step of one token, which is counted nowhere.
    number: the replica's, through the pools in order;  weight: the pool's
    """

    number: int
    weight: int
    members: Sequence[Replica]

    @property
    def outstanding(self) -> int:
        """Requests sent here that have not ended."""
        return sum(member.outstanding for member in self.members)

    @property
    def outstanding_tokens(self) -> int:
        """Their prompt tokens."""
        return sum(member.outstanding_tokens for member in self.members)

    def entry(self) -> Replica:
        """The rank that takes the next request: vLLM's rule, with counts of this instant."""
        return min(self.members, key=lambda rank: rank.waiting * WAITING_WEIGHT + rank.queues.seats_taken)

    def expire(self, now_ps: int) -> None:
        """Let go of requests whose time has passed, if steps can begin now."""
        if all(member.end_ps is None for member in self.members):
            for member in self.members:
                member.expire(now_ps)

    def due_ps(self) -> int | None:
        """The last instant of the request whose time passes next, where no step under way looks after it."""
        if any(member.end_ps is not None for member in self.members):
            return None
        return min((due for member in self.members if (due := member.due_ps()) is not None), default=None)

    def begin(self, now_ps: int) -> None:
        """Schedule a step of every rank, if none is under way and anyone can compute anything."""
        if any(member.end_ps is not None for member in self.members):
            return
        planned = [(member, member.plan(now_ps)) for member in self.members]
        working = [(member, duration_ps) for member, duration_ps in planned if duration_ps is not None]
        if not working:
            return
        longest_ps = max(duration_ps for _, duration_ps in working)
        if len(working) < len(self.members):
            longest_ps = max(longest_ps, self.members[0].step_time.step_ps(1, 1, 0, 0, 0))
        for member, _ in working:
            member.start(now_ps, longest_ps)

    def retire(self) -> None:
        """Those that have finished give up seat and blocks, before a step is computed in vain."""
        for member in self.members:
            member.retire()

    def lose(self, now_ps: int) -> list[Request]:
        """All engines fail; returns their requests."""
        return [request for member in self.members for request in member.lose(now_ps)]

    def wake_ps(self, now_ps: int) -> int | None:
        """When, after now, a step could begin though nothing ends or arrives: when a transfer from the host is done."""
        if any(member.end_ps is not None for member in self.members):
            return None
        return min((wake for member in self.members if (wake := member.wake_ps(now_ps)) is not None), default=None)


@dataclass(slots=True, eq=False)
class Pipeline(Gang):
    """Lanes of a pipeline, whose steps (micro-batches) pass through as many stages one behind the other.

    A step of D picoseconds takes D / stages in each stage (the first ones one more, so that they sum to D). A stage
    begins when the one before has ended, and when the micro-batch before has left it. Lanes enter in turn.
    """

    stage_end_ps: list[int] = field(default_factory=list)
    turn: int = 0

    def __post_init__(self) -> None:
        self.stage_end_ps = [0] * len(self.members)

    def entry(self) -> Replica:
        """The lane with the fewest requests outstanding."""
        return min(self.members, key=lambda lane: lane.outstanding)

    def expire(self, now_ps: int) -> None:
        """Let go of requests whose time has passed, in lanes that may enter."""
        if self.stage_end_ps[0] <= now_ps:
            for lane in self.members:
                if lane.end_ps is None and lane.overdue(now_ps):
                    lane.hold(now_ps)
                    lane.expire(now_ps)

    def begin(self, now_ps: int) -> None:
        """Let lanes without a step under way enter, while the first stage is free.

        A lane rests when it is idle, whether or not the stage is free and it can be asked for a step.
        """
        lanes = len(self.members)
        for lane in self.members:
            lane.rest()
        for place in [(self.turn + offset) % lanes for offset in range(lanes)]:
            lane = self.members[place]
            if self.stage_end_ps[0] > now_ps:
                return
            if lane.end_ps is not None:
                continue
            lane.hold(now_ps)
            duration_ps = lane.plan(now_ps)
            if duration_ps is not None:
                lane.start(now_ps, self._pass_ps(now_ps, duration_ps))
                self.turn = (place + 1) % lanes

    def lose(self, now_ps: int) -> list[Request]:
        """All lanes fail, and the stages stand empty; returns their requests."""
        for lane in self.members:
            if lane.end_ps is None:
                lane.hold(now_ps)
        self.stage_end_ps = [now_ps] * len(self.members)
        return Gang.lose(self, now_ps)

    def _pass_ps(self, now_ps: int, duration_ps: int) -> int:
        whole_ps, rest_ps = divmod(duration_ps, len(self.members))
        end_ps = now_ps
        for stage, busy_until_ps in enumerate(self.stage_end_ps):
            end_ps = max(end_ps, busy_until_ps) + whole_ps + (stage < rest_ps)
            self.stage_end_ps[stage] = end_ps
        return end_ps - now_ps

    def wake_ps(self, now_ps: int) -> int | None:
        """When the first stage gets free, or a transfer from the host is done, for a lane that waits for it."""
        if self.stage_end_ps[0] > now_ps:
            ready = any(lane.end_ps is None and lane.busy for lane in self.members)
            return self.stage_end_ps[0] if ready else None
        return min((wake for lane in self.members if (wake := lane.wake_ps(now_ps)) is not None), default=None)
