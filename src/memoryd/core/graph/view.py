"""Answers of the graph tools within a token budget: nodes by name, pages, matches, neighborhoods, lists."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar, cast

from typing_extensions import TypedDict

from memoryd.core.base.clock import moment, timestamp
from memoryd.core.base.results import Placed, Searched, counted, placed, without_empty
from memoryd.core.base.token_budget import LIST_FRAME, Budget
from memoryd.core.graph import (
    as_of,
    entities,
    observations,
    pagination,
    relations,
    report,
    search,
    traversal,
)
from memoryd.core.graph.entities import BriefNode, ShownNode
from memoryd.core.graph.names import LookedUp, Suggesting, look_up
from memoryd.core.graph.observations import ShownObservation
from memoryd.core.graph.pagination import GraphPart, PagePosition
from memoryd.core.graph.relations import ShownRelation
from memoryd.core.graph.report import PendingSummary
from memoryd.core.graph.search import MatchingNode
from memoryd.core.graph.transaction import Graph
from memoryd.core.records.question import Question
from memoryd.core.search.pipeline import Mode
from memoryd.model import Entity, Findings, Observation, Relation, Workspace
from memoryd.store.base import Queries

NODES_SHARE = 0.6  # maximum share of a neighborhood's budget for nodes, before relations are shown
RELATIONS_SHARE = 0.25  # maximum share of the rest for relations, before observations are shown
CURSOR = 100  # maximum characters of a cursor, excluding the name in it

# The shortest possible items: their cost limits how many must be read for a budget.
LEAST_OBSERVATION: ShownObservation = {"ordinal": 0, "content": "x"}
LEAST_RELATION: ShownRelation = {"from": "x", "to": "x", "relation_type": "x"}
LEAST_PENDING = dict.fromkeys(PendingSummary.__annotations__, 0)

ItemT = TypeVar("ItemT")


class _Filled(TypedDict):
    """A node with as many of its observations as fit."""

    observations: list[ShownObservation]
    observations_omitted: int


class OmittedParts(TypedDict):
    """The numbers of items that were found but are not shown."""

    entities: int
    observations: int
    relations: int


@dataclass(frozen=True, slots=True)
class _Ends:
    """The relations that begin or end at some nodes: how to read the first ones, their number, and those shown."""

    first: Callable[[int], Sequence[Relation]]
    number: int
    shown: list[ShownRelation]

    @classmethod
    def of(cls, queries: Queries, ids: Sequence[str], shown: list[ShownRelation]) -> "_Ends":
        """Count the relations and return an instance that shows none of them yet."""
        return cls(partial(relations.of, queries, ids), relations.number(queries, ids), shown)

    def fill(self, budget: Budget, share: float) -> None:
        """Show more of them, as many as fit, ordered by creation."""
        limit = min(budget.at_most(LEAST_RELATION, share), self.number - len(self.shown))
        if limit:
            found = self.first(len(self.shown) + limit)
            self.shown.extend(budget.fill(map(relations.shown, found[len(self.shown) :]), share))


_Facts = Callable[[str, int], Iterable[Observation]]
"""Returns the observations of a node by its id, reading at most a number of them at once."""


def _fill(
    nodes: Mapping[str, _Filled], facts: _Facts, every: Sequence[_Ends], budget: Budget, most: float = 1.0
) -> None:
    """Show relations up to their share, then the observations of nodes by id, then the relations that still fit.

    `most` is the share of the budget that may have been spent at the end.
    """
    share = budget.beyond(RELATIONS_SHARE, most)
    for ends in every:
        ends.fill(budget, share)
    for key, node in nodes.items():
        if limit := min(budget.at_most(LEAST_OBSERVATION, most), observations.READ_AT_ONCE):
            node["observations"] = budget.fill(map(observations.shown, facts(key, limit)), most)
            node["observations_omitted"] -= len(node["observations"])
    for ends in every:
        ends.fill(budget, most)


def _facts(queries: Queries) -> _Facts:
    return lambda key, at_once: observations.onward(queries, key, at_once=at_once)


def _omitted(nodes: Sequence[_Filled], found: int, every: Sequence[_Ends]) -> OmittedParts:
    """Return how many of `found` nodes, and of the shown nodes' observations and relations, are not shown."""
    return {
        "entities": found - len(nodes),
        "observations": sum(node["observations_omitted"] for node in nodes),
        "relations": sum(ends.number - len(ends.shown) for ends in every),
    }


# nodes by name -------------------------------------------------------------------------------------------------------


class OpenedNode(ShownNode):
    """A node with those of its observations that fit."""

    observations_omitted: int


class OpenedNodes(Suggesting):
    """Nodes, and every relation that begins or ends at one of them."""

    entities: list[OpenedNode]
    relations: list[ShownRelation]
    not_found: list[str]
    omitted: OmittedParts
    tokens_used: int


