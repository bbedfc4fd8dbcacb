"""The records of `power.py` at the start of a run, and what they say at its end."""

from collections.abc import Sequence

from simulator.control import Autoscaling, ScalingMetric
from simulator.fleet import Fleet, Pool
from simulator.kernels import power as p
from simulator.kernels import state as s
from simulator.steptime import IntArray

METRICS: dict[ScalingMetric, int] = {
    "queue": p.QUEUE_METRIC,
    "concurrency": p.CONCURRENCY_METRIC,
    "kv": p.KV_METRIC,
    "ttft": p.TTFT_METRIC,
    "tpot": p.TPOT_METRIC,
}
Start = tuple[int, int, int]


class PowerLayout:
    """Takes its words from `first` on, and writes them when the arena is there."""

    def __init__(self, fleet: Fleet, first: int) -> None:
        self.fleet, self.at, self.end = fleet, first, first + p.CONTROL_SIZE
        replicas, engines = len(fleet.gangs), len(fleet)
        self.powers = self._take(p.POWER_SIZE * replicas)
        self.saves = self._take(p.SAVED_SIZE * engines)
        self.snapshots = self._take(s.REPLICA_SIZE * engines)
        # Each instant may start all replicas by ticks and once more each by arrivals and losses.
        self.starts = self._take(3 * (p.MOST_STARTS + 4 * replicas + len(fleet.outages)))
        self.outages, self.warnings = (self._take(p.OUTAGE_SIZE * len(fleet.outages)) for _ in range(2))
        self.rules = [(place, pool) for place, pool in enumerate(fleet.pools) if pool.autoscaling is not None]
        self.scalers = self._take(p.SCALER_SIZE * len(self.rules))
        self.rings = [self._take(_ticks(pool.autoscaling)) for _, pool in self.rules]
        self.schedules = [self._take(len(_rule(pool).scheduled_minimum)) for _, pool in self.rules]

    def _take(self, count: int) -> int:
        offset, self.end = self.end, self.end + count
        return offset

    def write(self, m: IntArray, caches: Sequence[tuple[int, int]]) -> None:
        """Everything on that is on at the start. caches: each replica's part of w."""
        m[s.CONTROL] = self.at
        fields = {
            p.STRANDED: s.NONE,
            p.STRANDED + 1: s.NONE,
            p.SCALERS: self.scalers,
            p.SCALERS_END: self.scalers + p.SCALER_SIZE * len(self.rules),
            p.STARTS: self.starts,
            p.POWERS: self.powers,
            p.SAVES: self.saves,
        }
        for field, value in fields.items():
            m[self.at + field] = value
        self._write_outages(m)
        for number, (cache_at, cache_end) in enumerate(caches):
            saved, rep = self.saves + number * p.SAVED_SIZE, int(m[m[s.RECORDS] + number])
            snapshot = self.snapshots + number * s.REPLICA_SIZE
            m[snapshot : snapshot + s.REPLICA_SIZE] = m[rep : rep + s.REPLICA_SIZE]
            m[saved + p.START], m[saved + p.CACHE_AT], m[saved + p.CACHE_END] = snapshot, cache_at, cache_end
        for gang in range(len(self.fleet.gangs)):
            m[self.powers + gang * p.POWER_SIZE + p.STATE] = p.ON
        for index, (place, pool) in enumerate(self.rules):
            self._write_scaler(m, index, place, pool)

    def _write_outages(self, m: IntArray) -> None:
        hits = sorted(((o.at_ps, o.replica, o.reload_ps) for o in self.fleet.outages), key=lambda hit: hit[:2])
        warnings = sorted((o.at_ps - o.notice_ps, o.replica, 0) for o in self.fleet.outages if o.notice_ps)
        for field, at, rows in ((p.OUTAGES, self.outages, hits), (p.WARNINGS, self.warnings, warnings)):
            m[self.at + field], m[self.at + field + 1] = at, at + p.OUTAGE_SIZE * len(rows)
            for row, words in enumerate(rows):
                m[at + row * p.OUTAGE_SIZE : at + (row + 1) * p.OUTAGE_SIZE] = words

    def _write_scaler(self, m: IntArray, index: int, place: int, pool: Pool) -> None:
        rule, first = _rule(pool), sum(before.replicas for before in self.fleet.pools[:place])
        fields = {
            p.SCALER_FIRST: first,
            p.SCALER_COUNT: pool.replicas,
            p.METRIC: METRICS[rule.metric],
            p.GOAL: rule.target,
            p.INTERVAL: rule.interval_ps,
            p.UP_TICKS: rule.up_window_ps // rule.interval_ps,
            p.DOWN_TICKS: rule.down_window_ps // rule.interval_ps,
            p.COLD: rule.ready_after_ps,
            p.MINIMUM: rule.minimum,
            p.TOLERANCE: rule.tolerance_ppm,
            p.SCHEDULE: self.schedules[index],
            p.SCHEDULE_COUNT: len(rule.scheduled_minimum),
            p.SCHEDULE_STEP: rule.schedule_step_ps,
            p.NEXT_TICK: rule.interval_ps,
            p.HISTORY: self.rings[index],
            p.HISTORY_ROOM: _ticks(rule),
            p.SCALER_POOL: int(m[s.POOLS]) + place * s.POOL_SIZE,
        }
        scaler = self.scalers + index * p.SCALER_SIZE
        for field, value in fields.items():
            m[scaler + field] = value
        m[self.schedules[index] : self.schedules[index] + len(rule.scheduled_minimum)] = rule.scheduled_minimum
        for number in range(first + max(rule.initial, rule.least(0)), first + pool.replicas):
            m[self.powers + number * p.POWER_SIZE + p.STATE] = p.OFF


def _rule(pool: Pool) -> Autoscaling:
    assert pool.autoscaling is not None
    return pool.autoscaling


def _ticks(rule: Autoscaling | None) -> int:
    assert rule is not None
    return 1 + max(rule.up_window_ps, rule.down_window_ps) // rule.interval_ps


def take_starts(m: IntArray) -> list[Start]:
    """The starts reported since the last time."""
    control = int(m[s.CONTROL])
    if control == 0:
        return []
    at, count = int(m[control + p.STARTS]), int(m[control + p.STARTS_COUNT])
    m[control + p.STARTS_COUNT] = 0
    rows: list[list[int]] = m[at : at + 3 * count].reshape(count, 3).tolist()
    return [(number, asked_ps, ready_ps) for number, asked_ps, ready_ps in rows]


def paid_ps(m: IntArray, number: int) -> int:
    """How long the replica was paid for by the end of the run."""
    if m[s.CONTROL] == 0:
        return int(m[s.CLOCK])
    power = int(m[m[s.CONTROL] + p.POWERS]) + number * p.POWER_SIZE
    return int(m[power + p.PAID] + (m[s.CLOCK] - m[power + p.SINCE] if m[power + p.STATE] != p.OFF else 0))
