"""What files say that people may have edited: in an exported folder, or in the repository of a sync."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress

from memoryd.core.base.clock import moment, timestamp
from memoryd.core.engine import Engine
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError
from memoryd.features.sync import documents, items
from memoryd.features.sync.documents import Document, Group, Item, by_mark, group_of, is_grave, mark, mark_of, trusted
from memoryd.features.sync.git import Git
from memoryd.features.sync.merging import Items

_ID = re.compile(rb"^id: *['\"]?([^\s'\"]+)", re.MULTILINE | re.IGNORECASE)
BY_HAND = "git"
"""The tool that is noted for what a person has edited in the repository."""


class Reading(ABC):
    """Files of a workspace, each of which counts or is refused alone. A copy of one gets ids of its own."""

    def __init__(self, engine: Engine, scope: Scope | None, folder: str, known: Container[str]) -> None:
        self.theirs: Items = {}
        """What the files say that are not refused."""
        self.documents: dict[str, Document] = {}
        """The same by their paths."""
        self.refused: dict[str, str] = {}
        self._clashes: dict[str, str] = {}
        """The ids for which files are refused, as other records have them."""
        self._paths: dict[str, list[str]] = {}
        """The paths of all files by the hashes in them."""
        self._engine, self._scope, self._folder = engine, scope, folder
        self._known = known
        """The paths of which it is known that they are no copies."""

    @abstractmethod
    def _load(self, path: str) -> bytes:
        """Return a file. Raise InvalidInputError if it cannot be read."""

    def _complete(self, path: str, found: list[Item]) -> None:  # noqa: B027 - most need nothing
        """Give what a person has written in a file what it lacks. Raise InvalidInputError."""

    def _name(self, path: str) -> str:
        return path.removeprefix(self._folder)

    def take(self, paths: Iterable[str]) -> None:
        """Read some of the files."""
        for path in sorted(paths, key=lambda one: (not mark_of(self._name(one)), one)):  # new ones last
            try:
                document = documents.read(self._name(path), self._load(path), self._entity)
                if self._is_copy(path, document.items):
                    document = Document(documents.copied(path, document.items), unknown=document.unknown)
                self._complete(path, document.items)
                document.items = [self._engine.secrets.clean(item).value for item in document.items]
                self._demand_free(path, document.items)
            except InvalidInputError as error:
                self.refused[path] = str(error).rstrip(".")
            else:
                self.theirs |= {item["id"]: item for item in document.items}
                self.documents[path] = document

    def _demand_free(self, path: str, found: list[Item]) -> None:
        """Raise InvalidInputError if another file has an id of this one, or here another kind of record."""
        scope, ids = self._scope, [item["id"] for item in found]
        known = scope.read(lambda queries: items.places(queries, ids)) if scope else {}
        for item in found:
            key, own = item["id"], group_of(item)
            kind, group = known.get(key, (item["kind"], own))
            is_taken = kind != item["kind"] or self.theirs.get(key, item) != item
            if key in known and mark(own) != mark_of(self._name(path)):  # not where memoryd writes it
                is_taken |= group != own or (path.endswith(".jsonl") and mark(own) in self._paths)
            if is_taken:
                self._clashes[path] = key
                raise InvalidInputError(f"has an id that another record has: {key[:100]!r}")

    def _is_copy(self, path: str, found: list[Item]) -> bool:
        """Return whether the file that this one is a copy of is still there."""
        if not found or path.endswith(".jsonl"):
            return False
        kind, digest = found[0]["kind"], mark(group_of(found[0]))
        if (taken := self.theirs.get(found[0]["id"])) and taken["kind"] == kind:
            return True
        same = [
            one for one in self._paths.get(digest, ()) if self._name(one).startswith("entities/") == (kind == "entity")
        ]
        return path != min(same or [path], key=lambda one: (one not in self._known, len(one), one))

    def _marks(self, path: str) -> set[str]:
        """Return the hashes of what a file is about, as its name and its properties say, even if it cannot be read."""
        stated = None
        with suppress(InvalidInputError):
            stated = _ID.search(self._load(path))
        of_id = {mark(("memory", stated[1].decode(errors="replace")))} if stated else set[str]()
        return {mark_of(self._name(path)), *of_id} - {""}

    def _entity(self, digest: str, name: str) -> str:
        """Return the id of the entity with a hash in its file's name, or with a name or path; '' if there is none."""
        if name and self._scope:
            names = json.dumps([name], ensure_ascii=False)
            rows = self._scope.read(lambda queries: queries.all("entities.named", names=names))
            if rows:
                return str(rows[0]["id"])
        paths = self._paths.get(digest, ()) if digest else [one for each in self._paths.values() for one in each]
        for path in paths:
            if (digest or f"/{path}".endswith(f"/{name}.md")) and (head := self._entity_in(path)):
                return str(head["id"])
        return ""

    def _entity_in(self, path: str) -> Item | None:
        """Return the entity that a file is about, whatever its relations; None if there is none."""
        with suppress(InvalidInputError):
            found = documents.read(self._name(path), self._load(path), lambda _mark, _name: "?").items
            return next((item for item in found if item["kind"] == "entity"), None)
        return None


