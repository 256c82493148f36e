"""Statements that read a few rows of a large workspace, or each row once: counted in the pages that they touch."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from memoryd.model import GENERAL
from memoryd.store.postgres.queries import statements
from memoryd.store.postgres.store import PostgresStore
from tests.clients import database
from tests.store.kit import MODEL, NOW, put, workspace

RECORDS = 10_000
BATCH = sorted(hashlib.md5(b"%d" % n, usedforsecurity=False).hexdigest() for n in range(1, RECORDS + 1))[64:128]
FILL = """
SET session_replication_role = replica;
INSERT INTO records (workspace_id, id, kind, body, created_at, updated_at)
  SELECT '{here}', md5(n::text), 'memory', 'text ' || n, '{now}', '{now}' FROM generate_series(1, {number}) n;
INSERT INTO embeddings (workspace_id, id, chunk, perspective, model, dim, vector)
  SELECT '{here}', md5(n::text), 0, '{perspective}', '{model}', 3, '[1,0,0]' FROM generate_series(11, {number}) n;
INSERT INTO events (workspace_id, at, operation, subject)
  SELECT '{here}', '2026-01-01T00:00:00.000Z', 'create_memory', md5(n::text) FROM generate_series(1, {number}) n;
"""


@pytest.fixture(scope="module")
def large(
    postgres: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[psycopg.Connection[tuple[object]], str]]:
    """A connection, and the id of a workspace in which ten records lack a vector; the tests only read."""
    url, here = database(postgres, tmp_path_factory.mktemp("large")), workspace()
    with closing(PostgresStore(url)) as store:
        put(store, workspace(), "another")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            FILL.format(here=here.id, now=NOW, number=RECORDS, perspective=GENERAL, model=MODEL).encode()
        )
        connection.execute("VACUUM ANALYZE")
        connection.execute("SET plan_cache_mode = force_custom_plan")
        connection.execute("SET default_transaction_read_only = on")
        yield connection, here.id


@pytest.mark.parametrize(
    ("name", "given", "pages"),
    [
        ("embeddings.present", {"ids": json.dumps(BATCH), "first": BATCH[0], "last": BATCH[-1]}, 250),
        (
            "embeddings.missing",
            {"after": "", "last": "g", "many": 1, "perspectives": '["general"]', "limit": 64},
            1_000,
        ),
        ("doctor.unembedded", {"many": 1, "perspectives": '["general"]', "after": "", "last": "~"}, 1_000),
        ("records.kinds", {"session": "s"}, 60),
        ("listing.origins", {}, 60),
        ("events.there", {"now": NOW, "operation": "try_out", "subject": "x"}, 10),
    ],
)
def test_a_statement_does_not_read_a_workspace_for_each_row(
    large: tuple[psycopg.Connection[tuple[object]], str], name: str, given: dict[str, object], pages: int
) -> None:
    connection, here = large
    explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statements()[name]}".encode()
    (row,) = connection.execute(explain, {"workspace": here, "model": MODEL, "other": MODEL, **given}).fetchall()
    plan = row[0][0]["Plan"]  # type: ignore[index]
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= pages
