"""The vault: memories with a key."""

from starlette.responses import HTMLResponse, Response

from memoryd.core.memories.listing import ListedRecord
from memoryd.core.memories.vault import Vault
from memoryd.errors import InvalidInputError
from memoryd.server.ui.answers import changed, toast
from memoryd.server.ui.visit import View, Visit

PAGE = 100
KEY = 400  # characters of a key
CONTENT = 10_000


def show(visit: Visit) -> Response:
    """Show the vault in the order of its keys."""
    offset = int(max(visit.number("offset", 0), 0))
    found = Vault(visit.scope).page(offset, PAGE + 1)
    more = visit.address("/vault", offset=offset + PAGE) if len(found) > PAGE else ""
    return visit.page("vault.html", "vault", records=[ListedRecord(one) for one in found[:PAGE]], more=more)


def commit(visit: Visit) -> Response:
    """Store a text under a key, or replace what is there."""
    key, content = visit.text("key").strip(), visit.text("content").replace("\r\n", "\n")
    if not (key and len(key) <= KEY and content.strip() and len(content) <= CONTENT):
        raise InvalidInputError(f"A key has 1 to {KEY} characters, and its text 1 to {CONTENT:,}.")
    Vault(visit.scope).commit("vault", key, content)
    return HTMLResponse(toast(visit, f"Stored under {key[:60]}."), headers=changed([]))


VIEWS = (View("/vault", show), View("/vault", commit, "POST", "correct"))
