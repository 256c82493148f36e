"""The rows that can still be read of a damaged file, whatever is left of its tables: rows are known by their form."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

import apsw

from memoryd.store.base import Row
from memoryd.store.columns import EXPORTED
from memoryd.store.sql import migrations
from memoryd.store.sqlite import pages
from memoryd.store.sqlite.connection import equipped, rows
from memoryd.store.sqlite.pages import Cell, Pages

WANTED = ("projects", *EXPORTED)
_AFFINITY = {"TEXT": (str,), "INTEGER": (int,), "REAL": (float, int), "BLOB": (bytes,)}


@dataclass(frozen=True, slots=True)
class _Form:
    """A table: what the pages with its rows are, and what its values are, in the order in which they are stored."""

    table: str
    in_leaves: bool
    columns: Sequence[str]
    types: Sequence[tuple[type, ...]]
    """The types of each column's values; none for the row id, which is not stored."""
    optional: Sequence[bool]
    defaults: Mapping[str, Any]
    """The values of the columns that were added later, which older rows lack."""

    def fits(self, kind: int, types: Sequence[int]) -> bool:
        """Return whether a row may be of this table, by the type of its page and the serial types of its values."""
        lacking = self.columns[len(types) :]
        return (
            (kind == pages.TABLE) == self.in_leaves
            and len(types) <= len(self.columns)
            and all(name in self.defaults for name in lacking)
            and all(map(_fits, types, self.types, self.optional))
        )

    def row(self, cell: Cell) -> Row:
        """Return a row by its columns; raise ValueError for a text that is not UTF-8."""
        key, types, body = cell
        row = dict(self.defaults) | dict(zip(self.columns, pages.values(types, body), strict=False))
        return row | {name: key for name, of in zip(self.columns, self.types, strict=True) if not of}


def _fits(serial: int, types: tuple[type, ...], optional: bool) -> bool:
    if serial == 0:
        return optional or not types
    if serial >= pages.BLOB:
        return (str if serial % 2 else bytes) in types
    return (float if serial == pages.REAL else int) in types


def rows_in(source: Pages) -> Iterator[tuple[str, Row]]:
    """Yield the rows of WANTED tables. A row may occur twice, and one of another table may look like one of them."""
    forms = _forms()
    for kind, cell in source.cells():
        for form in forms:
            if form.fits(kind, cell[1]):
                with suppress(ValueError):  # its text was overwritten
                    yield form.table, form.row(cell)


def _forms() -> list[_Form]:
    """Return the forms of the tables in the present schema."""
    with closing(equipped(apsw.Connection(":memory:"))) as connection:
        for script in migrations("sqlite").values():
            connection.execute(script)
        return [_form(connection, table) for table in WANTED]


def _form(connection: apsw.Connection, table: str) -> _Form:
    listed = list(rows(connection, f"PRAGMA table_info({table})"))
    has_ids = not next(rows(connection, f"PRAGMA table_list({table})"))["wr"]
    if not has_ids:  # the key comes first
        listed.sort(key=lambda column: (not column["pk"], column["pk"]))
    hidden = [has_ids and column["pk"] and column["type"] == "INTEGER" for column in listed]
    return _Form(
        table=table,
        in_leaves=has_ids,
        columns=[column["name"] for column in listed],
        types=[() if id_ else _AFFINITY[column["type"]] for column, id_ in zip(listed, hidden, strict=True)],
        optional=[not column["notnull"] and not column["pk"] for column in listed],
        defaults={
            column["name"]: connection.execute(f"SELECT {column['dflt_value']}").get
            for column in listed
            if column["dflt_value"] is not None
        },
    )
