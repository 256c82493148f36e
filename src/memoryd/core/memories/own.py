"""Writes change only the workspace itself: included workspaces are read together with it, but never changed."""

import shlex
from collections.abc import Sequence

from memoryd.core.records import records, short_ids
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError
from memoryd.store.base import Queries


def demand_own(scope: Scope, field: str, ids: Sequence[str]) -> None:
    """Raise InvalidInputError, naming the workspace, for an id that only an included workspace has."""
    if not (scope.included and ids):
        return
    own, *others = scope.each
    missing = [given for given in ids if not _has(own, field, given)]
    for other in others:
        if elsewhere := next((given for given in missing if _has(other, field, given)), None):
            name = other.workspace.name
            raise InvalidInputError(
                f"{field}: {elsewhere[:100]} is in the workspace {name!r}, which {own.workspace.name!r} only reads. "
                f"Nothing was changed; change it there, e.g. with `memoryd --workspace {shlex.quote(name)}`."
            )


def _has(scope: Scope, field: str, given: str) -> bool:
    """Return whether a workspace has a living record with an id, or a beginning of an id."""

    def work(queries: Queries) -> bool:
        whole = short_ids.resolve(queries, field, [given], scope.session, "ids.living")
        return bool(records.fetch(queries, whole, scope.session))

    return scope.read(work)
