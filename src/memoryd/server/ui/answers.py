"""What actions answer: a line with an undo, and which records changed."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from memoryd.server.ui.render import render
from memoryd.server.ui.visit import Visit

NAMED = 100  # ids that the page learns of


def toast(visit: Visit, text: str, undo: Mapping[str, Any] | None = None) -> str:
    """Return the line that says what was done, and what undoes it.

    `undo` has the ids to restore and the time of the versions or '', or for what was added the path of the view that
    takes it away, and its fields.
    """
    return render("toast.html", visit=visit, text=text, undo=undo if visit.writes else None, status=200, oob=True)


def changed(ids: Iterable[str]) -> dict[str, str]:
    """Return the header by which the page learns what changed."""
    return {"HX-Trigger": json.dumps({"memoryd:changed": {"ids": list(ids)[:NAMED]}})}
