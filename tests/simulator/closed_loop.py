"""The closed loop's sent times as the Workload docstring defines them, for tests that hold an engine to it."""

import numpy as np

from simulator import Workload


def sent_ps(workload: Workload, end_ps: np.ndarray) -> np.ndarray:
    """When each request is sent, given the instants of all ends of the run, in order of time."""
    assert workload.concurrency is not None
    ends = np.sort(end_ps)
    think = workload.column("think_ps")
    sent: list[int] = []
    for number, arrival in enumerate(workload.arrival_ps.tolist()):
        end = number - workload.concurrency
        released = int(ends[end] + think[number]) if end >= 0 else 0
        sent.append(max(arrival, released, sent[-1] if sent else 0))
    return np.array(sent)
