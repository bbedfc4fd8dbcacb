"""The closed loop's sent times as the Workload docstring defines them, for tests that hold an engine to it."""

import numpy as np

from simulator import Workload


def sent_ps(workload: Workload, end_ps: np.ndarray) -> np.ndarray:
    """When each request is sent, given the instants of all ends of the run, in order of time."""
    assert workload.concurrency is not None
    first = workload.concurrency
    later = len(workload) - first
    if later <= 0:
        return workload.arrival_ps
    ready = np.sort(np.sort(end_ps)[:later] + workload.column("think_ps")[first:])
    return np.concatenate((workload.arrival_ps[:first], np.maximum(workload.arrival_ps[first:], ready)))
