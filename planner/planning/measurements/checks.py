"""Whether the numbers of a run can be true together."""

from __future__ import annotations

from planner.planning.measurements.result import Check, Run

CLOSE_PCT = 2.0
LITTLE_PCT = 10.0
TPOT_PCT = 25.0
"""A mean of quotients is not the quotient of means: requests of few tokens count as much as long ones."""
NOMINAL_PCT = 5.0
FEW_FOR_P99 = 100
LEAST_S = 1e-6
_NOT_BELOW_ZERO = (
    "duration_s", "completed", "failed", "input_tokens", "output_tokens", "request_rps", "goodput_rps", "offered_rps",
    "input_tokens_per_s", "output_tokens_per_s", "total_tokens_per_s", "max_concurrency", "mean_concurrency",
)  # fmt: skip


def add_checks(run: Run) -> Run:
    """Fills in what follows from other numbers, and adds every check that the numbers allow."""
    _impossible(run)
    _derive(run)
    _throughput(run)
    _little(run)
    _tpot(run)
    _lengths(run)
    _streaming(run)
    return run


def with_duration(run: Run, duration_s: float) -> Run:
    """The run counted over so many seconds, which its file does not say; with the checks that this allows."""
    run.duration_s = duration_s
    _derive(run)
    _throughput(run)
    _little(run)
    run.notes = list(dict.fromkeys(run.notes))
    return run


def _impossible(run: Run) -> None:
    """What no run can have is left out and told: times, counts and rates below zero."""
    for name in _NOT_BELOW_ZERO:
        value = getattr(run, name)
        if value is not None and value < 0:
            setattr(run, name, None)
            run.notes.append(f"{name} is {value:g} in the file, which cannot be: left out")
    for metric, statistics in run.latencies_ms.items():
        below = {key: value for key, value in statistics.items() if value < 0}
        for key, value in below.items():
            del statistics[key]
            run.notes.append(f"{metric} {key} is {value:g} ms in the file, which cannot be: left out")


def _derive(run: Run) -> None:
    duration = run.duration_s
    if duration and duration > LEAST_S:
        if run.request_rps is None and run.completed is not None:
            run.request_rps = run.completed / duration
        if run.output_tokens_per_s is None and run.output_tokens is not None:
            run.output_tokens_per_s = run.output_tokens / duration
        if run.input_tokens_per_s is None and run.input_tokens is not None:
            run.input_tokens_per_s = run.input_tokens / duration
    if run.completed and run.completed < FEW_FOR_P99:
        for statistics in run.latencies_ms.values():
            if "p99" in statistics:
                run.notes.append(f"p99 of {run.completed} requests is one of the largest values, not a percentile")
                break


def _check(run: Run, name: str, stated: float | None, derived: float | None, tolerance: float, detail: str) -> None:
    if stated is not None and derived:
        run.checks.append(Check(name, stated, derived, tolerance, detail))


def _throughput(run: Run) -> None:
    duration = run.duration_s
    if not duration or duration <= LEAST_S:
        return
    ways = (
        ("requests_over_duration", run.request_rps, run.completed, "completed / duration"),
        ("output_tokens_over_duration", run.output_tokens_per_s, run.output_tokens, "output tokens / duration"),
        ("input_tokens_over_duration", run.input_tokens_per_s, run.input_tokens, "input tokens / duration"),
    )
    for name, stated, total, detail in ways:
        _check(run, name, stated, None if total is None else total / duration, CLOSE_PCT, detail)
    if run.input_tokens is not None and run.output_tokens is not None:
        both = (run.input_tokens + run.output_tokens) / duration
        _check(run, "input_plus_output", run.total_tokens_per_s, both, CLOSE_PCT, "(input + output tokens) / duration")


def _little(run: Run) -> None:
    """Requests in flight = rate × time in flight. A limit on them is never exceeded, and met where it binds."""
    e2e = run.latency("e2e")
    if e2e is None or run.request_rps is None:
        return
    in_flight = run.request_rps * e2e / 1e3
    _check(run, "littles_law", run.mean_concurrency, in_flight, LITTLE_PCT, "requests/s × mean latency in s")
    limit = run.max_concurrency
    if run.mean_concurrency is None:
        run.mean_concurrency = in_flight
    if limit and limit != float("inf") and in_flight > limit * (1 + LITTLE_PCT / 100):
        _check(run, "concurrency_limit", limit, in_flight, LITTLE_PCT, "requests/s × mean latency is above the limit")
        if 300 < in_flight / limit < 3000:
            run.notes.append("latencies look a thousand times too large: milliseconds read as seconds?")
    held = run.offered_rps in (None, float("inf")) and (run.completed or 0) >= 2 * (limit or 0)
    if limit and limit != float("inf") and held and 1 / 3000 < in_flight / limit < 1 / 300:
        _check(
            run, "concurrency_limit", limit, in_flight, LITTLE_PCT, "requests/s × mean latency is far below the limit"
        )
        run.notes.append("latencies look a thousand times too small: seconds where milliseconds are meant?")


def _tpot(run: Run) -> None:
    e2e, ttft, length = run.latency("e2e"), run.latency("ttft"), run.output_tokens_mean
    if e2e is None or ttft is None or length is None or length <= 1:
        return
    implied = (e2e - ttft) / (length - 1)
    detail = "(mean latency − mean TTFT) / (mean output − 1)"
    _check(run, "tpot", run.latency("tpot"), implied, TPOT_PCT, detail)
    whole = "mean latency / mean output"
    _check(run, "tpot_with_first", run.latency("tpot_with_first"), e2e / length, TPOT_PCT, whole)
    if run.latency("tpot") is None and implied > 0:
        run.latencies_ms["tpot"] = {**run.latencies_ms.get("tpot", {}), "mean": implied}  # percentiles stay
        run.notes.append(f"TPOT is not in the file; {detail} is shown")


def _lengths(run: Run) -> None:
    for what, real, nominal in (
        ("input", run.input_tokens_mean, run.nominal_input_tokens),
        ("output", run.output_tokens_mean, run.nominal_output_tokens),
    ):
        if real and nominal and abs(nominal / real - 1) * 100 > NOMINAL_PCT:
            run.notes.append(
                f"{what}: {nominal:.0f} tokens were asked for, {real:.0f} were measured; the measured count"
            )


def _streaming(run: Run) -> None:
    tpot, itl = run.latency("tpot"), run.latency("itl")
    if tpot and itl and itl > 1.5 * tpot:
        run.notes.append(f"a chunk carries about {itl / tpot:.1f} tokens: ITL is no measure of token speed, TPOT is")
    e2e, ttft = run.latency("e2e"), run.latency("ttft")
    length = run.output_tokens_mean
    if e2e and ttft and length and length > 4 and ttft > 0.98 * e2e:
        run.notes.append("TTFT equals the whole latency: the answers were not streamed, so TTFT and TPOT are not known")
    if run.goodput_rps is not None and run.request_rps:
        run.notes.append(
            f"goodput is a rate: {100 * run.goodput_rps / run.request_rps:.1f} % of the requests met the SLOs"
        )
