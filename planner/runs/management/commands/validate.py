"""`manage.py validate`: predict measured rows and print how far off the predictions are."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandParser

from planner.planning.command import INVALID
from planner.planning.validation.breakdown import breakdown_markdown, overall_markdown
from planner.planning.validation.command import (
    STEP_TIMES,
    ValidationInput,
    draw_request_logs,
    run_side_by_side,
    run_validation,
    unreadable_input,
)
from planner.planning.validation.errors import error_table


class Command(BaseCommand):
    help = (
        "Predicts each measured row of files shaped like published measurements and prints the errors: rows, "
        "predicted, skipped by reason, median and p90 absolute percentage error and bias. Exit 0; 2: no or unreadable "
        "arguments."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--throughput", type=Path, metavar="F", help="CSV of servers at maximum load")
        parser.add_argument("--serving", type=Path, metavar="F", help="CSV of servers at a given concurrency or rate")
        parser.add_argument("--kvcache", type=Path, metavar="F", help="CSV of KV caches logged at start-up")
        parser.add_argument("--requests", type=Path, metavar="DIR", help="folder of per-request logs")
        parser.add_argument(
            "--pictures",
            type=Path,
            metavar="DIR",
            help="with --requests: write a picture (SVG) of each replayed log here and print its table as Markdown",
        )
        parser.add_argument(
            "--cross-validated",
            action="store_true",
            help="predict each row with constants fitted without its model and GPU pair",
        )
        parser.add_argument(
            "--step-times",
            choices=STEP_TIMES,
            default="model",
            help="predict with our own model, with NVIDIA's measurements (extra `silicon`), or both on the same rows",
        )
        parser.add_argument("--markdown", action="store_true", help="print the errors by every group, as Markdown")
        parser.add_argument("--json", action="store_true", help="print the errors as JSON, one object per metric")

    def handle(self, **options: Any) -> None:
        given = _given(options)
        problem = unreadable_input(given)
        if problem:
            self.stderr.write(problem)
            sys.exit(INVALID)
        both = given.step_times == "both"
        reports = run_side_by_side(given) if both else {given.step_times: run_validation(given)}
        try:
            tables = list(draw_request_logs(given))
        except OSError as error:
            self.stderr.write(f"Pictures cannot be written: {error}.")
            sys.exit(INVALID)
        if options["json"]:
            self.stdout.write(json.dumps(reports if both else reports[given.step_times]))
            return
        parts: list[str] = []
        for name, report in reports.items():
            parts += [f"Step times: {name}"] if given.step_times != "model" else []
            parts += (
                [overall_markdown(report), breakdown_markdown(report)] if options["markdown"] else [error_table(report)]
            )
        self.stdout.write("\n\n".join([*parts, *tables]))


def _given(options: Mapping[str, Any]) -> ValidationInput:
    return ValidationInput(
        throughput=options["throughput"],
        serving=options["serving"],
        kvcache=options["kvcache"],
        requests=options["requests"],
        pictures=options["pictures"],
        cross_validated=bool(options["cross_validated"]),
        step_times=options["step_times"],
        silicon_cache=settings.DATA_DIR / "silicon",
    )
