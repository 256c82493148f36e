"""State: record counts and growth, disk usage, models, the findings of doctor, tokens and logins, sync."""

from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from pathlib import Path

from starlette.responses import Response

from memoryd import features
from memoryd.core.access.tokens import LEVELS, Level
from memoryd.core.admin.doctor import Doctor
from memoryd.core.graph.transaction import Graph
from memoryd.core.journal.journal import own_home
from memoryd.core.maintenance import history
from memoryd.core.memories import listing
from memoryd.core.memories.listing import ListedRecord, RecordVersion
from memoryd.core.memories.memories import Memories
from memoryd.core.records import records
from memoryd.errors import NotFoundError
from memoryd.features.base import SharedState
from memoryd.features.page import journal
from memoryd.features.page.answers import done, undoing
from memoryd.features.page.visit import View, Visit
from memoryd.model import Kind
from memoryd.store.base import number_of

GROWTH = 90  # days


def show(visit: Visit) -> Response:
    """Show the figures of the workspace."""
    stats = visit.kept.get(visit.scope, "stats", Memories(visit.scope).stats)
    counts = visit.kept.get(visit.scope, "facets", lambda: listing.counts(visit.scope))
    days = visit.kept.get(visit.scope, f"days {GROWTH}", lambda: journal.days(visit.scope, GROWTH))[::-1]
    numbers = [date.fromisoformat(one.day).toordinal() for one in days]
    totals = accumulate(one.stored - one.forgotten for one in days)
    points = [
        ((number - numbers[0]) / max(numbers[-1] - numbers[0], 1), total)
        for number, total in zip(numbers, totals, strict=True)
    ]
    slices = features.states(visit.engine.settings)
    shared = next((one.shared for one in slices if one.shared), None)
    files = visit.engine.store.upkeep.files([visit.workspace]) if not visit.grant.workspace else []
    return visit.page(
        "state.html",
        "state",
        stats=stats,
        counts=counts,
        days=days,
        points=points,
        origins=[(facet, name, number) for facet in ("client", "tool") for name, number in counts[facet].items()],
        models=visit.engine.helpers.states(),
        home=own_home(visit.engine),
        slices=[one for one in slices if not one.shared] if not visit.grant.workspace else [],
        shared=shared,
        conflicts=undecided(visit, shared) if shared else [],
        waiting=waiting(visit) if shared else 0,
        files=[(Path(one.name).name, one.size) for one in files],
        settings=visit.engine.settings,
        tokens=visit.engine.tokens.all() if visit.administers else None,
        logins=visit.engine.credentials.admitted() if visit.administers else None,
        workspaces={one.id: one.name for one in visit.engine.workspaces.all()} if visit.administers else None,
    )


def diagnose(visit: Visit) -> Response:
    """Show the findings of doctor."""
    diagnosis = Doctor(visit.engine, lambda _what, _done: None).examine()
    return visit.fragment("doctor.html", findings=diagnosis.findings)


def create_token(visit: Visit) -> Response:
    """Create a token, and show it only this once."""
    wanted: Level = visit.one_of("level", LEVELS, "read")  # type: ignore[assignment]
    bound = visit.workspace.name if visit.text("bound") == "1" else ""
    token = visit.engine.tokens.create(visit.text("name"), wanted, (), bound, visit.number("days", 0))
    return visit.fragment("token.html", token=token, tokens=visit.engine.tokens.all())


def revoke_token(visit: Visit) -> Response:
    """Revoke a token, which ends its sessions."""
    return done(visit, f"Revoked {visit.engine.tokens.revoke(visit.text('token')).name}.")


def revoke_login(visit: Visit) -> Response:
    """End a login, or those of a name, like `memoryd access revoke`: their clients lose access."""
    gone = visit.engine.credentials.revoke(visit.text("login"))
    names = ", ".join(dict.fromkeys(one.client_name for one in gone))
    return done(visit, f"Ended the login of {names}.")


# sync with other machines: what waits for it, and which of two texts stands ------------------------------------------


KEEP, REOPEN = "refuse_conflict", "unrefuse_conflict"
OPERATIONS = {"keep": KEEP, "reopen": REOPEN}
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


VIEWS = (
    View("/state", show),
    View("/state/doctor", diagnose, right="administer"),
    View("/state/conflict", decide, "POST", "correct"),
    View("/state/tokens", create_token, "POST", "admit"),
    View("/state/tokens/revoke", revoke_token, "POST", "admit"),
    View("/state/logins/revoke", revoke_login, "POST", "admit"),
)
