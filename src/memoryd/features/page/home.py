"""The start page: the workspaces."""

from dataclasses import replace
from functools import partial

from starlette.responses import RedirectResponse, Response

from memoryd.core.memories import listing
from memoryd.errors import NotFoundError
from memoryd.features.page.visit import Visit


def workspaces(visit: Visit) -> Response:
    """Show the workspaces that the sender may see; if there is only one, redirect to it."""
    grant = visit.grant
    every = [one for one in visit.engine.workspaces.all("active") if grant.sees(one.id)]
    if not every and visit.writes and not grant.workspace:
        every = [visit.engine.workspace(make=True)]
    visits = [replace(visit, place=one) for one in every]
    if len(visits) == 1:
        return RedirectResponse(visits[0].base, 303)
    listed = [(one, one.kept.get(one.scope, "kinds", partial(listing.kinds, one.scope))) for one in visits]
    return visit.page("workspaces.html", "workspaces", listed=listed)


def lost(_visit: Visit) -> Response:
    """Refuse a path of a workspace that leads nowhere, within the frame of the page. Raise NotFoundError."""
    raise NotFoundError("There is no such page.")
