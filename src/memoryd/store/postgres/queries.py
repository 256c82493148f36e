"""Named statements on a connection to Postgres, and the transfer of vectors."""

import re
import struct
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import sql
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo

from memoryd.model import Workspace
from memoryd.store.base import Queries, Row
from memoryd.store.postgres.connection import Connection
from memoryd.store.sql import load, moving

LOOKED_UP = {
    "entities.by_id",
    "entities.named",
    "entities.spelled",
    "moved.entity_details_of",
    "relations.beside",
    "relations.find",
}
"""The statements for whose lists the planner would read a whole workspace, but looks each element of an array up."""


class HalfvecDumper(Dumper):
    """The conversion of an array to pgvector's halfvec: its dimension, two zero bytes, big-endian float16."""

    format = Format.BINARY

    def dump(self, obj: NDArray[Any]) -> bytes:
        return struct.pack(">HH", len(obj), 0) + obj.astype(">f2").tobytes()


class HalfvecLoader(Loader):
    """The conversion of a halfvec to an array of float32."""

    format = Format.BINARY

    def load(self, data: Any) -> NDArray[np.float32]:
        return np.frombuffer(bytes(data), ">f2", offset=4).astype(np.float32)


class PostgresQueries(Queries):
    """See `store.base.Queries`: the named statements on one connection."""

    def __init__(self, connection: Connection, workspace: Workspace | None, *, writing: bool = False) -> None:
        super().__init__(workspace)
        self.connection = connection
        self._writing = writing

    @property
    def writing(self) -> bool:
        """Whether the transaction may write."""
        return self._writing

    def all(self, name: str, /, **parameters: Any) -> list[Row]:
        return self._run(name, parameters).fetchall()

    def one(self, name: str, /, **parameters: Any) -> Row | None:
        return self._run(name, parameters).fetchone()

    def run(self, name: str, /, **parameters: Any) -> None:
        """Change rows; the server's answer comes with that to a later statement."""
        self._run(name, parameters)

    def changed(self, name: str, /, **parameters: Any) -> int:
        cursor = self._run(name, parameters)
        with self.connection.pipeline() as pipeline:
            pipeline.sync()
        return cursor.rowcount

    def many(self, name: str, rows: Iterable[Mapping[str, Any]], /) -> None:
        self.connection.cursor().executemany(statements()[name], [self._bound | dict(row) for row in rows])

    def composed(self, name: str, parts: Mapping[str, int | str], /, **parameters: Any) -> list[Row]:
        """Return every row of a statement with literals in place of its braces, planned for these values."""
        statement = sql.SQL(statements()[name]).format(**{key: sql.Literal(part) for key, part in parts.items()})
        return self.connection.execute(statement, self._bound | parameters, binary=True, prepare=False).fetchall()

    def define(self, name: str, names: Mapping[str, str], /, **parts: int | str) -> None:
        """Run a statement with names and literals in place of its braces."""
        literals = {key: sql.Literal(part) for key, part in parts.items()}
        identifiers = {key: sql.Identifier(value) for key, value in names.items()}
        self.connection.execute(sql.SQL(statements()[name]).format(**literals, **identifiers))

    def _run(self, name: str, parameters: Mapping[str, Any]) -> psycopg.Cursor[Row]:
        return self.connection.execute(statements()[name], self._bound | dict(parameters), binary=True)


@cache
def statements() -> dict[str, str]:
    """Return every statement, with psycopg's placeholders in place of `:name`."""
    return {
        name: re.sub(r"(?<![:\w]):([a-z_]+)", r"%(\1)s", _looked_up(name, text).replace("%", "%%"))
        for name, text in (load("postgres") | moving()).items()
    }


def _looked_up(name: str, text: str) -> str:
    """Return a statement with arrays in place of its lists, if it is one of LOOKED_UP."""
    return (
        re.sub(r"IN \((SELECT value FROM json_each\(:\w+\))\)", r"= ANY (ARRAY(\1))", text)
        if name in LOOKED_UP
        else text
    )


def configure(connection: Connection) -> None:
    """Prepare a connection to transfer vectors in binary, as numpy arrays."""
    if info := TypeInfo.fetch(connection, "halfvec"):
        dumper = type("Dumper", (HalfvecDumper,), {"oid": info.oid})
        connection.adapters.register_dumper(np.ndarray, dumper)
        connection.adapters.register_loader(info.oid, HalfvecLoader)


def limited(connection: Connection, pid: int = 0) -> Row:
    """Set limits and planner settings for the session if its process has this id, else only for this transaction.

    Return `pid`, `pooled` (whether the process has another id) and `seconds` (how long a statement may take).
    """
    row = limit(connection, pid).fetchone()
    assert row
    return row


def limit(connection: Connection, pid: int = 0) -> psycopg.Cursor[Row]:
    """Set the same without waiting for the answer."""
    return connection.execute(statements()["upkeep.session"], {"pid": pid})
