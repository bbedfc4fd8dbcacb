"""The errors of this package: each carries a stable code, so that callers need not read sentences."""


class SimulatorError(ValueError):
    """A value this package cannot work with.

    `code` is stable (for example `not_positive`), `field` names the argument, `detail` is a sentence for a person.
    """

    def __init__(self, code: str, field: str, detail: str) -> None:
        super().__init__(f"{field}: {detail}")
        self.code = code
        self.field = field
        self.detail = detail


class SimulationCancelled(Exception):  # noqa: N818 - a decision of the caller, not an error
    """Raised by `simulate` when `on_progress` answered False."""


def beyond_horizon() -> SimulatorError:
    """The error of a run whose clock would leave 64 bits."""
    return SimulatorError("beyond_horizon", "workload", "the run lasts longer than 53 days of simulated time")


def require_int(field: str, value: object, minimum: int, maximum: int = 2**31 - 1) -> int:
    """Return `value` as an int, or raise: booleans, fractions, NaN and values outside the range are refused."""
    if isinstance(value, bool) or not isinstance(value, int):
        as_int = getattr(value, "__index__", None)
        if isinstance(value, bool) or as_int is None:
            raise SimulatorError("not_an_integer", field, f"must be a whole number, got {value!r}")
        try:
            value = int(as_int())
        except TypeError as error:
            raise SimulatorError("not_an_integer", field, f"must be a whole number, got {value!r}") from error
    if value < minimum:
        raise SimulatorError("too_small", field, f"must be at least {minimum}, got {value}")
    if value > maximum:
        raise SimulatorError("too_large", field, f"must be at most {maximum}, got {value}")
    return value


def require_number(
    field: str, value: object, minimum: float, maximum: float = 1e18, *, exclusive: bool = False
) -> float:
    """Return `value` as a finite float within [minimum, maximum] (above `minimum` where `exclusive`), or raise."""
    if isinstance(value, bool | str | bytes):
        raise SimulatorError("not_a_number", field, f"must be a number, got {value!r}")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise SimulatorError("not_a_number", field, f"must be a number, got {value!r}") from error
    except OverflowError as error:
        raise SimulatorError("too_large", field, f"must be at most {maximum}") from error
    if number != number or number in (float("inf"), float("-inf")):
        raise SimulatorError("not_finite", field, f"must be finite, got {value!r}")
    if number < minimum or (exclusive and number <= minimum):
        word = "above" if exclusive else "at least"
        raise SimulatorError("too_small", field, f"must be {word} {minimum}, got {value!r}")
    if number > maximum:
        raise SimulatorError("too_large", field, f"must be at most {maximum}, got {value!r}")
    return number
