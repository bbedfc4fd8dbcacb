"""Cost of both ways, where they cross, and what moves the saving."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from planner.reports import charts, computed, names
from planner.reports.headline import against
from planner.reports.numbers import DASH, number, range_text, requests_per_s, tidy, tokens, unit_price, usd, usd_signed
from planner.reports.parts import Cell, Chart, Column, Fact, Key, Row, Table

Report = Mapping[str, Any]
SELF_ROLES = (("c-self", False), ("c-self-2", True), ("c-self-3", False), ("c-idle", True))
API_ROLES = (("c-api", False), ("c-api-2", False), ("c-axis", False), ("c-grid", True))
NO_PRICE = "no price of this model is known here on that date"


def cost_chart(report: Report) -> Chart | None:
    """Monthly cost of every way, stacked by part."""
    bars, roles = _bars(report)
    if not bars:
        return None
    order = sorted(bars, key=lambda bar: bar.total)
    return Chart(
        "cost",
        _cost_title(report, order[0]),
        "$/month for the same tokens. Thin line: interval of the self-host cost.",
        charts.cost_option(bars, roles),
        _bars_table(bars, tuple(roles)),
        keys=tuple(Key(name, role, "hatch" if hatched else "box") for name, (role, hatched) in roles.items()),
        size="low",
    )


def _cost_title(report: Report, least: charts.Bar) -> str:
    """Of the sides alone; a split that costs less still is named too."""
    split = report["verdict"].get("hybrid")
    if not split:
        return f"{least.label} costs least: {usd(least.total)} a month"
    return f"Alone, {least.label} costs least: {usd(least.total)} a month; the split {usd(split['usd_per_month'])}"


def _bars(report: Report) -> tuple[list[charts.Bar], dict[str, tuple[str, bool]]]:
    bars: list[charts.Bar] = []
    roles: dict[str, tuple[str, bool]] = {}
    cost, fleet = report.get("cost"), report.get("recommended")
    if cost and fleet:
        parts: dict[str, float] = {}
        for line in cost["lines"]:
            name = _part_name(line["label"])
            parts[name] = parts.get(name, 0.0) + line["usd_per_month"]
            roles.setdefault(name, SELF_ROLES[min(len(roles), len(SELF_ROLES) - 1)])
        total = cost["usd_per_month"]
        label = f"Self-host, {fleet['gpus']} × {names.gpu_short(fleet['gpu'])}"
        bars.append(charts.Bar(label, parts, total["mid"], usd(total["mid"]), total["low"], total["high"]))
    api_labels = list(dict.fromkeys(line["label"] for bill in report.get("api") or () for line in bill["lines"]))
    roles |= {label: API_ROLES[min(i, len(API_ROLES) - 1)] for i, label in enumerate(api_labels)}
    for bill in report.get("api") or ():
        if bill["usd_per_month"] is None:
            continue
        parts = {line["label"]: line["usd_per_month"] for line in bill["lines"] if line["usd_per_month"] is not None}
        bars.append(
            charts.Bar(names.provider(bill["provider"]), parts, bill["usd_per_month"], usd(bill["usd_per_month"]))
        )
    return bars, roles


def _part_name(label: str) -> str:
    """The series of a cost line: serving and spare replicas keep their kind, other lines their label."""
    lowered = label.lower()
    if "spare" in lowered:
        return "Spare GPUs"
    return "Serving GPUs" if "serving" in lowered else label


def _bars_table(bars: Sequence[charts.Bar], parts: Sequence[str]) -> Table:
    columns = (Column("Way"), *(Column(part, "$", numeric=True) for part in parts), Column("Total", "$", numeric=True))
    rows = tuple(
        Row((Cell(bar.label), *(Cell(number(bar.parts.get(part))) for part in parts), Cell(number(bar.total))))
        for bar in bars
    )
    return Table("Monthly cost by part", columns, rows, small=True, sheets=False)


def cost_table(report: Report) -> Table | None:
    """Every line of both sides."""
    rows: list[Row] = []
    cost = report.get("cost")
    if cost:
        rows.append(Row((Cell("Self-host"),), "group"))
        rows += [
            Row((Cell(line["label"]), Cell(_basis(line)), Cell(number(line["usd_per_month"], 2)), Cell("")))
            for line in cost["lines"]
        ]
        blended = f"{usd(cost['usd_per_mtok']['blended'], 2)} per million tokens, blended"
        total = cost["usd_per_month"]
        interval = "fixed" if total["low"] == total["high"] else range_text(total, number, joiner=f" {DASH} ")
        rows.append(Row((Cell("Self-host"), Cell(blended), Cell(number(total["mid"], 2)), Cell(interval)), "total"))
    if report.get("api"):
        rows.append(Row((Cell(_api_head(report)),), "group"))
        rows += [_api_row(bill) for bill in report["api"]]
    if not rows:
        return None
    columns = (
        Column("Line"),
        Column("Basis", wide=True),
        Column("Amount", "$/month", numeric=True),
        Column("Interval", "$/month", numeric=True),
    )
    return Table("Monthly cost of each way", columns, tuple(rows))


def _basis(line: Mapping[str, Any]) -> str:
    if line.get("usd_per_unit") is None:
        return tidy(str(line.get("basis") or DASH))
    text = f"{number(line['quantity'])} {line['unit']}s × {unit_price(line['usd_per_unit'])}"
    return f"{text} · {tidy(line['basis'])}" if line.get("basis") else text


def _api_head(report: Report) -> str:
    used = (report.get("cost") or {}).get("monthly_tokens")
    if not used:
        return "APIs, same tokens"
    return f"APIs, same tokens: {tokens(used['input'])} in, {tokens(used['output'])} out a month"


def _api_row(bill: Mapping[str, Any]) -> Row:
    model = f"{bill['model']}, {bill['terms']}" if bill.get("terms") else bill["model"]
    name = Cell(names.provider(bill["provider"]), note=model)
    prices = ", ".join(
        f"{unit_price(line['usd_per_mtok'])} {line['label'].lower()}"
        for line in bill["lines"]
        if line["usd_per_mtok"] is not None and line["tokens"]
    )
    basis = Cell(f"{prices} per million" if prices else DASH, note=tidy(bill.get("note") or ""))
    if bill["usd_per_month"] is None:
        return Row((name, basis, Cell(DASH, why=NO_PRICE), Cell("")), "off")
    amount = Cell(number(bill["usd_per_month"], 2), note="" if bill["available"] else "no longer offered", warn=True)
    return Row((name, basis, amount, Cell("list price")), "" if bill["available"] else "off")


def cost_facts(report: Report) -> tuple[Fact, ...]:
    """Per-token cost and its identity: price of a replica hour over the tokens it yields at the real load."""
    cost = report.get("cost")
    if not cost:
        return ()
    per, identity = cost["usd_per_mtok"], cost.get("identity") or {}
    facts = [
        Fact("Blended", usd(per["blended"], 2), "per million tokens", term="blended", how=computed.blended_how(report))
    ]
    if per.get("input") is not None and per.get("output") is not None:
        facts.append(
            Fact("The same bill split", f"{usd(per['input'], 2)} in, {usd(per['output'], 2)} out", "per million")
        )
    if per.get("output_alone") is not None:
        facts.append(Fact("All of it on output tokens", usd(per["output_alone"], 2), "per million"))
    if identity.get("utilisation_ratio"):
        text = (
            f"{unit_price(identity['usd_per_replica_hour'])} ÷ ({tokens(identity['slo_tokens_per_replica_hour'])} "
            f"× {number(identity['utilisation_ratio'] * 100, 1)} %)"
        )
        facts.append(Fact("Replica hour ÷ (tokens it can yield × use)", text, note=usd(identity["usd_per_mtok"], 2)))
    if cost.get("usage_usd_per_mtok") is not None:
        facts.append(Fact("If only busy time were paid", usd(cost["usage_usd_per_mtok"], 2), "per million"))
    return tuple(facts)


def break_even_chart(report: Report) -> Chart | None:
    """The staircase against the APIs, with crossings and today's load."""
    curve = (report.get("break_even") or {}).get("curve") or []
    if len(curve) < 2:
        return None
    apis = report.get("api") or []
    main = against(report)
    order = sorted(range(len(apis)), key=lambda i: apis[i] is not main)
    lines = [
        (names.provider(apis[i]["provider"]), [(p["mean_rps"], p["api_usd_per_month"][i]) for p in curve])
        for i in order
    ]
    lines = [(label, points) for label, points in lines if any(y is not None for _, y in points)]
    staircase = [(point["mean_rps"], point["self_host_usd_per_month"]) for point in curve]
    while len(staircase) > 1 and staircase[-1][0] - staircase[-2][0] < 1e-3 * staircase[-1][0]:
        staircase.pop()  # a step at the very edge of the picture would only be an upright line
    chosen = _against(report, main)
    today = (report.get("load") or {}).get("mean_rps")
    option = charts.break_even_option(
        staircase=staircase,
        apis=lines,
        today_rps=today,
        today_text=f"this load {requests_per_s(today)}",
        crossings=_crossing_points(chosen, curve, apis, main),
        cheaper=_cheaper_spans(chosen, curve, apis, main),
    )
    keys = [Key("Self-host", "c-self", "line")]
    dashes = ("", "6 3", "2 3", "8 3")
    keys += [
        Key(label, "c-api" if i == 0 else "c-api-2", "line", dashes[i % len(dashes)])
        for i, (label, _) in enumerate(lines)
    ]
    unit = "$/month by mean load, whole replicas."
    if chosen and chosen["crossings"]:
        unit += f" Shaded: self-host is cheaper than {names.provider(chosen['provider'])}."
    title = tidy(chosen["sentence"]).rstrip(".") if chosen else "Self-host cost climbs in whole replicas"
    return Chart("break-even", title, unit, option, _curve_table(curve, apis), keys=tuple(keys))


