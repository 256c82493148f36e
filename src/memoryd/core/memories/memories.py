"""Verbatim memories: store, recall, brief, forget and inspect them."""

import json
import logging
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, Literal

from memoryd.core.base.clock import bound, bounds, moment, timestamp
from memoryd.core.llm import generation
from memoryd.core.memories import looked, replaceable
from memoryd.core.memories.replaceable import Replaceable
from memoryd.core.records import records, short_ids
from memoryd.core.records.deduplication import fingerprint
from memoryd.core.records.question import Question
from memoryd.core.scope import Scope
from memoryd.core.search.briefing import (
    LAYOUTS,
    NOTED,
    Briefing,
    BulletsLayout,
    Format,
    SectionsLayout,
    annotated,
    brief,
    chosen,
    pack,
    room,
)
from memoryd.core.search.candidates import Found
from memoryd.core.search.pipeline import Search
from memoryd.core.search.small_talk import is_small_talk
from memoryd.core.security.secrets import cleaned, matched
from memoryd.errors import InvalidInputError, ModelError, NotFoundError
from memoryd.model import Filter, Findings, Hit, Kind, Record, Workspace
from memoryd.prompts import ANSWER_QUESTION, SUMMARIZE_MEMORIES
from memoryd.store.base import Queries, Row, number_of, visible
from memoryd.text import estimate_tokens

log = logging.getLogger(__name__)

FORGOTTEN_BY_QUERY = 10  # d: top-10 matches
SEARCHED = 10_000  # maximum ids to which a search is limited, as in a list for people; beyond, the index filters alone
TASK_SHARE = 0.7  # of a briefing's budget
UNWEIGHED = 0.5  # the default importance of a memory
IMPORTANT = 0.7  # minimum importance of the memories that every briefing considers
BRIEFED = 20  # recent, and important, memories that a briefing considers
SESSIONS = 3  # summaries of sessions that a briefing considers
WRITTEN: dict[Format, str] = {"answer": ANSWER_QUESTION, "summary": SUMMARIZE_MEMORIES}
"""The formats that a language model writes, if there is one, and its prompts."""
HEADED = 16  # the line that says what recalled texts are may take 1/HEADED of a budget
FRESH = "No memories found. This appears to be a fresh session."
NOT_THERE = "Not in memory: nothing that was found answers this."


