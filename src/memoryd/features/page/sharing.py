"""Sync with other machines: what waits for it, and the texts that two machines changed, of which one is chosen."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import history
from memoryd.core.memories import listing
from memoryd.core.memories.listing import ListedRecord, RecordVersion
from memoryd.core.records import records
from memoryd.errors import NotFoundError
from memoryd.features.base import SharedState
from memoryd.features.page.answers import done, undoing
from memoryd.features.page.visit import View, Visit
from memoryd.model import Kind
from memoryd.store.base import number_of

KEEP, REOPEN = "refuse_conflict", "unrefuse_conflict"
"""The operations of `acts` by which the text that stands is kept, and by which that is taken back."""


@dataclass(frozen=True, slots=True)
class TwoTexts:
    """A record that two machines changed: its text stands, the other machine's is an earlier version."""

    now: ListedRecord
    other: RecordVersion


def waiting(visit: Visit) -> int:
    """Return how many records and relations of the workspace were changed after the last sync."""
    return visit.scope.read(lambda queries: number_of(queries, "sharing.waiting"))


def undecided(visit: Visit, shared: SharedState) -> list[TwoTexts]:
    """Return the conflicts of the workspace that are not decided yet, by a choice or by another text."""
    rows = visit.scope.read(lambda queries: queries.all("sharing.kept", keep=KEEP, reopen=REOPEN))
    kept = {(row["id"], row["other"]) for row in rows}
    own = [(one["id"], one["until"]) for one in shared.conflicts if one["workspace"] == visit.workspace.name]
    found = [_two_texts(visit, *one) for one in dict.fromkeys(own) if one not in kept]
    return [one for one in found if one]


def _two_texts(visit: Visit, record_id: str, until: str) -> TwoTexts | None:
    """Return both texts; None if one is gone, or the text is no longer that of the merge."""
    try:
        story = listing.story(visit.scope, record_id)
    except NotFoundError:
        return None
    other = next((version for version in story.versions if version.until == until), None)
    now = story.now.record
    stood = next((version for version in reversed(story.versions) if version.until > until), now)
    is_renamed = now.kind == Kind.ENTITY and now.name != stood.name
    if other is None or story.now.deleted_at or now.body != stood.body or is_renamed:
        return None
    return TwoTexts(story.now, other)


def decide(visit: Visit) -> Response:
    """Take the other machine's text, keep the one that stands, or take back that it is kept."""
    record_id, until, choice = visit.text("id"), visit.text("until"), visit.one_of("choice", ("take", *OPERATIONS))
    if choice == "take":
        (taken,) = history.restore(Graph(visit.scope), [record_id], until, visit.text("seen"))
        now = listing.one(visit.scope, taken.id)
        return done(visit, "The other text stands now.", undoing(now, now.record.updated_at), [record_id])
    listing.one(visit.scope, record_id)
    now_at, operation = visit.engine.clock.now(), OPERATIONS[choice]
    visit.scope.write(lambda queries: records.sign(queries, operation, record_id, now_at, until))
    if choice == "reopen":
        return done(visit, "Both texts are shown again.", ids=[record_id])
    undo = {"path": "/state/conflict", "fields": {"id": record_id, "until": until, "choice": "reopen"}}
    return done(visit, "The text stays as it is.", undo, [record_id])


OPERATIONS = {"keep": KEEP, "reopen": REOPEN}

VIEWS: Sequence[View] = (View("/state/conflict", decide, "POST", "correct"),)
