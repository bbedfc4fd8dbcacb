"""What was made of a query's rows, kept for as long as the database answers with the very same rows.

Compiling a query and building its objects takes some thirty times as long as asking a compiled one again, which hurts
where a sheet asks the same 200 times. Nothing goes stale: each time the database is asked, and every column compared.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import Field, Model, QuerySet

Row = TypeVar("Row", bound=Model)
Made = TypeVar("Made")
MOST_KEPT = 1000


class Remembered(Generic[Row, Made]):
    """`rows`: all columns that `make` reads, of every key. `key_field`: the name of the field that a key is looked up
    by. What is made is shared between threads and requests, so whoever gets it must not change it."""

    def __init__(
        self, rows: Callable[[], QuerySet[Row]], key_field: str, make: Callable[[Sequence[Row]], Made]
    ) -> None:
        self._rows, self._key_field, self._make = rows, key_field, make
        self._kept: OrderedDict[Any, tuple[list[Any], Made]] = OrderedDict()
        self._compiled: tuple[str, list[Any], int] | None = None
        self._field: Field[Any, Any] | None = None
        self._lock = Lock()

    def of(self, key: Any) -> Made:
        """What the rows of this key make now."""
        answered = self._ask(key)
        if not answered:
            return self._make(())
        with self._lock:
            known = self._kept.get(key)
        if known is not None and known[0] == answered:
            return known[1]
        made = self._make(list(self._rows().filter(**{self._key_field: key})))
        if self._ask(key) == answered:  # else they changed meanwhile, and which of the two was made is not known
            with self._lock:
                self._kept[key] = (answered, made)
                if len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
        return made

    def _ask(self, key: Any) -> list[Any]:
        """The rows as the database's driver gives them."""
        sql, values, place = self._compiled or self._compile(key)
        with connection.cursor() as cursor:
            cursor.execute(sql, [*values[:place], self._stored(key), *values[place + 1 :]])
            return list(cursor.fetchall())

    def _compile(self, key: Any) -> tuple[str, list[Any], int]:
        sql, values = self._rows().filter(**{self._key_field: key}).query.sql_with_params()
        stored = self._stored(key)
        (place,) = (number for number, value in enumerate(values) if value == stored)
        self._compiled = (sql, list(values), place)
        return self._compiled

    def _stored(self, key: Any) -> Any:
        """The key as the database stores it."""
        if self._field is None:
            field = self._rows().model._meta.get_field(self._key_field)
            assert isinstance(field, Field)
            self._field = field
        return self._field.get_db_prep_value(key, connection)
