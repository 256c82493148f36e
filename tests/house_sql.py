"""The SQL rules of the code base: named statements, migrations, tables."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from memoryd.store.columns import MOVED
from memoryd.store.sql import spelled, with_parts
from memoryd.store.sqlite.connection import equipped
from tests.house_tree import PACKAGE, Located, nodes, read

SQL = f"{PACKAGE}/store/sql"
MIGRATIONS = f"{SQL}/sqlite/migrations"
SHARED_MIGRATIONS = f"{SQL}/migrations"
POSTGRES = "store/postgres/"
NOUN_VERB = r"[a-z_]+\.[a-z_]+"  # no digits: the loader would take a header with digits for SQL

SHARED_TABLES = {
    name: " ".join((*(() if table.registry else ("workspace_id",)), *table.stored)) for name, table in MOVED.items()
}
"""The columns that a table has in every dialect."""

OWN_COLUMNS = {"sqlite": {"records": {"rid", "related"}, "embeddings": {"seq"}}}
"""The columns that a shared table has only in one dialect, or that a database derives."""


@dataclass(frozen=True)
class Query:
    """A statement under its `-- name:` header; `notes` are the comment lines that follow it."""

    folder: str
    place: str
    name: str
    notes: str
    sql: str


def _statements(root: Path) -> Iterator[Query]:
    """Yield the named statements, shared ones first. The text before the first name of a file has the name ''."""
    base = root / SQL
    slices = sorted((root / PACKAGE / "features").glob("*/sql/*.sql"))
    for path in [*sorted(base.glob("*.sql")), *slices, *sorted(base.glob("*/*.sql"))]:
        if path.parent == root / SHARED_MIGRATIONS:
            continue
        head, *parts = re.split(r"^(-- name:.*\n)", read(path), flags=re.MULTILINE)
        folder = "." if path in slices else path.parent.relative_to(base).as_posix()
        place, line = path.relative_to(root).as_posix(), 1
        for header, body in [("", head), *zip(parts[::2], parts[1::2], strict=True)]:
            name = header.removeprefix("-- name:").strip()
            sql = re.sub(r"\A(--.*\n|\s)*", "", body)
            yield Query(folder, f"{place}:{line}", name, body.removesuffix(sql).strip(), sql.strip())
            line += (header + body).count("\n")


def queries(root: Path, dialect: str) -> dict[str, Query]:
    """Return the named statements of a dialect, with their parts: the shared ones, then its own."""
    found = {query.name: query for query in _statements(root) if query.name and query.folder in {".", dialect}}
    whole = with_parts({name: query.sql for name, query in found.items()})
    return {name: replace(found[name], sql=sql) for name, sql in whole.items()}


def _bare(sql: str) -> str:
    """Return a statement without comments and with empty strings."""
    quoted = r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"[^"]*\""""
    return re.sub(quoted, lambda found: " " if found[0][0] in "-/" else "''", sql, flags=re.DOTALL)


def check_queries_are_well_formed(root: Path) -> list[str]:
    """Check that each query is one statement under `-- name: noun.verb` and a description, with `:name` parameters."""
    found = []
    seen = set()
    for query in _statements(root):
        key = (query.folder, query.name)  # a dialect may replace a shared statement
        faults = _faults(query) + (["is defined twice"] if query.name and key in seen else [])
        found += [f"{query.place} {query.name or 'the head of the file'} {fault}." for fault in faults]
        seen.add(key)
    return found


def _faults(query: Query) -> list[str]:
    sql = _bare(query.sql).strip().removesuffix(";")
    if not query.name:
        return ["has a statement without a name"] if sql else []
    faults = {
        "is not named noun.verb": not re.fullmatch(NOUN_VERB, query.name),
        "has no comment line that says what it does": not query.notes,
        "is empty": not sql,
        "is more than one statement": ";" in sql,
        "has a parameter that is not written :name": re.search(r"\?|[@$]\w", sql),
        # It silently corrupts external-content FTS5, and PRAGMA integrity_check still says ok.
        "replaces rows: use ON CONFLICT DO UPDATE": re.search(r"(?i)\bOR\s+REPLACE\b|\bREPLACE\s+INTO\b", sql),
    }
    return [fault for fault, is_so in faults.items() if is_so]


