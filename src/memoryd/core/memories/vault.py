"""Memories with a key (a), of one session or of the vault, which all sessions share."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memoryd.core.base.clock import moment, timestamp
from memoryd.core.records import records
from memoryd.core.records.records import Embedded
from memoryd.core.scope import Scope
from memoryd.core.search import ranking
from memoryd.core.security.secrets import cleaned, matched
from memoryd.errors import ChangedMeanwhileError, InvalidInputError, NotFoundError
from memoryd.model import CLIENT, Filter, Findings, Hit, Kind, Record, Shelf, VectorSet, Workspace
from memoryd.query_syntax import WordQuery, literal_query, parse_query
from memoryd.store.base import Queries, visible
from memoryd.text import shortened, unstorable

DEPTH = 100  # candidates by words, and as many by vector, unless more are requested
TERMS = 16  # maximum terms of a query that are counted in each candidate
ALL = 1 << 40
AFTER_ALL = "\U0010ffff" * 401  # sorts after every key with the same beginning, because no key is that long


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedChange:
    """A text to store under a key, or a key to delete."""

    key: str
    content: str | None
    """None deletes it."""
    tags: Sequence[str] | None = None
    """None keeps those of an existing text."""
    seen: str | None = None
    """The version that must be in force, '' for none; None for any state."""
    type: str = ""
    """Of a new text: FILE if its tags say nothing about it, ITEM if its key does not either."""


def version_of(record: Record | None) -> str:
    """Return the version of a memory, which changes whenever it is written; '' of None."""
    return f"{record.updated_at} {record.id}" if record else ""


class Vault:
    """The memories with a key of one workspace, as one session sees them."""

    def __init__(self, scope: Scope) -> None:
        self.secrets = scope.secrets
        self._scope = scope
        self._engine = scope.engine

    # writing ---------------------------------------------------------------------------------------------------------

    @cleaned
    def commit(
        self,
        shelf: Shelf,
        key: str,
        content: str,
        tags: Sequence[str] | None = None,
        vector: Sequence[float] | None = None,
    ) -> str:
        """Store a text durably under a key; return the key, with secrets masked.

        An existing text is replaced. Its tags are kept if `tags` is None, and the caller's vector if the content is the
        same and no `vector` is given. Raise InvalidInputError for a vector of zero or infinite length.
        """
        own = _unit(vector) if vector is not None else None
        owner = self._owner(shelf)
        embedded = self._scope.passages([records.text_of(Kind.MEMORY, key, "", content)])[0]

        def work(queries: Queries) -> str:
            return self._put(queries, owner, KeyedChange(key=key, content=content, tags=tags), embedded, own)

        written = self._scope.write(work)
        self._scope.embed_later([] if embedded else [written])
        return key

    @cleaned
    def change(self, texts: Sequence["KeyedChange"]) -> list[str]:
        """Store and delete texts of the vault, all or none; return the version of each, '' of a deleted one.

        Raise ChangedMeanwhileError if one is not in the version that was `seen`.
        """
        embedded = self._scope.passages(
            [records.text_of(Kind.MEMORY, one.key, one.type, one.content or "") for one in texts]
        )

        def work(queries: Queries) -> tuple[list[str], list[str]]:
            versions, lacking = [], []
            for one, vector in zip(texts, embedded, strict=True):
                before = _named(queries, one.key)
                if one.seen is not None and one.seen != version_of(before):
                    raise ChangedMeanwhileError(f"The memory {one.key[:100]!r} was changed meanwhile; read it again.")
                if one.content is not None:
                    record_id = self._put(queries, "", one, vector, None)
                    versions.append(version_of(_named(queries, one.key)))
                    lacking += [record_id] if vector is None else []
                    continue
                versions.append("")
                if before:
                    records.delete(queries, [before.id], self._engine.clock.now())
            return versions, lacking

        versions, lacking = self._scope.write(work)
        self._scope.embed_later(lacking)
        self._engine.purge_if_at_once(self._scope.workspace)
        return versions

    def _put(
        self, queries: Queries, owner: str, text: "KeyedChange", embedded: Embedded | None, own: Embedded | None
    ) -> str:
        """Store a text under its key; return the id of its record."""
        now, content = self._engine.clock.now(), text.content or ""
        known = queries.one("vault.named", scope=owner, key=text.key)
        if known is None:
            record = Record(
                id=records.new_id(),
                kind=Kind.MEMORY,
                name=text.key,
                type=text.type,
                body=content,
                tags=tuple(text.tags or ()),
                scope=owner,
                session_id=self._scope.session or None,
            )
            records.add(queries, record, embedded, now)
            queries.run("memories.add", id=record.id, fingerprint="", importance=0.5, consolidated=1)
            records.embed(queries, record.id, CLIENT, own)
            return record.id
        kept = json.loads(known["tags"]) if text.tags is None else text.tags
        same = known["body"] == content
        if own is not None or not same:
            queries.run("embeddings.withdraw", id=known["id"], perspective=CLIENT)
        if same:
            records.retag(queries, known["id"], kept, now)
        else:
            records.change(queries, known["id"], content, kept, embedded, now)
        records.embed(queries, known["id"], CLIENT, own)
        return str(known["id"])

    @matched
    def prune(
        self, shelf: Shelf, key: str | None = None, older_than: str | None = None, tags: Sequence[str] = ()
    ) -> int:
        """Delete the memories that match all criteria; return their number. Raise InvalidInputError for a bad time.

        Memories of the vault are marked as deleted, those of a session are deleted immediately and permanently.
        """
        before = timestamp(moment(older_than)) if older_than else ""
        allowed = Filter(tags=tuple(tags), session=self._scope.session, shelf=shelf, before=before)

        def work(queries: Queries) -> int:
            chosen = queries.all("vault.chosen", **visible(allowed), key=key or "", limit=ALL)
            durable = [row["id"] for row in chosen if not row["scope"]]
            volatile = [row["id"] for row in chosen if row["scope"]]
            now = self._engine.clock.now()
            if durable:
                records.delete(queries, durable, now)
            if volatile:
                records.erase(queries, volatile, now)
            return len(chosen)

        gone = self._scope.write(work)
        if gone:
            self._engine.purge_if_at_once(self._scope.workspace)
        return gone

    def _owner(self, shelf: Shelf) -> str:
        """Return the owner of a new memory: '' or the session, which is then held."""
        if shelf == "vault":
            return ""
        if not self._scope.session:
            raise InvalidInputError("There is no session in which to keep this. Name one, or use the scope vault.")
        self._engine.sessions.hold(self._scope.session, writing=True)
        return self._scope.session

    # searching -------------------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        shelf: Shelf = "all",
        tags: Sequence[str] = (),
        vector: Sequence[float] | None = None,
        limit: int = 10,
    ) -> tuple[Findings[Hit], int]:
        """Return the matches of a query, best first, scored 0 to 1, and the number of memories that were searched.

        a: relevance = .4 words + .6 cosine if memory and query both have a vector, else the words alone. Without a
        query, the newest with the tags. Raise InvalidInputError if there is no query, vector or tag.
        """
        query, cut = shortened(query)
        parsed = literal_query(query) if cut else parse_query(query)
        question = _unit(vector) if vector is not None else None
        allowed = Filter(tags=tuple(tags), session=self._scope.session, shelf=shelf)

        def work(queries: Queries) -> tuple[list[Hit], int]:
            tagged = queries.one("vault.tagged", **visible(allowed)) if tags else None
            total = tagged["number"] if tagged else self._scope.index.number(queries, allowed)
            if parsed is None and question is None:
                scores = self._tagged(queries, query, allowed, limit)
            else:
                scores = self._relevant(queries, parsed, question, allowed, max(limit, DEPTH))
            best = sorted(scores, key=lambda key: -scores[key])[:limit]
            found = records.listed(queries, best, self._scope.session)
            return [Hit(record=one, score=scores[one.id]) for one in found], total

        parts = [(scope.workspace, *scope.read(work)) for scope in self._scope.each]
        matches = parts[0][1] if len(parts) == 1 else _together([(place, found) for place, found, _ in parts])
        degraded = " ".join(filter(None, (cut, self._scope.degraded)))
        return Findings(matches[:limit], degraded), sum(total for *_, total in parts)

    def _tagged(self, queries: Queries, query: str, allowed: Filter, limit: int) -> dict[str, float]:
        if query.strip():
            return {}  # the query has no words
        if not allowed.tags:
            raise InvalidInputError("There is nothing to search for. Give a query, tags, or both.")
        return {row["id"]: 1.0 for row in queries.all("vault.chosen", **visible(allowed), key="", limit=limit)}

    def _relevant(
        self, queries: Queries, parsed: WordQuery | None, question: Embedded | None, allowed: Filter, depth: int
    ) -> dict[str, float]:
        index = self._scope.index
        scores = dict(index.words(queries, parsed, allowed, depth)) if parsed else {}
        cosines = self._cosines(queries, question, allowed, scores, depth) if question else {}
        if parsed is None:
            return {key: cosine for key, cosine in cosines.items() if cosine > 0}
        near = [key for key in cosines if key not in scores]
        if near and len(scores) >= depth:  # the nearest ones may match too, but no better than the last of these
            others = index.matching(queries, parsed, near)
            scores |= dict.fromkeys(others, min(scores.values()))
        if parsed.binding:
            cosines = {key: cosine for key, cosine in cosines.items() if key in scores}
        return ranking.relevances(self._words(queries, parsed, scores), cosines)

    def _words(self, queries: Queries, parsed: WordQuery, scores: Mapping[str, float]) -> dict[str, float]:
        """Return how well each candidate matches by words: 1 for the best one with every term."""
        terms = parsed.terms()
        if len(terms) < 2 or not scores:
            return ranking.bm25_norm(scores, dict.fromkeys(scores, 1.0))
        terms = terms[:TERMS]
        having = self._scope.index.coverage(queries, terms, list(scores))
        return ranking.bm25_norm(scores, {key: having[key] / len(terms) for key in scores})

    def _cosines(
        self, queries: Queries, question: Embedded, allowed: Filter, scores: Mapping[str, float], depth: int
    ) -> dict[str, float]:
        """Return the cosines of the candidates found by words, and of the nearest memories."""
        index, sets, vector = self._scope.index, [VectorSet(CLIENT, question.model)], question.vectors[0]
        (near,) = index.nearest(queries, sets, vector, allowed, depth)
        (of_words,) = index.cosines(queries, sets, vector, list(scores))
        return dict(near) | of_words

    # looking ---------------------------------------------------------------------------------------------------------

    def get(self, key: str) -> Record:
        """Return the memory with a key in the vault; raise NotFoundError if there is none."""
        if record := self._scope.read(lambda q: _named(q, key)):
            return record
        raise NotFoundError(f"There is no memory {key[:100]!r} in the vault.")

    def under(self, begins: str) -> list[Record]:
        """Return the vault's memories whose keys begin with `begins`, last changed first."""

        def work(queries: Queries) -> list[Record]:
            ids = [row["id"] for row in queries.all("vault.under", begins=begins, end=begins + AFTER_ALL)]
            return records.listed(queries, ids, "")

        return self._scope.read(work)

    def page(self, offset: int, limit: int) -> list[Record]:
        """Return up to `limit` memories of the vault ordered by key, from `offset` on."""
        return self._page("", offset, limit)

    def volatile(self) -> list[Record]:
        """Return the session's memories ordered by key."""
        return self._page(self._scope.session, 0, ALL) if self._scope.session else []

    def keys(self, begins: str, after: str, limit: int) -> list[str]:
        """Return the vault's keys that begin with `begins` and come after `after`, in order."""
        if unstorable(begins):
            return []
        parameters = {"begins": begins, "after": after, "end": begins + AFTER_ALL, "limit": limit}
        return [row["key"] for row in self._scope.read(lambda q: q.all("vault.keys", **parameters))]

    def _page(self, owner: str, offset: int, limit: int) -> list[Record]:
        def work(queries: Queries) -> list[Record]:
            ids = [row["id"] for row in queries.all("vault.page", scope=owner, offset=offset, limit=limit)]
            return records.listed(queries, ids, self._scope.session)

        return self._scope.read(work)


