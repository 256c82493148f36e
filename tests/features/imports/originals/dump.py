"""Write some tables of a SQLite file as statements: python dump.py DATABASE TABLE... > FILE

Columns keep their names and declared types; constraints, indexes and search tables are omitted.
"""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing


def statements(database: sqlite3.Connection, table: str) -> Iterator[str]:
    columns = database.execute(f'PRAGMA table_info("{table}")').fetchall()
    yield f"CREATE TABLE {table} ({', '.join(f'{name} {kind}'.strip() for _, name, kind, *_ in columns)});"
    quoted = ", ".join(f'quote("{name}")' for _, name, *_ in columns)
    for row in database.execute(f'SELECT {quoted} FROM "{table}" ORDER BY 1'):
        yield f"INSERT INTO {table} VALUES ({', '.join(row)});"


def main() -> None:
    path, *tables = sys.argv[1:]
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        for table in tables:
            for line in statements(database, table):
                sys.stdout.write(f"{line}\n")


main()
