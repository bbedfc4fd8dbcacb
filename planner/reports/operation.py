"""Other ways to run the recommended fleet: by another clock, on other terms, beside an API, on GPUs that are owned."""

from collections.abc import Mapping
from typing import Any

from planner.reports import charts, names
from planner.reports.numbers import DASH, between, number, percent, requests_per_s, tidy, tokens, usd
from planner.reports.parts import Cell, Chart, Column, Key, Row, Table

Report = Mapping[str, Any]
ROLES = {"Self-host": ("c-self", False), "API": ("c-api", False)}


def operation_table(report: Report) -> Table | None:
    """The same fleet by other clocks and terms, the cheapest that meets the targets marked."""
    rows = report.get("operation") or ()
    if len(rows) < 2:
        return None
    compared = any(row["cheaper_than_api"] is not None for row in rows)
    meeting = [row for row in rows if row["meets_targets"]]
    best = min(meeting, key=lambda row: float(row["usd_per_month"]), default=None)
    columns = (
        Column("Way", whole=True),
        Column("Replica-hours", "a month", numeric=True, sort="none"),
        Column("Cost", "$/month", numeric=True, sort="none"),
        Column("Saves", "$/month", numeric=True, sort="none"),
        *((Column("Against the API"),) if compared else ()),
        Column("Targets"),
        Column("Basis", wide=True),
    )
    out = []
    for row in rows:
        against = "cheaper" if row["cheaper_than_api"] else "dearer"
        cells = (
            Cell(row["label"], note="bills the plan" if row.get("bills_the_plan") else ""),
            Cell(number(row["replica_hours_per_month"])),
            Cell(number(row["usd_per_month"])),
            Cell(number(row["saves_usd_per_month"])),
            *((Cell(against, state="yes" if row["cheaper_than_api"] else "no"),) if compared else ()),
            Cell("met", state="yes") if row["meets_targets"] else Cell("missed", state="no"),
            Cell(tidy(row["basis"])),
        )
        out.append(Row(cells, "pick" if row is best else "off" if not row["meets_targets"] else ""))
    return Table("Other ways to run the fleet", columns, tuple(out))


def hybrid_chart(report: Report) -> Chart | None:
    """The load split between replicas and an API: the month by number of replicas."""
    split = report.get("hybrid")
    if not split or len(split["points"]) < 2:
        return None
    bars = [
        charts.Bar(
            f"{point['replicas']} replica{'' if point['replicas'] == 1 else 's'}",
            {"Self-host": point["self_host_usd_per_month"], "API": point["api_usd_per_month"]},
            point["usd_per_month"],
            usd(point["usd_per_month"]),
        )
        for point in split["points"]
    ]
    provider = names.provider(split["provider"])
    return Chart(
        "hybrid",
        tidy(split["sentence"]).rstrip("."),
        f"$/month by replicas without spares; what they cannot take goes to {provider}.",
        charts.cost_option(bars, ROLES),
        _hybrid_table(split),
        keys=(Key("Self-host", "c-self"), Key(provider, "c-api")),
        size="low" if len(bars) <= 6 else "mid",
    )


def _hybrid_table(split: Mapping[str, Any]) -> Table:
    columns = (
        Column("Replicas"),
        Column("Self-host", "$/month", numeric=True),
        Column("API", "$/month", numeric=True),
        Column("Together", "$/month", numeric=True),
        Column("Served by us", "% of tokens", numeric=True),
        Column("Hours beyond us", "% of hours", numeric=True),
    )
    rows = tuple(
        Row(
            (
                Cell(number(point["replicas"])),
                Cell(number(point["self_host_usd_per_month"])),
                Cell(number(point["api_usd_per_month"])),
                Cell(number(point["usd_per_month"])),
                Cell(number(point["self_hosted_ratio"] * 100)),
                Cell(number(point["overflow_hours_ratio"] * 100)),
            ),
            "pick" if point["replicas"] == split["best"]["replicas"] else "",
        )
        for point in split["points"]
    )
    return Table("The month by number of replicas", columns, rows, small=True, sheets=False)


def owned_table(report: Report) -> Table | None:
    """What the team's own GPUs can take."""
    rows = report.get("owned") or ()
    if not rows:
        return None
    columns = (
        Column("Owned"),
        Column("GPUs", numeric=True),
        Column("Serving + spare", numeric=True),
        Column("Idle GPUs", numeric=True),
        Column("Carries in the peak hour", "req/s", numeric=True),
        Column("Beyond this load", numeric=True),
        Column("Tokens", "a month", numeric=True),
        Column("This load", wide=True),
    )
    out = []
    for row in rows:
        replicas = DASH if row["candidate"] is None else f"{row['serving_replicas']} + {row['spare_replicas']}"
        out.append(
            Row(
                (
                    Cell(names.gpu(row["gpu"])),
                    Cell(number(row["gpus"])),
                    Cell(replicas),
                    Cell(number(row["idle_gpus"])),
                    Cell(requests_per_s(row["capacity_rps"]), note=_span(row)),
                    Cell(percent(row.get("margin_ratio"))),
                    Cell(tokens(row["tokens_per_month"])),
                    Cell(
                        "carried" if row["carries"] else "not carried",
                        state="yes" if row["carries"] else "no",
                        note=tidy(f"{row['sentence']} {row.get('binding') or ''}").strip(),
                    ),
                )
            )
        )
    return Table("What owned GPUs can take", columns, tuple(out))


def _span(row: Mapping[str, Any]) -> str:
    """With slow to with fast steps."""
    low, high = row.get("capacity_low_rps"), row.get("capacity_high_rps")
    return "" if not high else between(low, high, requests_per_s)
