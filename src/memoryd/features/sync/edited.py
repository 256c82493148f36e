"""Read back a tree that people have edited, such as in Obsidian: what differs becomes corrections of the same records.

A file shows what a record was when it was written, and the store knows what it has been since. So a difference is a
person's change only if the record was never like that since then; what the store changed meanwhile stays.
"""

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from memoryd.core.engine import Engine
from memoryd.core.records.records import written_by
from memoryd.core.scope import Scope
from memoryd.core.transfer.export import NOUNS
from memoryd.core.transfer.export_formats import ExportFormat, FolderChange, FolderChanges
from memoryd.core.transfer.restore import STORED
from memoryd.errors import InvalidInputError, StoreError
from memoryd.features.imports.formats.source import SourceFile, is_hidden, opened
from memoryd.features.sync import applying, documents, folder, items
from memoryd.features.sync.applying import QuietChange
from memoryd.features.sync.documents import FORMAT, ROOT_FILE, Item, group_of, is_document, mark, mark_of
from memoryd.features.sync.merging import Items, Merged, merge, united
from memoryd.features.sync.reading import Reading
from memoryd.server.differences import changed
from memoryd.store import rows
from memoryd.store.base import Queries, Row

WHOLE = 32 << 20  # bytes of a file that are read
EDITABLE = ("name", "type", "importance", "body", "tags", "thought_at", "response_at")
"""The fields that a person may change in a file."""
CLIENT = "import markdown"
_BLANKS = re.compile(r"[ \t\r]+$", re.MULTILINE)


def is_own(path: Path) -> bool:
    """Return whether a file or folder is a tree, or a part of one."""
    try:
        return _root(path) is not None
    except OSError:
        return False


def compare(engine: Engine, path: Path, name: str, *, forget: bool, apply: bool) -> list[FolderChanges]:
    """Return what differs in each workspace of a tree; make it so if `apply`, and `forget` what was deleted.

    `name` is the workspace to compare with; '' for those that the tree names. Raise InvalidInputError.
    """
    with _opened(path) as tree:
        if name and len(tree.workspaces) > 1:
            there = ", ".join(list(tree.workspaces.values())[:10])
            raise InvalidInputError(
                f"{path.name} contains {len(tree.workspaces)} workspaces: {there}. They cannot all be imported as "
                f"{name!r}; import them under their own names."
            )
        done: list[FolderChanges] = []
        try:
            for place, stated in tree.workspaces.items():
                done.append(_Edited(engine, tree, place, name or stated).compare(forget=forget, apply=apply))
        except StoreError as error:
            stored = [f"the changes in the workspace {one.workspace!r}" for one in done if apply and one.changes]
            if not stored:
                raise
            raise error.after(STORED.format(", ".join(stored))) from error
        return done


# the files -----------------------------------------------------------------------------------------------------------


class _Tree:
    """The visible files of a tree by their paths, its workspaces by their folders, and what its export has listed."""

    def __init__(self, path: Path, files: Mapping[str, SourceFile], within: str) -> None:
        self.files = {name: file for name, file in files.items() if not is_hidden(file)}
        self.within = within
        documents.demand_version(files[ROOT_FILE].whole() if ROOT_FILE in files else "", path.name)
        names = {
            place: folder.workspace_in(file.whole(), file.name)[0]
            for name, file in files.items()
            if (place := name.removesuffix(f"/{folder.ABOUT}")) != name and "/" not in place
        }
        self.workspaces = {
            place: name
            for place, name in sorted(names.items())
            if f"{place}/".startswith(within) or within.startswith(f"{place}/")
        }
        if not self.workspaces:
            raise InvalidInputError(f"{path.name} has no workspace that can be imported. Nothing was imported.")
        self.listed = folder.listed_in(files[folder.LIST].whole()) if folder.LIST in files else {}
        self._is_single = len(names) == 1
        self._places = tuple(f"{place}/" for place in names)

    def documents(self, place: str) -> Iterator[tuple[str, SourceFile]]:
        """Yield the files of a workspace, also notes beside its folder if there is no other workspace."""
        for path, file in self.files.items():
            inside = path.removeprefix(f"{place}/")
            is_beside = self._is_single and not path.startswith(self._places)
            if path.startswith(self.within) and (inside != path or is_beside) and is_document(inside):
                yield path, file


def _root(path: Path) -> tuple[Path, str] | None:
    """Return the folder or archive of a tree that a path is in, and the path below it; None if there is none."""
    for place in (path, *path.parents):
        if place.is_dir() and (place / ROOT_FILE).is_file():
            text = (place / ROOT_FILE).read_text(encoding="utf-8", errors="replace")
            below = path.relative_to(place).as_posix() if path != place else ""
            return (place, f"{below}/" if path.is_dir() and below else below) if FORMAT in text else None
    if path.is_file() and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if any(name.endswith(ROOT_FILE) and name.count("/") < 2 for name in archive.namelist()):
                return path, ""
    return None


