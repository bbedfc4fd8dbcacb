"""A backup brought back: the same rows, the same run, the same bytes, on either engine."""

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from django.apps import apps
from django.db import models
from django.db.migrations.loader import MigrationLoader

from planner.core.backups import BackupRefused, archive_open, backup_write
from planner.core.backups.restoring import _settle
from planner.core.backups.rows import LEFT_OUT, last_of, tables_of
from tests.processes import environment, manage
from tests.services import postgres_database

FILL = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
from django.contrib.sessions.backends.db import SessionStore
from planner import planning
from planner.core.backups.writing import _one_moment
from planner.runs import leases
from planner.runs.execution import execute
from planner.runs.models import Run
from planner.teams.models import AuditEvent, User
from tests import factories

owner = factories.make_user("ada@example.com")
team = factories.team_of(owner)
run = factories.make_run(owner)
execute(leases.claim(run.pk))
factories.make_run(owner, seed=2)  # stays queued
factories.make_trace(owner)
factories.make_upload(owner)
factories.make_entry(owner)
factories.make_webhook(owner)
details = {"z": 1e22, "a": [1.0, -0.0, None, 0.1]}
AuditEvent(team=team, actor=owner, actor_label="é ☃", action="a", details=details).save()
SessionStore().create()
with _one_moment() as alias:
    before = User.objects.using(alias).count()
    factories.make_user("grace@example.com")  # written while the backup reads, and nobody waits
    assert User.objects.using(alias).count() == before
"""
LOOK = """
import sys
from pathlib import Path
from planner.core.backups import BackupRefused, archive_open, backup_restore, backup_write
from planner.runs.models import Run
from planner.teams.models import AuditEvent, User
first, back = Path({first!r}), Path({back!r})
User.objects.create(email="new@example.com")  # gets a key of its own: the sequences went on
assert sorted(Run.objects.values_list("state", flat=True)) == ["done", "queued"]
assert AuditEvent.objects.get(action="a").details == {{"z": 1e22, "a": [1.0, 0.0, None, 0.1]}}
with archive_open(first) as archive:
    try:
        backup_restore(archive, overwrite=False)
    except BackupRefused as refused:
        print(refused)
    assert User.objects.count() == 3
    backup_restore(archive, overwrite=True)
assert sorted(User.objects.values_list("email", flat=True)) == ["ada@example.com", "grace@example.com"]
backup_write(back, with_secret_key=False, overwrite=False)
"""


def shell(variables: dict[str, str], script: str) -> str:
    return manage(variables, "shell", "--verbosity", "0", "--no-imports", "-c", script)


def on(folder: Path) -> dict[str, str]:
    return environment(PLANNER_DATA_DIR=str(folder))


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made of a SQLite database with a finished run, with the signing key."""
    folder = tmp_path_factory.mktemp("backup")
    variables = on(folder / "data")
    shell(variables, FILL)
    file = folder / "backup.zip"
    said = manage(variables, "backup", str(file), "--with-secret-key")
    assert "with the signing key" in said
    assert file.stat().st_mode & 0o077 == 0
    return file


def test_what_is_restored_into_an_empty_folder_gives_the_same_bytes(backup: Path, tmp_path: Path) -> None:
    said = manage(on(tmp_path), "restore", str(backup), "--rerun")
    assert "the same bytes" in said
    assert "The signing key came along" in said
    with zipfile.ZipFile(backup) as archive:
        assert (tmp_path / "secret_key").read_bytes() == archive.read("secret_key")
        assert not any(f"tables/{label}.jsonl" in archive.namelist() for label in LEFT_OUT)
    with closing(sqlite3.connect(tmp_path / "staircase.sqlite3")) as file:
        reports = sorted(report for (report,) in file.execute("SELECT report FROM runs_run"))
    assert reports[0] == ""
    assert json.loads(reports[1])["verdict"]
    assert "--overwrite replaces them" in manage(on(tmp_path), "restore", str(backup), code=2)


@pytest.mark.postgres
def test_sqlite_moves_to_postgresql_and_back(backup: Path, tmp_path: Path) -> None:
    back = tmp_path / "back.zip"
    with postgres_database() as url:
        variables = on(tmp_path / "moved") | {"PLANNER_DATABASE_URL": url}
        assert "Restored and read back" in manage(variables, "restore", str(backup))
        said = shell(variables, LOOK.format(first=str(backup), back=str(back)))
        assert "--overwrite replaces them" in said
    said = manage(on(tmp_path / "back"), "restore", str(back))
    assert "is another than was in use" in said


def changed(backup: Path, folder: Path, damage: str) -> Path:
    """The backup with something wrong."""
    target = folder / f"{damage}.zip"
    if damage == "cut":
        target.write_bytes(backup.read_bytes()[:-200])
        return target
    with zipfile.ZipFile(backup) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if damage == "row" and name == "tables/teams.user.jsonl":
                content = content.replace(b"ada@example.com", b"eve@example.com")
            if damage != "missing" or name != "tables/teams.user.jsonl":
                new.writestr(name, content)
    return target


@pytest.mark.parametrize(
    ("damage", "word"), [("cut", "was cut off"), ("row", "not as it was written"), ("missing", "not in both")]
)
def test_a_damaged_backup_is_refused_before_anything_is_done(
    backup: Path, tmp_path: Path, damage: str, word: str
) -> None:
    with pytest.raises(BackupRefused, match=word), archive_open(changed(backup, tmp_path, damage)):
        pass


def test_migrations_of_a_newer_version_are_told() -> None:
    with pytest.raises(KeyError, match="0099_later"):
        last_of(MigrationLoader(None), {"teams": ["0001_initial", "0099_later"]})


def test_a_backup_replaces_no_file_unless_told(tmp_path: Path) -> None:
    there = tmp_path / "there.zip"
    there.write_text("mine")
    with pytest.raises(BackupRefused, match="--overwrite replaces it"):
        backup_write(there, with_secret_key=False, overwrite=False)
    assert there.read_text() == "mine"


def test_a_database_that_someone_has_open_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "staircase.sqlite3"
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("CREATE TABLE t (a)")
        with pytest.raises(BackupRefused, match="in use"):
            _settle(path)
        other.execute("INSERT INTO t VALUES (1)")
        other.commit()
    _settle(path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_every_stored_byte_is_in_a_table() -> None:
    """A backup holds tables. Whoever keeps files beside them has to bring them into it."""
    for table in tables_of(apps).values():
        assert not [field for field in table._meta.get_fields() if isinstance(field, models.FileField)], table
