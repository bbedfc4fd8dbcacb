"""Requests with a deadline: what they add to the fleet's month, and what the API charges for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from costmodel.pricing.money import exact
from planner.planning.money.bills import FleetBill
from planner.planning.money.hosted import Hosted
from planner.planning.money.tokens import SECONDS_PER_HOUR, batch_requests_per_month
from planner.planning.report.names import amount, counted, hosted_name
from planner.planning.report.plain import usd
from planner.planning.search.candidates import Job


def batch_section(job: Job, bill: FleetBill, against: Hosted | None) -> dict[str, Any] | None:
    """The `batch` part of the report; None for a scenario without such requests.

    adds_usd_per_month: the fleet's month with them less that without. bought_replicas: beyond those that the busiest
    hour needs. late_ratio: of what comes while the fleet is closed until its deadline.
    """
    batch, part, work = job.load.batch, bill.month.batch, bill.running.work
    if batch is None or part is None or work is None:
        return None
    hours = job.scenario.billing.hours_per_month
    weeks = exact(hours) / len(batch.week_requests)
    adds = bill.running.usd() - replace(bill.running, work=None).usd()
    replica_hours = sum(part.run.used)
    requests = batch_requests_per_month(batch, hours)
    rows: dict[str, Any] = {
        "requests_per_month": round(requests),
        "prompt_tokens_mean": batch.mix.prompt_tokens_mean,
        "output_tokens_mean": batch.mix.output_tokens_mean,
        "deadline_hours": batch.deadline_hours,
        "capacity_rps": batch.requests_per_week / (sum(work.replica_hours) * SECONDS_PER_HOUR),
        "replica_hours_per_month": replica_hours * float(weeks),
        "bought_replicas": part.bought,
        "late_ratio": part.run.late_ratio,
        "longest_wait_hours": part.run.longest_wait_hours,
        "adds_usd_per_month": usd(adds),
        "api_usd_per_month": None if against is None else usd(against.batch_usd),
        "api_lists_batch_price": None if against is None else against.price.batch is not None,
    }
    return rows | {"sentence": _sentence(rows, against)}


def _sentence(row: dict[str, Any], against: Hosted | None) -> str:
    deadline, wait = counted(row["deadline_hours"], "hour"), counted(row["longest_wait_hours"], "hour")
    start = (
        f"{row['requests_per_month']:,} requests a month may wait {deadline}; a replica with nothing else to do does "
        f"{amount(row['capacity_rps'])} a second. "
    )
    if row["bought_replicas"]:
        start += f"They need {counted(row['bought_replicas'], 'replica')} more than the busiest hour does"
    else:
        start += "They fit into the hours in which the fleet has replicas to spare"
    start += f", wait {wait} at most and add ${float(row['adds_usd_per_month']):,.0f} a month"
    if row["late_ratio"]:
        start += f"; {row['late_ratio']:.0%} of them come too late for its hours"
    if against is None:
        return f"{start}."
    rates = "at batch rates" if row["api_lists_batch_price"] else "at its standard rates, as it lists no batch price"
    name = hosted_name(against.price.provider, against.price.model)
    return f"{start}; {name} would charge ${float(row['api_usd_per_month']):,.0f} for them {rates}."
