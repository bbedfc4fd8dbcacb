"""Rows as JSON, the same whichever engine holds them."""

import base64
import datetime
import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.apps.registry import Apps
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader

LEFT_OUT = frozenset({"sessions.session", "teams.browsersession"})
"""A row of it lets its reader in as the person; without it everybody signs in again."""
ROWS_AT_A_TIME = 200
HEAVY_ROWS_AT_A_TIME = 8
"""Of tables with packed bytes, whose rows have megabytes."""

Table = type[models.Model]
Row = Sequence[Any]


def migrations_applied(loader: MigrationLoader) -> dict[str, list[str]]:
    """Names of the migrations behind the tables, by app."""
    names: dict[str, list[str]] = {}
    for app, name in sorted(loader.applied_migrations):
        names.setdefault(app, []).append(name)
    return names


def last_of(loader: MigrationLoader, applied: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Of each app the applied migrations that no other applied one builds on. KeyError: one that this code lacks."""
    known = {(app, name) for app, names in applied.items() for name in names}
    unknown = known - set(loader.graph.nodes)
    if unknown:
        raise KeyError(min(unknown))
    followed = {
        parent.key for node in known for parent in loader.graph.node_map[node].parents if parent.key[0] == node[0]
    }
    return sorted(known - followed)


def tables_of(apps: Apps) -> dict[str, Table]:
    """Every table by its label in lower case, those between two models too."""
    found = {model._meta.label_lower: model for model in apps.get_models(include_auto_created=True)}
    stored = {label: model for label, model in found.items() if model._meta.managed and not model._meta.proxy}
    return {label: stored[label] for label in sorted(stored.keys() - LEFT_OUT)}


def columns_of(table: Table) -> "list[models.Field[Any, Any]]":
    return list(table._meta.concrete_fields)


def rows_of(table: Table, alias: str) -> Iterator[Row]:
    """All rows in the order of their keys, each value as it stands in the archive."""
    columns = columns_of(table)
    heavy = any(isinstance(column, models.BinaryField) for column in columns)
    names = [column.attname for column in columns]
    asked = table._base_manager.using(alias).order_by("pk").values_list(*names)
    for row in asked.iterator(chunk_size=HEAVY_ROWS_AT_A_TIME if heavy else ROWS_AT_A_TIME):
        yield [_packed(column, value) for column, value in zip(columns, row, strict=True)]


def _packed(column: "models.Field[Any, Any]", value: Any) -> Any:
    if value is None or isinstance(column, models.JSONField):
        return value
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, uuid.UUID | Decimal):
        return str(value)
    if isinstance(value, str | int | float):
        return value
    raise TypeError(f"{column}: no form for a {type(value).__name__}")


def parameters(columns: "Sequence[models.Field[Any, Any]]", row: Row, connection: BaseDatabaseWrapper) -> list[Any]:
    """A row of the archive as the engine's driver takes it. ValueError or ValidationError: no row of this table."""
    return [_parameter(column, value, connection) for column, value in zip(columns, row, strict=True)]


def _parameter(column: "models.Field[Any, Any]", value: Any, connection: BaseDatabaseWrapper) -> Any:
    if isinstance(column, models.JSONField):  # JSON's null is no NULL: a column without NULL must have been the former
        return None if value is None and column.null else column.get_db_prep_value(value, connection)
    if isinstance(column, models.BinaryField):
        value = None if value is None else base64.b64decode(value, validate=True)
    return column.get_db_prep_save(column.to_python(value) if value is not None else None, connection)


class Count:
    """How many rows, and a sum of their digests, which is the same in whatever order they come."""

    def __init__(self) -> None:
        self.rows = 0
        self._sum = 0

    def add(self, row: Row) -> None:
        self.rows += 1
        text = json.dumps(_comparable(row), sort_keys=True, separators=(",", ":"))
        self._sum += int.from_bytes(hashlib.sha256(text.encode()).digest())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Count) and (self.rows, self._sum) == (other.rows, other._sum)

    __hash__ = None  # type: ignore[assignment]  # it grows


def _comparable(value: Any) -> Any:
    """PostgreSQL keeps JSON's numbers as decimals, so 1e22 comes back as a whole number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [_comparable(each) for each in value]
    if isinstance(value, dict):
        return {name: _comparable(each) for name, each in value.items()}
    return value
