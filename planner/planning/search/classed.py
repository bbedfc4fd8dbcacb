"""Runs of requests of several classes: whose request is whose."""

from __future__ import annotations

from dataclasses import dataclass, fields

from planner.planning.traffic.lengths import IntArray
from simulator import EventLog, Workload


@dataclass(frozen=True, slots=True, eq=False)
class ClassedLog(EventLog):
    """A run with the class of each of its requests."""

    traffic_class: IntArray


def with_classes(log: EventLog, stream: Workload) -> EventLog:
    """The run with the classes of the workload; as it is where that has none. Rows are in the workload's order."""
    if stream.traffic_class is None:
        return log
    return ClassedLog(
        **{part.name: getattr(log, part.name) for part in fields(log)}, traffic_class=stream.traffic_class
    )


def classes_of(log: EventLog) -> IntArray | None:
    """The class of each request; None in a run of one kind."""
    return log.traffic_class if isinstance(log, ClassedLog) else None
