"""Audit: secrets, texts that read like instructions, invisible characters; a part at a time, with how far it is."""

from starlette.responses import HTMLResponse, Response

from memoryd.core.admin import audit
from memoryd.core.memories import correction, listing
from memoryd.core.memories.correction import Correction
from memoryd.errors import InvalidInputError
from memoryd.model import Kind
from memoryd.server.ui.answers import toast
from memoryd.server.ui.render import render
from memoryd.server.ui.visit import View, Visit


def show(visit: Visit) -> Response:
    """Show the frame, which fetches the parts."""
    kinds = visit.kept.get(visit.scope, "kinds", lambda: listing.kinds(visit.scope))
    return visit.page("audit.html", "audit", total=sum(kinds.values()))


def show_part(visit: Visit) -> Response:
    """Show what one part of the audit found, and fetch the next."""
    looked, total = int(visit.number("looked", 0)), int(visit.number("total", 0))
    part = audit.part(visit.scope, visit.text("after"))
    found = listing.some(visit.scope, list(part.concerns))
    return visit.fragment(
        "audited.html", found=found, concerns=part.concerns, looked=looked + part.looked, total=total,
        any_before=visit.text("any") == "1" or bool(found),
        next=visit.address("/audit/part", after=part.after, looked=looked + part.looked, total=total,
                           any="1" if visit.text("any") == "1" or found else "") if part.after else "",
    )  # fmt: skip


def mask(visit: Visit) -> Response:
    """Store a memory again with its secrets masked. The earlier text stays a version until that is purged."""
    before = listing.story(visit.scope, visit.request.path_params["id"]).now.record
    masked = visit.engine.secrets.masked(before.body)
    if before.kind is not Kind.MEMORY or masked == before.body:
        raise InvalidInputError("There is no secret in it that can be masked in place; forget it instead.")
    done = correction.correct(visit.scope, Correction(id=before.id, content=masked))
    card = render("card.html", visit=visit, listed=listing.story(visit.scope, before.id).now, open=False)
    text = "Masked. The text with the secret is still a version of it: remove it for good to be rid of that too."
    return HTMLResponse(card + toast(visit, text, {"ids": list(done.ids), "at": done.at}))


VIEWS = (View("/audit", show), View("/audit/part", show_part), View("/m/{id}/mask", mask, "POST", "correct"))
