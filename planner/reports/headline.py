"""The top of a report: the verdict with its emphasis, and the key figures with their intervals."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.reports import computed, names
from planner.reports.marks import Scale, mark, scale_over
from planner.reports.numbers import (
    DASH,
    between,
    chance,
    number,
    range_text,
    requests_per_s,
    tidy,
    unit_price,
    usd,
)
from planner.reports.parts import Figure, How

Report = Mapping[str, Any]

_FIGURE = r"\d.,\u00a0\u202f\u2019"  # with the marks of any reader
_EMPHASIS = re.compile(
    rf"(\$[{_FIGURE}]+\s?[kMB]?(?:(?:[-–]| to )\$?[{_FIGURE}]+\s?[kMB]?)?(?: a month)?(?: (?:less|more|cheaper))?"
    r"|\b\d+ (?:× )?[A-Z]{1,4}\d{1,4}[A-Z]*(?:-[A-Z0-9]+)*\b)"
)
_SENTENCE_END = re.compile(r"(?<=[a-z0-9%)]\.) (?=[A-Z0-9])")
_NOTHING = re.compile(r"(\bNo candidate\b)")
_CLASSES = {"self_host": "", "self_host_only": "", "api": "api", "hybrid": "", "none": "none"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The sentence in pieces (text, emphasised), the next lines, and the class that colours it."""

    pieces: tuple[tuple[str, bool], ...]
    detail: str
    css: str
    sentence: str

    @property
    def because(self) -> tuple[str, ...]:
        """The next lines, one by one."""
        return tuple(_SENTENCE_END.split(self.detail)) if self.detail else ()


def verdict(report: Report) -> Verdict:
    """The verdict; amounts and fleets stand out."""
    said = report["verdict"]
    pattern = _NOTHING if said["choice"] == "none" else _EMPHASIS
    sentence = tidy(said["sentence"])
    pieces = tuple((piece, index % 2 == 1) for index, piece in enumerate(pattern.split(sentence)) if piece)
    return Verdict(
        pieces=pieces,
        detail=tidy(said.get("detail") or ""),
        css=_CLASSES.get(said["choice"], ""),
        sentence=sentence,
    )


def figures(report: Report) -> tuple[Figure, ...]:
    """Smallest fleet, self-host cost, API bill, saving: what is known of them."""
    cost = (report.get("cost") or {}).get("usd_per_month")
    bill = against(report)
    amounts = [cost[key] for key in ("low", "high")] if cost else []
    amounts += [bill["usd_per_month"]] if bill and bill["usd_per_month"] is not None else []
    scale = scale_over(amounts, from_zero=True)
    out = [_fleet(report)]
    if cost:
        out.append(_self_host(report, cost, scale))
    if bill:
        out.append(_api(bill, scale))
    if split := report["verdict"].get("hybrid"):
        out.append(_split(split, bill))
    elif saving := report["verdict"].get("saving_usd_per_month"):
        out.append(_saving(report, saving, bill))
    return tuple(out)


def against(report: Report) -> Mapping[str, Any] | None:
    """The API bill that the verdict compares with, else the cheapest that is available."""
    bills: list[Mapping[str, Any]] = [bill for bill in report.get("api") or () if bill["usd_per_month"] is not None]
    chosen = report["verdict"].get("against")
    if chosen:
        for bill in bills:
            if (bill["provider"], bill["model"]) == (chosen["provider"], chosen["model"]):
                return bill
    available = [bill for bill in bills if bill["available"]]
    return min(available, key=lambda bill: float(bill["usd_per_month"]), default=None)


def candidate_of(report: Report) -> Mapping[str, Any] | None:
    """The row of the recommended candidate."""
    chosen = report.get("recommended")
    if not chosen:
        return None
    return next((row for row in report["candidates"] if row["id"] == chosen["candidate"]), None)


