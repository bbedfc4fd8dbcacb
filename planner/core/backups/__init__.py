"""A backup: one ZIP file with every row of the database in a form that no engine owns, and a manifest that says what is
in it. What one engine wrote, the other reads, so a restore is the move from SQLite to PostgreSQL too."""

from planner.core.backups.archive import Archive, BackupRefused, Manifest, archive_open
from planner.core.backups.restoring import Restored, backup_restore
from planner.core.backups.writing import backup_write

__all__ = ["Archive", "BackupRefused", "Manifest", "Restored", "archive_open", "backup_restore", "backup_write"]
