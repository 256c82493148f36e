"""The graph: as a picture, as a list, node by node, and its editing."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from starlette.responses import HTMLResponse, JSONResponse, Response

from memoryd.core.base.clock import moment, timestamp
from memoryd.core.base.limits import TEXT
from memoryd.core.graph import as_of, entities, observations, relations, renaming, search, traversal
from memoryd.core.graph.names import demand, named
from memoryd.core.graph.observations import Deletion
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.memories import listing
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.features.page import picture
from memoryd.features.page.answers import toast, undoing
from memoryd.features.page.visit import View, Visit
from memoryd.model import Entity, Observation, Relation
from memoryd.server.html import render
from memoryd.store.base import Queries

LISTED = 200  # nodes of a page of the list
DIGITS = 11  # of seconds since 1970, enough for years of four digits


def show(visit: Visit) -> Response:
    """Show the picture, with a panel next to it."""
    return visit.page("graph.html", "graph", node=visit.text("node"), seen=listing.latest(visit.scope))


def data(visit: Visit) -> Response:
    """Answer with the picture's data, and the last event that it certainly includes."""
    seen = listing.latest(visit.scope)
    made = visit.kept.get(visit.scope, "picture", lambda: asdict(picture.picture(Graph(visit.scope))))
    return JSONResponse(made | {"seen": seen})


def show_list(visit: Visit) -> Response:
    """Show the nodes by name, now or as of a time, or those that match a search: the picture as text."""
    graph, query, start = Graph(visit.scope), visit.text("q").strip(), visit.text("start")
    first = visit.kept.get(visit.scope, "first node", lambda: as_of.beginning(graph))
    last = visit.engine.clock.now()
    at = _time(visit)
    if at:
        nodes = as_of.page(graph, at, query, start, LISTED + 1)
        following = nodes[LISTED].name if len(nodes) > LISTED else ""
    elif query:
        found, _ = search.search(graph, query, LISTED)
        nodes, following = [match.entity for match in found.best], ""
    else:
        nodes = entities.page(graph, start, LISTED + 1)
        following = nodes[LISTED].name if len(nodes) > LISTED else ""
    more = visit.address("/graph/list", q=query, at=at, start=following) if following else ""
    span = [int(moment(time).timestamp()) for time in (first or last, last)]
    return visit.page(
        "nodes.html",
        "graph",
        nodes=nodes[:LISTED],
        q=query,
        at=at,
        span=span,
        place=int(moment(at).timestamp()) if at else span[1],
        more=more,
    )


def _time(visit: Visit) -> str:
    """Return the requested time, ISO 8601 or the slider's seconds since 1970; '' for now, the slider's end."""
    given = visit.text("at")
    if given.isascii() and given.isdigit() and len(given) <= DIGITS:
        there = datetime.fromtimestamp(int(given), UTC)
        return "" if int(given) >= visit.number("end", math.inf) else timestamp(there)
    return timestamp(moment(given)) if given else ""


def show_node(visit: Visit) -> Response:
    """Show a node in the panel next to the picture, or on a separate page."""
    node = _node(visit, visit.text("name"), visit.text("at"))
    if visit.part and visit.request.headers.get("hx-target") == "panel":
        return visit.fragment("node.html", alone=False, **node)
    return visit.page("node_page.html", "graph", alone=True, **node)


def _node(visit: Visit, name: str, at: str = "") -> dict[str, Any]:
    """Return a node with its observations and relations, now or as of a time."""

    def now(queries: Queries) -> tuple[Entity, list[Observation], list[Relation]]:
        (node,) = demand(queries, name)
        return node, observations.of(queries, [node.id]).get(node.id, []), relations.of(queries, [node.id])

    def then(queries: Queries) -> tuple[Entity, list[Observation], list[Relation]]:
        found = as_of.nodes(queries, [name], timestamp(moment(at)))
        if name not in found.entities:
            raise NotFoundError(f"There was no node {name[:100]!r} at that time.")
        node = found.entities[name]
        return node, list(found.observations[node.id]), list(found.relations)

    node, facts, edges = Graph(visit.scope).read(then if at else now)
    return {"node": node, "facts": facts, "edges": edges, "at": at}


def show_path(visit: Visit) -> Response:
    """Show a shortest path between two nodes."""
    found = traversal.path(Graph(visit.scope), visit.text("from"), visit.text("to"))
    return visit.fragment("path.html", path=found, source=visit.text("from"), target=visit.text("to"))


# editing -------------------------------------------------------------------------------------------------------------


def edit(visit: Visit) -> Response:
    """Apply one edit to a node, and answer with the changed node."""
    graph, name, verb = Graph(visit.scope), visit.text("name"), visit.one_of("verb", EDITS)
    if verb in DELETING and not visit.forgets:
        raise InvalidInputError("Your session may not forget.")
    text, undo = EDITS[verb](visit, graph, name)
    shown = visit.text("into") or visit.text("new_name") or name
    still = graph.read(lambda q: named(q, [shown]))
    html = render("node.html", visit=visit, alone=False, **_node(visit, shown)) if still else ""
    return HTMLResponse(html + toast(visit, text, undo), headers={"HX-Trigger": "memoryd:graph"})


