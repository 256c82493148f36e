"""What upgrades of the schema on SQLite do with rows that were there."""

from contextlib import closing
from pathlib import Path

import pytest

from memoryd.model import Workspace
from memoryd.store import sql
from memoryd.store.sqlite import file as sqlite_file
from memoryd.store.sqlite.layout import SingleFile
from memoryd.store.sqlite.store import SqliteStore
from tests.store.kit import LATER, axis, change, made, near, put, related, value, words


def test_texts_without_blanks_are_indexed_again(file: Path, here: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_file, "migrations", lambda dialect: sql.migrations(dialect)[:7])
        with closing(made(SingleFile(file))) as store:
            old = [put(store, here, "数据库端口是5433", name="東京都庁"), put(store, here, "red plain")]
            put(store, here, "消えた文", id="gone")
            store.write(here, lambda q: q.run("records.delete", ids='["gone"]', now=LATER))
        assert value(file, "SELECT count(*) FROM records_fts WHERE records_fts MATCH '端口'") == 0
    with closing(SqliteStore(SingleFile(file))) as store:
        assert words(store, here, "端口") == words(store, here, "京都") == ["数据库端口是5433"]
        assert words(store, here, "red") == ["red plain"]
        assert store.upkeep.problems(here) == []
        change(store, here, old[0], "变了")
        store.write(here, lambda q: q.run("records.restore", ids='["gone"]', now=LATER))
        assert (words(store, here, "端口"), words(store, here, "变"), words(store, here, "えた")) == (
            [],
            ["变了"],
            ["消えた文"],
        )
        assert store.upkeep.problems(here) == []


def test_nodes_are_indexed_and_embedded_again_with_their_relations(
    file: Path, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_file, "migrations", lambda dialect: sql.migrations(dialect)[:14])
        with closing(made(SingleFile(file))) as store:
            related(store, here)
    with closing(SqliteStore(SingleFile(file))) as store:
        assert len(words(store, here, "works")) == 2
        assert len(near(store, here, axis(0))) == 1, "the one without relations"
        assert store.upkeep.problems(here) == []


def test_a_migration_keeps_who_deleted_what(file: Path, here: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_file, "migrations", lambda dialect: sql.migrations(dialect)[:13])
        with closing(made(SingleFile(file))) as store:
            gone = put(store, here, "gone")
            store.write(here, lambda q: q.run("records.delete", ids=f'["{gone}"]', now=LATER))
            store.write(here, lambda q: q.run("events.add", operation="revert_memory", subject="other", now=LATER))
        value(file, f"INSERT INTO endings VALUES ('{here.id}', '{gone}', '{LATER}', 'node', 'codex', 'forget')")
    with closing(SqliteStore(SingleFile(file))) as store:
        (act,) = store.read(here, lambda q: q.all("acts.of", id=gone, kind="memory", limit=9))
        assert act == {"at": LATER, "operation": "delete_memory", "client": "codex", "tool": "forget"}
        (revert,) = store.read(here, lambda q: q.all("acts.of", id="other", kind="memory", limit=9))
        assert revert["operation"] == "revert_memory"


def test_identifiers_are_indexed_again(file: Path, here: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_file, "migrations", lambda dialect: sql.migrations(dialect)[:15])
        with closing(made(SingleFile(file))) as store:
            old = put(store, here, "call getUserProfile()")
            put(store, here, "plain red")
    with closing(SqliteStore(SingleFile(file))) as store:
        assert words(store, here, "profile") == ["call getUserProfile()"]
        assert store.upkeep.problems(here) == []
        change(store, here, old, "call it")
        assert (words(store, here, "profile"), words(store, here, "plain")) == ([], ["plain red"])
        assert store.upkeep.problems(here) == []
