"""Read back a tree that people have edited, such as in Obsidian: what differs becomes corrections of the same records.

A file shows what a record was when it was written, and the store knows what it has been since. So a difference is a
person's change only if the record was never like that since then; what the store changed meanwhile stays.
"""

import difflib
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memoryd.core.engine import Engine
from memoryd.core.records.records import written_by
from memoryd.core.scope import Scope
from memoryd.core.security.secrets import SecretRefusedError
from memoryd.core.transfer.export import NOUNS
from memoryd.core.transfer.export_formats import FolderChange, FolderChanges
from memoryd.errors import InvalidInputError
from memoryd.features.imports.formats.source import SourceFile, is_hidden, opened
from memoryd.features.sync import applying, documents, folder, items
from memoryd.features.sync.applying import QuietChange
from memoryd.features.sync.documents import FORMAT, ROOT_FILE, Document, Item, group_of, is_document, mark, mark_of
from memoryd.features.sync.merging import Items, Merged, merge, united
from memoryd.model import Workspace
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
        return [
            _Edited(engine, tree, place, name or stated).compare(forget=forget, apply=apply)
            for place, stated in tree.workspaces.items()
        ]


# the files -----------------------------------------------------------------------------------------------------------


class _Tree:
    """The visible files of a tree by their paths, its workspaces by their folders, and what its export has listed."""

    def __init__(self, path: Path, files: Mapping[str, SourceFile], within: str) -> None:
        self.files = {name: file for name, file in files.items() if not is_hidden(file)}
        self.within = within
        version = documents.version_of(files[ROOT_FILE].whole()) if ROOT_FILE in files else None
        if version != documents.VERSION:
            raise InvalidInputError(
                f"{path.name} has version {version!r} of the format; this memoryd reads version {documents.VERSION}. "
                "Nothing was imported; update memoryd."
            )
        every = {
            name[: -len(folder.ABOUT) - 1]: file
            for name, file in files.items()
            if name.count("/") == 1 and name.endswith(f"/{folder.ABOUT}")
        }
        names = {place: folder.workspace_in(file.whole(), file.name) for place, file in every.items()}
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


