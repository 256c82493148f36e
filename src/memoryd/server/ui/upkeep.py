"""Upkeep: what maintenance would do, accepted or refused one by one, and what the graph lacks."""

from starlette.responses import HTMLResponse, Response

from memoryd.core.graph import missing_relations, relations, report, similarity
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import proposals
from memoryd.errors import InvalidInputError
from memoryd.server.ui.answers import changed, toast
from memoryd.server.ui.visit import View, Visit

SHOWN, PENDING = 25, 8  # of what the graph lacks, and of its summaries


def show(visit: Visit) -> Response:
    """Show what maintenance would do to memories."""
    acts = proposals.proposals(visit.engine, visit.workspace)
    return visit.page("upkeep.html", "upkeep", acts=[(proposals.key_of(act), act) for act in acts])


def show_graph(visit: Visit) -> Response:
    """Show what the graph lacks: relations that texts mention, summaries, pairs that may be the same."""
    graph = Graph(visit.scope)
    gaps = visit.kept.get(visit.scope, "gaps", lambda: missing_relations.gaps(graph)[:SHOWN])
    pending, total = report.pending(graph, PENDING)
    pairs = similarity.similar(graph, SHOWN)
    return visit.fragment("lacks.html", gaps=gaps, pending=pending, total=total, pairs=pairs)


def accept(visit: Visit) -> Response:
    """Do what maintenance proposes."""
    act = proposals.accept(visit.engine, visit.workspace, visit.text("key"))
    ids = [memory.id for memory in act.gone]
    return HTMLResponse(toast(visit, f"{act.ending.capitalize()}.", {"ids": ids, "at": ""}), headers=changed([]))


def refuse(visit: Visit) -> Response:
    """Leave the memories of a proposal alone from now on."""
    proposals.refuse(visit.engine, visit.workspace, visit.text("key"))
    return HTMLResponse(toast(visit, "Refused. Maintenance leaves these memories alone from now on."))


def relate(visit: Visit) -> Response:
    """Make a relation that the graph lacks."""
    edge = Edge(visit.text("from"), visit.text("to"), visit.text("type").strip() or "relates to")
    made = relations.create(Graph(visit.scope), [edge])
    if made["not_found"]:
        raise InvalidInputError(f"There is no node {made['not_found'][0][:100]!r} any more. Nothing was made.")
    return HTMLResponse(toast(visit, f"{edge.source} {edge.type} {edge.target}."))


VIEWS = (
    View("/upkeep", show), View("/upkeep/graph", show_graph), View("/upkeep/accept", accept, "POST", "forget"),
    View("/upkeep/refuse", refuse, "POST", "correct"), View("/upkeep/relate", relate, "POST", "correct"),
)  # fmt: skip
