"""Purging on request: records are removed immediately and permanently, and the files are searched for remains."""

import json
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memoryd.core.records import records, short_ids
from memoryd.core.scope import Scope
from memoryd.errors import NotFoundError
from memoryd.store.base import Queries, Row

PIECE = 24  # characters of a piece of text that is searched for; fewer may occur elsewhere by chance
PIECES = 64  # maximum pieces of one text, evenly spread; each is searched for in every file


@dataclass(frozen=True, slots=True)
class Trace:
    """A piece of a purged text in a file, and the records that contain it too; none if only a backup or export does."""

    path: Path
    text: str
    holders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Purged:
    """The result of a purge: what was removed, where it was searched for, and what was found."""

    ids: tuple[str, ...]
    """The ids of the removed records and relations, including those that belonged to them."""
    pieces: int
    """The number of pieces of their texts that were searched for; 0 if the texts are too short."""
    files: tuple[Path, ...]
    """The files that were searched; none if a server stores the data."""
    size: int
    """The size of these files in bytes."""
    traces: tuple[Trace, ...]

    @property
    def proven(self) -> bool:
        """Whether the files were searched and contain nothing of the texts."""
        return bool(self.pieces and self.files) and not self.traces


def purge(scope: Scope, ids: Sequence[str]) -> Purged:
    """Remove records or relations, living or deleted, from versions, words, vectors and the write-ahead log.

    An entity is removed with its observations and relations. Raise NotFoundError, with nothing removed, if one of the
    ids does not exist.
    """

    def work(queries: Queries) -> tuple[list[str], list[str]]:
        rows = _subjects(queries, scope, ids)
        found = [row["id"] for row in rows]
        texts = [row["text"] for row in queries.all("purge.texts", ids=json.dumps(found))]
        now = scope.engine.clock.now()
        records.act(queries, "purge", found, now)
        for row in rows:
            if row["kind"] == "relation":
                records.sign(queries, "purge_relation", row["id"], now)
        queries.run("purge.relations", ids=json.dumps(found))
        queries.run("records.erase", ids=json.dumps(found))
        queries.run("words.optimize")
        return found, texts

    found, texts = scope.write(work)
    files = scope.engine.store.upkeep.scrub(scope.workspace)
    pieces = list(dict.fromkeys(piece for text in texts for piece in _pieces(text)))
    held = [(path, piece) for path in files for piece in _found_in(path, pieces)]
    holders = scope.read(lambda q: [q.all("purge.holders", piece=piece, limit=5) for _, piece in held])
    traces = [Trace(*one, tuple(row["id"] for row in rows)) for one, rows in zip(held, holders, strict=True)]
    size = sum(path.stat().st_size for path in files if path.exists())
    return Purged(tuple(found), len(pieces), tuple(files), size, tuple(traces))


def subjects(scope: Scope, ids: Sequence[str]) -> list[Row]:
    """Return `id`, `kind` and `text` of what `purge` would remove, except an entity's relations; raise as it does."""
    return scope.read(lambda q: _subjects(q, scope, ids))


def _subjects(queries: Queries, scope: Scope, ids: Sequence[str]) -> list[Row]:
    named = short_ids.resolve(queries, "ID", ids, scope.session, "ids.ever")
    rows = queries.all("purge.subjects", ids=json.dumps(list(dict.fromkeys(named))))
    found = {row["id"] for row in rows}
    if missing := [key for key in named if key not in found]:
        raise NotFoundError(f"There is no record {', '.join(key[:100] for key in missing[:10])}. Nothing was removed.")
    return rows


def _pieces(text: str) -> list[str]:
    """Return evenly spread pieces of a text; none if it is too short to be distinguished from others."""
    places = range(0, len(text) - PIECE + 1, PIECE)
    return [text[place : place + PIECE] for place in places[:: max(1, -(-len(places) // PIECES))]]


def _found_in(path: Path, pieces: Sequence[str]) -> list[str]:
    """Return the pieces that a file contains, as plain text or escaped as in JSON."""
    if not path.exists() or not path.stat().st_size:
        return []
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:

        def holds(piece: str) -> bool:
            escaped = (json.dumps(piece, ensure_ascii=as_codes)[1:-1] for as_codes in (True, False))
            return any(data.find(form.encode()) >= 0 for form in (piece, *escaped))

        return list(filter(holds, pieces))
