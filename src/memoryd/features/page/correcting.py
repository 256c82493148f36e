"""The forms that correct a memory and that store a new one: they lose no typed text, nor what others have changed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import HTMLResponse, Response

from memoryd.core.memories import correction, listing
from memoryd.core.memories.correction import Correction
from memoryd.core.memories.listing import ListedRecord
from memoryd.core.security.prompt_injection import reads_like_instructions
from memoryd.errors import ChangedMeanwhileError, InvalidInputError
from memoryd.features.page.answers import forgetting, made, toast, undoing
from memoryd.features.page.visit import View, Visit
from memoryd.model import Record
from memoryd.server.html import render
from memoryd.toolsets import chosen
from memoryd.toolsets.registry import Call

STEP = 0.05  # step of the importance slider


@dataclass(frozen=True, slots=True)
class CorrectionForm:
    """The content of the form: a memory as a browser shows it, or as its user has edited it."""

    content: str
    tags: str
    importance: float
    seen: str
    """The time of the memory's last change when it was shown."""

    def correction(self, record: Record) -> Correction:
        """Return the differences from a record: the rest stays, even if it would be refused today.

        Raise InvalidInputError for values that no memory can have.
        """
        shown = _shown(record)
        moved = abs(self.importance - record.importance) > STEP / 2  # else the slider was not moved
        return Correction(
            id=record.id,
            content=None if self.content == shown.content else self.content,
            tags=None if self.tags == shown.tags else tags_of(self.tags, record.tags),
            importance=self.importance if moved else None,
            seen=self.seen,
        )


def _shown(record: Record) -> CorrectionForm:
    return CorrectionForm(_lines(record.body), ", ".join(record.tags), record.importance, record.updated_at)


def typed(visit: Visit, importance: float) -> CorrectionForm:
    """Return the form as its user has filled it in; without a slider it has the given importance."""
    return CorrectionForm(
        content=_lines(visit.text("content")),
        tags=visit.text("tags"),
        importance=visit.number("importance", importance),
        seen=visit.text("seen"),
    )


def _lines(text: str) -> str:
    """Return a text with the line ends that a browser sends in a form."""
    return re.sub(r"\r\n?", "\n", text)


def tags_of(text: str, known: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the comma-separated tags of a field; a `known` tag may itself contain a comma."""
    whole = [re.escape(tag) for tag in sorted(known, key=len, reverse=True) if "," in tag]
    found = re.findall(rf"[\s,]*({'|'.join([*whole, '[^,]+'])})", text)
    return tuple(tag.strip() for tag in found if tag.strip())


def show_form(visit: Visit) -> Response:
    """Show the form that corrects a memory."""
    listed = visit.listed
    return _form(visit, listed, _shown(listed.record))


def _form(visit: Visit, listed: ListedRecord, form: CorrectionForm, status: int = 200, **more: Any) -> Response:
    return visit.fragment("edit.html", status, listed=listed, form=form, **{"problem": "", "meanwhile": False, **more})


def correct(visit: Visit) -> Response:
    """Correct a memory; answer with the corrected memory and an undo.

    If that fails, the typed text stays in the form, with the reason, or with what others have written meanwhile, which
    the next attempt replaces.
    """
    record = visit.listed.record
    form = typed(visit, record.importance)
    try:
        done = correction.correct(visit.scope, form.correction(record))
    except ChangedMeanwhileError:
        now = visit.listed
        return _form(visit, now, replace(form, seen=now.record.updated_at), 409, meanwhile=True)
    except InvalidInputError as error:
        return _form(visit, visit.listed, form, 422, problem=str(error))
    now = visit.listed
    card = render("card.html", visit=visit, listed=now, whole=visit.text("whole"))
    undo = undoing(now, done.at) if done.at else None
    news = toast(visit, "Corrected." if done.at else "Nothing was changed.", undo)
    return HTMLResponse(card + news, headers={"HX-Trigger": "memoryd:corrected"})


# a new memory, stored as the tool memory_store does: the same checks, masking and suggestions -------------------------


USUAL = 0.5  # importance of a memory for which none is given
DONE = {
    "stored": "Stored.",
    "merged": "This was stored already: nothing is there twice.",
}
"""What became of a text, by the status in the tool's answer."""
ORDERS = "It reads like instructions to an agent, and is marked as such."


def show_new(visit: Visit) -> Response:
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


VIEWS = (
    View("/m/{id}/edit", show_form, right="correct"),
    View("/m/{id}/correct", correct, "POST", "correct"),
    View("/new", show_new, right="correct"),
    View("/new", store, "POST", "correct"),
)