def check_queries_are_used(root: Path) -> list[str]:
    """Check that every named query occurs in the package as a string, and every part in a query."""
    literals = {node.value for _, node, _ in nodes(root, ast.Constant) if isinstance(node, ast.Constant)}
    literals |= {part for query in _statements(root) for part in re.findall(r"\{(parts\.\w+)\}", query.sql)}
    return [
        f"{query.place} {query.name} is not used."
        for query in _statements(root)
        if query.name and query.name not in literals
    ]


def check_queries_exist(root: Path) -> list[str]:
    """Check that every `noun.verb` passed to a method of Queries is a named query of SQLite."""
    known = queries(root, "sqlite")
    return [
        f"{place} uses {name}, which is not a named query."
        for module, node, place in nodes(root, ast.Call)
        if not module.lives_in([POSTGRES])
        for name in _asked(node)
        if re.fullmatch(NOUN_VERB, name) and name not in known
    ]


def _asked(node: Located) -> list[str]:
    """Return the first argument of a call of a method of Queries: a string, or two (`a if so else b`)."""
    match node:
        case ast.Call(func=ast.Attribute(attr="one" | "all" | "run" | "changed" | "many" | "value"), args=[first, *_]):
            choices = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
            return [c.value for c in choices if isinstance(c, ast.Constant) and isinstance(c.value, str)]
    return []


def check_migrations_apply(root: Path, database: apsw.Connection | None = None) -> list[str]:
    """Check that migrations are numbered without a gap, and apply to an empty database."""
    database = database or equipped(apsw.Connection(":memory:"))
    paths = sorted((root / MIGRATIONS).glob("*.sql"))
    found = [] if paths else [f"{MIGRATIONS}:1 contains no migration."]
    first = int(next(iter(re.findall(r"\d+", paths[0].name)), 1)) if paths else 1
    for number, path in enumerate(paths, first):
        place = f"{path.relative_to(root).as_posix()}:1"
        if not re.fullmatch(rf"{number:04}_[a-z0-9_]+\.sql", path.name):
            found.append(f"{place} has the wrong name: call it {number:04}_something.sql.")
        try:
            database.execute(_whole(root, path))
        except apsw.Error as error:
            found.append(f"{place} does not apply: {error}.")
    return found


def _whole(root: Path, path: Path) -> str:
    """Return the script of a version on SQLite: the shared one, if there is one, and its own."""
    shared = (root / SHARED_MIGRATIONS).glob(f"{path.name.partition('_')[0]}_*.sql")
    return "".join(spelled(read(one), "sqlite") for one in [*shared, path])


def check_queries_prepare(root: Path) -> list[str]:
    """Check that every query of SQLite compiles on a database with all migrations."""
    database = equipped(apsw.Connection(":memory:"))
    check_migrations_apply(root, database)
    found = []
    for query in queries(root, "sqlite").values():
        nothing = dict.fromkeys(re.findall(r"(?<![:\w]):([A-Za-z_]\w*)", _bare(query.sql)))
        try:
            database.execute(f"EXPLAIN {query.sql}", nothing)
        except apsw.Error as error:
            found.append(f"{query.place} {query.name} does not prepare on SQLite: {error}.")
    return found


def check_shared_tables_agree(root: Path) -> list[str]:
    """Check that each table of SHARED_TABLES has these columns and no others."""
    database = equipped(apsw.Connection(":memory:"))
    check_migrations_apply(root, database)
    found = []
    for table, columns in SHARED_TABLES.items():
        rows = database.execute("SELECT name FROM pragma_table_info(?)", (table,))
        there = {str(name) for (name,) in rows} - OWN_COLUMNS["sqlite"].get(table, set())
        lacks, more = sorted(set(columns.split()) - there), sorted(there - set(columns.split()))
        if lacks or more:
            found.append(f"{MIGRATIONS}:1 table {table} lacks {lacks} and has {more}, compared with SHARED_TABLES.")
    return found


def check_sql_stays_in_the_store(root: Path) -> list[str]:
    """Check that no string outside store/ is an SQL statement."""
    statement = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|CREATE|ALTER|DROP|PRAGMA|WITH)\s")
    return [
        f"{place} writes SQL, which belongs in store/sql/."
        for module, node, place in nodes(root, ast.Constant)
        if isinstance(node, ast.Constant) and statement.match(str(node.value)) and not module.lives_in(["store/"])
    ]
