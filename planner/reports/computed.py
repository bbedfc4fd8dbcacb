"""How the report's figures were computed: formulas with the numbers put in, for the small windows behind "how"."""

from collections.abc import Mapping, Sequence
from typing import Any

from planner.reports.numbers import (
    milliseconds,
    number,
    percent,
    plain_decimal,
    requests_per_s,
    significant,
    tidy,
    tokens,
    unit_price,
)
from planner.reports.numbers import usd as usd_text
from planner.reports.parts import How

Report = Mapping[str, Any]


def load_hows(report: Report) -> dict[str, How]:
    """Of the figures under load, by the key of `load`; only those that the report has the numbers for."""
    load = report.get("load") or {}
    fleet = report.get("recommended") or {}
    found: list[How] = []
    offered, capacity = load.get("offered_rps"), load.get("capacity_rps")
    if offered and capacity:
        found.append(
            How(
                "how-utilisation",
                "Utilisation",
                (
                    ("Peak hour", f"{requests_per_s(offered)} req/s"),
                    ("Capacity of the serving replicas, every target met", f"{requests_per_s(capacity)} req/s"),
                    (
                        "Utilisation",
                        f"{requests_per_s(offered)} ÷ {requests_per_s(capacity)} = {percent(offered / capacity)}",
                    ),
                ),
            )
        )
    if load.get("saturation_rps") and offered:
        saturation = load["saturation_rps"]
        found.append(
            How(
                "how-headroom",
                "Headroom to saturation",
                (
                    ("Beyond this the queue grows without end", f"{requests_per_s(saturation)} req/s"),
                    (
                        "Headroom",
                        f"1 − {requests_per_s(offered)} ÷ {requests_per_s(saturation)}"
                        f" = {percent(1 - offered / saturation)}",
                    ),
                ),
            )
        )
    if load.get("concurrency_mean") is not None:
        found.append(
            How(
                "how-concurrency",
                "Requests in flight",
                (
                    ("Simulated", "time integral of waiting and running requests ÷ length of the run, all replicas"),
                    ("Mean", significant(load["concurrency_mean"])),
                ),
            )
        )
    if load.get("per_replica_rps") and fleet.get("serving_replicas"):
        found.append(
            How(
                "how-per-replica",
                "Load on each replica",
                (
                    (
                        "Peak hour, over the serving replicas",
                        f"{requests_per_s(offered)} ÷ {fleet['serving_replicas']} replicas",
                    ),
                    ("Each", f"{requests_per_s(load['per_replica_rps'])} req/s"),
                ),
            )
        )
    if load.get("kv_mean_ratio") is not None:
        found.append(
            How(
                "how-kv",
                "KV cache in use",
                (
                    ("Blocks held × step time, over the pool × time", percent(load["kv_mean_ratio"], 1)),
                    ("Most blocks held at one time", percent(load["kv_peak_ratio"], 1)),
                ),
            )
        )
    if load.get("mean_rps") and offered:
        found.append(_mean(report, load["mean_rps"], offered))
    return {how.id: how for how in found}


def _mean(report: Report, mean_rps: float, offered_rps: float) -> How:
    """The chain of assumptions from what was entered to requests per second."""
    words = ("peak hour", "mean over the week", "active users", "requests per second")
    chain = tuple(
        (row["what"], f"{tidy(str(row['value']))} ({tidy(str(row.get('basis') or ''))})")
        for row in (report.get("provenance") or {}).get("assumptions") or ()
        if any(word in row["what"].lower() for word in words)
    )
    ratio = (
        "Peak hour ÷ mean",
        f"{requests_per_s(offered_rps)} ÷ {requests_per_s(mean_rps)} = {number(offered_rps / mean_rps, 2)}",
    )
    return How("how-mean", "Requests per second", (*chain, ratio))


def capacity_how(row: Mapping[str, Any]) -> How | None:
    """Of a replica's capacity."""
    capacity = row.get("capacity_rps")
    if not capacity:
        return None
    steps = [
        ("Simulated at rising load, until a target is missed", f"{requests_per_s(capacity['mid'])} req/s"),
        ("With slow and fast steps (10th and 90th percentile)",
         f"{requests_per_s(capacity['low'])} and {requests_per_s(capacity['high'])} req/s"),
    ]  # fmt: skip
    if row.get("binding"):
        steps.append(("What limits it", tidy(row["binding"])))
    return How("how-capacity", "Capacity of a replica", tuple(steps))


def slo_how(row: Mapping[str, Any], index: int, replicas: int | None) -> How | None:
    """Of a predicted latency or goodput."""
    if row["predicted"] is None:
        return None
    ratio = row["unit"] == "ratio"

    def show(value: float | None) -> str:
        if value is None:
            return "no end: the queue grows"
        return percent(value, 1) if ratio else f"{milliseconds(value)} ms"

    kind = "share of requests that meet every threshold" if ratio else f"nearest-rank p{row['percentile']}"
    steps = (
        ("Simulated", f"the peak hour on {number(replicas)} serving replicas, {number(row['samples'])} requests"),
        ("Predicted", f"{kind}: {show(row['predicted'])}"),
        ("The same with fast and slow steps", f"{show(row['low'])} and {show(row['high'])}"),
        ("Target", show(row["target"])),
    )
    return How(f"how-slo-{index}", f"{row['metric'].upper() if not ratio else 'Goodput'}, predicted", steps)


