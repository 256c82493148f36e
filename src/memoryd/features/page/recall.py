"""Recall: a question as an agent asks it, its answer and the ranks of its hits; and what the palette finds."""

from collections.abc import Sequence
from typing import Any, get_args
from urllib.parse import quote

from starlette.responses import JSONResponse, Response

from memoryd.core.journal import summarizer
from memoryd.core.memories import listing
from memoryd.core.memories.listing import Facets
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import together
from memoryd.core.search.briefing import BUDGET, CONTEXT_BUDGET, Format
from memoryd.features.page.visit import View, Visit, address_of
from memoryd.hidden import spelled_out
from memoryd.model import Kind, Record

STAGES = ("words", "meaning", "context", "fusion", "time", "recency", "importance", "access", "reranker")
CONTEXT = "context"
FORMS: tuple[str, ...] = (*get_args(Format), CONTEXT)
"""The formats of an answer, and the briefing at the start of a conversation."""


def show(visit: Visit) -> Response:
    """Show the answer to a question as an agent gets it; looking does not count as a recall."""
    question, form = visit.text("q").strip(), visit.one_of("format", FORMS, "summary")
    times = {name: visit.text(name).strip() for name in ("after", "before", "as_of")}
    default = CONTEXT_BUDGET if form == CONTEXT else visit.engine.settings.token_budget
    budget = int(min(max(visit.number("budget", default), 1), BUDGET))
    scope = together(visit.engine, visit.workspace, grant=visit.grant)
    memories, briefing = Memories(scope), None
    if form == CONTEXT:
        briefing = memories.context(question or None, budget, note=False)
    elif question:
        briefing = memories.recall(question, budget, form=form, **times, note=False)  # type: ignore[arg-type]
    return visit.page(
        "recall.html",
        "recall",
        q=question,
        form=form,
        forms=FORMS,
        times=times,
        budget=budget,
        stages=STAGES,
        briefing=briefing,
        address_of=address_of,
    )


# what the palette goes to: memories, nodes and sessions that have the typed words ------------------------------------


TITLE, TYPED = 120, 200  # characters of a title, and of a search
GOALS = 5  # maximum of each kind
GROUPS: Sequence[tuple[Kind, ...]] = (
    (Kind.MEMORY,),
    (Kind.ENTITY, Kind.OBSERVATION),
    (Kind.SUMMARY, Kind.INTERACTION),
)
"""The kinds of records of memories, of nodes, and of sessions."""


def find(visit: Visit) -> Response:
    """Answer with what has the words of a text, the last possibly incomplete: the best of each group, each once."""
    text = visit.text("q").strip()[:TYPED]
    return JSONResponse([goal for kinds in GROUPS if text for goal in _goals(visit, text, kinds)])


def _goals(visit: Visit, text: str, kinds: tuple[Kind, ...]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for one in listing.typed(visit.scope, text, Facets(kinds=kinds)):
        if len(found) < GOALS:
            kind, text, address = _goal(visit, one.record)
            title = spelled_out(" ".join(text[: 2 * TITLE].split()))[:TITLE]
            found.setdefault(address, {"kind": kind, "title": title, "address": address})
    return list(found.values())


def _goal(visit: Visit, record: Record) -> tuple[str, str, str]:
    """Return the noun, the title and the address of what a record belongs to."""
    if record.kind in (Kind.ENTITY, Kind.OBSERVATION):
        return "node", record.name or "", visit.address("/n", name=record.name)
    if record.kind is Kind.MEMORY or not record.session_id:
        text = f"{record.name}: {record.body}" if record.name else record.body
        return "memory" if record.kind is Kind.MEMORY else "turn", text, f"{visit.base}/m/{quote(record.id, safe='')}"
    title = record.name if record.kind is Kind.SUMMARY else summarizer.title(record.body)
    return "session", title or record.session_id, visit.address(f"/sessions/{quote(record.session_id)}")


VIEWS = (View("/recall", show), View("/find", find))
