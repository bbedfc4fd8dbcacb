"""`manage.py fit`: fit the step-time constants to the vendored measurements."""

import sys
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandParser

from planner.planning.command import INVALID
from planner.planning.fitting import command
from planner.planning.fitting.fit import Fit
from planner.planning.fitting.rows import vendored
from planner.planning.fitting.store import StaleResponsesError, stored_responses


class Command(BaseCommand):
    help = (
        "Fits the step-time constants to the measured rows in planner/planning/fitting/data and prints them beside "
        "their priors, with the errors in sample and held out. Exit 1 with --check where the shipped constants differ; "
        "2: a file cannot be read."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--simulate",
            action="store_true",
            help="first make the rows' responses anew, which takes minutes, and store them",
        )
        parser.add_argument("--write", action="store_true", help="write constants, folds and residuals")
        parser.add_argument("--check", action="store_true", help="compare with the shipped constants only")
        parser.add_argument(
            "--rows",
            type=Path,
            nargs="+",
            metavar="F",
            help="first make rows.csv from these tables; implies --simulate",
        )

    def handle(self, **options: Any) -> None:
        if options["rows"]:
            try:
                text = vendored(path.read_bytes() for path in options["rows"])
            except OSError as error:
                self.stderr.write(f"{error.filename} cannot be read: {error.strerror}.")
                sys.exit(INVALID)
            (command.OWN_DATA / "rows.csv").write_text(text, encoding="utf-8")
        if options["simulate"] or options["rows"]:
            command.simulate_again()
        try:
            pairs = stored_responses()
        except StaleResponsesError as problem:
            self.stderr.write(str(problem))
            sys.exit(INVALID)
        if options["check"]:
            self._check(command.refit(pairs))
            return
        fitted = command.fit_all(pairs)
        self.stdout.write(command.constants_table(fitted.fit))
        self.stdout.write(f"\n{command.errors_table(fitted)}")
        self.stdout.write(f"\nsettled in {fitted.fit.rounds} rounds" if fitted.fit.settled else "\nnot settled")
        if options["write"]:
            for path in command.write(fitted):
                self.stdout.write(f"written: {path}")

    def _check(self, fit: Fit) -> None:
        found = command.differences(fit)
        for line in found:
            self.stdout.write(line)
        self.stdout.write(f"{len(found)} constants differ by more than {command.TOLERANCE_RATIO:.0%}")
        if found:
            sys.exit(1)