def candidate_cost_how(row: Mapping[str, Any], hours: float | None) -> How | None:
    """Of a candidate's month."""
    cost, price = row.get("usd_per_month"), row.get("usd_per_gpu_hour")
    if not cost or not price or not row.get("gpus") or not hours:
        return None
    gpu_hours = f"{number(row['gpus'])} GPUs × {number(hours)} h × {unit_price(price)}"
    steps = [("GPUs, spares included", gpu_hours)]
    gpus = row["gpus"] * hours * price
    if abs(gpus - cost["mid"]) > 0.5:
        label = "Other lines" if cost["mid"] > gpus else "Hours not paid, or at less"
        steps.append((label, usd_text(cost["mid"] - gpus)))
    steps.append(("A month", usd_text(cost["mid"])))
    return How(f"how-cost-{row['id'].replace('/', '-')}", "Cost of a month", tuple(steps))


def saving_how(report: Report, bill: Mapping[str, Any] | None) -> How | None:
    """Of the difference that the verdict names."""
    cost, saving = (report.get("cost") or {}).get("usd_per_month"), report["verdict"].get("saving_usd_per_month")
    if not cost or not saving or bill is None:
        return None
    steps = (
        ("API bill", usd_text(bill["usd_per_month"])),
        ("Self-host", f"{usd_text(cost['mid'])} ({usd_text(cost['low'])} to {usd_text(cost['high'])})"),
        ("API bill − self-host", usd_text(saving["mid"])),
        ("With the dearest and the cheapest self-host", f"{usd_text(saving['low'])} to {usd_text(saving['high'])}"),
    )
    return How("how-saving", "Difference of the month", steps)


def blended_how(report: Report) -> How | None:
    """Of the price of a million tokens."""
    cost = report.get("cost") or {}
    month, used = cost.get("usd_per_month"), cost.get("monthly_tokens")
    if not month or not used:
        return None
    steps = (
        *_month(report),
        (
            "Tokens of a month, in and out",
            f"{tokens(used['input'])} + {tokens(used['output'])} = {tokens(used['total'])}",
        ),
        (
            "Blended",
            f"{usd_text(month['mid'])} ÷ {tokens(used['total'])}"
            f" = {usd_text(cost['usd_per_mtok']['blended'], 2)} per million",
        ),
    )
    return How("how-blended", "Cost of a million tokens", steps)


def _month(report: Report) -> tuple[tuple[str, str], ...]:
    """From the rate to the month. The lengths are those of the requests that are drawn, whole tokens within the longest
    context, so that their means lie a little off those that were entered."""
    load, billing = report.get("load") or {}, report["provenance"]["scenario"].get("billing") or {}
    mean_rps, hours = load.get("mean_rps"), billing.get("hours_per_month")
    prompt, output = load.get("prompt_tokens_mean"), load.get("output_tokens_mean")
    if not mean_rps or not hours or not prompt or not output:
        return ()
    requests = mean_rps * 3600 * hours
    steps = [
        (
            "Requests of a month",
            f"{significant(mean_rps, 5)} req/s × {number(3600)} s × {plain_decimal(hours)} h = {tokens(requests)}",
        ),
        (
            "Mean lengths of the requests as drawn: whole tokens, none beyond the longest context",
            f"{significant(prompt, 6)} in, {significant(output, 6)} out",
        ),
        (
            "Requests × mean lengths",
            f"{tokens(requests * prompt)} in, {tokens(requests * output)} out",
        ),
    ]
    if batch := report.get("batch"):
        waiting = batch["requests_per_month"]
        lengths = f"{number(batch['prompt_tokens_mean'])} in, {number(batch['output_tokens_mean'])} out"
        steps.append(("Requests with a deadline, besides", f"{tokens(waiting)} of {lengths}"))
    return tuple(steps)


def memory_hows(plan: Mapping[str, Any]) -> dict[str, How]:
    """Of what the pool holds."""
    lines: Sequence[Mapping[str, Any]] = plan.get("lines") or ()
    if not lines or not plan.get("kv_bytes_per_token"):
        return {}
    per_token, pool = plan["kv_bytes_per_token"], plan.get("kv_pool_gib")
    hows = [
        How(
            "how-pool",
            "Tokens in the pool",
            (
                ("Pool", f"{number(pool, 2)} GiB × 2³⁰ bytes"),
                ("One block", f"{number(plan['block_size_tokens'])} tokens × {number(per_token)} bytes"),
                ("Whole blocks", number(plan["kv_blocks"])),
                (
                    "Tokens",
                    f"{number(plan['kv_blocks'])} × {number(plan['block_size_tokens'])} = {number(plan['kv_tokens'])}",
                ),
            ),
        )
    ]
    if plan.get("concurrency_at_mean") and plan.get("mean_context_tokens"):
        hows.append(
            How(
                "how-at-mean",
                "Requests at a time",
                (
                    (
                        "Context that a running request holds, mean over time",
                        f"{number(plan['mean_context_tokens'])} tokens",
                    ),
                    ("In whole blocks, of the pool", significant(plan["concurrency_at_mean"])),
                ),
            )
        )
    return {how.id: how for how in hows}
