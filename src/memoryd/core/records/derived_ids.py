"""Ids that are derived from what they name, so that the same source always gives the same ids."""

import uuid

from memoryd.settings import SESSION_LENGTH

_NAMESPACE = uuid.UUID("7b0c1a52-7d37-5c4e-9a51-2f6d3a0e8c11")


def derived_id(*parts: str) -> str:
    """Return a reproducible id of a record, derived from its kind, its format and its place in the source."""
    return str(uuid.uuid5(_NAMESPACE, "\0".join(parts)))


def usable_session(session: str) -> str:
    """Return a session id that records can have: a longer one is replaced by an id derived from it."""
    return session if len(session) <= SESSION_LENGTH else derived_id("session", session)
