"""Workspaces with every kind of row, files of them, and their contents, for the tests of exports and imports."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from memoryd.core.engine import Engine
from memoryd.core.graph import entities
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.transaction import Graph
from memoryd.core.journal.journal import Journal
from memoryd.core.memories.vault import Vault
from memoryd.core.scope import Scope
from memoryd.core.transfer import export as exports
from memoryd.core.transfer import jsonl, reader, restore
from memoryd.core.transfer.export import NOUNS
from memoryd.core.transfer.jsonl import ImportMode, LineFile
from memoryd.core.transfer.restore import RestoredWorkspace, rehearse
from memoryd.model import Kind, Workspace
from memoryd.query_syntax import parse_query
from memoryd.settings import Settings
from memoryd.store import rows
from memoryd.store.base import Queries
from tests.clients import environment
from tests.core.transfer.test_migration import UNICODE, all_kinds
from tests.store.kit import EVERY, LATER, NOW, by_words, put

Lines = list[dict[str, Any]]


def opened(home: Path) -> Engine:
    """An engine on the store of this run."""
    return Engine(Settings.read(environment(home)), fetch=False)


def everything(engine: Engine, name: str = "default", long: str = "long enough") -> Workspace:
    """A workspace with rows of every kind, including some that no export may contain."""
    all_kinds(engine, name, long)
    workspace = engine.workspaces.find(name)
    vault = Vault(Scope(engine, workspace, "s1"))
    vault.commit("vault", "notes/ü", UNICODE, tags=("a", "b"), vector=[3.0, 4.0])
    vault.commit("session", "draft 2", "for one session's eyes")
    journal = Journal(Scope(engine, workspace, "s1"))
    for number in range(3):
        journal.add(f"prompt {number} {UNICODE}", "thought", "response", "s1")
    journal.summarize("s1")
    graph = Graph(Scope(engine, workspace))
    entities.create(graph, [NewEntity(name="Twice", type="x", observations=("again", "again", UNICODE))])
    kept = put(engine.store, workspace, "it has taken its place")
    original = put(engine.store, workspace, "an original")
    engine.store.write(workspace, lambda q: rows.put(q, "events", [{"at": NOW, "operation": "o", "subject": None}] * 2))
    engine.store.write(workspace, lambda q: _replace(q, original, kept))
    return workspace


def _replace(queries: Queries, original: str, kept: str) -> None:
    """Delete the original, and keep it as replaced by the other."""
    (record,) = [row for row in queries.all("moved.records_first", limit=100) if row["id"] == original]
    row = {"fingerprint": "", "importance": 0.25, "access_count": 3, "accessed_at": NOW, "consolidated": 1}
    queries.run("records.erase", ids=json.dumps([original]))
    rows.put(queries, "records", [record | {"deleted_at": LATER}])
    successor = {"superseded_by": kept, "ending": "superseded", "reason": "it is so", "gist": ""}
    rows.put(queries, "memory_details", [row | {"id": original} | successor])


def export(engine: Engine, file: Path, *names: str, vectors: bool = True) -> bytes:
    workspaces = [engine.workspaces.find(name) for name in names or ("default",)]
    exports.export(engine, file, workspaces, quiet, vectors=vectors)
    return file.read_bytes()


def load(engine: Engine, file: Path, mode: ImportMode = "merge", name: str | None = None) -> list[RestoredWorkspace]:
    """Import a file; check that a merge adds what a rehearsal counted."""
    with jsonl.opened(file) as source:
        counted = rehearsed(engine, source, name) if mode == "merge" else None
        done = restore.load(engine, source, name, mode, quiet)
    assert counted is None or counted == [{noun: one.new[noun] for noun in RECORDS} for one in done]
    return done


RECORDS = (*(NOUNS[kind] for kind in Kind), NOUNS["relations"])


def rehearsed(engine: Engine, source: LineFile, name: str | None) -> list[dict[str, int]]:
    with reader.unpacked(source, engine.secrets, lambda _: None) as parts:
        targets = restore.named(source, parts, name)
        news = [rehearse(engine, "file", part, target, lambda _: None) for part, target in targets]
    return [{noun: new[noun] for noun in RECORDS} for new in news]


def quiet(_what: str, _done: float) -> None:
    """Report no progress."""


def values(content: bytes) -> Lines:
    """The lines without head and end."""
    return [json.loads(line) for line in content.splitlines()[1:-1]]


def written(file: Path, lines: Lines, head: dict[str, Any] | None = None) -> Path:
    """A file of these lines with a correct end."""
    whole = [{"memoryd": head or {"format": "workspaces", "version": 1, "vectors": True}}, *lines]
    content = b"".join(json.dumps(line).encode() + b"\n" for line in whole)
    end = {"end": {"lines": len(whole), "sha256": hashlib.sha256(content).hexdigest()}}
    file.write_bytes(content + json.dumps(end).encode() + b"\n")
    return file


def of(lines: Lines, table: str) -> Lines:
    return [line[table] for line in lines if table in line]


def sound(engine: Engine) -> bool:
    return not [problem for one in (None, *engine.workspaces.all()) for problem in engine.store.upkeep.problems(one)]


def found(engine: Engine, query: str, name: str = "default") -> set[str]:
    """The texts that the words of a query find."""
    parsed = parse_query(query)
    assert parsed
    return {key for key, _ in by_words(engine.store, engine.workspaces.find(name), parsed, EVERY, 50)}


WORKSPACE = {"workspace": {"name": "default", "description": "", "created_at": NOW, "updated_at": NOW}}


def record(key: str = "1", **fields: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "id": key,
        "kind": "memory",
        "name": None,
        "type": "",
        "body": "text",
        "tags": [],
        "scope": "",
        "client": "",
        "tool": "",
    }
    times = {"session_id": None, "created_at": NOW, "updated_at": NOW, "deleted_at": None}
    return {"records": usual | times | fields}


def detail(key: str = "1", **fields: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"id": key, "fingerprint": "", "importance": 0.5, "access_count": 0, "accessed_at": None}
    upkeep = {"consolidated": 0, "superseded_by": None, "ending": "", "reason": "", "gist": ""}
    return {"memory_details": usual | upkeep | fields}


def entity(key: str, **fields: Any) -> Lines:
    return [record(key, kind="entity", name=key, **fields)]


def about(*keys: str) -> Lines:
    return [{"entity_details": {"id": key, "summary_updated_at": None, "next_ordinal": 0}} for key in keys]


def relation(key: str, source: str, target: str, **fields: Any) -> dict[str, Any]:
    usual = {"id": key, "from_entity": source, "to_entity": target, "relation_type": "r", "created_at": NOW}
    return {"relations": usual | {"deleted_at": None} | fields}


def vector(content: bytes, dim: int = 2) -> dict[str, Any]:
    usual = {"id": "1", "perspective": "general", "model": "m", "chunk": 0, "dim": dim}
    return {"embeddings": usual | {"vector": base64.b64encode(content).decode()}}


def event(at: str) -> dict[str, Any]:
    return {"events": {"at": at, "operation": "o", "subject": None}}