def _fleet(report: Report) -> Figure:
    fleet = report.get("recommended")
    if not fleet:
        tried = len(report["candidates"])
        return Figure("Smallest fleet", "none", note=f"{tried} candidates tried, none meets every target", tone="warn")
    row = candidate_of(report) or {}
    load = report.get("load") or {}
    capacity = row.get("capacity_rps") or {}
    each = "GPU" if fleet["gpus"] == fleet["replicas"] else "GPUs"
    per_replica = fleet["gpus"] // fleet["replicas"]
    how = How(
        "how-fleet",
        "How many replicas",
        (
            ("Peak hour", f"{requests_per_s(load.get('offered_rps'))} req/s"),
            ("Capacity of a replica, every target met", f"{requests_per_s(capacity.get('mid'))} req/s"),
            (
                "Serving replicas, rounded up",
                f"{requests_per_s(load.get('offered_rps'))} ÷ {requests_per_s(capacity.get('mid'))}"
                f" → {fleet['serving_replicas']}",
            ),
            ("With spares", f"{fleet['serving_replicas']} + {fleet['spare_replicas']} = {fleet['replicas']} replicas"),
            ("GPUs", f"{fleet['replicas']} × {per_replica} = {fleet['gpus']}"),
        ),
    )
    spare = fleet["spare_replicas"]
    note = f"{fleet['replicas']} replicas of {per_replica} {each if per_replica > 1 else 'GPU'}"
    note += ", none of them spare" if spare == 0 else f", {spare} of them spare"
    label = "Fleet without the API" if report["verdict"].get("hybrid") else "Smallest fleet"
    return Figure(label, f"{fleet['gpus']} × {names.gpu_short(fleet['gpu'])}", note=note, how=how)


def _self_host(report: Report, cost: Mapping[str, Any], scale: Scale) -> Figure:
    lines = report["cost"]["lines"]
    steps = [
        (
            line["label"],
            f"{number(line['quantity'])} {line['unit']}s × {unit_price(line['usd_per_unit'])}"
            f" = {usd(line['usd_per_month'])}"
            if line.get("usd_per_unit") is not None
            else usd(line["usd_per_month"]),
        )
        for line in lines
    ]
    words = range_text(cost, usd)
    return Figure(
        "Self-host",
        usd(cost["mid"]),
        "/month",
        note=words if cost["low"] != cost["high"] else "price fixed, no interval",
        mark=mark(scale, cost["low"], cost["mid"], cost["high"], words=f"interval {words}"),
        how=How("how-self", "Self-host cost of a month", (*steps, ("Together", usd(cost["mid"])))),
    )


def _api(bill: Mapping[str, Any], scale: Scale) -> Figure:
    steps = tuple(
        (
            line["label"],
            f"{number(line['tokens'] / 1e6, 1)} M × {unit_price(line['usd_per_mtok'])} = {usd(line['usd_per_month'])}",
        )
        for line in bill["lines"]
        if line["usd_per_month"] is not None
    )
    amount = bill["usd_per_month"]
    return Figure(
        f"{names.provider(bill['provider'])}, same tokens",
        usd(amount),
        "/month",
        note=f"list price of {bill['priced_at']}",
        mark=mark(scale, amount, amount, amount, words=f"{usd(amount)}, a list price", api=True),
        how=How("how-api", "API bill of a month", (*steps, ("Together", usd(amount)))),
    )


def _split(split: Mapping[str, Any], bill: Mapping[str, Any] | None) -> Figure:
    """The split that the verdict names: its month, and what it saves."""
    saving, known = split["saving_usd_per_month"], split["probability_ratio"]
    than = "the API alone" if split["saves_against"] == "api" else "self-hosting alone"
    other = names.provider(bill["provider"]) if bill else "the API"
    note = f"{between(saving['low'], saving['high'], usd)} less than {than}"
    note += "" if known is None else f" · cheapest with {chance(known)}"
    steps = (
        ("Replicas of our own", f"{number(split['replicas'])} without spares, {number(split['gpus'])} GPUs"),
        (f"Requests at {other}", f"{number((1 - split['self_hosted_ratio']) * 100)} %"),
        ("A month, both sides", usd(split["usd_per_month"])),
        (f"Less than {than}", usd(saving["mid"])),
    )
    return Figure("Split of both", usd(split["usd_per_month"]), "/month", note=note, tone="accent",
                  how=How("how-split", "Cost of the split", steps))  # fmt: skip


def _saving(report: Report, saving: Mapping[str, Any], bill: Mapping[str, Any] | None) -> Figure:
    scale = scale_over([saving["low"], saving["high"], 0.0])
    loses = saving["mid"] < 0
    share = ""
    if bill and bill["usd_per_month"]:
        share = f" · {number(abs(saving['mid']) / bill['usd_per_month'] * 100)} % of the bill"
    low, high = saving["low"], saving["high"]
    if loses:
        low, high = -saving["high"], -saving["low"]
    words = between(low, high, usd)
    return Figure(
        "Self-hosting costs more by" if loses else "Self-hosting saves",
        usd(abs(saving["mid"])),
        "/month",
        note=words + share if words != DASH else share,
        mark=mark(
            scale,
            saving["low"],
            saving["mid"],
            saving["high"],
            limit=0.0,
            words=f"saving {between(saving['low'], saving['high'], usd)}; dashed: zero",
        ),
        tone="warn" if loses else "accent",
        how=computed.saving_how(report, bill),
    )
