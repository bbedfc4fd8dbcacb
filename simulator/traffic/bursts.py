"""On-off bursts: a rate that jumps between a high and a low level at random times (Markov-modulated)."""

from dataclasses import dataclass

import numpy as np

from simulator.checks import check_fields
from simulator.errors import SimulatorError, require_number
from simulator.traffic.gaps import FloatArray

CYCLES_PER_DRAW = 1024
MAX_CYCLES_PER_REQUEST = 1000


@dataclass(frozen=True, slots=True)
class OnOff:
    """Bursts of exponential length with mean `on_s`, pauses with mean `off_s`, at `rate_ratio` times the pauses' rate.

    The mean rate is kept: with p = on_s / (on_s + off_s) the rate is r·mean in a burst and mean·r/rate_ratio outside,
    r = rate_ratio / (p·rate_ratio + 1 - p); an infinite ratio leaves the pauses empty (interrupted Poisson process).
    The run begins in a phase drawn with the probabilities p and 1 - p, so the expected rate is the mean from the start.

    With exponential gaps this is the two-state Markov-modulated Poisson process; the index of dispersion of the counts
    in windows of t seconds is 1 + A·(1 - (1 - e^(-s·t))/(s·t)), s = 1/on_s + 1/off_s,
    A = 2·p·(1-p)·(on rate - off rate)² / (mean·s) (Fischer and Meier-Hellstern, The MMPP cookbook, 1993).
    """

    rate_ratio: float
    on_s: float
    off_s: float

    def __post_init__(self) -> None:
        check_fields(self)
        if self.rate_ratio != float("inf"):
            require_number("rate_ratio", self.rate_ratio, 1.0)
        for field in ("on_s", "off_s"):
            require_number(field, getattr(self, field), 0.0, 1e9, exclusive=True)

    @property
    def on_ratio(self) -> float:
        """Share of the time spent in bursts."""
        return self.on_s / (self.on_s + self.off_s)

    @property
    def levels(self) -> tuple[float, float]:
        """The rate outside and inside bursts, as multiples of the mean rate."""
        if self.rate_ratio == float("inf"):
            return 0.0, 1.0 / self.on_ratio
        low = 1.0 / (self.on_ratio * self.rate_ratio + 1.0 - self.on_ratio)
        return low, low * self.rate_ratio

    def check_rate(self, mean_rps: float) -> None:
        """Refuse bursts so short that thousands would pass between two requests: they would only take time."""
        if mean_rps * (self.on_s + self.off_s) * MAX_CYCLES_PER_REQUEST < 1.0:
            raise SimulatorError(
                "too_small", "on_s", f"more than {MAX_CYCLES_PER_REQUEST} bursts per request are steady traffic"
            )


class BurstPath:
    """One random path of phases, drawn as far as it is asked for: moves times at the mean rate to those with bursts.

    Calls must come in order of time. Only the part of the path not yet passed is kept, so memory does not grow.
    """

    def __init__(self, bursts: OnOff, rng: np.random.Generator) -> None:
        self._bursts, self._rng = bursts, rng
        self._burst_next = bool(rng.random() < bursts.on_ratio)
        self._work_s = self._clock_s = np.zeros(1)

    def time_s(self, work_s: FloatArray) -> FloatArray:
        """When as much traffic has come as the mean rate brings in `work_s` (sorted, not empty)."""
        while self._work_s[-1] < work_s[-1]:
            self._extend()
        times = np.interp(work_s, self._work_s, self._clock_s)
        passed = int(np.searchsorted(self._work_s, work_s[-1], side="right")) - 1
        self._work_s, self._clock_s = self._work_s[passed:], self._clock_s[passed:]
        return times

    def _extend(self) -> None:
        phases = (np.arange(2 * CYCLES_PER_DRAW) + self._burst_next) % 2
        lengths_s = (
            self._rng.standard_exponential(phases.size) * np.array([self._bursts.off_s, self._bursts.on_s])[phases]
        )
        work_s = lengths_s * np.array(self._bursts.levels)[phases]
        self._work_s = np.concatenate((self._work_s, self._work_s[-1] + np.cumsum(work_s)))
        self._clock_s = np.concatenate((self._clock_s, self._clock_s[-1] + np.cumsum(lengths_s)))
