"""Answers to actions: a line with an undo, and the ids of changed records."""

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from starlette.responses import HTMLResponse, Response

from memoryd.core.memories.listing import ListedRecord
from memoryd.core.security.secrets import masked_notice
from memoryd.features.page.visit import Visit
from memoryd.server.html import render

NAMED = 100  # maximum ids sent to the page


def toast(visit: Visit, text: str, undo: Mapping[str, Any] | None = None) -> str:
    """Return a line with what was done, what was masked before, and a button that undoes it.

    `undo` has the ids to restore, the time of the versions or '', and maybe the last change that was seen; or, for an
    addition, the path of the view that removes it, and its fields.
    """
    text = " ".join([text, *([masked_notice(visit.masked)] if visit.masked else [])])
    return render("toast.html", visit=visit, text=text, undo=undo if visit.writes else None, status=200, oob=True)


def done(visit: Visit, text: str, undo: Mapping[str, Any] | None = None, ids: Iterable[str] | None = None) -> Response:
    """Return the answer to an action that shows only its line; the page renews what shows one of `ids`."""
    return HTMLResponse(toast(visit, text, undo), headers=None if ids is None else changed(ids))


def undoing(now: ListedRecord, at: str = "") -> dict[str, Any]:
    """Return an undo for a change of a record; it fails if another change follows."""
    return {"ids": [now.record.id], "at": at, "seen": now.mark[0]}


def forgetting(visit: Visit, record_id: str) -> dict[str, Any] | None:
    """Return an undo for a new record, if the sender may forget."""
    return {"path": f"/m/{quote(record_id, safe='')}/forget", "fields": {}} if visit.forgets else None


def changed(ids: Iterable[str]) -> dict[str, str]:
    """Return the header with the changed ids for the page."""
    return {"HX-Trigger": json.dumps({"memoryd:changed": {"ids": list(ids)[:NAMED]}})}


def made(record_id: str) -> dict[str, str]:
    """Return the header with the id of a new record, which the page shows and goes to."""
    return {"HX-Trigger-After-Settle": json.dumps({"memoryd:made": {"id": record_id}})}


GONE = {"HX-Trigger-After-Settle": "memoryd:gone"}
"""The header by which the page learns that the record of a card is forgotten: its place in lists is empty by then."""