def opened(graph: Graph, names: Sequence[str], tokens: int, time: str | None = None) -> OpenedNodes:
    """Return nodes by name with their observations, and every relation that begins or ends at one of them.

    With a `time` they are as they were then. Raise InvalidInputError if it is not an ISO 8601 time.
    """
    wanted = list(dict.fromkeys(names))

    def now(queries: Queries) -> OpenedNodes:
        known = look_up(queries, wanted)
        counts = observations.counts(queries, [one.id for one in known.found.values()])
        return _opened(wanted, known, counts, _facts(queries), lambda ids: _Ends.of(queries, ids, []), Budget(tokens))

    if not time:
        return graph.read(now)
    at = timestamp(moment(time))
    then = graph.read(lambda q: as_of.nodes(q, wanted, at))
    counts = {key: len(of) for key, of in then.observations.items()}
    ends = _Ends(lambda number: then.relations[:number], len(then.relations), [])
    known = LookedUp(dict(then.entities), {})
    return _opened(wanted, known, counts, lambda key, _: then.observations[key], lambda _: ends, Budget(tokens))


def _opened(
    names: Sequence[str],
    known: LookedUp,
    counts: Mapping[str, int],
    facts: _Facts,
    ends_of: Callable[[Sequence[str]], _Ends],
    budget: Budget,
) -> OpenedNodes:
    missing = [name for name in names if name not in known.found]
    for name in missing:  # they are shown even if they exceed the budget
        budget.spend(name)
    heads: dict[str, OpenedNode] = {
        one.id: {**entities.shown(one), "observations_omitted": counts[one.id]} for one in known.found.values()
    }
    nodes = {key: node for key, node in heads.items() if budget.take(node)}
    ends = ends_of(list(nodes))
    _fill(nodes, facts, [ends], budget)
    shown: OpenedNodes = {
        "entities": list(nodes.values()),
        "relations": ends.shown,
        "not_found": missing,
        "omitted": _omitted(list(nodes.values()), len(heads), [ends]),
        "tokens_used": 0,
        **known.suggested(),
    }
    return counted(shown)


# the whole graph -----------------------------------------------------------------------------------------------------


class GraphPage(TypedDict):
    """A page of the graph, ordered by name; a relation is on the page of the node where it begins."""

    entities: list[ShownNode]
    relations: list[ShownRelation]
    next_cursor: str | None
    tokens_used: int


def page(graph: Graph, tokens: int, cursor: str | None = None) -> GraphPage:
    """Return a page of the graph from a cursor on.

    Every observation and relation is shown on exactly one page. A node too large for a page continues on the next.
    """
    start = PagePosition.parse(cursor)
    return graph.read(lambda q: _page(q, start, Budget(tokens)))


def _page(queries: Queries, start: PagePosition, budget: Budget) -> GraphPage:
    shown: GraphPage = {"entities": [], "relations": [], "next_cursor": None, "tokens_used": 0}
    for number, (place, part) in enumerate(pagination.parts(queries, start)):
        beside, one = _shown(shown, part)
        if number == 0 or (number == 1 and not isinstance(part, Entity)):
            budget.spend(one)  # even beyond the budget: otherwise the next page would equal this one
        elif not budget.take(one, free=len(place.name) + CURSOR):
            shown["next_cursor"] = str(place)
            break
        beside.append(one)
    return counted(shown)


def _shown(page: GraphPage, part: GraphPart) -> tuple[list[Any], ShownNode | ShownObservation | ShownRelation]:
    """Return the list of a page to which a part belongs, and the part; an observation follows its node."""
    match part:
        case Entity():
            return page["entities"], entities.shown(part)
        case Observation():
            return page["entities"][-1]["observations"], observations.shown(part)
        case Relation():
            return page["relations"], relations.shown(part)


# search --------------------------------------------------------------------------------------------------------------


class MatchedNode(ShownNode, Placed):
    """A found node, why it matched, and as much of it as fits."""

    matched_observation: str | None
    """None if the node's own name, type or summary matched."""
    matched_perspective: str | None
    score: float
    name_only: bool
    """Whether there was room for the name only; the node may have a summary, tags and so on."""
    observations_omitted: int
    relations: list[ShownRelation]


class MatchedNodes(Searched):
    """The nodes that a search found, best first."""

    result: list[MatchedNode]
    mode: Mode
    """The search mode used: text if nothing is embedded."""
    omitted: OmittedParts
    tokens_used: int


def matched(graph: Graph, query: str, limit: int, mode: Mode, tokens: int) -> MatchedNodes:
    """Return the nodes that match a query, with observations and relations, or with the name only if no more fits."""

    def alone(question: Question) -> MatchedNodes:
        found = search.ranked(graph, [(graph.workspace, search.find(graph, limit, mode, question))], limit, mode)
        return _matched(*found, tokens, {None: lambda work: work(question.queries)})

    if not graph.scope.included:
        return search.ask(graph, query, mode, alone)
    readers: _Readers = {scope.workspace: scope.read for scope in graph.scope.each}
    return _matched(*search.search(graph, query, limit, mode), tokens, readers)


