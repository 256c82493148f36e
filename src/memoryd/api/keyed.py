"""Texts under keys as the doors of frameworks use them: whole folders of keys, several changes at once."""

from collections.abc import Sequence

from memoryd.api.memory import Memory
from memoryd.core.memories.vault import KeyedChange, Vault
from memoryd.core.records.records import written_by
from memoryd.core.search.pipeline import Search
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import Filter, Hit, Record
from memoryd.toolsets.vault import CONTENT

KEY = 400
"""The longest key, as of `vault.set`."""


def label(text: str) -> str:
    """Return a text as one part of a key, in which `/` separates parts."""
    return text.replace("%", "%25").replace("/", "%2F")


def folder(*path: str) -> str:
    """Return the beginning of the keys below a path."""
    return "".join(f"{label(part)}/" for part in path)


def path_of(key: str) -> list[str]:
    """Return the parts of a key, as texts."""
    return [part.replace("%2F", "/").replace("%25", "%") for part in key.split("/")]


def tagged(record: Record, name: str) -> str | None:
    """Return what a door has noted in a tag that begins with `name`; None if there is none."""
    return next((tag.removeprefix(name) for tag in record.tags if tag.startswith(name)), None)


class KeyedTexts:
    """The texts under keys of a memory, or of the workspace of that name, as a door writes them."""

    def __init__(self, memory: Memory | str | None, door: str) -> None:
        self._door = door
        self.memory = memory if isinstance(memory, Memory) else Memory(memory)
        self._local = self.memory._local  # noqa: SLF001 - a door beside the class

    def get(self, key: str) -> Record | None:
        """Return the memory with a key, or None."""
        scope = self._local.scope(make=False)
        try:
            return Vault(scope).get(key) if scope else None
        except NotFoundError:
            return None

    def under(self, begins: str) -> list[Record]:
        """Return the memories whose keys begin with a text, last changed first."""
        scope = self._local.scope(make=False)
        return Vault(scope).under(begins) if scope else []

    def keys(self, begins: str) -> list[str]:
        """Return the keys that begin with a text, in order."""
        scope = self._local.scope(make=False)
        return Vault(scope).keys(begins, "", 1 << 40) if scope else []

    def meant(self, query: str, among: Sequence[str]) -> list[Hit]:
        """Return which of some memories, given by id, a query finds by words and by meaning, best first."""
        scope = self._local.scope(make=False)
        if not (scope and among and query.strip()):
            return []
        return list(Search(scope).hits(query, Filter(among=tuple(among))).best)

    def change(self, texts: Sequence[KeyedChange]) -> list[str]:
        """Store and delete texts, all or none; return the new version of each.

        Raise ChangedMeanwhileError if one is not in the version that was `seen`, InvalidInputError if one is too long.
        """
        for one in texts:
            if len(one.key) > KEY or len(one.content or "") > CONTENT:
                raise InvalidInputError(
                    f"{one.key[:100]!r}: a key has at most {KEY} characters with its folders, a text {CONTENT:,}. "
                    "Nothing was stored."
                )
        scope = self._local.scope(make=True) if texts else None
        with written_by(self._local.client, self._door):
            return Vault(scope).change(texts) if scope else []
