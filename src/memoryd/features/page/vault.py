"""The vault: memories with a key."""

from contextlib import suppress
from typing import Any

from starlette.responses import Response

from memoryd.core.base.limits import MEMORY_KEY, TEXT
from memoryd.core.memories.listing import ListedRecord
from memoryd.core.memories.vault import Vault
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.features.page.answers import done, forgetting, undoing
from memoryd.features.page.visit import View, Visit

PAGE = 100


def show(visit: Visit) -> Response:
    """Show the vault in the order of its keys."""
    found = Vault(visit.scope).page(visit.offset, PAGE + 1)
    more = visit.address("/vault", offset=visit.offset + PAGE) if len(found) > PAGE else ""
    return visit.page("vault.html", "vault", records=[ListedRecord(one) for one in found[:PAGE]], more=more)


def commit(visit: Visit) -> Response:
    """Store a text under a key, or replace the text there."""
    key, content = visit.text("key").strip(), visit.text("content").replace("\r\n", "\n")
    if not (key and len(key) <= MEMORY_KEY and content.strip() and len(content) <= TEXT):
        raise InvalidInputError(f"A key has 1 to {MEMORY_KEY} characters, and its text 1 to {TEXT:,}.")
    vault, before = Vault(visit.scope), None
    with suppress(NotFoundError):
        before = vault.get(key)
    now = vault.get(vault.commit("vault", key, content))
    undo: dict[str, Any] | None = undoing(ListedRecord(now))
    if before is None:
        undo = forgetting(visit, now.id)
    elif before.body == now.body:
        undo = None
    return done(visit, f"Stored under {key[:60]}.", undo, [])


VIEWS = (View("/vault", show), View("/vault", commit, "POST", "correct"))