class _Edited:
    """The files of one workspace, and the records that they are about."""

    def __init__(self, engine: Engine, tree: _Tree, place: str, name: str) -> None:
        self._engine, self._tree, self._place = engine, tree, f"{place}/"
        self._known: Workspace | None = engine.workspaces.usable(name) if engine.store.placement.exists() else None
        self._now = engine.clock.now()
        self.found = FolderChanges(name)
        self._theirs: Items = {}
        self._files: dict[str, list[Item]] = {}
        """What each file says."""
        self._dropped: dict[str, set[str]] = {}
        """What each file lists, and no longer says."""
        self._marks = set[str]()
        """The hashes of what has a file, also one that cannot be read."""
        self._entities: dict[str, str] = {}
        """The ids of the entities in the tree by hash, name, path and file name."""

    def compare(self, *, forget: bool, apply: bool) -> FolderChanges:
        """Return what differs; make it so if `apply`."""
        self._read()
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
            self._engine.store.read(self._known, work) if self._known else work(None)
        elif self._theirs or self._known:
            scope = Scope(self._engine, self._known or self._engine.workspaces.adopt(self.found.workspace))
            with written_by(CLIENT, ""):
                scope.write(work)
            scope.embed_later(lacking)
        return self.found

    # reading ---------------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        every: dict[str, tuple[SourceFile, Document]] = {}
        for path, file in self._tree.documents(self._place.removesuffix("/")):
            self._marks.add(mark_of(path.removeprefix(self._place)))
            if document := self._document(path, file, lambda _digest, _name: "?"):
                every[path] = file, document
                self._index(path, document)
        originals = self._originals(every)
        for path, (file, first) in sorted(
            every.items(), key=lambda one: (one[0] not in self._tree.listed, one[0] not in originals)
        ):
            is_open = any(item.get("to_entity") == "?" for item in first.items)
            document = self._document(path, file, self._entity) if is_open else first
            if document is None or not document.items:
                continue
            is_copy = path not in originals and not path.endswith(".jsonl")
            found = documents.copied(path, document.items) if is_copy else document.items
            self._marks |= {mark(group_of(item)) for item in found}
            if taken := next((item["id"] for item in found if item["id"] in self._theirs), ""):
                self.found.refused[path] = f"has an id that another record has: {taken[:100]!r}"
                continue
            self._dropped[path] = set() if is_copy else document.dropped
            self.found.unknown |= document.unknown
            self._theirs |= {item["id"]: item for item in found}
            self._files[path] = found

    def _document(self, path: str, file: SourceFile, entity: Any) -> Document | None:
        try:
            with file.open() as data:
                document = documents.read(path.removeprefix(self._place), data.read(WHOLE), entity)
            document.items = [self._engine.secrets.clean(item).value for item in document.items]
        except (InvalidInputError, SecretRefusedError) as error:
            self.found.refused[path] = str(error).rstrip(".")
            return None
        return document

    def _index(self, path: str, document: Document) -> None:
        head = document.items[0] if document.items else None
        if head and head["kind"] == "entity":
            below = path.removeprefix(self._place).removesuffix(".md")
            for name in (mark(("entity", head["id"])), below, path.removesuffix(".md"), below.rpartition("/")[2]):
                self._entities.setdefault(name, head["id"])
            self._entities[f"\n{head['name']}"] = head["id"]

    def _entity(self, digest: str, name: str) -> str:
        known = self._entities.get(digest or name) or self._entities.get(f"\n{name}")
        if known or not name or self._known is None:
            return known or ""
        names = json.dumps([name], ensure_ascii=False)
        found = self._engine.store.read(self._known, lambda queries: queries.all("entities.named", names=names))
        return str(found[0]["id"]) if found else ""

    def _originals(self, every: Mapping[str, tuple[SourceFile, Document]]) -> set[str]:
        """Return the file of each record; others with the same id are copies."""
        paths: dict[tuple[str, str], list[str]] = {}
        for path, (_, document) in every.items():
            if document.items:
                paths.setdefault((document.items[0]["kind"], document.items[0]["id"]), []).append(path)
        return {min(same, key=lambda one: (one not in self._tree.listed, len(one), one)) for same in paths.values()}

    # comparing -------------------------------------------------------------------------------------------------------

    def _merged(self, queries: Queries | None, *, forget: bool) -> tuple[Items, Merged]:
        """Return the records that the files are about, and what they become."""
        theirs, ours, removed = dict(self._theirs), Items(), Items()
        if queries:
            groups, new = items.groups_of(queries, theirs)
            deleted = [group for group in items.all_groups(queries) if mark(group) in self._deleted()]
            groups |= {*deleted, *items.holders(queries, theirs.values())}
            every = items.read(queries, groups)
            ours = {one["id"]: one for each in every.values() for one in each}
            removed = {one["id"]: one for group in deleted for one in every[group]}
            purged = {row["id"] for row in queries.all("sync.forgotten", ids=json.dumps(sorted(new)))}
            gone = {key for key in theirs if key not in ours and (key not in new or key in purged)}
            self.found.forgotten = len(gone)
            theirs = {key: one for key, one in theirs.items() if key not in gone}
        theirs = self._all_news(queries, _connected(theirs, ours), ours)
        dropped = [each for path, each in self._dropped.items() if path not in self.found.refused]
        ended = set[str]().union(*dropped, removed if forget else ())
        touched = self._theirs.keys() | ended
        for key in ended & ours.keys():
            theirs.pop(key, None)
        self._kept = {} if forget else removed
        return ours, merge({key: one for key, one in ours.items() if key in touched}, ours, theirs)

    def _all_news(self, queries: Queries | None, theirs: Items, ours: Items) -> Items:
        """Return the records with what the files change; of one that cannot be used nothing counts."""
        versions = _versions(queries, theirs.keys() & ours.keys()) if queries else {}
        kinds = {key: kind for key, (kind, _) in items.places(queries, theirs).items()} if queries else {}
        for path, found in self._files.items():
            stated = [item for item in found if item["id"] in theirs]
            try:
                _demand_kinds(stated, kinds)
                theirs |= {
                    one["id"]: self._news(one, ours.get(one["id"]), versions.get(one["id"], [])) for one in stated
                }
            except InvalidInputError as error:
                self.found.refused[path] = str(error).rstrip(".")
                left = {item["id"] for item in stated}
                theirs = {key: one for key, one in theirs.items() if key not in left}
                theirs |= {key: one for key, one in ours.items() if key in left}
        return theirs

    def _deleted(self) -> set[str]:
        """Return the hashes of what the export has written, and no longer has a file."""
        listed = {
            path for path in self._tree.listed if path.startswith(self._place) and path.startswith(self._tree.within)
        }
        return {mark_of(path.removeprefix(self._place)) for path in listed} - self._marks - {""}

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
            known = [*(_of(row, name) for row in since if name in row), was[name]]
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
        differ = [line for line in difflib.ndiff(old, new) if line.startswith(("- ", "+ "))]
        noun = NOUNS.get(item["kind"], "relations")
        self.found.changes.append(FolderChange(what, noun, item["id"], title, differ))


def _demand_kinds(found: Iterable[Item], kinds: Mapping[str, str]) -> None:
    for item in found:
        if kinds.get(item["id"], item["kind"]) != item["kind"]:
            raise InvalidInputError(f"has an id that another record has: {item['id'][:100]!r}")


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
        found.setdefault(row["id"], []).append(row)
    return found


def _of(row: Row, name: str) -> Any:
    return json.loads(row[name]) if name == "tags" else row[name]


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