class Sides(Reading):
    """What is merged: what two machines had in common, and what the other one has now.

    It is read by the paths that one side or the other has changed since `base`.
    """

    def __init__(self, git: Git, folder: str, base: str, ours: str, head: str, engine: Engine, scope: Scope) -> None:
        super().__init__(engine, scope, folder, set(git.paths(base, folder)))
        self.base = base
        self.before: Items = {}
        self.groups: set[Group] = set()
        """The files that are merged."""
        self.left: set[Group] = set()
        """Those of them that are left as they are, because a file was refused."""
        self.others: set[str] = set()
        """The paths of theirs that are not where this program writes them."""
        self.is_changed = False
        """Whether the other side has changed anything."""
        self.remarks: list[str] = []
        self.author = ""
        """Who has changed files by hand."""
        self._edited: set[str] = set()
        """The paths of theirs that are not as they were."""
        self._known_refused: set[str] = set()
        self._after: dict[str, bytes] = {}
        self._git, self.ours, self._head, self._read = git, ours, head, scope.read

    def read(self, paths: Iterable[str], theirs: set[str], refused: set[str]) -> None:
        """Read the files with these paths.

        `theirs` are those that the other side has changed, and those of them that were refused until now: for these,
        what the store says is what they were.
        """
        wanted, self.is_changed, self._known_refused = sorted(paths), bool(theirs), refused
        before, ours, after = (self._git.read(commit, wanted) for commit in (self.base, self.ours, self._head))
        graves = {path for path, data in after.items() if is_grave(self._name(path), data)}  # of a dropped history
        self._after = {path: data for path, data in after.items() if path not in graves}
        self._paths = by_mark(
            [one for one in self._git.paths(self._head, self._folder) if one not in graves], self._folder
        )
        for path in [one for one in wanted if one not in refused]:
            known = trusted(self._name(path), before.get(path))
            self.before |= {item["id"]: item for item in known}
            self.groups |= {group_of(item) for item in [*known, *trusted(self._name(path), ours.get(path))]}
        if marks := {one for path in refused for one in self._marks(path)}:
            every = self._read(lambda q: items.read(q, [one for one in items.all_groups(q) if mark(one) in marks]))
            for group, stored in every.items():
                self.before |= {item["id"]: item for item in stored}
                self.groups.add(group)
        self._bury({path: data for path, data in ours.items() if path not in before and path not in self._after})
        unreadable = self._git.unreadable(self._head, self._folder, wanted)
        self.refused |= {path: why for path, why in unreadable.items() if path in wanted}
        self._edited = {path for path in theirs if path in refused or before.get(path) != self._after.get(path)}
        self.take(self._after.keys() - unreadable.keys())
        self._sort(graves)
        self._leave()

    def _sort(self, graves: set[str]) -> None:
        """Note what the files are about, which of them are somewhere else, and what is not kept of them."""
        self.others |= graves
        for path, document in self.documents.items():
            groups = {group_of(item) for item in document.items}
            self.groups |= groups
            if {mark(group) for group in groups} != {mark_of(self._name(path))}:
                self.others.add(path)
            if path in self._edited and document.unknown:
                unknown = ", ".join(sorted(document.unknown))
                self.remarks.append(f"{path}: memoryd does not keep the properties {unknown}")

    def _bury(self, new: Mapping[str, bytes]) -> None:
        """Take what is new here for known if the other side has had and deleted it, as after a restored backup."""
        marks = {mark_of(self._name(path)) for path in new} - self._paths.keys()
        if marks and self._head:
            deleted = self._git.deleted(self.base, self._head, self._folder)
            marks &= {mark_of(self._name(path)) for path in deleted}
            for path, data in new.items() if marks else ():
                name = self._name(path)
                if mark_of(name) in marks:
                    self.is_changed = True
                    self.before = {item["id"]: item for item in trusted(name, data)} | self.before

    def _load(self, path: str) -> bytes:
        return self._after[path] if path in self._after else self._git.read(self._head, [path]).get(path, b"")

    def _leave(self) -> None:
        """Leave what refused files are about as it is on both sides, also if they were moved, unless others have it."""
        stated = {path: self._marks(path) for path in self.refused}
        taken = {group_of(item) for item in self.theirs.values()}
        about = {group for group in self.groups - taken if any(mark(group) in each for each in stated.values())}
        held = {one for path, each in stated.items() for one in each - {mark(("memory", self._clashes.get(path, "")))}}
        self.left = {group for group in about if mark(group) in held}
        self.before = {key: item for key, item in self.before.items() if group_of(item) not in about}

    def _complete(self, path: str, found: list[Item]) -> None:
        if path in self._edited:
            self._sign(path, found)
        for item in found:
            if not item["created_at"] or ("updated_at" in item and not item["updated_at"]):
                raise InvalidInputError(f"has no times for {item['id'][:100]!r}")

    def _sign(self, path: str, found: list[Item]) -> None:
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
