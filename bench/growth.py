"""The growth of a Postgres database of many workspaces: bytes by table and index, and the time of a store and a recall.

    python -m bench.growth [RECORDS ...] [--directory DIR]

RECORDS are totals, 100,000 and 1,000,000 by default, in workspaces of 10,000. A workspace of 500 memories is created as
users create it, with the bundled embedder; all others are copies of it with other ids. The database is in a temporary
directory, and takes about 4 KB per record there. There is no index over vectors.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import psycopg

from bench.speed import fact, median_ms, question
from bench.tables import show
from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.settings import Settings
from memoryd.store.postgres.managed_server import ManagedServer

SEED, LARGE = 500, 10_000
ROUNDS = 40
TABLES = {
    "records": "kind, name, type, body, tags, scope, session_id, created_at, updated_at",
    "memory_details": "fingerprint, importance, access_count, accessed_at, consolidated, superseded_by",
    "embeddings": "chunk, perspective, model, dim, vector",
}
"""The columns that are copied from each table, besides workspace and id."""
OTHER_ID = "md5(%(workspace)s || copy || id)::uuid::text"

SIZES = """
    SELECT CASE WHEN c.relname LIKE 'embeddings\\_%%' THEN regexp_replace(c.relname, '[0-9]+', 'N') ELSE c.relname END
      AS name, sum(pg_relation_size(c.oid) + coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0))::bigint AS bytes
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND c.relkind IN ('r', 'i') GROUP BY 1 ORDER BY 2 DESC
"""


def copied(connection: psycopg.Connection, seed: str, number: int) -> None:
    """Add a workspace of LARGE records, which repeat those of the seed."""
    named = {"seed": seed, "workspace": f"copy {number}", "last": LARGE // SEED}
    connection.execute(
        "INSERT INTO projects (id, name, db_path, created_at, updated_at) "
        "SELECT %(workspace)s, %(workspace)s, db_path, created_at, updated_at FROM projects WHERE id = %(seed)s",
        named,
    )
    for table, columns in TABLES.items():
        connection.execute(
            f"INSERT INTO {table} (workspace_id, id, {columns}) "
            f"SELECT %(workspace)s, {OTHER_ID}, {columns} FROM {table}, generate_series(1, %(last)s) copy "
            "WHERE workspace_id = %(seed)s",
            named,
        )
    connection.commit()


def grown(engine: Engine, url: str, records: int) -> tuple[dict[str, float], list[str]]:
    """Return bytes per record by relation, and milliseconds of a store and of a recall in a small and a large one."""
    seed = engine.workspaces.find("seed")
    with psycopg.connect(url) as connection:
        have = connection.execute("SELECT count(*) FROM projects WHERE name LIKE 'copy %'").fetchall()[0][0]
        for number in range(have, records // LARGE):
            copied(connection, seed.id, number)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        total = connection.execute("SELECT count(*) FROM records").fetchall()[0][0]
        sizes = {name: size / total for name, size in connection.execute(SIZES).fetchall()}
    chance = random.Random(1)
    places = [engine.workspaces.find(f"copy {chance.randrange(records // LARGE)}") for _ in range(ROUNDS)]
    small = Memories(Scope(engine, seed, "bench"))
    large = [Memories(Scope(engine, place, "bench")) for place in places]
    works = (
        lambda n: large[n].store(fact(10**7 + records + n)),
        lambda n: small.recall(question(n), 500),
        lambda n: large[n].recall(question(n), 500),
    )
    return sizes, [f"{median_ms(work, ROUNDS)[0]:.0f}" for work in works]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--directory", type=Path)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(dir=given.directory) as directory,
        closing(ManagedServer(Path(directory))) as server,
    ):
        url = server.url()
        settings = Settings.read(
            {
                "MEMORY_DATABASE_URL": url,
                "MEMORY_DATA_DIR": directory,
                "MEMORY_RERANKER": "none",
                "MEMORY_MODEL_DIR": str(Settings.read().models),
            }
        )
        with Engine(settings) as engine:
            engine.helpers.embedder.start()
            engine.helpers.embedder.get(60)
            memories = Memories(Scope(engine, engine.workspaces.ensure("seed"), "bench"))
            for number in range(SEED):
                memories.store(fact(number))
            found = []
            for records in given.records:
                began = time.monotonic()
                found.append(grown(engine, url, records))
                print(f"{records:,} records after {time.monotonic() - began:.0f} s", flush=True)
    report(given.records, found)


def report(records: Sequence[int], found: Sequence[tuple[dict[str, float], list[str]]]) -> None:
    """Print the figures."""
    titles = [f"{number:,}" for number in records]
    names = [name for name, size in found[-1][0].items() if size >= 1]
    rows = [[name, *(f"{sizes.get(name, 0):,.0f}" for sizes, _ in found)] for name in names]
    rows.append(["all", *(f"{sum(sizes.values()):,.0f}" for sizes, _ in found)])
    show("bytes a record", ["", *titles], rows)
    whats = ("store", f"recall in {SEED}", f"recall in {LARGE:,}")
    show("median ms", ["", *titles], [[what, *(times[n] for _, times in found)] for n, what in enumerate(whats)])


if __name__ == "__main__":
    main()