@dataclass(frozen=True, slots=True)
class Stored:
    """The id of a stored memory, and whether it is new, an older one with the same text, or replaces others."""

    id: str
    status: Literal["stored", "merged", "updated"]
    superseded: tuple[str, ...] = ()
    may_replace: tuple[Replaceable, ...] = ()
    """Memories that the new one may replace, the likeliest first; nothing was done about them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """The memories to forget: they match all given criteria. Raise InvalidInputError if `before` is not a time."""

    ids: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    query: str | None = None
    before: str | None = None

    def __post_init__(self) -> None:
        if self.before:
            bound(self.before)

    @property
    def ids_alone(self) -> bool:
        """Whether memories are given by id only."""
        return self.ids is not None and not (self.tags or self.query or self.before)


class Memories:
    """The memories of one workspace, as one session sees them."""

    def __init__(self, scope: Scope) -> None:
        self.secrets = scope.secrets
        self._scope = scope
        self._engine = scope.engine
        self._search = Search(scope)

    # storing ---------------------------------------------------------------------------------------------------------

    @cleaned
    def store(
        self,
        content: str,
        tags: Sequence[str] | None = None,
        importance: float | None = None,
        supersedes: Sequence[str] = (),
        *,
        suggest: bool = False,
    ) -> Stored:
        """Store a text verbatim and durably; return its id. An equal text is merged with the existing memory.

        With `suggest` name the memories that a new one may replace. The memories that it `supersedes` are only found by
        questions about an earlier time. If `tags` or `importance` is None, it inherits theirs. Raise NotFoundError,
        with nothing stored, if some of them do not exist.
        """
        self._scope.demand_own("supersedes", supersedes)
        embedded = self._scope.passages([content])[0]

        def work(queries: Queries) -> Stored:
            now = self._engine.clock.now()  # inside the transaction: times are in the order of commits
            print_ = fingerprint(content)
            same = queries.one("memories.same", fingerprint=print_, scope="")
            old = self._replaceable(queries, supersedes, same["id"] if same else "")
            labels = tags if tags is not None else [tag for row in old for tag in json.loads(row["tags"])]
            weight = max((row["importance"] for row in old), default=UNWEIGHED) if importance is None else importance
            if same:
                stored = Stored(same["id"], "merged")
                records.retag(queries, stored.id, list(dict.fromkeys([*json.loads(same["tags"]), *labels])), now)
                queries.run("memories.change", id=stored.id, importance=weight)
            else:
                stored = Stored(records.new_id(), "stored")
                labels, session = tuple(dict.fromkeys(labels)), self._scope.session or None
                record = Record(id=stored.id, kind=Kind.MEMORY, body=content, tags=labels, session_id=session)
                records.add(queries, record, embedded, now)
                queries.run("memories.add", id=stored.id, fingerprint=print_, importance=weight, consolidated=0)
            if not old:
                return stored
            living = [row["id"] for row in old if row["living"]]
            records.supersede(queries, living, stored.id, "superseded", "replaced by a newer memory on request", now)
            return Stored(stored.id, "updated", tuple(row["id"] for row in old))

        similar = replaceable.by(self._scope, content, embedded) if suggest and not supersedes else ()
        stored = self._scope.write(work)
        self._engine.stored(self._scope.workspace)
        self._scope.embed_later([] if embedded else [stored.id])
        return replace(stored, may_replace=similar) if stored.status == "stored" else stored

    def _replaceable(self, queries: Queries, given: Sequence[str], by: str) -> list[Row]:
        """Return the memories that a new one, or the existing one with the id `by`, replaces; raise NotFoundError."""
        if not given:
            return []
        ids = short_ids.resolve(queries, "supersedes", given, self._scope.session, "ids.living", "ids.ever")
        rows = {row["id"]: row for row in queries.all("memories.replaceable", ids=json.dumps(ids), by=by)}
        if missing := [key for key in dict.fromkeys(ids) if key not in rows or key == by]:
            raise NotFoundError(
                f"supersedes: {', '.join(key[:100] for key in missing[:10])}: no living memory without a key has this "
                "id, or it is the memory to store. Nothing was stored; find ids with memory_recall."
            )
        return [rows[key] for key in dict.fromkeys(ids)]

    # recalling -------------------------------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        budget: int,
        tags: Sequence[str] = (),
        kinds: Sequence[Kind] = (),
        form: Format = "summary",
        as_of: str | None = None,
        *,
        after: str | None = None,
        before: str | None = None,
        note: bool = True,
        head: str = "",
    ) -> Briefing:
        """Return what bears on a query, within `budget` tokens; with `as_of`, what was believed at that time.

        `head` comes before the memories, if it takes but a small part of the budget.

        Only what was stored `after` a time, inclusive, and `before` one. Without `note` this is a preview that does not
        count as a recall. Raise InvalidInputError if one of the three is not a time, or nothing is between the two.
        """
        allowed = self._allowed(tags, kinds, after, before)
        at = timestamp(moment(as_of)) if as_of else ""
        if is_small_talk(query):
            return brief([], budget, LAYOUTS[form](query), looked.SMALL_TALK)
        read, named = self._search.read(query, allowed, at, named=form != "raw")
        found = self._search.ranked(read, with_related=True)
        bearing = {hit.record.id for hit in found.best if hit.bears}
        hits = chosen(found.best, budget / self._engine.settings.token_budget, query)
        degraded = _sentences(found.degraded, self._scope.degraded)
        by_time = form == "summary" and read.span is not None and read.span.alone  # newest first, under no tags
        layout = (BulletsLayout if by_time else LAYOUTS[form])(read.query, named)
        head = _fitting(head, budget)
        left = room(budget, degraded, layout) - estimate_tokens(head)
        hits = self._search.located(hits, read, left)
        written = self._written(read.query, hits, left, form) if form in WRITTEN and hits else None
        empty = "" if hits else looked.where(self._scope, allowed, at)
        briefing = _headed(annotated(written or brief(hits, left, layout, empty), budget, degraded, layout), head)
        return self._noted(briefing, bearing) if note else briefing

    def hits(
        self,
        query: str,
        budget: int,
        limit: int,
        tags: Sequence[str] = (),
        kinds: Sequence[Kind] = (),
        as_of: str | None = None,
        *,
        after: str | None = None,
        before: str | None = None,
    ) -> list[Hit]:
        """Return what bears on a query, whole, best first: at most `limit`, of which `budget` tokens of text.

        The best hit is returned whatever its length. What is only related has no more text than what bears on the
        query. For the rest see `recall`.
        """
        allowed = self._allowed(tags, kinds, after, before)
        at = timestamp(moment(as_of)) if as_of else ""
        if is_small_talk(query):
            return []
        read, _ = self._search.read(query, allowed, at)
        found = self._search.ranked(read, with_related=True)
        bearing = {hit.record.id for hit in found.best if hit.bears}
        kept: list[Hit] = []
        spent, most = 0, budget
        for hit in chosen(found.best, budget / self._engine.settings.token_budget, query):
            if kept and kept[-1].bears and not hit.bears:  # what is only related does not outweigh the hits
                most = min(budget, 2 * spent)
            tokens = estimate_tokens(hit.record.body)
            if len(kept) < limit and (not kept or spent + tokens <= most):
                kept.append(hit)
                spent += tokens
        self._noted(Briefing("", tuple(kept), 0, 0), bearing)
        return kept

    def _allowed(self, tags: Sequence[str], kinds: Sequence[Kind], after: str | None, before: str | None) -> Filter:
        first, end = bounds(after, before)
        return Filter(tags=tuple(tags), kinds=tuple(kinds), session=self._scope.session, after=first, before=end)

    def _written(self, query: str, hits: Sequence[Hit], budget: int, form: Format) -> Briefing | None:
        """Return a language model's text about the hits; None without one or if it fails (d: a fallback follows)."""
        llm = self._engine.helpers.writer()
        if llm is None:
            return None
        try:
            made = generation.write(llm, WRITTEN[form], query, hits, budget)
        except ModelError as error:
            log.info("%s without a language model: %s", form, error)
            return None
        text = made.text or (NOT_THERE if form == "answer" else "")
        tokens = estimate_tokens(text)
        return Briefing(text, made.hits, tokens, len(hits) - len(made.hits)) if 0 < tokens <= budget else None

    def context(
        self, task: str | None, budget: int, but: Collection[str] = (), *, note: bool = True, head: str = ""
    ) -> Briefing:
        """Return memories for the start of a conversation: relevant to a task, important or recent; no ids in `but`.

        For `note` and `head` see `recall`.
        """
        joined = bool(self._scope.included)

        def work(scope: Scope, question: Question) -> tuple[Found | None, dict[str, list[Hit]], dict[str, str]]:
            queries, own = question.queries, Memories(scope)
            about = Search(scope).find(question, Filter(session=scope.session), joined=joined) if task else None
            others = {label: own._listed(queries, **of) for label, of in _SECTIONS.items()}
            ids = [hit.record.id for hits in others.values() for hit in hits]
            return about, others, short_ids.shorten(queries, [*(about.ids if about else ()), *ids])

        def read(scope: Scope) -> tuple[Found | None, dict[str, list[Hit]], dict[str, str]]:
            bound = partial(work, scope)
            return scope.ask(task, bound) if task else scope.read(lambda q: bound(Question(q)))  # needs no model

        parts = [(scope.workspace, *read(scope)) for scope in self._scope.each]
        relevant = [(workspace, found) for workspace, found, _, _ in parts if found]
        about: Findings[Hit] = Findings([])
        if relevant:
            about = self._search.ranked(self._search.union(relevant), with_related=True)
        others = {label: _merged(label, [(place, of[label]) for place, _, of, _ in parts]) for label in _SECTIONS}
        best = chosen(about.best)
        label = "Relevant to the task" if any(hit.bears for hit in best) else "Perhaps relevant to the task"
        sections = {label: best, **others}
        sections = {label: [hit for hit in hits if hit.record.id not in but] for label, hits in sections.items()}
        degraded = _sentences(about.degraded, self._scope.degraded)
        named = {key: short for *_, short_ids_of in parts for key, short in short_ids_of.items()}
        head, line = _fitting(head, budget), self._workspace_line(budget)
        briefing = _briefing(task or "", sections, degraded, budget - estimate_tokens(head + line), named)
        briefing = _headed(briefing, head, line)
        bearing = {hit.record.id for hit in briefing.hits if hit.bears}
        return self._noted(briefing, bearing) if note else briefing

    def _workspace_line(self, budget: int) -> str:
        """Return a line that names a workspace found for a directory, or a new one; '' if the line does not fit."""
        workspace, line = self._scope.workspace, ""
        if workspace.found_by:
            line = f"Workspace {json.dumps(workspace.name, ensure_ascii=False)}: {workspace.found_by}.\n\n"
        elif new := self._engine.note_if_new(workspace, self._scope.grant):
            line = f"{new}\n\n"
        return line if estimate_tokens(line) * NOTED <= budget else ""

    def _noted(self, briefing: Briefing, bearing: Collection[str]) -> Briefing:
        """Count what is shown and bears on the question as recalled; return the briefing."""
        if not self._engine.settings.read_only:
            for scope in self._scope.each:
                own = [hit for hit in briefing.hits if (hit.workspace or self._scope.workspace) == scope.workspace]
                ids = [hit.record.id for hit in own if hit.record.id in bearing and hit.record.kind is Kind.MEMORY]
                self._engine.accesses.note(scope.workspace, ids, self._engine.clock.now())
        return briefing

    def _listed(self, queries: Queries, statement: str, **parameters: object) -> list[Hit]:
        rows = queries.all(statement, session=self._scope.session, **parameters)
        return self._hits(queries, [row["id"] for row in rows])

    def _hits(self, queries: Queries, ids: Sequence[str]) -> list[Hit]:
        accesses = self._engine.accesses.of(self._scope.workspace)
        return [Hit(record=one, score=0.0) for one in records.listed(queries, ids, self._scope.session, accesses)]

    # forgetting ------------------------------------------------------------------------------------------------------

    @matched
    def forget(self, criteria: Criteria, *, confirm: bool = False, dry_run: bool = False) -> Findings[Record]:
        """Mark the memories that match all criteria as deleted; return them. With `dry_run` delete nothing.

        Raise InvalidInputError without criteria, or for criteria other than ids without `confirm`.
        """
        if criteria == Criteria():
            raise InvalidInputError("At least one of ids, tags, query, or before must be specified.")
        if not (criteria.ids_alone or confirm or dry_run):
            raise InvalidInputError(
                "Bulk deletion requires confirm=true. Use dry_run=true first to preview what would be forgotten."
            )
        self._scope.demand_own("ids", criteria.ids or ())
        found = self._best_matches(criteria) if criteria.query else None
        best, degraded = (found.best, found.degraded) if found else (None, "")
        if dry_run:
            return Findings(self._scope.read(lambda q: self._matching(q, criteria, best)), degraded)
        gone = self._scope.write(lambda q: self._forget(q, criteria, best))
        self._engine.purge_if_at_once(self._scope.workspace)
        return Findings(gone, degraded)

    def _forget(self, queries: Queries, criteria: Criteria, best: Sequence[str] | None) -> list[Record]:
        matching = self._matching(queries, criteria, best)
        records.delete(queries, [record.id for record in matching], self._engine.clock.now())
        return matching

    def _matching(self, queries: Queries, criteria: Criteria, best: Sequence[str] | None) -> list[Record]:
        ids = self._matching_ids(queries, criteria, best)
        if best is not None:
            matching = set(ids)
            ids = [record_id for record_id in best if record_id in matching][:FORGOTTEN_BY_QUERY]
        return records.listed(queries, ids, self._scope.session)

    def _matching_ids(
        self, queries: Queries, criteria: Criteria, among: Sequence[str] | None = None, limit: int = sys.maxsize
    ) -> list[str]:
        """Return the ids, of some or all memories, that match all criteria but the query: the first `limit`."""
        named = short_ids.resolve(queries, "ids", criteria.ids or (), self._scope.session, "ids.living")
        allowed = Filter(
            tags=criteria.tags,
            session=self._scope.session,
            before=bound(criteria.before) if criteria.before else "",
            among=tuple(among) if among is not None else None,
        )
        by_id = {"ids": json.dumps(named), "any_id": int(criteria.ids is None)}
        return [row["id"] for row in queries.all("memories.forgettable", **visible(allowed), **by_id, limit=limit)]

    def _best_matches(self, criteria: Criteria) -> Findings[str]:
        """Return the ids of the memories that match a query best, of those that match the other criteria.

        If too many match these, others may be among the ids.
        """

        def work(question: Question) -> Found:
            among = self._matching_ids(question.queries, criteria, limit=SEARCHED + 1)
            kinds = (Kind.MEMORY,) if criteria.ids is None else ()
            allowed = Filter(tags=criteria.tags, kinds=kinds, session=self._scope.session)
            return self._search.find(
                question, allowed if len(among) > SEARCHED else replace(allowed, among=tuple(among))
            )

        found = self._search.meant(self._scope.ask(criteria.query or "", work))
        return Findings([hit.record.id for hit in found.best], found.degraded)

    # inspecting ------------------------------------------------------------------------------------------------------

    def get(self, ids: Sequence[str]) -> list[Hit]:
        """Return records of any kind by id or its beginning, in the order of `ids`, without unknown ones.

        Raise InvalidInputError for an ambiguous beginning.
        """
        found: dict[str, Hit] = {}
        for scope in self._scope.each:
            left = short_ids.unnamed(ids, found)
            own = Memories(scope)
            hits = scope.read(partial(own._by_ids, left)) if left else []
            place = scope.workspace if self._scope.included else None
            found |= {hit.record.id: replace(hit, workspace=place) for hit in hits}
        order = [key for given in ids for key in found if short_ids.names(given, key)]
        return [found[key] for key in dict.fromkeys(order)]

    def _by_ids(self, ids: Sequence[str], queries: Queries) -> list[Hit]:
        whole = short_ids.resolve(queries, "ids", ids, self._scope.session, "ids.living")
        return self._hits(queries, list(dict.fromkeys(whole)))

    def recent(self, limit: int) -> list[Hit]:
        """Return the newest memories."""
        return self._scope.read(lambda q: self._listed(q, "memories.recent", kind="memory", limit=limit))

    def important(self, limit: int) -> list[Hit]:
        """Return the most important memories."""
        return self._scope.read(lambda q: self._listed(q, "memories.important", limit=limit, least=0.0))

    def tags(self, limit: int) -> dict[str, int]:
        """Return the most frequent tags, and the number of records with each."""
        rows = self._scope.read(lambda q: q.all("records.tags", session=self._scope.session, limit=limit))
        return {row["tag"]: row["number"] for row in rows}

    def stats(self) -> dict[str, Any]:
        """Return the number of records of each kind, their times, the number with vectors, and the models' states."""

        def work(queries: Queries) -> dict[str, Any]:
            kinds = records.numbers(queries, self._scope.session)
            times = queries.one("records.times", session=self._scope.session, kinds=json.dumps(list(kinds))) or {}
            return {
                "workspace": self._scope.workspace.name,
                "total": sum(kinds.values()),
                "kinds": dict(sorted(kinds.items())),
                "deleted": number_of(queries, "records.deleted"),
                "oldest": times.get("oldest"),
                "newest": times.get("newest"),
            }

        embedded = {"embedded": self._engine.embedding.sets(self._scope.workspace)}
        return self._scope.read(work) | embedded | self._engine.helpers.states()


