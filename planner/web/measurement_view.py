"""A measurement and a calibration in words and tables: what was read, what disagrees, what was predicted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.reports import names
from planner.reports.numbers import DASH, MINUS, between, milliseconds, number, percent, requests_per_s, significant
from planner.reports.parts import Cell, Column, Fact, Row, Table

Told = Mapping[str, Any]
METRICS = {
    "ttft": "TTFT",
    "tpot": "TPOT",
    "tpot_with_first": "TPOT, first token counted",
    "itl": "ITL",
    "e2e": "E2E",
    "queue": "Queue",
    "throughput": "Output tokens",
    "request_rps": "Request rate",
    "output_tokens_per_s": "Output tokens a second",
}
CHECKS = {
    "requests_over_duration": "Requests / duration",
    "output_tokens_over_duration": "Output tokens / duration",
    "input_tokens_over_duration": "Input tokens / duration",
    "input_plus_output": "Input + output tokens",
    "littles_law": "Little's law",
    "concurrency_limit": "Limit of requests in flight",
    "tpot": "TPOT from E2E and TTFT",
    "tpot_with_first": "TPOT, first token counted",
}
FACTORS = {
    "compute": ("Compute efficiency", "share of the FLOP peak that GEMMs, experts and attention reach"),
    "bandwidth": ("Memory bandwidth", "share of the peak that weights, KV cache and activations reach"),
    "host": ("Host time", "scheduler, launches and bookkeeping, per step, layer and sequence"),
    "communication": ("Communication time", "collectives between GPUs"),
    "request": ("Time outside the engine", "HTTP and tokenizer, once per request"),
}
SERVER = {
    "engine": "Engine",
    "engine_version": "Version",
    "kv_cache_tokens": "KV cache, tokens",
    "weights_gib": "Weights, GiB",
    "available_kv_gib": "Memory for the KV cache, GiB",
}
MOST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class ReadView:
    """What a file says. disagreeing: checks that fail, as sentences."""

    title: str
    facts: tuple[Fact, ...]
    runs: Table | None
    checks: Table | None
    definitions: Table | None
    disagreeing: tuple[str, ...]
    notes: tuple[str, ...]


def read_view(measurement: Told, definitions: Sequence[Mapping[str, str]]) -> ReadView:
    """Runs, cross-checks and definitions of a file, as `inspect` told them."""
    runs = measurement["runs"]
    checks = [(run, check) for run in runs for check in run["checks"]]
    wrong = tuple(_disagreement(run, check, len(runs)) for run, check in checks if not check["ok"])
    notes = [*measurement["notes"], *(note for run in runs for note in run["notes"])]
    return ReadView(
        title=measurement["title"],
        facts=tuple(_facts(measurement)),
        runs=_runs_table(runs),
        checks=_checks_table(checks),
        definitions=_definitions_table(definitions),
        disagreeing=wrong[:MOST_SHOWN],
        notes=tuple(dict.fromkeys(notes))[:MOST_SHOWN],
    )


def _facts(measurement: Told) -> Iterator[Fact]:
    runs = measurement["runs"]
    if runs:
        yield Fact("Runs", number(len(runs)))
        yield Fact("Requests served", number(sum(run["completed"] or 0 for run in runs)))
        failed = sum(run["failed"] or 0 for run in runs)
        if failed:
            yield Fact("Requests failed", number(failed))
    for key, label in SERVER.items():
        said = measurement["server"].get(key)
        if said is not None:
            yield Fact(label, said if isinstance(said, str) else significant(said) if said < 1e3 else number(said))


def _runs_table(runs: Sequence[Told]) -> Table | None:
    columns = (
        Column("Run"),
        Column("Requests", "served", numeric=True),
        Column("Rate", "req/s", numeric=True),
        Column("In flight", "mean", numeric=True),
        Column("Prompt", "tokens", numeric=True),
        Column("Output", "tokens", numeric=True),
        Column("TTFT", "ms", numeric=True),
        Column("TPOT", "ms", numeric=True),
        Column("E2E", "ms", numeric=True),
        Column("Output", "tokens/s", numeric=True),
    )
    rows = tuple(
        Row(
            (
                Cell(str(run["label"]) or f"run {place}", note=_sent(run)),
                Cell(number(run["completed"])),
                Cell(requests_per_s(run["request_rps"])),
                Cell(significant(run["mean_concurrency"])),
                Cell(number(run["input_tokens_mean"])),
                Cell(number(run["output_tokens_mean"])),
                *(_latency_cell(run, metric) for metric in ("ttft", "tpot", "e2e")),
                Cell(number(run["output_tokens_per_s"])),
            )
        )
        for place, run in enumerate(runs[:MOST_SHOWN], 1)
    )
    return Table("Runs as they were read", columns, rows, small=True) if rows else None


def _sent(run: Told) -> str:
    """How its requests were sent, as far as the file says."""
    limit, rate = run["max_concurrency"], run["offered_rps"]
    parts = []
    if isinstance(rate, int | float):
        parts.append(f"{significant(rate)} req/s asked for")
    elif rate == "inf" and not isinstance(limit, int | float):
        parts.append("all at once")
    if isinstance(limit, int | float):
        parts.append(f"at most {number(limit)} in flight")
    return ", ".join(parts)


def _latency_cell(run: Told, metric: str) -> Cell:
    found = run["latencies_ms"].get(metric) or {}
    key = next((name for name in ("mean", "p50") if found.get(name) is not None), None)
    if key is None:
        return Cell(DASH, why="not in the file")
    tail = f"p99 {milliseconds(found['p99'])}" if found.get("p99") is not None else ""
    note = ", ".join(part for part in ("median" if key == "p50" else "", tail) if part)
    return Cell(milliseconds(found[key]), note=note)


def _checks_table(checks: Sequence[tuple[Told, Told]]) -> Table | None:
    """One row for each check, with the run where the two ways differ most."""
    columns = (
        Column("Check"),
        Column("Runs", "agree", numeric=True),
        Column("In the file", "at most apart", numeric=True),
        Column("From its other numbers", "at most apart", numeric=True),
        Column("Difference", "%, the largest", numeric=True),
        Column("Result"),
    )
    rows = []
    for name in dict.fromkeys(check["name"] for _, check in checks):
        same = [check for _, check in checks if check["name"] == name]
        worst = max(same, key=lambda check: abs(check["difference_pct"]))
        wrong = sum(not check["ok"] for check in same)
        result = Cell("disagrees", state="no", warn=True) if wrong else Cell("agrees", state="yes")
        cells = (
            Cell(CHECKS.get(name) or name, note=worst["detail"]),
            Cell(f"{len(same) - wrong} of {len(same)}"),
            Cell(significant(worst["stated"])),
            Cell(significant(worst["derived"])),
            Cell(signed(worst["difference_pct"], 1)),
            result,
        )
        rows.append((wrong == 0, Row(cells)))
    ordered = tuple(row for _, row in sorted(rows, key=lambda pair: pair[0]))
    return Table("Whether the numbers can be true together", columns, ordered, small=True) if rows else None


def signed(value: float, digits: int = 0) -> str:
    """A difference in percent: "+12", "−3", "0"."""
    text = number(value, digits)
    return text if text.startswith(MINUS) or not any(c not in "0.," for c in text) else f"+{text}"


def _disagreement(run: Told, check: Told, runs: int) -> str:
    where = f"{run['label']}: " if runs > 1 and run["label"] else ""
    what = CHECKS.get(check["name"], check["name"])
    return (
        f"{where}{what} is {significant(check['stated'])} in the file and {significant(check['derived'])} from "
        f"{check['detail']}."
    )


def _definitions_table(definitions: Sequence[Mapping[str, str]]) -> Table | None:
    columns = (Column("Figure"), Column("What it means here", wide=True), Column("In this file", wide=True))
    rows = tuple(
        Row(
            (
                Cell(METRICS.get(each["metric"], each["metric"])),
                Cell(each["definition"]),
                Cell(each["in_file"] or "the same"),
            )
        )
        for each in definitions
    )
    return Table("Definitions", columns, rows, small=True) if rows else None


def comparison_table(comparison: Told) -> Table | None:
    """Every figure beside its prediction and interval; runs without one with their reason."""
    columns = (
        Column("Run"),
        Column("Figure"),
        Column("Measured", numeric=True),
        Column("Predicted", numeric=True),
        Column("Interval", "8 of 10", numeric=True),
        Column("Error", "%", numeric=True),
        Column("Result"),
    )
    rows: list[Row] = []
    for run in comparison["runs"]:
        if run["reason"]:
            rows.append(
                Row((Cell(run["label"]), Cell(DASH), *[Cell(DASH, why=run["reason"])] * 4, Cell(run["reason"])))
            )
        rows += [_figure_row(run, figure, place) for place, figure in enumerate(run["figures"])]
    for figure in comparison["engine"]:
        said = Cell(number(figure["measured"])), Cell(number(figure["predicted"]))
        nothing = Cell(DASH, why="no interval is known of memory")
        rows.append(
            Row((Cell("At its start"), Cell("KV cache, tokens"), *said, nothing, Cell(_pct(figure)), Cell(DASH)))
        )
    return Table("Predicted beside measured", columns, tuple(rows)) if rows else None


def _figure_row(run: Told, figure: Told, place: int) -> Row:
    show = _shown(figure["metric"])
    label = f"{METRICS.get(figure['metric'], figure['metric'])}, {figure['statistic']}"
    inside = figure["inside"]
    result = Cell("inside", state="yes") if inside else Cell("outside", state="no", warn=True)
    low, high = figure.get("measured_low"), figure.get("measured_high")
    bucket = "" if low is None else f"in the bucket from {show(low)} to {show(high)}"
    return Row(
        (
            Cell(run["label"], note=run["load"] if place == 0 else ""),
            Cell(label, note=figure["unit"]),
            Cell(show(figure["measured"]), note=bucket),
            Cell(show(figure["predicted"])),
            Cell(between(figure["low"], figure["high"], show)),
            Cell(_pct(figure)),
            result,
        )
    )


def _shown(metric: str) -> Any:
    return number if metric == "throughput" else milliseconds


def _pct(figure: Told) -> str:
    return signed(figure["error_pct"])


@dataclass(frozen=True, slots=True)
class CalibrationView:
    """What a calibration changed, and what that is worth."""

    facts: tuple[Fact, ...]
    factors: Table
    figures: Table
    intervals: tuple[Fact, ...]
    left_out: tuple[str, ...]
    helps: bool | None
    against: tuple[str, ...]


def calibration_view(stated: Told, told: Told) -> CalibrationView:
    """A calibration that is ready."""
    errors = told["median_error_pct"]
    held_out = "too few runs to hold any out" if errors["held_out"] is None else f"{number(errors['held_out'], 1)} %"
    days = [stated["measured_from"], stated["measured_until"]]
    return CalibrationView(
        facts=(
            Fact("Runs", number(stated["runs"])),
            Fact("Measured", days[0] if days[0] == days[1] else f"{days[0]} to {days[1]}"),
            Fact("Median error before", f"{number(errors['before'], 1)} %", note="shipped constants"),
            Fact("Median error after", f"{number(errors['after'], 1)} %", note="on the same runs"),
            Fact(
                "Median error held out", held_out, note="" if errors["held_out"] is None else "each run by the others"
            ),
        ),
        factors=_factors_table(told["factors"]),
        figures=_before_after_table(told["figures"]),
        intervals=tuple(_interval_facts(stated, told)),
        left_out=tuple(f"{each['label']}: {each['reason']}" for each in told["left_out"][:MOST_SHOWN]),
        helps=told["helps"],
        against=tuple(told.get("against", ())),
    )


def _factors_table(factors: Sequence[Told]) -> Table:
    columns = (
        Column("Constant", wide=True),
        Column("Factor", "shipped = 1", numeric=True),
        Column("Prior", "± one width", numeric=True),
        Column("Moved", "widths", numeric=True),
    )
    rows = []
    for each in factors:
        label, meaning = FACTORS[each["name"]]
        told = each["told_by_runs"]
        rows.append(
            Row(
                (
                    Cell(label, note=meaning),
                    Cell(f"× {number(each['factor'], 3)}", note="" if told else "the runs say nothing of it"),
                    Cell(percent(each["prior_log_width"])),
                    Cell(signed(each["widths"], 1)),
                )
            )
        )
    return Table("Factors on the shipped constants", columns, tuple(rows))


def _before_after_table(figures: Sequence[Told]) -> Table:
    columns = (
        Column("Run"),
        Column("Figure"),
        Column("Measured", numeric=True),
        Column("Before", numeric=True),
        Column("After", numeric=True),
        Column("Held out", numeric=True),
    )
    rows = []
    for each in figures[: 2 * MOST_SHOWN]:
        show = _shown(each["metric"])
        cells = [
            Cell(DASH, why="not held out") if each[k] is None else _beside(each, k, show)
            for k in ("before", "after", "held_out")
        ]
        label = f"{METRICS.get(each['metric'], each['metric'])}, {each['statistic']}"
        rows.append(
            Row(
                (
                    Cell(each["label"], note=each["load"]),
                    Cell(label, note=each["unit"]),
                    Cell(show(each["measured"])),
                    *cells,
                )
            )
        )
    return Table("Predicted against measured, before and after", columns, tuple(rows))


def _beside(each: Told, key: str, show: Any) -> Cell:
    return Cell(show(each[key]), note=f"{signed(100 * (each[key] / each['measured'] - 1))} %")


def _interval_facts(stated: Told, told: Told) -> Iterator[Fact]:
    for key, label in (
        ("step_time", "Step time"),
        ("closed_ttft", "TTFT, requests in flight held"),
        ("open_ttft", "TTFT, requests at a rate"),
    ):
        now = [stated[f"{key}_p10_ratio"], stated[f"{key}_p90_ratio"]]
        before = told["shipped_ratios"][key]
        same = all(abs(a - b) < 1e-4 for a, b in zip(now, before, strict=True))
        note = "as shipped" if same else f"shipped {between(before[0], before[1], percent)}"
        yield Fact(label, between(now[0], now[1], percent), note=note)


def deployment_facts(deployment: Told) -> tuple[Fact, ...]:
    """What was said about where a measurement was made."""
    labels = {
        "tensor_parallel": "Tensor parallel",
        "pipeline_parallel": "Pipeline stages",
        "replicas": "Replicas",
        "engine_version": "Engine version",
        "weight_dtype": "Weights",
        "kv_dtype": "KV cache",
        "max_model_len": "Longest context",
        "max_num_seqs": "Sequences in a step",
        "max_num_batched_tokens": "Tokens in a step",
        "gpu_memory_utilization": "Memory share",
        "enable_prefix_caching": "Prefix caching",
        "enable_chunked_prefill": "Chunked prefill",
    }
    found = [
        Fact("Model", names.model(deployment["model"])),
        Fact("GPU", names.gpu(deployment["gpu"])),
        Fact("Engine", names.engine(deployment["engine"])),
    ]
    found += [Fact(label, _said(deployment[key])) for key, label in labels.items() if deployment.get(key) is not None]
    return tuple(found)


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return value if isinstance(value, str) else number(value) if isinstance(value, int) else significant(value)