_Filling = tuple[list[MatchedNode], list[_Ends], Budget]
_Readers = Mapping[Workspace | None, Callable[[Callable[[Queries], _Filling]], _Filling]]


def _matched(found: Findings[MatchingNode], mode: Mode, tokens: int, readers: _Readers) -> MatchedNodes:
    """Return the nodes that were found; `readers` run work on a snapshot of each workspace."""
    budget = Budget(tokens)
    degraded = found.degraded if found.degraded and budget.take({"degraded": found.degraded}) else ""
    forms = [(match.workspace, next(filter(budget.take, _forms(match)), None)) for match in found.best]
    heads = [(place, node) for place, node in forms if node]
    nodes, ends, left = dict(enumerate(node for _, node in heads)), list[_Ends](), len(heads)
    for place in dict.fromkeys(place for place, _ in heads):
        here = [number for number in nodes if heads[number][0] == place]
        share, left = budget.beyond(len(here) / left), left - len(here)
        filled, more, budget = readers[place](partial(_filled, [nodes[number] for number in here], budget, share))
        nodes |= dict(zip(here, filled, strict=True))
        ends += more
    shown: MatchedNodes = {
        "degraded": degraded,
        "result": list(nodes.values()),
        "mode": mode,
        "omitted": _omitted(list(nodes.values()), len(found.best), ends),
        "tokens_used": 0,
    }
    return counted(without_empty(shown, "degraded"))


def _filled(heads: Sequence[MatchedNode], budget: Budget, share: float, queries: Queries) -> _Filling:
    """Return nodes of one workspace, filled up to a share of the budget, and what is left; a store may repeat this."""
    left = copy(budget)
    nodes: list[MatchedNode] = [{**node, "relations": []} for node in heads]
    ends = [_Ends.of(queries, [node["id"]], node["relations"]) for node in nodes]
    whole = [(node, its) for node, its in zip(nodes, ends, strict=True) if not node["name_only"]]
    _fill({node["id"]: node for node, _ in whole}, _facts(queries), [its for _, its in whole], left, share)
    return nodes, ends, left


def _forms(match: MatchingNode) -> tuple[MatchedNode, MatchedNode]:
    """Return the two forms of a match, both still without observations: complete, and with the name only."""
    whole: MatchedNode = {
        **entities.shown(match.entity),
        "matched_observation": match.observation,
        "matched_perspective": match.perspective,
        "score": round(match.score, 4),
        "name_only": False,
        "observations_omitted": match.observed,
        "relations": [],
        **placed(match.workspace),
    }
    named: MatchedNode = {
        **whole,
        "summary": None,
        "tags": [],
        "matched_observation": None,
        "matched_perspective": None,
        "name_only": True,
    }
    return whole, named


# surroundings and lists ----------------------------------------------------------------------------------------------


class OmittedSurroundings(TypedDict):
    """The numbers of items that were found but are not shown."""

    nodes: int
    relations: int


class ShownNeighborhood(TypedDict):
    """A node, those around it by distance, and the relations between them."""

    nodes: list[BriefNode]
    relations: list[ShownRelation]
    omitted: OmittedSurroundings
    tokens_used: int


def neighborhood(graph: Graph, name: str, depth: int, tokens: int) -> ShownNeighborhood:
    """Return the nearest nodes up to NODES_SHARE, the relations between them, then the nodes that still fit."""
    (around, among), budget = traversal.neighborhood(graph, name, depth), Budget(tokens)
    every = list(map(entities.brief, around))
    nodes = budget.fill(every, NODES_SHARE)
    names = {node["name"] for node in nodes}
    edges = budget.fill(relations.shown(one) for one in among if {one.source, one.target} <= names)
    nodes += budget.fill(every[len(nodes) :])
    omitted: OmittedSurroundings = {"nodes": len(every) - len(nodes), "relations": len(among) - len(edges)}
    shown: ShownNeighborhood = {"nodes": nodes, "relations": edges, "omitted": omitted, "tokens_used": 0}
    return counted(shown)


class BudgetedList(TypedDict, Generic[ItemT]):
    """A list, cut off where the budget ends."""

    result: list[ItemT]
    omitted: int
    tokens_used: int


def pending_summaries(graph: Graph, tokens: int) -> BudgetedList[PendingSummary]:
    """Return as many nodes without a current summary as fit, the last observed first."""
    most = Budget(tokens, LIST_FRAME).at_most(LEAST_PENDING)
    found, total = report.pending(graph, max(most, 1))  # at least one row, because it contains the total
    return cut([cast(PendingSummary, {name: row[name] for name in LEAST_PENDING}) for row in found], tokens, total)


def cut(parts: Sequence[ItemT], tokens: int, total: int | None = None) -> BudgetedList[ItemT]:
    """Cut a list off where the budget ends; `total` is its full length if `parts` are only the first ones."""
    shown = Budget(tokens, LIST_FRAME).fill(parts)
    omitted = (len(parts) if total is None else total) - len(shown)
    answer: BudgetedList[ItemT] = {"result": shown, "omitted": omitted, "tokens_used": 0}
    return counted(answer)