def _against(report: Report, bill: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    rows = (report.get("break_even") or {}).get("against") or []
    if bill is None:
        return None
    return next((r for r in rows if (r["provider"], r["model"]) == (bill["provider"], bill["model"])), None)


def _crossing_points(
    chosen: Mapping[str, Any] | None,
    curve: Sequence[Mapping[str, Any]],
    apis: Sequence[Mapping[str, Any]],
    main: Mapping[str, Any] | None,
) -> list[tuple[str, float, float]]:
    if not chosen or main is None:
        return []
    index = [api is main for api in apis].index(True)
    top = curve[-1]["mean_rps"]
    slope = (curve[-1]["api_usd_per_month"][index] or 0.0) / top
    found = [crossing["mean_rps"] for crossing in chosen["crossings"] if crossing["mean_rps"] <= top]
    return [(requests_per_s(rps), rps, rps * slope) for rps in found]


def _cheaper_spans(
    chosen: Mapping[str, Any] | None,
    curve: Sequence[Mapping[str, Any]],
    apis: Sequence[Mapping[str, Any]],
    main: Mapping[str, Any] | None,
) -> list[tuple[float, float]]:
    """Spans of load where self-hosting costs less, from the crossings; without any, from the cost itself."""
    if not chosen or main is None:
        return []
    low, high = curve[0]["mean_rps"], curve[-1]["mean_rps"]
    crossings = sorted(chosen["crossings"], key=lambda crossing: float(crossing["mean_rps"]))
    if not crossings:
        index = [api is main for api in apis].index(True)
        bill = curve[0]["api_usd_per_month"][index]
        return [(low, high)] if bill is not None and curve[0]["self_host_usd_per_month"] < bill else []
    edges = [low, *(min(crossing["mean_rps"], high) for crossing in crossings), high]
    first_ours = crossings[0]["cheaper_above"] != "self_host"
    ours = [first_ours, *(crossing["cheaper_above"] == "self_host" for crossing in crossings)]
    return [(a, b) for (a, b), mine in zip(pairwise(edges), ours, strict=True) if mine and b > a]


def _curve_table(curve: Sequence[Mapping[str, Any]], apis: Sequence[Mapping[str, Any]]) -> Table:
    columns = (
        Column("Mean load", "req/s"),
        Column("Tokens", "a month", numeric=True),
        Column("Replicas", numeric=True),
        Column("Self-host", "$/month", numeric=True),
        *(Column(names.provider(api["provider"]), "$/month", numeric=True) for api in apis),
    )
    rows = tuple(
        Row(
            (
                Cell(requests_per_s(point["mean_rps"])),
                Cell(tokens(point["tokens_per_month"])),
                Cell(number(point["replicas"])),
                Cell(number(point["self_host_usd_per_month"])),
                *(Cell(number(amount)) for amount in point["api_usd_per_month"]),
            )
        )
        for point in curve
    )
    return Table("Cost by load", columns, rows, small=True, sheets=False)


def crossings_table(report: Report) -> Table | None:
    """Every crossing with every API, or never."""
    rows = (report.get("break_even") or {}).get("against") or []
    if not rows:
        return None
    columns = (
        Column("Against"),
        Column("Crossing", "req/s, mean", numeric=True),
        Column("In tokens", "a month", numeric=True),
        Column("Above it", wide=True),
    )
    out: list[Row] = []
    for row in rows:
        name = names.provider(row["provider"])
        if not row["crossings"]:
            out.append(
                Row(
                    (
                        Cell(name, note=row["model"]),
                        Cell("never"),
                        Cell(DASH, why="no crossing"),
                        Cell(tidy(row["sentence"])),
                    )
                )
            )
        for index, crossing in enumerate(row["crossings"]):
            cheaper = "self-host is cheaper" if crossing["cheaper_above"] == "self_host" else f"{name} is cheaper"
            out.append(
                Row(
                    (
                        Cell(name, note=row["model"] if index == 0 else ""),
                        Cell(requests_per_s(crossing["mean_rps"])),
                        Cell(tokens(crossing["tokens_per_month"])),
                        Cell(cheaper),
                    )
                )
            )
    return Table("Crossings", columns, tuple(out))


def tornado_chart(report: Report) -> Chart | None:
    """Change of the saving when one input moves and the rest stay."""
    rows = report.get("sensitivity") or []
    saving = report["verdict"].get("saving_usd_per_month")
    if not rows or not saving:
        return None
    base = saving["mid"]
    moved = [
        (row, row["saving_low_usd_per_month"] - base, row["saving_high_usd_per_month"] - base)
        for row in rows
        if row["saving_low_usd_per_month"] is not None and row["saving_high_usd_per_month"] is not None
    ]
    if not moved:
        return None
    moved.sort(key=lambda item: -max(abs(item[1]), abs(item[2])))
    bars = [(f"{row['label']}\n{row['low_label']} … {row['high_label']}", low, high) for row, low, high in moved]
    flip_label = f"turns at {usd_signed(-base)}"
    return Chart(
        "tornado",
        _tornado_title([row for row, _, _ in moved], split=bool(report["verdict"].get("hybrid"))),
        "Change in the monthly saving, $. Teal: first value, grey: second value.",
        charts.tornado_option(bars, -base, flip_label),
        _tornado_table([row for row, _, _ in moved]),
        size="tall" if len(moved) > 5 else "mid",
    )


def _within(label: str) -> str:
    """A label inside a sentence; abbreviations keep their capitals."""
    return label if label[:2].isupper() else label[0].lower() + label[1:]


def _tornado_title(rows: Sequence[Mapping[str, Any]], *, split: bool) -> str:
    """split: the answer is a split of both sides; the rows tell which of them is the cheaper one alone."""
    flips, what = (
        [row["label"] for row in rows if row["flips"]],
        "which side alone is cheaper" if split else "the answer",
    )
    if not flips:
        return f"No single change turns {what}; {_within(rows[0]['label'])} moves it most"
    return f"{', '.join(flips)} alone can turn {what}" if len(flips) < 4 else f"{len(flips)} inputs alone can turn it"


def _tornado_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    columns = (
        Column("Input"),
        Column("First value"),
        Column("Saving", "$/month", numeric=True),
        Column("Second value"),
        Column("Saving then", "$/month", numeric=True),
        Column("Turns the answer"),
    )
    out = tuple(
        Row(
            (
                Cell(row["label"]),
                Cell(row["low_label"]),
                Cell(number(row["saving_low_usd_per_month"])),
                Cell(row["high_label"]),
                Cell(number(row["saving_high_usd_per_month"])),
                Cell("yes" if row["flips"] else "no"),
            )
        )
        for row in rows
    )
    return Table("Saving by input", columns, out, small=True, sheets=False)
