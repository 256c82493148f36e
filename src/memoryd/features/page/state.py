"""State: record counts and growth, disk usage, the models in force, the findings of doctor."""

from datetime import date
from itertools import accumulate
from pathlib import Path

from starlette.responses import Response

from memoryd import features
from memoryd.core.access.tokens import LEVELS, Level
from memoryd.core.admin.doctor import Doctor
from memoryd.core.journal.journal import own_home
from memoryd.core.memories import listing
from memoryd.core.memories.memories import Memories
from memoryd.features.page import chronicle, sharing
from memoryd.features.page.answers import done
from memoryd.features.page.visit import View, Visit

GROWTH = 90  # days


def show(visit: Visit) -> Response:
    """Show the figures of the workspace."""
    stats = visit.kept.get(visit.scope, "stats", Memories(visit.scope).stats)
    counts = visit.kept.get(visit.scope, "facets", lambda: listing.counts(visit.scope))
    days = visit.kept.get(visit.scope, f"days {GROWTH}", lambda: chronicle.days(visit.scope, GROWTH))[::-1]
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
        conflicts=sharing.undecided(visit, shared) if shared else [],
        waiting=sharing.waiting(visit) if shared else 0,
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


VIEWS = (
    View("/state", show),
    View("/state/doctor", diagnose, right="administer"),
    View("/state/tokens", create_token, "POST", "admit"),
    View("/state/tokens/revoke", revoke_token, "POST", "admit"),
    View("/state/logins/revoke", revoke_login, "POST", "admit"),
)
