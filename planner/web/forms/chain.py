"""From users to requests per second: what each step of the chain comes to, as far as it is typed."""

from dataclasses import dataclass

from planner.planning.traffic.load import USUAL_PEAK_TO_MEAN
from planner.web.forms.values import Values, first

USERS = "traffic.users"
S_PER_H = 3600


@dataclass(frozen=True, slots=True)
class Chain:
    """Results after each factor; None where a factor is missing or no number. active_users: mean over the week."""

    total_users: float | None
    active_users: float | None
    requests_per_h: float | None
    mean_rps: float | None
    peak_to_mean: float | None
    peak_rps: float | None


def chain_of(values: Values) -> Chain:
    """The chain of a form's texts."""
    total = _number(values, f"{USERS}.total_users")
    active = _number(values, f"{USERS}.active_users")
    if active is None:
        active = _times(total, _number(values, f"{USERS}.active_ratio"))
    hourly = _times(active, _number(values, f"{USERS}.requests_per_user_hour"))
    mean_rps = None if hourly is None else hourly / S_PER_H
    shape = first(values, "traffic.shape.kind", "constant")
    peak_to_mean = _number(values, "traffic.shape.peak_to_mean") or USUAL_PEAK_TO_MEAN.get(shape)
    return Chain(total, active, hourly, mean_rps, peak_to_mean, _times(mean_rps, peak_to_mean))


def _number(values: Values, name: str) -> float | None:
    try:
        value = float(first(values, name, ""))
    except ValueError:
        return None
    return value if 0 < value < 1e12 else None


def _times(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left * right
