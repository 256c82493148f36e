"""The form that stores a new memory, as the tool memory_store does: the same checks, masking and suggestions."""

from starlette.responses import HTMLResponse, Response

from memoryd.core.memories import listing
from memoryd.core.memories.correction import Correction
from memoryd.core.security.prompt_injection import reads_like_instructions
from memoryd.errors import InvalidInputError
from memoryd.features.page.answers import forgetting, made, toast
from memoryd.features.page.correcting import CorrectionForm, tags_of, typed
from memoryd.features.page.visit import View, Visit
from memoryd.server.html import render
from memoryd.toolsets import chosen
from memoryd.toolsets.registry import Call

USUAL = 0.5  # importance of a memory for which none is given
DONE = {
    "stored": "Stored.",
    "merged": "This was stored already: nothing is there twice.",
}
"""What became of a text, by the status in the tool's answer."""
ORDERS = "It reads like instructions to an agent, and is marked as such."


def show_form(visit: Visit) -> Response:
    """Show the empty form."""
    return visit.fragment("new.html", form=CorrectionForm("", "", USUAL, ""), problem="")


def store(visit: Visit) -> Response:
    """Store the memory; answer with what it may replace, and an undo. If that fails, the text stays in the form."""
    form = typed(visit, USUAL)
    tool = chosen(["recall"], read_only=False)["memory_store"]
    weight = None if form.importance == USUAL else form.importance
    try:
        given = Correction(id="", content=form.content, tags=tags_of(form.tags), importance=weight)  # refuses in words
        fields = {"content": given.content, "tags": given.tags, "importance": given.importance}
        answer = tool.run(Call(visit.engine, visit.workspace, "", grant=visit.grant), fields)
    except InvalidInputError as error:
        return visit.fragment("new.html", 422, form=form, problem=str(error))
    visit.masked.extend(answer.masked)
    new = listing.one(visit.scope, answer.result["id"]).record
    likely = [listing.one(visit.scope, key).record for key in answer.result.get("may_replace", {})]
    fresh = answer.result["status"] == "stored"
    text = " ".join([DONE[answer.result["status"]], *([ORDERS] if reads_like_instructions(new.body) else [])])
    undo = forgetting(visit, new.id) if fresh else None
    html = render("stored.html", visit=visit, new=new, likely=likely) + toast(visit, text, undo)
    return HTMLResponse(html, headers=made(new.id))


VIEWS = (View("/new", show_form, right="correct"), View("/new", store, "POST", "correct"))
