"""The form that corrects a memory: what is typed is not lost, and what others have changed meanwhile is not either."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import HTMLResponse, Response

from memoryd.core.memories import correction, listing
from memoryd.core.memories.correction import Correction
from memoryd.core.memories.listing import ListedRecord
from memoryd.errors import ChangedMeanwhileError, InvalidInputError
from memoryd.model import Record
from memoryd.server.ui.answers import toast, undoing
from memoryd.server.ui.render import render
from memoryd.server.ui.visit import View, Visit

STEP = 0.05  # between the places where the slider of the importance can stand


@dataclass(frozen=True, slots=True)
class CorrectionForm:
    """What the form holds: a memory as a browser shows it there, or what somebody made of that."""

    content: str
    tags: str
    importance: float
    seen: str
    """When the memory was last changed before somebody saw it there."""

    def correction(self, record: Record) -> Correction:
        """Return what differs from a record: the rest stays, even where it would not be taken today.

        Raise InvalidInputError for what no memory can have.
        """
        shown = _shown(record)
        moved = abs(self.importance - record.importance) > STEP / 2  # else the slider stands where it stood
        return Correction(
            id=record.id,
            content=None if self.content == shown.content else self.content,
            tags=None if self.tags == shown.tags else _tags(self.tags, record.tags),
            importance=self.importance if moved else None,
            seen=self.seen,
        )


def _shown(record: Record) -> CorrectionForm:
    return CorrectionForm(_lines(record.body), ", ".join(record.tags), record.importance, record.updated_at)


def _typed(visit: Visit, record: Record) -> CorrectionForm:
    return CorrectionForm(
        content=_lines(visit.text("content")), tags=visit.text("tags"),
        importance=visit.number("importance", record.importance), seen=visit.text("seen"),
    )  # fmt: skip


def _lines(text: str) -> str:
    """Return a text with the ends of lines that a browser gives each one in a form."""
    return re.sub(r"\r\n?", "\n", text)


def _tags(text: str, known: Sequence[str]) -> tuple[str, ...]:
    """Return the tags of a field, between commas; one of those `known` may hold a comma itself."""
    whole = [re.escape(tag) for tag in sorted(known, key=len, reverse=True) if "," in tag]
    found = re.findall(rf"[\s,]*({'|'.join([*whole, '[^,]+'])})", text)
    return tuple(tag.strip() for tag in found if tag.strip())


def show_form(visit: Visit) -> Response:
    """Show the form that corrects a memory."""
    listed = _listed(visit)
    return _form(visit, listed, _shown(listed.record))


def _form(visit: Visit, listed: ListedRecord, form: CorrectionForm, status: int = 200, **more: Any) -> Response:
    return visit.fragment("edit.html", status, listed=listed, form=form, **{"problem": "", "meanwhile": False, **more})


def _listed(visit: Visit) -> ListedRecord:
    return listing.story(visit.scope, visit.request.path_params["id"]).now


def correct(visit: Visit) -> Response:
    """Correct a memory; answer with it as it is now, and a way back.

    Where it cannot be, what was typed stays in the form, with the reason; or with what others have written meanwhile,
    which the next attempt replaces.
    """
    record = _listed(visit).record
    typed = _typed(visit, record)
    try:
        done = correction.correct(visit.scope, typed.correction(record))
    except ChangedMeanwhileError:
        now = _listed(visit)
        return _form(visit, now, replace(typed, seen=now.record.updated_at), 409, meanwhile=True)
    except InvalidInputError as error:
        return _form(visit, _listed(visit), typed, 422, problem=str(error))
    card = render("card.html", visit=visit, listed=_listed(visit), open=False)
    undo = undoing(visit, record.id, done.at) if done.at else None
    return HTMLResponse(card + toast(visit, "Corrected." if done.at else "Nothing was changed.", undo))


VIEWS = (View("/m/{id}/edit", show_form, right="correct"), View("/m/{id}/correct", correct, "POST", "correct"))