_SECTIONS: dict[str, dict[str, Any]] = {
    "Important": {"statement": "memories.important", "limit": BRIEFED, "least": IMPORTANT},
    "Recent": {"statement": "memories.recent", "kind": "memory", "limit": BRIEFED},
    "Last sessions": {"statement": "memories.recent", "kind": "summary", "limit": SESSIONS},
}


def _merged(label: str, parts: Sequence[tuple[Workspace, list[Hit]]]) -> list[Hit]:
    """Return the hits of one section from several workspaces, in the order of the section's statement."""
    if len(parts) == 1:
        return parts[0][1]
    hits = [replace(hit, workspace=workspace) for workspace, of in parts for hit in of]
    newest = sorted(hits, key=lambda hit: hit.record.updated_at, reverse=True)
    weighed = sorted(newest, key=lambda hit: -hit.record.importance) if label == "Important" else newest
    once = {hit.record.id: hit for hit in reversed(weighed)}
    return [hit for hit in weighed if once[hit.record.id] is hit][: _SECTIONS[label]["limit"]]


def _sentences(*parts: str) -> str:
    return " ".join(filter(None, parts))


def _fitting(head: str, budget: int) -> str:
    return head if estimate_tokens(head) * HEADED <= budget else ""


def _headed(briefing: Briefing, head: str, line: str = "") -> Briefing:
    """Return a briefing with `head` before its memories, and `line` before its text, whatever that is."""
    text = f"{head if briefing.hits else ''}{line}{briefing.text}"
    return replace(briefing, text=text, tokens_used=estimate_tokens(text))


def _briefing(
    task: str, sections: Mapping[str, Sequence[Hit]], degraded: str, budget: int, named: Mapping[str, str]
) -> Briefing:
    """Return a briefing of what fits: the first section up to its share, the others, then the rest of the first."""
    labels: dict[str, str] = {}
    for label, hits in sections.items():
        labels = {hit.record.id: label for hit in hits} | labels  # the first section that contains it
    layout = SectionsLayout(task, labels, named)
    left = room(budget, degraded, layout)
    about_task, *others = sections.values()
    first = [line.hit for line in pack(about_task, int(TASK_SHARE * left), layout)]
    order: dict[str, Hit] = {}
    for hit in chain(first, *others, about_task):
        order.setdefault(hit.record.id, hit)
    return annotated(brief(list(order.values()), left, layout, FRESH), budget, degraded, layout)
