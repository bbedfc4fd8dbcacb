"""`staircase plan|estimate FILE`: a scenario in CI, held to thresholds, with an exit code for each outcome."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from staircase_client.client import Client
from staircase_client.errors import ApiError, StaircaseError
from staircase_client.results import Estimate, Report
from staircase_client.run import Run

OK, EXCEEDED, INVALID, NO_CANDIDATE, FAILED = range(5)


@dataclass(frozen=True, slots=True)
class Threshold:
    """A limit on one of a report's values."""

    name: str
    side: str
    limit: float

    def holds(self, value: float) -> bool:
        return value <= self.limit if self.side == "max" else value >= self.limit


@dataclass(slots=True)
class Outcome:
    """What is printed with --json."""

    exit: int = OK
    verdict: str | None = None
    values: dict[str, Any] = field(default_factory=dict)
    thresholds: list[dict[str, Any]] = field(default_factory=list)
    run: str | None = None
    errors: list[dict[str, Any]] = field(default_factory=list)


class Invalid(Exception):  # noqa: N818 - the name is the outcome
    """Something that was asked for cannot be done."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Ends the process with the exit code."""
    options = _parser().parse_args(arguments)
    outcome = Outcome()
    try:
        document = _ask(options, outcome)
        _judge(document, _thresholds(options), outcome)
    except Invalid as error:
        outcome.exit = INVALID
        outcome.errors.append({"detail": str(error)})
    except ApiError as error:
        outcome.exit = INVALID if error.invalid else FAILED
        outcome.errors += [asdict(fault) for fault in error.faults] or [{"detail": error.detail}]
    except StaircaseError as error:
        outcome.exit = FAILED
        outcome.errors.append({"detail": str(error)})
    _print(outcome, as_json=options.json)
    sys.exit(outcome.exit)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="staircase", description="Plan a scenario and hold it to thresholds.")
    parser.add_argument("command", choices=("plan", "estimate"), help="plan simulates; estimate is the closed form")
    parser.add_argument("file", metavar="FILE|-", help="scenario JSON, or - for standard input")
    parser.add_argument("--url", default=os.environ.get("STAIRCASE_URL"), help="server (default: STAIRCASE_URL)")
    parser.add_argument("--max", action="append", default=[], metavar="NAME=VALUE", help="fail when a value is above")
    parser.add_argument("--min", action="append", default=[], metavar="NAME=VALUE", help="fail when a value is below")
    parser.add_argument("--timeout-s", type=float, default=600, help="longest wait for the run")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _ask(options: argparse.Namespace, outcome: Outcome) -> Report | Estimate:
    scenario, token = _scenario(options.file), os.environ.get("STAIRCASE_TOKEN")
    if not options.url or not token:
        raise Invalid("set STAIRCASE_URL (or --url) and STAIRCASE_TOKEN")
    try:
        client = Client(options.url, token)
    except ValueError as error:
        raise Invalid(str(error)) from None
    thresholds = _thresholds(options)
    if options.command == "estimate":
        return client.estimate(scenario)
    if thresholds:  # a mistyped one is told before a run is started: the estimate has the same values
        _check_names(client.estimate(scenario), thresholds)
    run = client.plan(scenario)
    outcome.run = run.id
    return run.wait(timeout_s=options.timeout_s, on_progress=None if options.json else _show)


def _show(run: Run) -> None:
    sys.stderr.write(f"{run.progress_ratio:4.0%} {run.stage}\n")


def _scenario(name: str) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        document = json.loads(text)
    except (OSError, ValueError) as error:
        raise Invalid(f"cannot read {name}: {error}") from None
    if not isinstance(document, dict):
        raise Invalid(f"{name} holds no JSON object")
    return document


def _thresholds(options: argparse.Namespace) -> list[Threshold]:
    given = [("max", text) for text in options.max] + [("min", text) for text in options.min]
    return [_threshold(side, text) for side, text in given]


def _threshold(side: str, text: str) -> Threshold:
    name, _, value = text.partition("=")
    try:
        return Threshold(name, side, float(value))
    except ValueError:
        raise Invalid(f"--{side} takes NAME=VALUE, not {text}") from None


def _judge(document: Report | Estimate, thresholds: Sequence[Threshold], outcome: Outcome) -> None:
    outcome.verdict, outcome.values = document.verdict.sentence, document.values
    if not document.feasible:
        outcome.exit = NO_CANDIDATE
        outcome.errors.append({"detail": document.verdict.detail})
        return
    _check_names(document, thresholds)
    for threshold in thresholds:
        value = document.values[threshold.name]
        held = threshold.holds(value)
        outcome.thresholds.append({**asdict(threshold), "value": value, "holds": held})
        if not held:
            outcome.exit = EXCEEDED


def _check_names(document: Report | Estimate, thresholds: Sequence[Threshold]) -> None:
    """Invalid: a threshold on what the document has no value of, though some candidate meets the targets."""
    for name in [each.name for each in thresholds] if document.feasible else ():
        if document.values.get(name) is None:
            there = ", ".join(name for name, number in document.values.items() if number is not None)
            lacks = f"{name} has no value here" if name in document.values else f"there is no value {name}"
            raise Invalid(f"{lacks}; there are {there}")


def _print(outcome: Outcome, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(asdict(outcome), ensure_ascii=False) + "\n")
        return
    if outcome.verdict:
        sys.stdout.write(f"{outcome.verdict}\n")
    for item in outcome.thresholds:
        sign = "<=" if item["side"] == "max" else ">="
        sys.stdout.write(
            f"{'ok  ' if item['holds'] else 'FAIL'} {item['name']} {item['value']:g} {sign} {item['limit']:g}\n"
        )
    for error in outcome.errors:
        place = f"{error['pointer']}: " if error.get("pointer") else ""
        sys.stderr.write(f"{place}{error['detail']}\n")
