"""`manage.py backup FILE`: everything that cannot be computed again, in one file, while all runs."""

import sys
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandParser

from planner.core.backups import BackupRefused, backup_write

REFUSED = 2


class Command(BaseCommand):
    help = "Writes database and manifest into one file, from SQLite or PostgreSQL, while all runs. Exit 0; 2: refused."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--with-secret-key", action="store_true", help="the signing key too: keep FILE as secret")
        parser.add_argument("--overwrite", action="store_true", help="replace FILE if it is there")
        parser.add_argument("--data-dir", help="Where everything is kept (default: PLANNER_DATA_DIR, else ./var).")

    def handle(self, *, file: Path, with_secret_key: bool, overwrite: bool, **_: Any) -> None:
        try:
            manifest = backup_write(file, with_secret_key=with_secret_key, overwrite=overwrite)
        except BackupRefused as refused:
            self.stderr.write(f"staircase: {refused}")
            sys.exit(REFUSED)
        rows = sum(part.rows or 0 for part in manifest.tables.values())
        key = "with the signing key" if manifest.files else "without the signing key"
        size_mib = file.stat().st_size / (1 << 20)
        tables = len(manifest.tables)
        self.stdout.write(
            f"{file}: {rows:,} rows of {tables} tables from {manifest.database}, {key}; {size_mib:.1f} MiB"
        )