@contextmanager
def _opened(path: Path) -> Iterator[_Tree]:
    root, within = _root(path) or (path, "")
    with opened(root) as source:
        heads = [one.name for one in source.files if one.base == ROOT_FILE]
        above = min(heads, key=len, default=ROOT_FILE).removesuffix(ROOT_FILE)
        files = {one.name.removeprefix(above): one for one in source.files if one.name.startswith(above)}
        yield _Tree(path, files, within)


# one workspace -------------------------------------------------------------------------------------------------------


class _Edited(Reading):
    """The files of one workspace, and the records that they are about."""

    def __init__(self, engine: Engine, tree: _Tree, place: str, name: str) -> None:
        known = engine.workspaces.usable(name) if engine.store.placement.exists() else None
        super().__init__(engine, Scope(engine, known) if known else None, f"{place}/", tree.listed)
        self._tree, self._files = tree, dict(tree.documents(place))
        self._paths = documents.by_mark(self._files, self._folder)
        self._now = engine.clock.now()
        self.found = FolderChanges(name, refused=self.refused)

    def compare(self, *, forget: bool, apply: bool) -> FolderChanges:
        """Return what differs; make it so if `apply`."""
        self.take(self._files)
        self.found.unknown = set().union(*(document.unknown for document in self.documents.values()))
        lacking = set[str]()

        def work(queries: Queries | None) -> None:
            ours, merged = self._merged(queries, forget=forget)
            self._tell(ours, merged)
            if apply and queries:
                change = QuietChange(queries, self._now, "")
                applying.apply(change, ours, merged)
                change.finish()
                lacking.update(change.lacking)

        if not apply:
            self._scope.read(work) if self._scope else work(None)
        elif self.theirs or self._scope:
            scope = self._scope or Scope(self._engine, self._engine.workspaces.adopt(self.found.workspace))
            with written_by(CLIENT, ""):
                scope.write(work)
            scope.embed_later(lacking)
        return self.found

    def _load(self, path: str) -> bytes:
        with self._files[path].open() as data:
            return data.read(WHOLE)

    def _entity(self, digest: str, name: str) -> str:
        return super()._entity(digest, name) or self._names.get(name, "")

    @cached_property
    def _names(self) -> dict[str, str]:
        """The ids of the entities in the tree by their names."""
        return {head["name"]: head["id"] for head in map(self._entity_in, self._files) if head}

    # comparing -------------------------------------------------------------------------------------------------------

    def _merged(self, queries: Queries | None, *, forget: bool) -> tuple[Items, Merged]:
        """Return the records that the files are about, and what they become."""
        theirs, ours, removed = dict(self.theirs), Items(), Items()
        if queries:
            groups, new = items.groups_of(queries, theirs)
            marks = self._deleted()
            deleted = [group for group in items.all_groups(queries) if mark(group) in marks]
            groups |= {*deleted, *items.holders(queries, theirs.values())}
            every = items.read(queries, groups)
            ours = {one["id"]: one for each in every.values() for one in each}
            removed = {one["id"]: one for group in deleted for one in every[group]}
            purged = {row["id"] for row in queries.all("sync.forgotten", ids=json.dumps(sorted(new)))}
            gone = {key for key in theirs if key not in ours and (key not in new or key in purged)}
            self.found.forgotten = len(gone)
            theirs = {key: one for key, one in theirs.items() if key not in gone}
        theirs = self._all_news(queries, _connected(theirs, ours), ours)
        dropped = [each.dropped for path, each in self.documents.items() if path not in self.refused]
        ended = set[str]().union(*dropped, removed if forget else ())
        touched = self.theirs.keys() | ended
        for key in ended & ours.keys():
            theirs.pop(key, None)
        self._kept = {} if forget else removed
        return ours, merge({key: one for key, one in ours.items() if key in touched}, ours, theirs)

    def _all_news(self, queries: Queries | None, theirs: Items, ours: Items) -> Items:
        """Return the records with what the files change; of one that cannot be used nothing counts."""
        versions = _versions(queries, theirs.keys() & ours.keys()) if queries else {}
        for path, document in self.documents.items():
            stated = [item for item in document.items if item["id"] in theirs]
            try:
                theirs |= {
                    one["id"]: self._news(one, ours.get(one["id"]), versions.get(one["id"], [])) for one in stated
                }
            except InvalidInputError as error:
                self.refused[path] = str(error).rstrip(".")
                left = {item["id"] for item in stated}
                theirs = {key: one for key, one in theirs.items() if key not in left}
                theirs |= {key: one for key, one in ours.items() if key in left}
        return theirs

    def _deleted(self) -> set[str]:
        """Return the hashes of what the export has written, and no longer has a file."""
        listed = [path for path in self._tree.listed if path.startswith(self._folder)]
        gone = {mark_of(self._name(path)) for path in listed if path.startswith(self._tree.within)}
        named = {mark_of(self._name(path)) for path in self._files}
        unreadable = {one for path in self.refused for one in self._marks(path)}
        return gone - named - unreadable - {mark(group_of(item)) for item in self.theirs.values()} - {""}

    def _news(self, item: Item, was: Item | None, versions: Sequence[Row]) -> Item:
        """Return a record with what a person has changed in its file; raise InvalidInputError if that is too large."""
        stated = item.get("updated_at") or item["created_at"] or ""
        if item["kind"] == "relation" or (was is None and stated):
            return was or item
        if was is None:
            return self._stamped(item | {"created_at": self._now})
        if stated[:19] > was["updated_at"][:19]:  # from another store, where it was changed later
            return item | {"created_at": min(item["created_at"] or was["created_at"], was["created_at"])}
        since = [row for row in versions if row["until"] > stated]
        found = dict(was)
        for name in [one for one in EDITABLE if one in item]:
            known = [*(row[name] for row in since if name in row), was[name]]
            if not any(_same(name, item[name], one) for one in known):
                found[name] = united(known[0], was[name], item[name]) if name == "tags" else item[name]
        if all(_same(name, found[name], was[name]) for name in EDITABLE if name in found):
            return was
        return self._stamped(found)

    def _stamped(self, item: Item) -> Item:
        if "updated_at" in item:
            item |= {"updated_at": self._now, "client": CLIENT, "tool": ""}
            documents.check_edited(item)
        return item

    # telling ---------------------------------------------------------------------------------------------------------

    def _tell(self, ours: Items, merged: Merged) -> None:
        after = merged.items
        self.found.remarks = merged.remarks
        for key in sorted(ours.keys() | after.keys()):
            before, now = ours.get(key), after.get(key)
            if before != now:
                what = "added" if before is None else "removed" if now is None else "changed"
                self._change(what, before, now)
        for item in self._kept.values():
            self._change("removed", item, None)

    def _change(self, what: str, before: Item | None, now: Item | None) -> None:
        item = now or before or {}
        title = " ".join((item.get("name") or item.get("body") or item.get("relation_type") or item["id"]).split())[:60]
        old, new = (_lines(one) if one else [] for one in (before, now))
        differ = [f"{'-' if mark == 'gone' else '+'} {line}" for mark, line in changed(old, new)]
        noun = NOUNS.get(item["kind"], "relations")
        self.found.changes.append(FolderChange(what, noun, item["id"], title, differ))


