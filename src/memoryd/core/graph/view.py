"""Answers of the graph tools within a token budget: nodes by name, pages, matches, neighborhoods, lists."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from typing_extensions import TypedDict

from memoryd.core.base.clock import moment, timestamp
from memoryd.core.base.results import Placed, Searched, counted, placed, without_empty
from memoryd.core.base.token_budget import LIST_FRAME, Budget
from memoryd.core.graph import (
    as_of,
    entities,
    missing_relations,
    observations,
    pagination,
    relations,
    report,
    search,
    traversal,
)
from memoryd.core.graph.entities import BriefNode, ShownNode
from memoryd.core.graph.missing_relations import RelationGap
from memoryd.core.graph.names import Suggesting, look_up
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
    """The relations that begin or end at some nodes: the list of those shown, and the number of all."""

    ids: Sequence[str]
    shown: list[ShownRelation]
    number: int

    @classmethod
    def of(cls, queries: Queries, ids: Sequence[str], shown: list[ShownRelation]) -> "_Ends":
        """Count the relations and return an instance that shows none of them yet."""
        return cls(ids, shown, relations.number(queries, ids))

    def fill(self, queries: Queries, budget: Budget, share: float) -> None:
        """Show more of them, as many as fit, ordered by creation."""
        limit = min(budget.at_most(LEAST_RELATION, share), self.number - len(self.shown))
        if limit:
            found = relations.of(queries, self.ids, len(self.shown) + limit)
            self.shown.extend(budget.fill(map(relations.shown, found[len(self.shown) :]), share))


def _fill(
    queries: Queries, nodes: Mapping[str, _Filled], every: Sequence[_Ends], budget: Budget, most: float = 1.0
) -> None:
    """Show relations up to their share, then the observations of nodes by id, then the relations that still fit.

    `most` is the share of the budget that may have been spent at the end.
    """
    share = budget.beyond(RELATIONS_SHARE, most)
    for ends in every:
        ends.fill(queries, budget, share)
    for key, node in nodes.items():
        node["observations"] = budget.fill(_observations(queries, key, budget, most), most)
        node["observations_omitted"] -= len(node["observations"])
    for ends in every:
        ends.fill(queries, budget, most)


def _observations(queries: Queries, entity_id: str, budget: Budget, most: float) -> Iterator[ShownObservation]:
    if limit := min(budget.at_most(LEAST_OBSERVATION, most), observations.READ_AT_ONCE):
        yield from map(observations.shown, observations.onward(queries, entity_id, at_once=limit))


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


def opened(graph: Graph, names: Sequence[str], tokens: int) -> OpenedNodes:
    """Return nodes by name with their observations, and every relation that begins or ends at one of them."""
    return graph.read(lambda q: _opened(q, list(dict.fromkeys(names)), Budget(tokens)))


def _opened(queries: Queries, names: Sequence[str], budget: Budget) -> OpenedNodes:
    known = look_up(queries, names)
    missing = _missing(names, known.found, budget)
    found = {one.id: one for one in known.found.values()}
    wanted = list(found.values())
    counts = observations.counts(queries, [one.id for one in wanted])
    heads = {one.id: _opened_node(one, counts[one.id]) for one in wanted}
    nodes = {key: node for key, node in heads.items() if budget.take(node)}
    ends = _Ends.of(queries, list(nodes), [])
    _fill(queries, nodes, [ends], budget)
    entities = list(nodes.values())
    shown: OpenedNodes = {
        "entities": entities,
        "relations": ends.shown,
        "not_found": missing,
        "omitted": _omitted(entities, len(found), [ends]),
        "tokens_used": 0,
        **known.suggested(),
    }
    return counted(shown)


def opened_then(graph: Graph, names: Sequence[str], tokens: int, time: str) -> OpenedNodes:
    """Return what `opened` does, as of a time; raise InvalidInputError if `time` is not an ISO 8601 time."""
    wanted, at = list(dict.fromkeys(names)), timestamp(moment(time))
    then = graph.read(lambda q: as_of.nodes(q, wanted, at))
    budget = Budget(tokens)
    missing = _missing(wanted, then.entities, budget)
    entities: list[OpenedNode] = []
    found = {one.id: one for one in then.entities.values()}
    for one in found.values():
        facts = list(map(observations.shown, then.observations[one.id]))
        node = _opened_node(one, len(facts))
        if budget.take(node):
            node["observations"] = budget.fill(facts)
            node["observations_omitted"] -= len(node["observations"])
            entities.append(node)
    edges = budget.fill(map(relations.shown, then.relations))
    omitted: OmittedParts = {
        "entities": len(found) - len(entities),
        "observations": sum(node["observations_omitted"] for node in entities),
        "relations": len(then.relations) - len(edges),
    }
    shown: OpenedNodes = {
        "entities": entities,
        "relations": edges,
        "not_found": missing,
        "omitted": omitted,
        "tokens_used": 0,
    }
    return counted(shown)


def _missing(names: Sequence[str], found: Mapping[str, Entity], budget: Budget) -> list[str]:
    """Return the names that were not found; they are shown even if they exceed the budget."""
    missing = [name for name in names if name not in found]
    for name in missing:
        budget.spend(name)
    return missing


def _opened_node(of: Entity, number: int) -> OpenedNode:
    return {**entities.shown(of), "observations_omitted": number}


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
        one = _shown(part)
        if number == 0 or (number == 1 and not isinstance(part, Entity)):
            budget.spend(one)  # even beyond the budget: otherwise the next page would equal this one
        elif not budget.take(one, free=len(place.name) + CURSOR):
            shown["next_cursor"] = str(place)
            break
        _list_of(shown, part).append(one)
    return counted(shown)


def _shown(part: GraphPart) -> ShownNode | ShownObservation | ShownRelation:
    match part:
        case Entity():
            return entities.shown(part)
        case Observation():
            return observations.shown(part)
        case Relation():
            return relations.shown(part)


def _list_of(shown: GraphPage, part: GraphPart) -> list[Any]:
    """Return the list of a page to which a part belongs; an observation follows its node."""
    match part:
        case Entity():
            return shown["entities"]
        case Observation():
            return shown["entities"][-1]["observations"]
        case Relation():
            return shown["relations"]


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
    _fill(queries, {node["id"]: node for node, _ in whole}, [its for _, its in whole], left, share)
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
    named = copy(whole)
    named |= {
        "summary": None,
        "tags": [],
        "matched_observation": None,
        "matched_perspective": None,
        "name_only": True,
        "relations": [],
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
    omitted: OmittedSurroundings = {
        "nodes": len(every) - len(nodes),
        "relations": len(among) - len(edges),
    }
    shown: ShownNeighborhood = {"nodes": nodes, "relations": edges, "omitted": omitted, "tokens_used": 0}
    return counted(shown)


class BudgetedList(TypedDict, Generic[ItemT]):
    """A list, cut off where the budget ends."""

    result: list[ItemT]
    omitted: int
    tokens_used: int


def brief_nodes(found: Iterable[Entity], tokens: int) -> BudgetedList[BriefNode]:
    """Return as many nodes as fit."""
    return _cut(list(map(entities.brief, found)), tokens)


def relation_gaps(graph: Graph, tokens: int) -> BudgetedList[RelationGap]:
    """Return as many missing relations as fit, most mentioned first."""
    return _cut(missing_relations.gaps(graph), tokens)


def pending_summaries(graph: Graph, tokens: int) -> BudgetedList[PendingSummary]:
    """Return as many nodes without a current summary as fit, the last observed first."""
    most = Budget(tokens, LIST_FRAME).at_most(LEAST_PENDING)
    found, total = report.pending(graph, max(most, 1))  # at least one row, because it contains the total
    shown: list[PendingSummary] = [
        {
            "name": one["name"],
            "entity_type": one["entity_type"],
            "observation_count": one["observation_count"],
            "last_observation_at": one["last_observation_at"],
            "summary_updated_at": one["summary_updated_at"],
        }
        for one in found
    ]
    return _cut(shown, tokens, total)


def _cut(parts: Sequence[ItemT], tokens: int, total: int | None = None) -> BudgetedList[ItemT]:
    """Cut a list off where the budget ends; `total` is its full length if `parts` are only the first ones."""
    shown = Budget(tokens, LIST_FRAME).fill(parts)
    omitted = (len(parts) if total is None else total) - len(shown)
    answer: BudgetedList[ItemT] = {"result": shown, "omitted": omitted, "tokens_used": 0}
    return counted(answer)
