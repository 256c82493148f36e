"""The parts of a memory: texts under keys, turns of conversations, the graph."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from memoryd.api.local_tools import LocalTools
from memoryd.api.tools import RecordFields
from memoryd.core.base.results import WholeList
from memoryd.core.graph.entities import DeletedNodes
from memoryd.core.graph.observations import NodeAdditions
from memoryd.core.graph.relations import CreatedRelations
from memoryd.core.graph.view import MatchedNodes, OpenedNodes
from memoryd.core.journal.view import AddedTurn, ShownTurn
from memoryd.errors import InvalidInputError

Turns: TypeAlias = list[ShownTurn]
"""Named here because in MemoryTurns `list` is a method."""


class MemoryPart:
    """A part of a memory, with methods of its own."""

    def __init__(self, local: LocalTools) -> None:
        self._local = local


class MemoryVault(MemoryPart):
    """Texts under keys."""

    def set(self, key: str, content: str, *, tags: Sequence[str] | None = None) -> None:
        """Store a text under a key, replacing an existing one, whose tags stay unless `tags` are given."""
        self._local.result("commit_memory", "vault.set", scope="vault", key=key, content=content, tags=tags)

    def get(self, key: str) -> RecordFields | None:
        """Return the memory with a key; None if there is none."""
        return next(iter(self._local.result("vault_get", "vault.get", absent={"result": []}, key=key)["result"]), None)

    def delete(self, key: str) -> bool:
        """Delete the memory with a key, which can be restored for a while; return whether there was one."""
        return bool(self._local.result("prune_memory", "vault.delete", scope="vault", key=key)["pruned_count"])

    def keys(self, begins: str = "", *, after: str = "", limit: int = 1_000) -> list[str]:
        """Return the keys that begin with a text, in order, from the one after `after` on."""
        asked: dict[str, Any] = {"begins": begins, "after": after, "limit": limit}
        found = self._local.result("vault_keys", "vault.keys", absent={"result": []}, **asked)
        return list(found["result"])

    def search(self, query: str, *, tags: Sequence[str] = (), limit: int = 10) -> list[dict[str, Any]]:
        """Return the memories with a key that match words, best first."""
        asked: dict[str, Any] = {"query": query, "scope": "vault", "tags": tags, "limit": limit}
        found = self._local.result("search_memories", "vault.search", absent={"results": []}, **asked)
        return list(found["results"])


class MemoryTurns(MemoryPart):
    """Turns of conversations, verbatim."""

    def add(self, prompt: str, response: str, *, thought: str = "", session_id: str = "") -> AddedTurn:
        """Store one turn; return its id and time. Without a session it belongs to that of the memory."""
        asked: dict[str, Any] = {"thought": thought, "session_id": session_id or self._local.session or None}
        return self._local.result("add_turn", "turns.add", prompt=prompt, response=response, **asked)  # type: ignore[no-any-return]

    def list(self, session_id: str = "", *, limit: int = 100, offset: int = 0) -> Turns:
        """Return the turns of a session, that of the memory if none is given, oldest first."""
        asked: dict[str, Any] = {"sessionId": session_id or self._local.session, "limit": limit, "offset": offset}
        found = self._local.result("get_session_memories", "turns.list", absent={"memories": []}, **asked)
        return found["memories"]  # type: ignore[no-any-return]


class MemoryGraph(MemoryPart):
    """Entities with their observations, and relations between them."""

    def create_entities(self, *entities: dict[str, Any]) -> list[dict[str, Any]]:
        """Create entities, dicts with name, entity_type and optional observations, summary, tags; return them."""
        return list(self._local.result("create_entities", entities=entities)["result"])

    def add_observations(self, entity_name: str, *contents: str) -> WholeList[NodeAdditions]:
        """Add facts to an entity; return them with their ordinals."""
        wanted = [{"entity_name": entity_name, "contents": list(contents)}]
        return self._local.result("add_observations", observations=wanted)  # type: ignore[no-any-return]

    def create_relations(self, *relations: tuple[str, str, str]) -> CreatedRelations:
        """Create relations, each a source, a type and a target: `("Ann", "works_at", "Acme")`."""
        if wrong := [one for one in relations if not isinstance(one, tuple | list) or len(one) != 3]:
            raise InvalidInputError(f"{wrong[0]!r} is not a relation. Give a source, a type and a target.")
        wanted = [{"from_entity": one, "relation_type": kind, "to_entity": other} for one, kind, other in relations]
        return self._local.result("create_relations", relations=wanted)  # type: ignore[no-any-return]

    def open_nodes(self, *names: str) -> OpenedNodes:
        """Return entities by name, with their observations and relations, and the names that were not found."""
        absent = {"entities": [], "relations": [], "not_found": list(names)}
        return self._local.result("open_nodes", absent=absent, names=names)  # type: ignore[no-any-return]

    def search_nodes(self, query: str, *, limit: int = 10) -> MatchedNodes:
        """Return the entities that match a query by words or by meaning, best first."""
        return self._local.result(  # type: ignore[no-any-return]
            "search_nodes", absent={"result": []}, query=query, limit=limit
        )

    def delete_entities(self, *names: str) -> DeletedNodes:
        """Delete entities with their observations and relations; return which existed."""
        return self._local.result("delete_entities", entity_names=names)  # type: ignore[no-any-return]
