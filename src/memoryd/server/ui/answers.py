"""What actions answer: a line with an undo, and which records changed."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from memoryd.core.memories import listing
from memoryd.server.ui.render import render
from memoryd.server.ui.visit import Visit

NAMED = 100  # ids that the page learns of


def toast(visit: Visit, text: str, undo: Mapping[str, Any] | None = None) -> str:
    """Return the line that says what was done, and what undoes it.

    `undo` has the ids to restore, the time of the versions or '', and maybe the last change that was seen; or for what
    was added the path of the view that takes it away, and its fields.
    """
    return render("toast.html", visit=visit, text=text, undo=undo if visit.writes else None, status=200, oob=True)


def undoing(visit: Visit, record_id: str, at: str = "") -> dict[str, Any]:
    """Return what undoes a change of a record, as long as no other follows it."""
    return {"ids": [record_id], "at": at, "seen": listing.story(visit.scope, record_id).now.mark[0]}


def changed(ids: Iterable[str]) -> dict[str, str]:
    """Return the header by which the page learns what changed."""
    return {"HX-Trigger": json.dumps({"memoryd:changed": {"ids": list(ids)[:NAMED]}})}
