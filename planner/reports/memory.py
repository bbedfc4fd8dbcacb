"""The memory of one GPU: the subtraction line by line, and as one bar."""

from collections.abc import Mapping, Sequence
from typing import Any

from planner.reports import charts, computed, names
from planner.reports.numbers import DASH, number, percent, significant, tidy
from planner.reports.parts import Cell, Chart, Column, Fact, Key, Row, Table

Report = Mapping[str, Any]
_OTHER_ROLES = ("c-api-2", "c-axis")


def memory_table(report: Report) -> Table | None:
    """Every line of the subtraction, GiB; the last is what is left for the KV cache."""
    lines = (report.get("memory") or {}).get("lines") or []
    if not lines:
        return None
    columns = (
        Column("One GPU"),
        Column("From", wide=True),
        Column("Basis", wide=True),
        Column("Size", "GiB", numeric=True),
    )
    rows = tuple(
        Row(
            (
                Cell(line["label"]),
                Cell(tidy(line.get("formula") or DASH)),
                Cell(tidy(line.get("basis") or DASH)),
                Cell(number(line["gib"], 2)),
            ),
            "total" if index == len(lines) - 1 else "",
        )
        for index, line in enumerate(lines)
    )
    return Table("Memory of one GPU", columns, rows)


def memory_of(report: Report) -> str:
    """Which candidate the subtraction is of: "H200 SXM 141 GB, TP1"; empty where the report does not say."""
    chosen = (report.get("memory") or {}).get("candidate")
    row = next((row for row in report["candidates"] if row["id"] == chosen), None)
    return f"{names.gpu(row['gpu'])}, {names.layout(row)}" if row else ""


def memory_chart(report: Report) -> Chart | None:
    """The same as one bar: what is taken, what the peak uses, what stays free."""
    plan = report.get("memory") or {}
    lines = plan.get("lines") or []
    if len(lines) < 2:
        return None
    peak_ratio = (report.get("load") or {}).get("kv_peak_ratio")
    slices = _slices(lines, plan.get("kv_pool_gib"), peak_ratio)
    device = lines[0]["gib"]
    title = f"{percent((plan.get('kv_pool_gib') or 0.0) / device)} of a GPU is left for the KV cache"
    if peak_ratio is not None:
        title += f"; the peak uses {percent(peak_ratio)} of that"
    return Chart(
        "memory",
        title,
        f"GiB of {number(device, 2)}",
        charts.memory_option(slices),
        _slices_table(slices, device),
        keys=tuple(
            Key(f"{part.label} {number(part.gib, 2)}", part.role, "hatch" if part.hatched else "box") for part in slices
        ),
        size="mem",
    )


def _slices(
    lines: Sequence[Mapping[str, Any]], kv_pool_gib: float | None, peak_ratio: float | None
) -> list[charts.Slice]:
    taken = [line for line in lines if line["gib"] < 0]
    kept = [line for line in taken if "free" in line["label"].lower()]
    slices = [
        charts.Slice(line["label"], -line["gib"], _role(index), on_dark=index == 0)
        for index, line in enumerate(line for line in taken if line not in kept)
    ]
    pool = kv_pool_gib if kv_pool_gib is not None else max(0.0, lines[-1]["gib"])
    if peak_ratio is not None:
        slices.append(charts.Slice("KV in use at the peak", pool * peak_ratio, "c-self", on_dark=True))
        slices.append(charts.Slice("KV free at the peak", pool * (1 - peak_ratio), "c-self-3"))
    else:
        slices.append(charts.Slice("KV cache", pool, "c-self-3"))
    slices += [charts.Slice(line["label"], -line["gib"], "c-idle", hatched=True) for line in kept]
    outside = lines[0]["gib"] - sum(part.gib for part in slices)
    if outside > 0.005:
        slices.append(charts.Slice("left outside", outside, "c-idle", hatched=True))
    return slices


def _role(index: int) -> str:
    return "c-api" if index == 0 else _OTHER_ROLES[(index - 1) % len(_OTHER_ROLES)]


def _slices_table(slices: Sequence[charts.Slice], device_gib: float) -> Table:
    columns = (Column("Part of one GPU"), Column("Size", "GiB", numeric=True), Column("Share", "%", numeric=True))
    rows = tuple(
        Row((Cell(part.label), Cell(number(part.gib, 2)), Cell(number(part.gib / device_gib * 100, 1))))
        for part in slices
    )
    return Table("Memory by part", columns, rows, small=True, sheets=False)


def memory_facts(report: Report) -> tuple[Fact, ...]:
    """What the pool holds."""
    plan = report.get("memory") or {}
    if not plan.get("lines"):
        return ()
    block = plan.get("block_size_tokens")
    hows = computed.memory_hows(plan)
    return (
        Fact("KV cache of one token", number(plan.get("kv_bytes_per_token")), "bytes", term="kv"),
        Fact("Pool", number(plan.get("kv_tokens")), "tokens", how=hows.get("how-pool")),
        Fact("In blocks", number(plan.get("kv_blocks")), f"of {block} tokens"),
        Fact("Context held by a request, mean", number(plan.get("mean_context_tokens")), "tokens"),
        Fact(
            "Requests at that context",
            significant(plan.get("concurrency_at_mean")),
            "at a time",
            how=hows.get("how-at-mean"),
        ),
        Fact(
            f"Requests at {number(plan.get('max_model_len'))} tokens",
            significant(plan.get("concurrency_at_max")),
            "at a time",
        ),
    )
