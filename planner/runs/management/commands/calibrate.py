"""`manage.py calibrate FILES… --scenario FILE`: step-time factors fitted to measured runs, without a team."""

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

from django.core.management import BaseCommand, CommandParser
from django.utils import timezone

from planner import planning
from planner.planning.calibration.calibrate import NothingToFit
from planner.planning.calibration.command import calibrate_files, calibration_text
from planner.planning.command import INVALID, read_document, read_file
from planner.planning.errors import FieldError, pointer, show
from planner.planning.importers import ImportRefused


class Command(BaseCommand):
    help = (
        "Fits a few factors on the shipped step-time constants to the runs of result files, of the one deployment that "
        "the scenario names (one GPU, one tensor-parallel size). --out writes the scenario with the calibration, for "
        "`plan`. Exit 0; 2: a file or the scenario cannot be used."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "files", type=Path, nargs="+", metavar="FILE", help="result of a load test, or folder of a request log"
        )
        parser.add_argument("--scenario", type=Path, required=True, metavar="FILE", help="says where it was measured")
        parser.add_argument("--measured-on", type=date.fromisoformat, metavar="DATE", help="day of the runs; today")
        parser.add_argument("--out", type=Path, metavar="FILE", help="write the scenario with the calibration here")
        parser.add_argument("--json", action="store_true", help="print the calibration, or the errors, as JSON")

    def handle(self, *, files: list[Path], scenario: Path, **options: Any) -> None:
        today = timezone.now().date()
        try:
            parsed = planning.parse_scenario(read_document(read_file(scenario), scenario.parent), today=today)
            made = calibrate_files(files, parsed, options["measured_on"] or today)
        except planning.ScenarioInvalid as invalid:
            self._stop(list(invalid.errors), as_json=options["json"])
        except ImportRefused as refused:
            self._stop([FieldError(refused.code, "", "", "a measurement", str(refused))], as_json=options["json"])
        except NothingToFit as nothing:
            self._stop(
                [FieldError("nothing_to_fit", "", "", "runs with a load", str(nothing))], as_json=options["json"]
            )
        stated = made.calibrated.stated
        if options["out"] is not None:
            text = planning.canonical_json(parsed.model_copy(update={"calibrations": (stated,)}))
            try:
                options["out"].write_text(f"{text}\n", encoding="utf-8")
            except OSError as error:
                detail = f"{error.strerror or 'cannot be written'}."
                given = show(str(options["out"]))
                self._stop(
                    [FieldError("file_unwritable", pointer("out"), given, "a path that can be written", detail)],
                    as_json=options["json"],
                )
        if options["json"]:
            told = {"calibration": stated.model_dump(mode="json"), **made.calibrated.told}
            told["left_out"] = [{"label": a, "reason": b} for a, b in made.left_out] + told["left_out"]
            self.stdout.write(json.dumps(told, ensure_ascii=False))
        else:
            self.stdout.write(calibration_text(made))

    def _stop(self, errors: list[FieldError], *, as_json: bool) -> NoReturn:
        if as_json:
            self.stdout.write(json.dumps({"errors": [error.as_dict() for error in errors]}, ensure_ascii=False))
        else:
            for error in errors:
                self.stderr.write(f"{error.pointer or '/'}: {error.detail} [{error.code}]")
        sys.exit(INVALID)
