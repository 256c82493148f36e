"""History: what was deleted or changed, to be restored or purged, one or many at a time."""

from typing import Any

from starlette.responses import Response

from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import history, purging
from memoryd.core.maintenance.history import DONE, HistoryFilter
from memoryd.core.memories import listing
from memoryd.errors import InvalidInputError
from memoryd.features.page import answers
from memoryd.features.page.visit import View, Visit
from memoryd.hidden import spelled_out
from memoryd.model import Record
from memoryd.text import counted

WHATS = ("deleted", "changed", "merged", "superseded", "compacted", *DONE.values())
KINDS = ("memory", "entity", "observation", "relation", "interaction", "summary")
PAGE = 100
TYPED = 12  # characters of a record's text to type before it is purged


def show(visit: Visit) -> Response:
    """Show what was deleted, changed, merged or replaced, the latest first."""
    asked = {name: visit.text(name).strip() for name in ("what", "kind", "by", "words", "since", "until")}
    wanted = HistoryFilter(**asked, with_done=True)
    found = history.entries(Graph(visit.scope), PAGE + 1, wanted, listing.mark_of(visit.text("after")))
    values: dict[str, Any] = {
        "entries": found[:PAGE],
        "asked": asked,
        "whats": WHATS,
        "kinds": KINDS,
        "more": visit.address("/history", **asked, after="~".join(found[PAGE - 1].mark)) if len(found) > PAGE else "",
        "clients": visit.kept.get(visit.scope, "facets", lambda: listing.counts(visit.scope))["client"],
    }
    if visit.part and visit.request.headers.get("hx-target") == "more":
        return visit.fragment("entries.html", **values)
    return visit.page("history.html", "history", **values)


def ask_to_purge(visit: Visit) -> Response:
    """Show what would be purged, and what has to be typed to confirm."""
    story = listing.story(visit.scope, visit.id)
    return visit.fragment("purge.html", story=story, record=story.now.record, typed=name_of(story.now.record))


def name_of(record: Record) -> str:
    """Return what has to be typed to purge a record: its name, else the beginning of its text."""
    return record.name or " ".join(record.body.split())[:TYPED].strip() or record.id[:8]


def _as_typed(text: str) -> str:
    return " ".join(spelled_out(text).split())


def purge(visit: Visit) -> Response:
    """Purge a record, and show what a search of the files found."""
    record = visit.listed.record
    if _as_typed(visit.text("typed")) != _as_typed(name_of(record)):
        raise InvalidInputError("The typed text does not match. Nothing was removed.")
    done = purging.purge(visit.scope, [record.id])
    if done.proven:
        files = counted(len(done.files), "file was", "files were")
        text = f"Permanently removed. {files} searched for its text: none contains it."
    elif done.traces:
        text = f"Permanently removed, but {done.traces[0].path.name} still contains its words" + (
            ", as another record contains them." if done.traces[0].holders else "; purge does not change that file."
        )
    else:
        text = "Permanently removed. Files were not searched for its text."
    return answers.done(visit, text, ids=done.ids)


VIEWS = (
    View("/history", show),
    View("/m/{id}/purge", ask_to_purge, right="forget"),
    View("/m/{id}/purge", purge, "POST", "forget"),
)
