"""Memories: the list and its cards, one record, forgetting and undo, for one and for many."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from starlette.responses import HTMLResponse, Response

from memoryd.core.base.clock import moment
from memoryd.core.graph import observations
from memoryd.core.graph.names import named
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import history, verdicts
from memoryd.core.maintenance.consolidation import by_age
from memoryd.core.maintenance.decay import vitality
from memoryd.core.memories import correction, listing
from memoryd.core.memories.listing import Facets, ListedRecord
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.features.page import answers
from memoryd.features.page.answers import GONE, toast, undoing
from memoryd.features.page.visit import View, Visit
from memoryd.model import Kind
from memoryd.store.base import Queries

SHOWN = 5  # records quoted in a preview of many
GATHERED = tuple(kind for kind in Kind if kind is not Kind.OBSERVATION)
"""The kinds that have cards of their own."""
LEAST = (0.5, 0.7, 0.9)  # importances to filter by
TEXTS = ("client", "tool", "session", "since", "until")
"""The facets that are one text."""
VERBS = ("tag", "untag", "forget")  # actions on many records


# the list ------------------------------------------------------------------------------------------------------------


def facets_of(visit: Visit) -> Facets:
    """Return the facets that a URL or a form names. Raise InvalidInputError."""
    kinds = visit.texts("kind")
    if unknown := [kind for kind in kinds if kind not in set(Kind)]:
        raise InvalidInputError(f"Unknown kind {unknown[0][:50]!r}. Use some of: {', '.join(Kind)}.")
    return Facets(
        kinds=tuple(map(Kind, kinds)),
        tags=visit.texts("tag"),
        **{name: visit.text(name) for name in TEXTS},
        least=visit.number("least", 0.0),
        deleted=visit.text("deleted") == "1",
    )


def query_of(facets: Facets, **others: Any) -> dict[str, Any]:
    """Return facets as the fields of a URL."""
    return {
        "kind": [str(kind) for kind in facets.kinds],
        "tag": list(facets.tags),
        **{name: getattr(facets, name) for name in TEXTS},
        "least": facets.least or "",
        "deleted": "1" if facets.deleted else "",
    } | others


def show_list(visit: Visit) -> Response:
    """Show the records that match facets and a search; for htmx only the requested part: more, the results, or all."""
    facets, text, by_meaning = facets_of(visit), visit.text("q").strip(), visit.text("mode") == "meaning"
    degraded, after, target = "", "", visit.request.headers.get("hx-target", "")
    seen = listing.latest(visit.scope)  # before the list is read: news begin there
    if text and by_meaning and not facets.deleted:
        found = listing.meant(visit.scope, text, facets)
        records, degraded = found.best, found.degraded
    elif text and not facets.deleted:
        records = listing.typed(visit.scope, text, facets)
    else:
        whole = Facets(kinds=GATHERED) if facets == Facets() else facets  # else a node is on many pages
        page = listing.page(visit.scope, whole, listing.mark_of(visit.text("after")))
        records, after = list(page.records), page.following
    values: dict[str, Any] = {
        "cards": list(map(ListCard, records)) if Kind.OBSERVATION in facets.kinds else cards(visit.scope, records),
        "seen": seen,
        "facets": facets,
        "q": text,
        "by_meaning": by_meaning,
        "degraded": degraded,
        "more": visit.address(**query_of(facets, after=after)) if after else "",
        "more_only": target == "more",
        "query": query_of(facets),
        "address": lambda **change: visit.address(**query_of(facets) | change),
    }
    if visit.part and target in ("results", "more"):
        return visit.fragment("results.html", **values)
    return visit.page("memories.html", "memories", **values)


def show_facets(visit: Visit) -> Response:
    """Show how many records each kind, tag, client and tool has."""
    facets = facets_of(visit)
    counts = visit.kept.get(visit.scope, "facets", lambda: listing.counts(visit.scope))
    return visit.fragment(
        "facets.html",
        facets=facets,
        counts=counts,
        least=LEAST,
        address=lambda **change: visit.address(**query_of(facets, q=visit.text("q")) | change),
    )


# one record ----------------------------------------------------------------------------------------------------------


def show_record(visit: Visit) -> Response:
    """Show one record: its text, its origin and its earlier texts."""
    story = listing.story(visit.scope, visit.id)
    record = visit.engine.accesses.current(visit.workspace, story.now.record)
    alive = vitality(record, moment(visit.engine.clock.now())) if record.kind is Kind.MEMORY else None
    return visit.page("record.html", "memories", story=story, listed=story.now, record=record, vitality=alive)


def show_alike(visit: Visit) -> Response:
    """Show the records nearest to one in meaning."""
    found = listing.alike(visit.scope, visit.listed.record)
    return visit.fragment("alike.html", found=found.best, degraded=found.degraded)


def show_card(visit: Visit) -> Response:
    """Show a record as in a list."""
    (card,) = cards(visit.scope, [visit.listed])
    return visit.fragment("card.html", listed=card.listed, card=card, whole=visit.text("whole"))


def forget(visit: Visit) -> Response:
    """Forget a record; answer with an undo."""
    gone = Memories(visit.scope).forget(Criteria(ids=(visit.id,))).best
    if not gone:
        raise NotFoundError(
            "Only living memories, turns and summaries can be forgotten here. The graph has its own view."
        )
    undo = undoing(listing.one(visit.scope, gone[0].id))
    return HTMLResponse(toast(visit, "Forgotten.", undo), headers=GONE)


def restore(visit: Visit) -> Response:
    """Undo the last change of records, or the one at a time; with `seen`, only if that is still the last change."""
    at = visit.text("at")
    done = history.restore(Graph(visit.scope), visit.texts("id"), at or None, visit.text("seen"))
    undo = None
    if at and not visit.text("seen"):  # an earlier text on request, not an undo: the text until now is a version
        now = listing.one(visit.scope, done[0].id)
        undo = undoing(now, now.record.updated_at)
    along = sum(one.along for one in done)
    text = "Restored" if len(done) == 1 else f"{len(done):,} restored"
    text += f" with {along} that belong to it." if along else "."
    return answers.done(visit, text, undo, [one.id for one in done])


# many ----------------------------------------------------------------------------------------------------------------


def preview_many(visit: Visit) -> Response:
    """Show what would be done with the selected records, or with all that match."""
    ids, verb = _chosen(visit), visit.one_of("verb", VERBS)
    shown = [hit.record for hit in Memories(visit.scope).get(ids[:SHOWN])]
    return visit.fragment("bulk.html", ids=ids, shown=shown, verb=verb, query=query_of(facets_of(visit)))


def preview_replacement(visit: Visit) -> Response:
    """Show which of two selected memories would replace the other."""
    ids = _chosen(visit)
    if len(ids) != 2:
        raise InvalidInputError("Select exactly two memories.")
    older, newer = by_age(*verdicts.pair(visit.engine, visit.workspace, *ids))
    return visit.fragment("replace.html", older=older, newer=newer)


def change_many(visit: Visit) -> Response:
    """Tag or forget many records; answer with an undo."""
    ids, verb = _chosen(visit), visit.one_of("verb", VERBS)
    if len(ids) != int(visit.number("number", -1)):
        raise InvalidInputError(f"{len(ids):,} records match now. Nothing was changed; look again.")
    if verb == "forget":
        if not visit.forgets:
            raise InvalidInputError("Your session may not forget.")
        gone = [record.id for record in Memories(visit.scope).forget(Criteria(ids=tuple(ids))).best]
        text, undo = f"{len(gone):,} forgotten.", {"ids": gone, "at": ""}
    else:
        names = [tag.strip() for tag in visit.text("tags").split(",") if tag.strip()]
        if not names:
            raise InvalidInputError("Name at least one tag.")
        add, remove = ((), names) if verb == "untag" else (names, ())
        done = correction.retag(visit.scope, ids, add, remove)
        text, undo = f"{len(done.ids):,} tagged.", {"ids": list(done.ids), "at": done.at}
    return answers.done(visit, text, undo if undo["ids"] else None, undo["ids"])


def _chosen(visit: Visit) -> list[str]:
    if visit.text("all") == "1":
        return listing.ids(visit.scope, facets_of(visit))
    if not (ids := visit.texts("id")):
        raise InvalidInputError("Select at least one record.")
    return list(ids)


# cards: a node of the graph and what is known about it are one --------------------------------------------------------


FACTS = 5  # observations of a card, unless more of them match a search


@dataclass(frozen=True, slots=True)
class ListCard:
    """A record of a list; with an entity the texts of some of its observations."""

    listed: ListedRecord
    facts: Sequence[str] = ()
    further: int = 0
    """The number of its observations that are not shown."""


def cards(scope: Scope, records: Sequence[ListedRecord]) -> list[ListCard]:
    """Return the cards of records in their order; living observations join the card of their entity."""
    found = defaultdict[str, list[ListedRecord]](list)
    for one in records:
        if one.record.kind is Kind.OBSERVATION and not one.deleted_at:
            found[one.record.name or ""].append(one)
    own = {one.record.name: one for one in records if one.record.kind is Kind.ENTITY and not one.deleted_at}
    lacking = [name for name in found if name not in own]
    if lacking:
        nodes = scope.read(lambda queries: named(queries, lacking))
        own |= {one.record.name: one for one in listing.some(scope, [node.id for node in nodes.values()])}
    facts = scope.read(lambda queries: _facts(queries, list(own.values()), found)) if own else {}
    made = dict[str, ListCard]()
    for one in records:
        node = one if one.deleted_at or one.record.kind is not Kind.OBSERVATION else own.get(one.record.name, one)
        key = node.record.id
        made.setdefault(key, ListCard(node, *facts.get(key, ())))
    return list(made.values())


def _facts(
    queries: Queries, nodes: Sequence[ListedRecord], found: dict[str, list[ListedRecord]]
) -> dict[str, tuple[Sequence[str], int]]:
    """Return the texts about each node, those that were found first, and how many more there are."""
    ids = [node.record.id for node in nodes]
    numbers = observations.counts(queries, ids)
    first = {key: list(islice(of, FACTS)) for key, of in observations.each_onward(queries, ids).items()}
    shown = dict[str, tuple[Sequence[str], int]]()
    for node in nodes:
        key = node.record.id
        texts = {one.record.id: one.record.body for one in found.get(node.record.name or "", ())}
        for one in first[key]:
            if len(texts) < FACTS:
                texts.setdefault(one.id, one.content)
        shown[key] = list(texts.values()), numbers[key] - len(texts)
    return shown


VIEWS = (
    View("", show_list),
    View("/facets", show_facets),
    View("/m/{id}", show_record),
    View("/m/{id}/alike", show_alike),
    View("/m/{id}/card", show_card),
    View("/m/{id}/forget", forget, "POST", "forget"),
    View("/restore", restore, "POST", "correct"),
    View("/many/preview", preview_many, "POST", "correct"),
    View("/many/replace", preview_replacement, "POST", "correct"),
    View("/many", change_many, "POST", "correct"),
)
