"""Weekly load shapes: 168 hourly multipliers of the mean rate, hour 0 being Monday 00:00.

The profiles are assumptions of this package, not measurements: a raised cosine with its peak at 14:00 for a day,
nine to five for business hours, weekends at 40 % of a weekday for a working week.
"""

import numpy as np
import numpy.typing as npt

from simulator.checks import checked
from simulator.errors import SimulatorError, require_number

FloatArray = npt.NDArray[np.float64]

HOURS_PER_WEEK = 168
PEAK_HOUR = 14
WEEKEND_RATIO = 0.4
SHAPES = ("constant", "diurnal", "business_hours", "working_week")


@checked
def weekly_shape(kind: str, peak_to_mean: float) -> FloatArray:
    """168 multipliers with mean 1 and maximum `peak_to_mean` (1 for `constant`).

    A low ratio lifts the profile by a constant; a high one sharpens it by a power. Raises SimulatorError where the
    profile cannot reach the ratio (business hours: at most 4.2, as 40 hours a week are at the peak).
    """
    if kind not in SHAPES:
        raise SimulatorError("unknown_shape", "kind", f"must be one of {', '.join(SHAPES)}, got {kind!r}")
    peak = require_number("peak_to_mean", peak_to_mean, 1.0, HOURS_PER_WEEK)
    if kind == "constant" and peak > 1.0:
        raise SimulatorError("too_large", "peak_to_mean", "a constant load has a peak-to-mean ratio of 1")
    profile = _profile(kind)
    limit = 1.0 / float((profile == 1.0).mean())
    if peak > limit:
        raise SimulatorError("too_large", "peak_to_mean", f"{kind} reaches at most {limit:.1f}, got {peak}")
    mean = float(profile.mean())
    if peak * mean <= 1.0:
        floor = (1.0 - peak * mean) / (1.0 - mean) if mean < 1.0 else 1.0
        return np.asarray(floor + (peak - floor) * profile, np.float64)
    return np.asarray(peak * profile ** _power_with_mean(profile, 1.0 / peak), np.float64)


def _profile(kind: str) -> FloatArray:
    hour = np.arange(HOURS_PER_WEEK) % 24
    weekday = np.arange(HOURS_PER_WEEK) < 5 * 24
    day: FloatArray = (1.0 + np.cos(2.0 * np.pi * (hour - PEAK_HOUR) / 24.0)) / 2.0
    day[hour == PEAK_HOUR] = 1.0
    if kind == "constant":
        return np.ones(HOURS_PER_WEEK)
    if kind == "diurnal":
        return day
    if kind == "business_hours":
        return np.asarray(weekday & (hour >= 9) & (hour < 17), np.float64)
    return np.asarray(np.where(weekday, day, WEEKEND_RATIO * day), np.float64)


def _power_with_mean(profile: FloatArray, mean: float) -> float:
    """The exponent that brings the profile's mean down to `mean`, by bisection to machine precision."""
    low, high = 0.0, 1.0
    while float((profile**high).mean()) > mean and high < 1e6:
        high *= 2.0
    for _ in range(200):
        middle = (low + high) / 2.0
        low, high = (middle, high) if float((profile**middle).mean()) > mean else (low, middle)
    return high
