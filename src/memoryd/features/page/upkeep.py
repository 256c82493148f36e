"""Upkeep: the proposals of maintenance, contradictions to judge one by one, and what the graph lacks."""

from collections.abc import Mapping
from itertools import islice

from starlette.responses import Response

from memoryd.core.graph import missing_relations, refusals, report, similarity
from memoryd.core.graph.refusals import NodeProposal
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import contradictions, proposals, scheduler, verdicts
from memoryd.errors import InvalidInputError
from memoryd.features.page.answers import done
from memoryd.features.page.visit import View, Visit

SHOWN, PENDING = 25, 8  # maximum items of each list, and of the missing summaries
REFUSALS: Mapping[NodeProposal, str] = {"pair": "stay separate", "gap": "stay unrelated"}
"""The consequence of a refusal for the two nodes."""


def show(visit: Visit) -> Response:
    """Show what maintenance would do with memories."""
    acts = proposals.proposals(visit.engine, visit.workspace)
    model = visit.engine.settings.llm_model if scheduler.judges(visit.engine) else ""
    return visit.page(
        "upkeep.html",
        "upkeep",
        acts=[(proposals.key_of(act), act) for act in acts],
        model=model,
        heard=False,
        judged=list(visit.kept.judged(visit.scope).items()),
    )


def ask(visit: Visit) -> Response:
    """Ask the language model what else maintenance would do."""
    by_words = {proposals.key_of(act) for act in proposals.proposals(visit.engine, visit.workspace)}
    found = {proposals.key_of(act): act for act in proposals.judged(visit.engine, visit.workspace)}
    judged = visit.kept.judged(visit.scope)
    judged.clear()
    judged |= {key: act for key, act in found.items() if key not in by_words}
    return visit.fragment("judged.html", model=visit.engine.settings.llm_model, heard=True, judged=list(judged.items()))


def show_graph(visit: Visit) -> Response:
    """Show what the graph lacks: relations that texts mention, summaries, merges of nodes that may be the same."""
    graph = Graph(visit.scope)
    apart = {what: refusals.refused(graph, what) for what in REFUSALS}
    gaps = visit.kept.get(visit.scope, "gaps", lambda: missing_relations.gaps(graph))
    unrelated = {frozenset((pair.one, pair.other)) for pair in apart["gap"]}
    missing = (gap for gap in gaps if frozenset((gap["node"], gap["referenced_name"])) not in unrelated)
    pairs = similarity.similar(graph, SHOWN, without=[(pair.one_id, pair.other_id) for pair in apart["pair"]])
    pending, total = report.pending(graph, PENDING)
    return visit.fragment(
        "lacks.html", gaps=list(islice(missing, SHOWN)), pending=pending, total=total, pairs=pairs, apart=apart
    )


def show_contradictions(visit: Visit) -> Response:
    """Show the pairs of memories that may contradict, and those of which both hold."""
    survey = contradictions.survey(visit.engine, visit.workspace)
    held = verdicts.judged(visit.engine, visit.workspace)
    return visit.fragment("contradictions.html", survey=survey, shown=SHOWN, held=held)


def accept(visit: Visit) -> Response:
    """Carry out a proposal of maintenance."""
    judged, key = visit.kept.judged(visit.scope), visit.text("key")
    act = proposals.accept(visit.engine, visit.workspace, key, judged.pop(key, None))
    ids = [memory.id for memory in act.gone]
    return done(visit, f"{act.ending.capitalize()}.", {"ids": ids, "at": ""}, [])


def refuse(visit: Visit) -> Response:
    """Leave the memories of a proposal alone from now on."""
    judged, key = visit.kept.judged(visit.scope), visit.text("key")
    act = proposals.refuse(visit.engine, visit.workspace, key, judged.pop(key, None))
    undo = {"path": "/upkeep/unrefuse", "fields": {"id": [memory.id for memory in act.gone]}}
    return done(visit, "Refused. Maintenance will leave these memories alone.", undo)


def unrefuse(visit: Visit) -> Response:
    """Let maintenance propose a refused change again."""
    ids = visit.texts("id")
    proposals.take_back(visit.engine, visit.workspace, ids)
    return done(visit, "Maintenance considers these memories again.", ids=ids)


def replace(visit: Visit) -> Response:
    """Let one memory replace another."""
    by, gone = visit.text("one"), visit.text("other")
    verdicts.replace(visit.engine, visit.workspace, by, gone, _seen(visit))
    return done(visit, "Replaced.", {"ids": [gone], "at": ""}, [gone, by])


def hold(visit: Visit) -> Response:
    """Note that both of two memories hold."""
    one, other = visit.text("one"), visit.text("other")
    verdicts.hold(visit.engine, visit.workspace, one, other, _seen(visit))
    undo = {"path": "/upkeep/reopen", "fields": {"one": one, "other": other}}
    return done(visit, "Both hold. They are not shown again while their texts stay the same.", undo)


def reopen(visit: Visit) -> Response:
    """Take back that both of two memories hold."""
    verdicts.hold(visit.engine, visit.workspace, visit.text("one"), visit.text("other"), again=True)
    return done(visit, "The two memories are compared again.", ids=[])


def _seen(visit: Visit) -> tuple[str, str]:
    return visit.text("one_seen"), visit.text("other_seen")


def keep_apart(visit: Visit) -> Response:
    """Keep two similar nodes separate, or two nodes of which one mentions the other unrelated."""
    what, one, other = _pair(visit)
    refusals.refuse(Graph(visit.scope), what, one, other)
    undo = {"path": "/upkeep/alike", "fields": {"what": what, "one": one, "other": other}}
    return done(visit, f"Refused. {one} and {other} {REFUSALS[what]}.", undo)


def look_again(visit: Visit) -> Response:
    """Revoke such a refusal."""
    what, one, other = _pair(visit)
    refusals.refuse(Graph(visit.scope), what, one, other, again=True)
    return done(visit, f"{one} and {other} are considered again.", ids=[])


def _pair(visit: Visit) -> tuple[NodeProposal, str, str]:
    for what in REFUSALS:
        if visit.text("what") == what:
            return what, visit.text("one"), visit.text("other")
    raise InvalidInputError("Name what is refused: `pair` or `gap`.")


VIEWS = (
    View("/upkeep", show),
    View("/upkeep/graph", show_graph),
    View("/upkeep/ask", ask, "POST", "correct"),
    View("/upkeep/contradictions", show_contradictions),
    View("/upkeep/replace", replace, "POST", "correct"),
    View("/upkeep/hold", hold, "POST", "correct"),
    View("/upkeep/reopen", reopen, "POST", "correct"),
    View("/upkeep/accept", accept, "POST", "forget"),
    View("/upkeep/refuse", refuse, "POST", "correct"),
    View("/upkeep/unrefuse", unrefuse, "POST", "correct"),
    View("/upkeep/apart", keep_apart, "POST", "correct"),
    View("/upkeep/alike", look_again, "POST", "correct"),
)
