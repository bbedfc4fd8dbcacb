"""Figures apart for each class or tenant of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.checks import checked
from simulator.errors import SimulatorError
from simulator.metrics import (
    Goodput,
    GoodputSlo,
    Latencies,
    goodput_of,
    latencies_of,
    require_warmup,
)
from simulator.records import FINISHED, EventLog
from simulator.steptime import IntArray
from simulator.workload import whole_numbers


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """One group's requests. Gaps between tokens are not kept apart by group: `latencies` has no ITL.

    output_tokens_share   its share of all output tokens of the run
    """

    requests: int
    finished: int
    latencies: Latencies
    goodput: tuple[Goodput, ...]
    prompt_tokens: int
    output_tokens: int
    output_tokens_share: float
    cache_hit_ratio: float
    preemptions: int


@checked
def summarise_groups(
    log: EventLog,
    group: npt.ArrayLike,
    *,
    slo: Mapping[int, Sequence[GoodputSlo]] | Sequence[GoodputSlo] = (),
    warmup_ratio: float = 0.0,
) -> dict[int, GroupSummary]:
    """Summaries by group number, in rising order.

    group   one whole number per request: a workload's `traffic_class`, `tenant`, `priority` or `session`
    slo     thresholds for all groups, or by group number (a group without an entry has none)

    Raises SimulatorError where `group` has not one entry per request, and as `summarise`.
    """
    warmup_ratio = require_warmup(warmup_ratio)
    numbers = _one_each(log, group)
    produced = max(1, int(log.generated_tokens.sum()))
    warm = np.arange(len(log)) >= int(len(log) * warmup_ratio)
    summaries = {}
    for number in np.unique(numbers).tolist():
        rows = numbers == number
        targets = slo.get(number, ()) if isinstance(slo, Mapping) else slo
        admitted = rows & (log.admitted_ps >= 0)
        asked = int(log.prompt_tokens[admitted].sum())
        output = int(log.generated_tokens[rows].sum())
        summaries[number] = GroupSummary(
            requests=int(rows.sum()),
            finished=int((rows & (log.outcome == FINISHED)).sum()),
            latencies=latencies_of(log, rows & warm),
            goodput=tuple(goodput_of(log, target, rows & warm) for target in targets) if (rows & warm).any() else (),
            prompt_tokens=int(log.prompt_tokens[rows].sum()),
            output_tokens=output,
            output_tokens_share=output / produced,
            cache_hit_ratio=int(log.cached_tokens[admitted].sum()) / asked if asked else 0.0,
            preemptions=int(log.preemptions[rows].sum()),
        )
    return summaries


def _one_each(log: EventLog, group: npt.ArrayLike) -> IntArray:
    numbers = whole_numbers("group", group, -1, 2**31 - 1)
    if numbers.size != len(log):
        raise SimulatorError("shape", "group", f"needs one whole number for each of {len(log)} requests")
    return numbers
