"""The schema on Postgres: its requirements, and its upgrades."""

from psycopg import errors

from memoryd.errors import StoreError
from memoryd.store.base import Row
from memoryd.store.postgres.connection import Connection
from memoryd.store.sql import load, migrations, outstanding

NEEDED = {"vector": (0, 8), "btree_gin": (1,), "unaccent": (1,)}
"""The required extensions, and their minimum versions."""
FORMER = (
    "take it over by way of a file. In a new environment, run `pip install 'memoryd[postgres] @ "
    "git+https://github.com/memoryd/memoryd@259e83cc'` (the last version that reads it), and with that "
    "`memoryd migrate --from URL --to former.db`; then, with this version, `memoryd migrate --from former.db --to URL` "
    "of a new database."
)


def asked(connection: Connection, name: str) -> Row:
    """Return the only row of a statement without parameters."""
    row = connection.execute(load("postgres")[name]).fetchone()
    return row or {}


def version_of(connection: Connection) -> int:
    """Return the version of the schema, or 0 if there is none; change nothing."""
    known = asked(connection, "upkeep.known")["known"]
    return int(asked(connection, "upkeep.version")["version"]) if known else 0


def bring_up_to_date(connection: Connection, place: str, *, read_only: bool) -> None:
    """Apply the scripts that the database lacks, each with its number in one transaction, one process at a time.

    Raise StoreError, before anything is changed, if the database is newer or lacks what the schema requires.
    """
    found, scripts = version_of(connection), migrations("postgres")
    waiting = outstanding(f"The database at {place}", found, scripts, FORMER)
    if lacks := lacking(connection, found):
        problem, _, remedy = lacks[0].partition(". ")
        raise StoreError(f"At {place} {problem}. Nothing was changed. {remedy}")
    connection.limit = None
    if read_only and waiting:
        raise StoreError(
            f"The database at {place} has schema version {found}, but this memoryd needs {max(scripts)}, and a "
            "read-only process may not upgrade it. Start a memoryd process that can write there once."
        )

    try:
        for version, script in waiting.items():
            _apply(connection, version, script)
    except errors.InsufficientPrivilege as error:
        raise StoreError(_for_an_operator(connection, place, str(error).splitlines()[0])) from error
    except (errors.DuplicateTable, errors.DuplicateFunction, errors.DuplicateObject) as error:
        role = asked(connection, "upkeep.server")["role"]
        raise StoreError(
            f"At {place} another program uses a name that memoryd's schema needs ({str(error).splitlines()[0]}). "
            "Nothing was changed. Name a separate database in MEMORY_DATABASE_URL, or create a schema there: CREATE "
            f'SCHEMA memoryd AUTHORIZATION "{role}"; ALTER ROLE "{role}" SET search_path = memoryd, public;'
        ) from error


def _apply(connection: Connection, version: int, script: str) -> None:
    with connection.transaction():
        connection.execute(load("postgres")["upkeep.queue"])
        found = version_of(connection)
        if found < version:  # no other process has done it while this one waited
            connection.execute(load("postgres")["upkeep.patience"])
            connection.execute(script)
            if not found:
                connection.execute("CREATE TABLE schema_version (version INTEGER PRIMARY KEY)")
            connection.execute("INSERT INTO schema_version (version) VALUES (%s)", (version,))


def lacking(connection: Connection, version: int) -> list[str]:
    """Return what is wrong with the encoding and the extensions, each with a remedy."""
    encoding = asked(connection, "upkeep.encoding")["encoding"]
    if encoding != "UTF8":
        making = "Create one with TEMPLATE template0 ENCODING 'UTF8'; pg_dump and pg_restore move the data."
        return [f"the encoding is {encoding}, which cannot store every text. {making}"]
    rows = {row["name"]: row for row in connection.execute(load("postgres")["upkeep.extensions"]).fetchall()}
    return [text for name in NEEDED if (text := _lack(name, rows.get(name, {}), version))]


def _lack(name: str, row: Row, version: int) -> str:
    """Return what is wrong with one extension; '' if nothing is."""
    least = ".".join(map(str, NEEDED[name]))
    package = f"pgvector {least} or later" if name == "vector" else f"the contrib extension {name}"
    if installed := row.get("installed"):
        if _number(installed) >= NEEDED[name]:
            return "" if row["in_path"] else _hidden(name, row)
        before = "As" if _will_do(name, row) else f"Install {package} on the server; then, as"
        return (
            f"the extension {name} is version {installed}, and {least} is needed. "
            f"{before} its owner, run: ALTER EXTENSION {name} UPDATE."
        )
    if not _will_do(name, row):
        there = f"is available only as version {row['available']}" if row else "is not installed on the server"
        return f"the extension {name} {there}. Install {package} on the server (the image pgvector/pgvector has all)."
    if version:
        return f"the extension {name} was dropped. Run CREATE EXTENSION {name}, or restore a backup."
    return ""


def _hidden(name: str, row: Row) -> str:
    """Return the problem that an extension is in a schema where the role does not, or may not, look."""
    return (
        f"the extension {name} is in the schema {row['place']}, where the role {row['role']} does not look. "
        f'Run GRANT USAGE ON SCHEMA "{row["place"]}" TO "{row["role"]}"; and add the schema to the value of SHOW '
        f'search_path with ALTER ROLE "{row["role"]}" SET search_path.'
    )


def _will_do(name: str, row: Row) -> bool:
    return bool(row) and _number(row["available"]) >= NEEDED[name]


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _for_an_operator(connection: Connection, place: str, cause: str) -> str:
    """Return an error message with the statements that an operator must run once."""
    server = asked(connection, "upkeep.server")
    if server["owner"]:
        return (
            f"The role {server['role']} may not upgrade memoryd's tables at {place} ({cause}). Nothing was "
            f"changed. Run `memoryd doctor` once with their owner, {server['owner']}, in MEMORY_DATABASE_URL."
        )
    extensions = "; ".join(f"CREATE EXTENSION IF NOT EXISTS {name}" for name in NEEDED)
    grant = f'GRANT CREATE ON SCHEMA {server["place"] or "public"} TO "{server["role"]}"'
    return (
        f"The role {server['role']} may not create memoryd's tables at {place} ({cause}). Nothing was changed. "
        f"Let an operator run there: {extensions}; {grant};"
    )
