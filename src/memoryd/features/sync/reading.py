"""The sides of a merge as items: what two machines had in common, and what the other one has now."""

import json
from collections.abc import Iterable
from functools import cached_property

from memoryd.core.base.clock import moment, timestamp
from memoryd.core.engine import Engine
from memoryd.core.records.derived_ids import derived_id
from memoryd.core.scope import Scope
from memoryd.core.security.secrets import SecretRefusedError
from memoryd.errors import InvalidInputError
from memoryd.features.sync import documents
from memoryd.features.sync.documents import Group, Item, group_of, mark, mark_of
from memoryd.features.sync.git import LONGEST, Git
from memoryd.features.sync.merging import Items
from memoryd.store import rows

BY_HAND = "git"
"""The tool that is noted for what a person has edited in the repository."""


def trusted(path: str, data: bytes | None) -> list[Item]:
    """Return the items of a file that this program has written; none for one that a person has broken."""
    try:
        return documents.read(path, data, lambda _mark, _name: "") if data is not None else []
    except InvalidInputError:
        return []


class Sides:
    """What is merged, by the paths that one side or the other has changed since `base`."""

    def __init__(self, git: Git, folder: str, base: str, ours: str, head: str, engine: Engine, scope: Scope) -> None:
        self.base = base
        self.before: Items = {}
        self.theirs: Items = {}
        self.groups: set[Group] = set()
        """The files that are merged."""
        self.left: set[Group] = set()
        """Those of them that are left as they are, because a file was refused."""
        self.others: set[str] = set()
        """The paths of theirs that are not where this program writes them."""
        self.refused: dict[str, str] = {}
        self.author = ""
        """Who has changed files by hand."""
        self._git, self._folder, self._ours, self._head = git, folder, ours, head
        self._engine, self._scope = engine, scope
        self._there: dict[str, list[str]] | None = None

    def read(self, paths: Iterable[str], theirs: set[str]) -> None:
        """Read the files with these paths; `theirs` are those that the other side has changed."""
        wanted = sorted(paths)
        before, ours, after = (self._git.read(commit, wanted) for commit in (self.base, self._ours, self._head))
        large = self._git.large(self._head, self._folder)
        for path in wanted:
            name = path.removeprefix(self._folder)
            known = trusted(name, before.get(path))
            self.before |= {item["id"]: item for item in known}
            self.groups |= {group_of(item) for item in [*known, *trusted(name, ours.get(path))]}
        for path in sorted(wanted, key=lambda one: not mark_of(one.removeprefix(self._folder))):  # new ones last
            if path in large:
                self._refuse(path, path.removeprefix(self._folder), f"has more than {LONGEST >> 20} MB")
            elif path in after:
                self._take(path, after[path], edited=path in theirs and before.get(path) != after[path])

    def _take(self, path: str, data: bytes, *, edited: bool) -> None:
        name = path.removeprefix(self._folder)
        try:
            found = documents.read(name, data, self._entity)
            found = self._apart(path, name, found)
            if edited:
                self._stamp(path, found)
            self._demand_own(found)
            cleaned = [self._engine.secrets.clean(item).value for item in found]
        except (InvalidInputError, SecretRefusedError) as error:
            self._refuse(path, name, str(error))
            return
        self.theirs |= {item["id"]: item for item in cleaned}
        groups = {group_of(item) for item in cleaned}
        self.groups |= groups
        if any(mark(group) != mark_of(name) for group in groups) or not groups:
            self.others.add(path)

    def _demand_own(self, found: list[Item]) -> None:
        """Raise InvalidInputError unless all items have a time, and ids that nothing of another kind has."""
        ids = [item["id"] for item in found]
        kinds = {key: self.theirs[key]["kind"] for key in ids if key in self.theirs}
        kinds |= self._scope.read(lambda queries: {row["id"]: row["kind"] for row in rows.of(queries, "records", ids)})
        for item in found:
            if not item["created_at"] or ("updated_at" in item and not item["updated_at"]):
                raise InvalidInputError(f"has no times for {item['id'][:100]!r}")
            if kinds.get(item["id"], item["kind"]) != item["kind"]:
                raise InvalidInputError(f"has an id that another kind of record has: {item['id'][:100]!r}")

    def _refuse(self, path: str, name: str, why: str) -> None:
        """Leave a file as it is on both sides, and tell."""
        self.refused[path] = why.rstrip(".")
        left = {group for group in self.groups if mark(group) == mark_of(name)}
        self.left |= left
        for item in [one for one in self.before.values() if group_of(one) in left]:
            del self.before[item["id"]]

    def _apart(self, path: str, name: str, found: list[Item]) -> list[Item]:
        """Return the items of a copy of a file with ids of their own: the original is still there."""
        if self._there is None:
            self._there = {}
            for each in self._git.paths(self._head, self._folder):
                self._there.setdefault(mark_of(each.removeprefix(self._folder)), []).append(each)
        if not found or name.endswith(".jsonl"):
            return found
        digest = mark(group_of(found[0]))
        same = self._there.get(digest, [path])
        if path == min(same, key=lambda one: (one not in self._paths_before, len(one), one)):
            return found
        ids = {item["id"]: derived_id("copy", path, item["id"]) for item in found}
        for item in found:
            for field in ("id", "entity_id", "from_entity"):
                if item.get(field) in ids:
                    item[field] = ids[item[field]]
        return found

    @cached_property
    def _paths_before(self) -> set[str]:
        return set(self._git.paths(self.base, self._folder)) if self.base else set()

    def _stamp(self, path: str, found: list[Item]) -> None:
        """Give what a person has changed the time and the author of the commit. Raise InvalidInputError."""
        by: tuple[str, str] | None = None
        for item in found:
            was = self.before.get(item["id"])
            stated = item.get("updated_at") or item["created_at"]
            if was == item or (was and stated != (was.get("updated_at") or was["created_at"])) or (not was and stated):
                continue
            name, at = by = by or self._git.author(self.base, self._head, path)
            if not name:  # a merge united tags or gave other ordinals, which changes no time
                return
            when = timestamp(moment(at))
            item["created_at"] = item["created_at"] or when
            if "updated_at" in item:
                item |= {"updated_at": when, "client": name[:100], "tool": BY_HAND}
                documents.check_edited(item)
            self.author = name[:100]

    def _entity(self, digest: str, name: str) -> str:
        """Return the id of the entity with a hash in its file's name, or with a name; '' if there is none."""
        if name:
            names = json.dumps([name], ensure_ascii=False)
            rows = self._scope.read(lambda queries: queries.all("entities.named", names=names))
            return str(rows[0]["id"]) if rows else ""
        for path in (self._there or {}).get(digest, ()):
            for item in trusted(path.removeprefix(self._folder), self._git.read(self._head, [path]).get(path)):
                if item["kind"] == "entity":
                    return str(item["id"])
        return ""
