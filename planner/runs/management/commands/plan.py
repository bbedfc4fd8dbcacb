"""`manage.py plan FILE|-`: one scenario planned without a server."""

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandParser
from django.utils import timezone

from planner import planning
from planner.planning.command import INVALID, NO_CANDIDATE, read_document, read_file, with_seed
from planner.planning.report.text import text_report
from planner.prices.in_force import stored_prices


class Command(BaseCommand):
    help = "Plans one scenario and prints the report. Exit 0: some candidate meets the SLOs; 3: none does; 2: invalid."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE|-", help="scenario JSON, or - for standard input")
        parser.add_argument("--json", action="store_true", help="print the report, or the errors, as JSON")
        parser.add_argument("--seed", type=int, help="seed instead of the scenario's")

    def handle(self, *, file: str, seed: int | None, **options: Any) -> None:
        try:
            with stored_prices():
                report = planning.plan(_scenario(file, seed))
        except planning.ScenarioInvalid as invalid:
            self._print_errors(invalid, as_json=options["json"])
            sys.exit(INVALID)
        if options["json"]:
            self.stdout.write(planning.report_bytes(report).decode(), ending="")
        else:
            self.stdout.write(text_report(report))
        if report["recommended"] is None:
            sys.exit(NO_CANDIDATE)

    def _print_errors(self, invalid: planning.ScenarioInvalid, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps({"errors": [e.as_dict() for e in invalid.errors]}, ensure_ascii=False))
            return
        for error in invalid.errors:
            self.stderr.write(f"{error.pointer or '/'}: {error.detail} [{error.code}]")


def _scenario(file: str, seed: int | None) -> planning.Scenario:
    """The scenario of the file, dated today where it has no date of its own."""
    data, folder = (sys.stdin.buffer.read(), Path.cwd()) if file == "-" else (read_file(Path(file)), Path(file).parent)
    return planning.parse_scenario(with_seed(read_document(data, folder), seed), today=timezone.now().date())
