"""Recall: a question as an agent asks it, its answer in each format, and how each hit was ranked."""

from typing import get_args

from starlette.responses import Response

from memoryd.core.memories.memories import Memories
from memoryd.core.scope import together
from memoryd.core.search.briefing import BUDGET, CONTEXT_BUDGET, Format
from memoryd.features.page.visit import View, Visit, address_of

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


VIEWS = (View("/recall", show),)
