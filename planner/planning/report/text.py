"""The report as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from costmodel import Parallelism
from planner.planning.report.names import amount, candidate_name, counted, gpu_name, hosted_name, likely

Report = dict[str, Any]


def text_report(report: Report) -> str:
    """Verdict, fleet, targets, memory, costs, break-even and assumptions, about a screen and a half."""
    parts = [
        _head,
        _recommended,
        _targets,
        _memory,
        _costs,
        _break_even,
        _operation,
        _uncertainty,
        _candidates,
        _assumptions,
    ]
    return "\n".join(line for part in parts for line in part(report))


def _head(report: Report) -> Iterator[str]:
    verdict = report["verdict"]
    yield report["name"]
    yield "=" * len(report["name"])
    yield verdict["sentence"]
    if verdict["detail"]:
        yield verdict["detail"]


def _recommended(report: Report) -> Iterator[str]:
    best, load = report["recommended"], report["load"]
    if best is None:
        return
    yield from _title("Fleet")
    layout = candidate_name(best["gpu"], _layout(best)).split(", ")[-1]
    yield (
        f"{best['gpus']} × {gpu_name(best['gpu'])}: {counted(best['serving_replicas'], 'serving replica')}, "
        f"{counted(best['spare_replicas'], 'spare')}, {counted(_layout(best).gpus, 'GPU')} each ({layout})"
    )
    yield (
        f"Peak hour {amount(load['offered_rps'])} requests/s, {load['utilisation_ratio']:.0%} of the capacity within "
        f"the targets; mean over the week {amount(load['mean_rps'])} requests/s"
    )
    yield best["commands"]["vllm"]


def _targets(report: Report) -> Iterator[str]:
    if not report["slo"]:
        return
    yield from _title("Targets in the peak hour")
    rows = [("target", "limit", "predicted", "range", "met", "samples")]
    for row in report["slo"]:
        name = row["metric"].upper() + (f" p{row['percentile']}" if row["percentile"] else "")
        name += f" of {row['traffic_class']}" if row.get("traffic_class") else ""
        span = f"{_number(row['low'])} to {_number(row['high'])}" if row["low"] is not None else ""
        unit = "ms" if row["unit"] == "ms" else ""
        cells = (name, f"{_number(row['target'])} {unit}", f"{_number(row['predicted'])} {unit}", span)
        rows.append((*cells, "yes" if row["met"] else "no", f"{row['samples']:,}"))
    yield from _table(rows)
    yield report["confirmation"]["sentence"]
    yield report["uncertainty"]["slo_probability_sentence"]


def _memory(report: Report) -> Iterator[str]:
    memory = report["memory"]
    if memory is None:
        return
    yield from _title("Memory of one GPU, GiB")
    yield from _table([(line["label"], f"{line['gib']:.2f}", line["formula"]) for line in memory["lines"]])
    yield (
        f"{memory['kv_tokens']:,} tokens of KV cache: {memory['concurrency_at_mean']:,} sequences of the mean context "
        f"({memory['mean_context_tokens']:,.0f} tokens), {memory['concurrency_at_max']:,} of the longest "
        f"({memory['max_model_len']:,})"
    )


def _costs(report: Report) -> Iterator[str]:
    cost = report["cost"]
    yield from _title("A month, USD")
    rows = []
    if cost is not None:
        rows = [(line["label"], line["basis"], _money(line["usd_per_month"])) for line in cost["lines"]]
        span = cost["usd_per_month"]
        rows.append(("Fleet", f"{_money(span['low'])} to {_money(span['high'])}", _money(span["mid"])))
    for api in report["api"]:
        state = "" if api["available"] else "withdrawn; "
        rows.append(
            (hosted_name(api["provider"], api["model"]), f"{state}{api['source']}", _money(api["usd_per_month"]))
        )
    yield from _table(rows)


def _break_even(report: Report) -> Iterator[str]:
    section = report["break_even"]
    if section is None or not section["against"]:
        return
    yield from _title("Break-even")
    for row in section["against"]:
        yield f"{hosted_name(row['provider'], row['model'])}: {row['sentence']}"


def _operation(report: Report) -> Iterator[str]:
    if not report["operation"]:
        return
    yield from _title("Run otherwise, USD a month")
    rows = []
    for row in report["operation"]:
        doubt = "" if row["meets_targets"] else "; misses the targets at times"
        rows.append((row["label"], _money(row["usd_per_month"]), row["basis"] + doubt))
    yield from _table(rows)
    if report["batch"] is not None:
        yield report["batch"]["sentence"]
    if report["hybrid"] is not None:
        yield report["hybrid"]["sentence"]


def _uncertainty(report: Report) -> Iterator[str]:
    known = report["uncertainty"]
    if known is None:
        return
    yield from _title("How sure")
    for row in known["replicas"]:
        yield (
            f"{counted(row['serving'], 'serving replica')}: all targets met with a probability of "
            f"{likely(row['slo_probability_ratio'])}, {_money(row['usd_per_month'])} a month"
        )
    rows = [("", "p10", "p50", "p90")]
    rows += [
        (f"{row['label']}, {row['unit']}".rstrip(", "), _number(row["p10"]), _number(row["p50"]), _number(row["p90"]))
        for row in known["headlines"]
    ]
    yield from _table(rows)
    yield known["sentence"]
    yield known["trials_sentence"]


def _candidates(report: Report) -> Iterator[str]:
    yield from _title("Candidates")
    for row in report["candidates"]:
        name = candidate_name(row["gpu"], _layout(row), row["precision"])
        if row["feasible"]:
            cost = _money(row["usd_per_month"]["mid"])
            sure = "not simulated"
            if row["simulated"]:
                sure = f"{row['slo_probability_ratio']:.0%} sure to meet the targets"
            yield f"{name}: {counted(row['gpus'], 'GPU')}, {cost} a month, {sure}. {row['binding']}"
        else:
            yield f"{name}: out. {row['reason']['detail']} {row['reason']['nearest_change']}".rstrip()


def _layout(row: Report) -> Parallelism:
    return Parallelism(tp=row["tp"], pp=row["pp"], ep=row["ep"], dp=row["dp"])


def _assumptions(report: Report) -> Iterator[str]:
    provenance = report["provenance"]
    yield from _title("Assumptions")
    for row in provenance["assumptions"]:
        yield f"{row['what']}: {row['value']} ({row['basis']})"
    yield provenance["coverage"]["sentence"]
    yield from provenance["notes"]
    yield (
        f"Prices of {provenance['priced_at']}; seed {provenance['seed']}; engine {provenance['engine_version']}, "
        f"catalog {provenance['catalog_version']}"
    )


def _title(text: str) -> tuple[str, str]:
    return "", f"-- {text} --"


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))] if rows else []
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _number(value: float | None) -> str:
    return "-" if value is None else amount(value)


def _money(value: float) -> str:
    return f"${value:,.2f}"
