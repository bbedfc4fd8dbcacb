"""What a load test asks for: the scenario's own requests at a rate, and how long a step must be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from planner.planning.schema import Scenario, scenario_digest
from planner.planning.search.candidates import Job, make_job
from planner.planning.search.targets import Targets
from planner.planning.traffic.load import Load, replica_stream
from simulator.statistics import SAMPLES_NEEDED

SAMPLES = 2
"""Times the samples that the highest percentile needs at all."""
PS_PER_S = 1e12


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. at_s: when it is meant to be sent, from the start of the step; group: whose prefix it begins with,
    -1 for none; prefix_tokens: how long that is."""

    number: int
    at_s: float
    prompt_tokens: int
    output_tokens: int
    group: int
    prefix_tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """A scenario as a load test sees it."""

    name: str
    digest: str
    load: Load
    targets: Targets

    def stream(self, rate_rps: float, count: int) -> Iterator[Asked]:
        """At least `count` requests that arrive at a mean rate, or as many as the trace has."""
        workload = replica_stream(self.load, rate_rps, count)
        group, prefix = workload.column("prefix_group"), workload.column("prefix_tokens")
        for number in range(len(workload)):
            yield Asked(
                number,
                int(workload.arrival_ps[number]) / PS_PER_S,
                int(workload.prompt_tokens[number]),
                int(workload.output_tokens[number]),
                int(group[number]),
                int(prefix[number]) if group[number] >= 0 else 0,
            )

    @property
    def first_rate_rps(self) -> float:
        """Where rising rates start: an eighth of the busiest hour."""
        return self.load.peak_rps / 8

    @property
    def samples_needed(self) -> int:
        """Requests that a step should judge."""
        percentiles = [t.percentile for t in self.targets.all if t.percentile is not None and t.metric != "itl"]
        return SAMPLES * SAMPLES_NEEDED[max(percentiles, default=50)]

    def judged_s(self, rate_rps: float, least_s: float, most_s: float) -> float:
        """How long a step at a rate is judged: long enough for the percentiles, within limits."""
        return min(most_s, max(least_s, math.ceil(self.samples_needed / rate_rps)))


def questions(scenario: Scenario) -> Questions:
    """What the scenario asks of a server."""
    job: Job = make_job(scenario, lambda: None)
    return Questions(scenario.name, scenario_digest(scenario), job.load, job.targets)