def _named(queries: Queries, key: str) -> Record | None:
    row = queries.one("vault.named", scope="", key=key)
    return records.fetch(queries, [row["id"]], "").get(row["id"]) if row else None


def _together(parts: Sequence[tuple[Workspace, Sequence[Hit]]]) -> list[Hit]:
    """Return the matches of several workspaces by score, then by time; of duplicates only the first workspace's.

    Scores are comparable: they depend on how much of the query a memory has, not on how rare that is in its
    workspace.
    """
    once: dict[str, Hit] = {}
    for place, matches in parts:
        for match in matches:
            once.setdefault(match.record.id, replace(match, workspace=place))
    newest = sorted(once.values(), key=lambda match: match.record.updated_at, reverse=True)
    return sorted(newest, key=lambda match: -match.score)


def _unit(vector: Sequence[float]) -> Embedded:
    """Return a caller's vector at unit length; raise InvalidInputError if its length is zero or infinite."""
    wide = np.asarray(vector, np.float64)
    length = float(np.linalg.norm(wide))
    if not 0 < length < np.inf:
        raise InvalidInputError("The embedding is all zeros, or too large to have a length. Give another one, or none.")
    return Embedded(f"{CLIENT}:{len(wide)}", np.asarray(wide / length, np.float32)[None, :])
