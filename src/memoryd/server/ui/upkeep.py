"""Upkeep: what maintenance would do, accepted or refused one by one, and what the graph lacks."""

from starlette.responses import HTMLResponse, Response

from memoryd.core.graph import missing_relations, refusals, report, similarity
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import proposals
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
    apart = refusals.refused(graph)
    pairs = similarity.similar(graph, SHOWN, without=[(pair.one_id, pair.other_id) for pair in apart])
    return visit.fragment("lacks.html", gaps=gaps, pending=pending, total=total, pairs=pairs, apart=apart)


def accept(visit: Visit) -> Response:
    """Do what maintenance proposes."""
    act = proposals.accept(visit.engine, visit.workspace, visit.text("key"))
    ids = [memory.id for memory in act.gone]
    return HTMLResponse(toast(visit, f"{act.ending.capitalize()}.", {"ids": ids, "at": ""}), headers=changed([]))


def refuse(visit: Visit) -> Response:
    """Leave the memories of a proposal alone from now on."""
    act = proposals.refuse(visit.engine, visit.workspace, visit.text("key"))
    undo = {"path": "/upkeep/unrefuse", "fields": {"id": [memory.id for memory in act.gone]}}
    return HTMLResponse(toast(visit, "Refused. Maintenance leaves these memories alone from now on.", undo))


def unrefuse(visit: Visit) -> Response:
    """Let maintenance propose again what was refused."""
    ids = visit.texts("id")
    proposals.take_back(visit.engine, visit.workspace, ids)
    return HTMLResponse(toast(visit, "Maintenance looks at these memories again."), headers=changed(ids))


def keep_apart(visit: Visit) -> Response:
    """Let two nodes that are alike stay two."""
    one, other = visit.text("one"), visit.text("other")
    refusals.refuse(Graph(visit.scope), one, other)
    undo = {"path": "/upkeep/alike", "fields": {"one": one, "other": other}}
    return HTMLResponse(toast(visit, f"Refused. {one} and {other} are not proposed as one any more.", undo))


def compare_again(visit: Visit) -> Response:
    """Let two nodes be proposed as one again."""
    one, other = visit.text("one"), visit.text("other")
    refusals.take_back(Graph(visit.scope), one, other)
    return HTMLResponse(toast(visit, f"{one} and {other} may be proposed as one again."), headers=changed([]))


VIEWS = (
    View("/upkeep", show), View("/upkeep/graph", show_graph), View("/upkeep/accept", accept, "POST", "forget"),
    View("/upkeep/refuse", refuse, "POST", "correct"), View("/upkeep/unrefuse", unrefuse, "POST", "correct"),
    View("/upkeep/apart", keep_apart, "POST", "correct"), View("/upkeep/alike", compare_again, "POST", "correct"),
)  # fmt: skip