def _connected(theirs: Items, ours: Items) -> Items:
    """Return what of a file can stand: what it belongs to, or what has replaced it, is there."""
    found, names = theirs, ("entity_id", "from_entity", "to_entity", "superseded_by")
    while True:
        ids = found.keys() | ours.keys()
        kept = {
            key: one
            for key, one in found.items()
            if all(not one.get(name) or one[name] in ids for name in names) or key in ours
        }
        if len(kept) == len(found):
            return found
        found = kept


def _versions(queries: Queries, ids: Iterable[str]) -> dict[str, list[Row]]:
    """Return the earlier versions of some records, the oldest first."""
    found: dict[str, list[Row]] = {}
    for row in sorted(rows.of(queries, "versions", sorted(ids)), key=lambda one: str(one["until"])):
        found.setdefault(row["id"], []).append(row | {"tags": json.loads(row["tags"])})
    return found


def _same(name: str, one: Any, other: Any) -> bool:
    """Return whether two values of a field say the same: blanks at the ends of lines and the order of tags do not."""
    if name == "tags":
        return set(one) == set(other)
    if name == "body":
        return bool(one == other or _BLANKS.sub("", one).strip("\n") == _BLANKS.sub("", other).strip("\n"))
    return bool(one == other)


def _lines(item: Item) -> list[str]:
    """Return what a person sees of a record as lines."""
    shown = [f"{name}: {item[name]}" for name in ("name", "type", "importance") if item.get(name) not in (None, "")]
    tags = [f"tags: {', '.join(item['tags'])}"] if item.get("tags") else []
    return [*shown, *tags, *(item.get("body") or item.get("relation_type") or "").split("\n")]


MARKDOWN = ExportFormat(folder=folder.export, archive=folder.archive, is_own=is_own, compare=compare)
"""The tree as a format of exports."""
