"""`manage.py restore FILE`: the database of a backup, on SQLite or PostgreSQL, whichever it came from."""

import sys
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandParser

from planner.core.backups import BackupRefused, archive_open, backup_restore
from planner.runs.rerun import gives_the_same, newest_repeatable

DIFFERS, REFUSED = 1, 2


class Command(BaseCommand):
    help = (
        "Checks a backup and brings it into the configured database, SQLite or PostgreSQL. Exit 0; 1: with --rerun, "
        "the stored run gave another report; 2: refused, and nothing was changed."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--overwrite", action="store_true", help="replace what the database holds now")
        parser.add_argument("--check-only", action="store_true", help="check the file and say what is in it")
        parser.add_argument(
            "--rerun", action="store_true", help="then compute the newest stored run anew and compare the report"
        )
        parser.add_argument("--data-dir", help="Where everything is kept (default: PLANNER_DATA_DIR, else ./var).")

    def handle(self, *, file: Path, overwrite: bool, check_only: bool, rerun: bool, **_: Any) -> None:
        try:
            with archive_open(file) as archive:
                manifest = archive.manifest
                self.stdout.write(
                    f"{file}: whole; from {manifest.database}, {manifest.made_at:%Y-%m-%d %H:%M} UTC, "
                    f"engine and catalog {manifest.result_version}"
                )
                if check_only:
                    return
                restored = backup_restore(archive, overwrite=overwrite)
        except BackupRefused as refused:
            self.stderr.write(f"staircase: {refused}")
            sys.exit(REFUSED)
        self.stdout.write(f"Restored and read back: {restored.rows:,} rows in {restored.tables} tables. {restored.key}")
        if rerun:
            self._rerun()

    def _rerun(self) -> None:
        run = newest_repeatable()
        if run is None:
            self.stdout.write("No stored run is of the present engine and catalog, so none was computed anew.")
            return
        same = gives_the_same(run)
        self.stdout.write(f"Run {run.pk} computed anew: {'the same bytes' if same else 'ANOTHER report'}.")
        if not same:
            sys.exit(DIFFERS)
