"""Answers to actions: a line with an undo, and the ids of changed records."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from memoryd.core.memories.listing import ListedRecord
from memoryd.features.page.visit import Visit
from memoryd.server.html import render

NAMED = 100  # maximum ids sent to the page


def toast(visit: Visit, text: str, undo: Mapping[str, Any] | None = None) -> str:
    """Return a line with what was done and a button that undoes it.

    `undo` has the ids to restore, the time of the versions or '', and maybe the last change that was seen; or, for an
    addition, the path of the view that removes it, and its fields.
    """
    return render("toast.html", visit=visit, text=text, undo=undo if visit.writes else None, status=200, oob=True)


def undoing(now: ListedRecord, at: str = "") -> dict[str, Any]:
    """Return an undo for a change of a record; it fails if another change follows."""
    return {"ids": [now.record.id], "at": at, "seen": now.mark[0]}


def changed(ids: Iterable[str]) -> dict[str, str]:
    """Return the header with the changed ids for the page."""
    return {"HX-Trigger": json.dumps({"memoryd:changed": {"ids": list(ids)[:NAMED]}})}