Outcome = tuple[str, dict[str, Any] | None]
"""The message of an edit, and what to restore to undo it."""


def _observe(visit: Visit, graph: Graph, name: str) -> Outcome:
    (done,) = observations.add(graph, [(name, [_text(visit)])])["result"]
    if done["not_found"]:
        raise NotFoundError(f"There is no longer a node {name[:100]!r}. Nothing was added.")
    (made,) = done["added"]
    return "Added.", _away(visit, verb="unobserve", name=name, ordinal=made["ordinal"], id=made["id"])


def _away(visit: Visit, **fields: Any) -> dict[str, Any] | None:
    """Return an undo that removes an addition, if the sender may forget."""
    return {"path": "/n", "fields": fields} if visit.forgets else None


def _replace(visit: Visit, graph: Graph, name: str) -> Outcome:
    observations.replace(graph, name, int(visit.number("ordinal", -1)), _text(visit), visit.text("seen"))
    return "Corrected.", undoing(listing.one(visit.scope, visit.text("id"))) if visit.text("id") else None


def _unobserve(visit: Visit, graph: Graph, name: str) -> Outcome:
    observations.delete(graph, [Deletion(entity=name, ordinals=(int(visit.number("ordinal", -1)),))])
    return "Forgotten.", {"ids": [visit.text("id")], "at": ""}


def _summarize(visit: Visit, graph: Graph, name: str) -> Outcome:
    (before,) = graph.read(lambda q: demand(q, name))
    text = visit.text("content").replace("\r\n", "\n").strip()
    if len(text) > TEXT:
        raise InvalidInputError(f"A summary has at most {TEXT:,} characters.")
    done = entities.set_summary(graph, name, text, visit.text("seen"))
    fields = {"verb": "summarize", "name": name, "content": before.summary or "", "seen": done["updated_at"]}
    return "Summary written." if text else "Summary removed.", {"path": "/n", "fields": fields}


def _relate(visit: Visit, graph: Graph, name: str) -> Outcome:
    made = relations.create(graph, [Edge(name, visit.text("to").strip(), visit.text("type").strip() or "relates to")])
    if made["not_found"]:
        raise InvalidInputError(f"There is no node {made['not_found'][0][:100]!r}. Nothing was created.")
    if not made["created"]:
        return "This relation already exists.", None
    (new,) = made["created"]
    ends = {"from": new["from"], "to": new["to"], "type": new["relation_type"], "id": new["id"]}
    return "Related.", _away(visit, verb="unrelate", name=name, **ends)


def _unrelate(visit: Visit, graph: Graph, _name: str) -> Outcome:
    relations.delete(graph, [Edge(visit.text("from"), visit.text("to"), visit.text("type"))])
    return "Relation forgotten.", {"ids": [visit.text("id")], "at": ""}


def _rename(visit: Visit, graph: Graph, name: str) -> Outcome:
    node = renaming.rename(graph, name, visit.text("new_name"))
    undo = undoing(listing.one(visit.scope, node.id)) if node.name != name else None
    return f"{name} is now called {node.name}.", undo


def _merge(visit: Visit, graph: Graph, name: str) -> Outcome:
    done = renaming.merge(graph, name, visit.text("into").strip())
    return f"Merged into {done.name}: it gained {done.observations} observations, {done.relations} relations.", {
        "ids": [done.gone],
        "at": "",
    }


def _forget(_visit: Visit, graph: Graph, name: str) -> Outcome:
    (node,) = graph.read(lambda q: demand(q, name))
    entities.delete(graph, [name])
    return f"{name} forgotten.", {"ids": [node.id], "at": ""}


EDITS: Mapping[str, Callable[[Visit, Graph, str], Outcome]] = {
    "observe": _observe,
    "replace": _replace,
    "unobserve": _unobserve,
    "relate": _relate,
    "unrelate": _unrelate,
    "rename": _rename,
    "merge": _merge,
    "forget": _forget,
    "summarize": _summarize,
}
DELETING = frozenset({"unobserve", "unrelate", "merge", "forget"})


def _text(visit: Visit) -> str:
    text = visit.text("content").replace("\r\n", "\n").strip()
    if not 0 < len(text) <= TEXT:
        raise InvalidInputError(f"An observation has 1 to {TEXT:,} characters.")
    return text


VIEWS = (
    View("/graph", show),
    View("/graph.json", data),
    View("/graph/list", show_list),
    View("/n", show_node),
    View("/graph/path", show_path),
    View("/n", edit, "POST", "correct"),
)
