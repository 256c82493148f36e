"""The sides of a merge as items: what two machines had in common, and what the other one has now."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property

from memoryd.core.base.clock import moment, timestamp
from memoryd.core.engine import Engine
from memoryd.core.scope import Scope
from memoryd.core.security.secrets import SecretRefusedError
from memoryd.errors import InvalidInputError
from memoryd.features.sync import documents, items
from memoryd.features.sync.documents import Group, Item, by_mark, group_of, is_grave, mark, mark_of, trusted
from memoryd.features.sync.git import Git
from memoryd.features.sync.merging import Items

_ID = re.compile(rb"^id: *['\"]?([^\s'\"]+)", re.MULTILINE | re.IGNORECASE)
BY_HAND = "git"
"""The tool that is noted for what a person has edited in the repository."""


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
        self.is_changed = False
        """Whether the other side has changed anything."""
        self.refused: dict[str, str] = {}
        self.remarks: list[str] = []
        self.author = ""
        """Who has changed files by hand."""
        self._stated: set[str] = set()
        """The hashes that refused files have in their names or state."""
        self._held: set[str] = set()
        """Those of them that are no other record's."""
        self._known_refused: set[str] = set()
        self._graves: set[str] = set()
        """The files that tell of what was deleted, if the branch was set back to a dropped history."""
        self._git, self._folder, self._ours, self._head = git, folder, ours, head
        self._engine, self._scope = engine, scope

    def read(self, paths: Iterable[str], theirs: set[str], refused: set[str]) -> None:
        """Read the files with these paths.

        `theirs` are those that the other side has changed, and those of them that were refused until now: for these,
        what the store says is what they were.
        """
        wanted, self.is_changed, self._known_refused = sorted(paths), bool(theirs), refused
        before, ours, after = (self._git.read(commit, wanted) for commit in (self.base, self._ours, self._head))
        self._graves = {path for path, data in after.items() if is_grave(path.removeprefix(self._folder), data)}
        after = {path: data for path, data in after.items() if path not in self._graves}
        self.others |= self._graves
        unreadable = self._git.unreadable(self._head, self._folder)
        for path in wanted:
            name = path.removeprefix(self._folder)
            if path not in refused:
                known = trusted(name, before.get(path))
                self.before |= {item["id"]: item for item in known}
                self.groups |= {group_of(item) for item in [*known, *trusted(name, ours.get(path))]}
        marks = {one for path in refused for one in self._marks(path, after.get(path, b""))}
        for group, stored in self._stored(marks).items() if marks else ():
            self.before |= {item["id"]: item for item in stored}
            self.groups.add(group)
        self._bury({path: data for path, data in ours.items() if path not in before and path not in after})
        for path in sorted(wanted, key=lambda one: not mark_of(one.removeprefix(self._folder))):  # new ones last
            if path in unreadable:
                self._refuse(path, b"", unreadable[path])
            elif path in after:
                is_other = path in refused or before.get(path) != after[path]
                self._take(path, after[path], edited=path in theirs and is_other)
        self._leave()

    def _bury(self, new: Mapping[str, bytes]) -> None:
        """Take what is new here for known if the other side has had and deleted it, as after a restored backup."""
        marks = {mark_of(path.removeprefix(self._folder)) for path in new} - self._paths_there.keys()
        if marks and self._head:
            deleted = self._git.deleted(self.base, self._head, self._folder)
            marks &= {mark_of(path.removeprefix(self._folder)) for path in deleted}
            for path, data in new.items() if marks else ():
                name = path.removeprefix(self._folder)
                if mark_of(name) in marks:
                    self.is_changed = True
                    self.before = {item["id"]: item for item in trusted(name, data)} | self.before

    def _marks(self, path: str, data: bytes) -> set[str]:
        """Return the hashes of what a file is about, as its name and its properties say, even if it cannot be read."""
        stated = _ID.search(data)
        of_id = {mark(("memory", stated[1].decode(errors="replace")))} if stated else set[str]()
        return {mark_of(path.removeprefix(self._folder)), *of_id} - {""}

    def _stored(self, marks: set[str]) -> items.Groups:
        return self._scope.read(lambda q: items.read(q, [one for one in items.all_groups(q) if mark(one) in marks]))

    def _take(self, path: str, data: bytes, *, edited: bool) -> None:
        name = path.removeprefix(self._folder)
        try:
            document = documents.read(name, data, self._entity)
            found = self._apart(path, name, document.items)
            if edited:
                self._stamp(path, found)
            _demand_times(found)
            cleaned = [self._engine.secrets.clean(item).value for item in found]
        except (InvalidInputError, SecretRefusedError) as error:
            self._refuse(path, data, str(error))
            return
        if taken := self._taken(path, cleaned):
            self._refuse(path, data, f"has an id that another record has: {taken[:100]!r}", taken)
            return
        if edited and document.unknown:
            self.remarks.append(f"{path}: memoryd does not keep the properties {', '.join(sorted(document.unknown))}")
        self.theirs |= {item["id"]: item for item in cleaned}
        groups = {group_of(item) for item in cleaned}
        self.groups |= groups
        if any(mark(group) != mark_of(name) for group in groups) or not groups:
            self.others.add(path)

    def _taken(self, path: str, found: list[Item]) -> str:
        """Return an id that a file must not have: another file has it, or here another kind of record; '' for none."""
        known = self._scope.read(lambda queries: items.places(queries, [item["id"] for item in found]))
        for item in found:
            key, own = item["id"], group_of(item)
            kind, group = known.get(key, (item["kind"], own))
            is_taken = kind != item["kind"] or self.theirs.get(key, item) != item
            if key in known and mark(own) != mark_of(path.removeprefix(self._folder)):  # not where memoryd writes it
                is_taken |= group != own or (path.endswith(".jsonl") and mark(own) in self._paths_there)
            if is_taken:
                return str(key)
        return ""

    def _refuse(self, path: str, data: bytes, why: str, other: str = "") -> None:
        """Note why a file is not read, and what it is about; `other` is the id of a record that it is not about."""
        self.refused[path] = why.rstrip(".")
        marks = self._marks(path, data)
        self._stated |= marks
        self._held |= marks - {mark(("memory", other))}

    def _leave(self) -> None:
        """Leave what refused files are about as it is on both sides, also if they were moved, unless others have it."""
        taken = {group_of(item) for item in self.theirs.values()}
        about = {group for group in self.groups - taken if mark(group) in self._stated}
        self.left = {group for group in about if mark(group) in self._held}
        self.before = {key: item for key, item in self.before.items() if group_of(item) not in about}

    def _apart(self, path: str, name: str, found: list[Item]) -> list[Item]:
        """Return the items of a copy of a file with ids of their own: the original is still there."""
        if not found or name.endswith(".jsonl"):
            return found
        kind, digest = found[0]["kind"], mark(group_of(found[0]))
        if (taken := self.theirs.get(found[0]["id"])) and taken["kind"] == kind:
            return documents.copied(path, found)
        same = [
            one
            for one in self._paths_there.get(digest, ())
            if one.startswith(f"{self._folder}entities/") == (kind == "entity")
        ]
        if path == min(same or [path], key=lambda one: (one not in self._paths_before, len(one), one)):
            return found
        return documents.copied(path, found)

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
            since = "" if path in self._known_refused else self.base  # refused in an earlier sync: it is older
            name, at = by = by or self._git.author(since, self._head, path)
            if not name:  # a merge united tags or gave other ordinals, which changes no time
                return
            when = timestamp(moment(at))
            item["created_at"] = item["created_at"] or when
            if "updated_at" in item:
                item |= {"updated_at": when, "client": name[:100], "tool": BY_HAND}
                documents.check_edited(item)
            self.author = name[:100]

    def _entity(self, digest: str, name: str) -> str:
        """Return the id of the entity with a hash in its file's name, or with a name or path; '' if there is none."""
        if name:
            names = json.dumps([name], ensure_ascii=False)
            rows = self._scope.read(lambda queries: queries.all("entities.named", names=names))
            if rows:
                return str(rows[0]["id"])
        there = self._paths_there
        paths = there.get(digest, ()) if digest else [one for each in there.values() for one in each]
        for path in paths:
            if digest or f"/{path}".endswith(f"/{name}.md"):
                for item in trusted(path.removeprefix(self._folder), self._git.read(self._head, [path]).get(path)):
                    if item["kind"] == "entity":
                        return str(item["id"])
        return ""

    @cached_property
    def _paths_there(self) -> dict[str, list[str]]:
        """The paths of theirs by the hashes in them."""
        paths = self._git.paths(self._head, self._folder)
        return by_mark([path for path in paths if path not in self._graves], self._folder)


def _demand_times(found: list[Item]) -> None:
    for item in found:
        if not item["created_at"] or ("updated_at" in item and not item["updated_at"]):
            raise InvalidInputError(f"has no times for {item['id'][:100]!r}")
