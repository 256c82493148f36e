"""Turn the items of foreign formats into rows of workspaces in a scratch database, ready to be merged.

This implements what all formats have in common: derived ids, limits and splitting, masking of secrets, times, tags,
and the account of what was found, skipped and faulty.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from memoryd.core.base.clock import day
from memoryd.core.base.limits import MEMORY_KEY, NODE_NAME, NODE_TYPE, TAG, TAGS, TEXT, TURN_TEXT
from memoryd.core.engine import Engine
from memoryd.core.journal.in_records import BETWEEN
from memoryd.core.records.deduplication import fingerprint
from memoryd.core.records.derived_ids import derived_id, usable_session
from memoryd.core.security.secrets import SecretRefusedError
from memoryd.core.transfer.export import NOUNS
from memoryd.core.transfer.reader import Part
from memoryd.core.transfer.schema import KEY_LENGTH, NEW_MEMORY, UNKNOWN, UNSCORED
from memoryd.errors import InvalidInputError
from memoryd.features.imports.formats import items
from memoryd.features.imports.formats.fields import brief
from memoryd.features.imports.formats.notes import parts
from memoryd.features.imports.formats.source import ForeignFormat
from memoryd.model import AGENT_INTERACTION, Kind
from memoryd.settings import AUTO
from memoryd.store import rows
from memoryd.store.base import Row
from memoryd.store.sqlite.scratch import Scratch
from memoryd.text import storable

BATCH = 500  # rows written at a time
FIRST = 5  # items of a kind that a preview shows
REMARKS = 20  # maximum remarks that are kept; further ones are only counted
TOOL = "memoryd import"

_PLACE = re.compile(r"^.*?(?:line|element) \d+ ")
_BLANKS = re.compile(r"\s+")


@dataclass(slots=True)
class Remarked:
    """The first remarks of a kind, and the total number."""

    folds: bool = False
    """Whether remarks that differ in their places only become one."""
    number: int = 0
    _kept: dict[str, tuple[str, int]] = field(default_factory=dict)

    def add(self, remark: str) -> None:
        """Add a remark."""
        self.number += 1
        same = _PLACE.sub("", remark) if self.folds else str(self.number)
        if same in self._kept or len(self._kept) < REMARKS:
            first, times = self._kept.get(same, (remark, 0))
            self._kept[same] = first, times + 1

    @property
    def first(self) -> list[str]:
        """The first remarks, each with the number of others that are like it."""
        return [one if times == 1 else f"{one} (and {times - 1:,} more like it)" for one, times in self._kept.values()]

    @property
    def further(self) -> int:
        """The number of remarks that are not among the first."""
        return self.number - sum(times for _, times in self._kept.values())


@dataclass(slots=True)
class SourceAccount:
    """The account of what a source contains."""

    projects: Counter[str] = field(default_factory=Counter)
    """The number of items by project; '' for no project."""
    first: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """The first items of each noun, for people."""
    left_out: Counter[str] = field(default_factory=Counter)
    faults: Remarked = field(default_factory=Remarked)
    hints: Remarked = field(default_factory=lambda: Remarked(folds=True))


@dataclass(slots=True)
class _Node:
    """An entity with everything found about it."""

    item: items.SourceEntity
    observations: list[tuple[str, str]] = field(default_factory=list)
    """The times of the observations, by text."""
    texts: set[str] = field(default_factory=set)

    def add(self, at: str, texts: Iterable[str]) -> None:
        """Add the observations of an item, which may repeat itself, that are not those of an item before."""
        new = [text for text in texts if text not in self.texts]
        self.texts.update(new)
        self.observations += [(text, at) for text in new]


class _Room:
    """The rows of one workspace."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.texts: dict[str, int] = {}
        """A hash of the text of each id."""
        self.keys: set[str] = set()
        self.same: set[str] = set()
        """The fingerprints of memories without a key."""
        self.nodes: dict[str, _Node] = {}
        self.relations: dict[tuple[str, str, str], items.SourceRelation] = {}
        self.summaries: dict[str, list[items.SourceSummary]] = defaultdict(list)
        self._waiting: dict[str, list[Row]] = defaultdict(list)

    def put(self, record: Row, table: str, detail: Row) -> None:
        """Add a record with its detail."""
        self.part.numbers[NOUNS[record["kind"]]] += 1
        self._waiting["records"].append(record)
        self._waiting[table].append({"id": record["id"], **detail})
        if len(self._waiting["records"]) >= BATCH:
            self.flush()

    def row(self, table: str, row: Row) -> None:
        """Add a row that is not a record."""
        self._waiting[table].append(row)

    def flush(self) -> None:
        """Write the pending rows."""
        for table, waiting in self._waiting.items():
            rows.put(self.part.queries, table, waiting)
        self._waiting.clear()


class Staging:
    """The conversion of items into rows of one workspace, or of one for each project."""

    def __init__(
        self, database: Scratch, engine: Engine, form: ForeignFormat, workspace: str, undated: str, *, by_project: bool
    ) -> None:
        """`undated` is the time for items without one."""
        self.found = SourceAccount()
        self._database, self._secrets, self._now = database, engine.secrets, engine.clock.now()
        self._form, self._workspace, self._undated, self._by_project = form, workspace, undated, by_project
        self._rooms: dict[str, _Room] = {}
        self._without_time = 0

    def take(self, given: Iterable[items.Yielded]) -> None:
        """Add the items of a reader."""
        try:
            for item in given:
                self._one(item)
        except InvalidInputError as error:  # the source cannot be read further; what was already read is kept
            self.found.faults.add(str(error).rstrip("."))

    def end(self) -> list[Part]:
        """Write what requires all items; return the workspaces that are not empty."""
        # only now: a session may have several summaries, an entity several items, and relations precede entities
        for room in self._rooms.values():
            for session, found in room.summaries.items():
                self._summary(room, session, found)
            self._graph(room)
            room.flush()
        if self._without_time:
            self.found.hints.add(
                f"{self._without_time} items have no time; they get {self._undated}, when the source last changed"
            )
        return [room.part for room in self._rooms.values() if room.part.numbers]

    def _one(self, item: items.Yielded) -> None:
        match item:
            case items.Fault(reason):
                self.found.faults.add(storable(reason))
            case items.Hint(text):
                self.found.hints.add(storable(text))
            case items.LeftOut(what, number) if number:
                self.found.left_out[what] += number
            case items.SourceItem():
                self._take(item)

    # items -----------------------------------------------------------------------------------------------------------

    def _take(self, item: items.SourceItem) -> None:
        # secrets first: everything after this derives ids, keys and remarks from the text
        room = self._room(item.project)
        try:
            cleaned, session = self._secrets.clean(_stored(item)), self._secrets.clean(item.session_id)
        except SecretRefusedError as error:
            self.found.faults.add(f"{item.id[:100]}: was not imported: {str(error).rstrip('.')}")
            return
        room.part.masked.update(cleaned.found + session.found)
        clean: items.SourceItem = cleaned.value
        if session.found:  # a mask could make two sessions one
            clean = replace(clean, session_id=derived_id("session", clean.session_id))
        if not clean.created_at:
            self._without_time += not isinstance(clean, items.SourceRelation)
            clean = replace(clean, created_at=self._undated)
        match clean:
            case items.SourceMemory():
                self._memory(room, clean)
            case items.SourceTurn():
                self._turn(room, clean)
            case items.SourceSummary():
                room.summaries[usable_session(clean.session_id) or clean.id].append(clean)
            case items.SourceEntity():
                self._entity(room, clean)
            case items.SourceRelation():
                self._relation(room, clean)

    def _memory(self, room: _Room, item: items.SourceMemory) -> None:
        if not item.text.strip():
            self.found.left_out["empty memories"] += 1
            return
        # split before the key is given: a key names one memory, so a text in parts has none
        texts = parts(item.text.strip(), TEXT)
        key = self._key(room, item) if len(texts) == 1 else None
        for number, text in enumerate(texts, 1):
            same = fingerprint(text)
            record_id = self._id(room, item, Kind.MEMORY, text, str(number) if number > 1 else "")
            if not record_id or (key is None and same in room.same):
                self.found.left_out["duplicate texts"] += 1
                continue
            room.same.update(() if key else (same,))
            more = (f"part:{number}/{len(texts)}",) if len(texts) > 1 else ()
            record = self._record(item, record_id, Kind.MEMORY, key, "", text, more)
            own = {
                "fingerprint": "" if key else same,
                "importance": item.importance,
                "consolidated": int(key is not None),
            }
            room.put(record, "memory_details", NEW_MEMORY | own)
            self._count(Kind.MEMORY, item, text)

    def _key(self, room: _Room, item: items.SourceMemory) -> str | None:
        key = item.key.strip()[:MEMORY_KEY]
        if not key:
            return None
        if key in room.keys:
            self.found.hints.add(f"The key {key[:100]!r} occurs twice; the second memory gets no key")
            return None
        room.keys.add(key)
        return key

    def _turn(self, room: _Room, item: items.SourceTurn) -> None:
        words = (item.prompt, item.thought, item.response)
        prompt, thought, response = words if self._form.turns_by_id else (one.strip()[:TURN_TEXT] for one in words)
        # cut first: the id depends on the text that is kept
        body = BETWEEN.join((prompt, thought, response))
        record_id = self._id(room, item, Kind.INTERACTION, body)
        if not body.strip() or not record_id:
            self.found.left_out["duplicate turns" if body.strip() else "empty turns"] += 1
            return
        if max(map(len, words)) > TURN_TEXT and not self._form.turns_by_id:
            self.found.hints.add(f"{item.id[:100]}: texts of a turn are cut after {TURN_TEXT:,} characters")
        thought_at = len(prompt) + len(BETWEEN)
        record = self._record(item, record_id, Kind.INTERACTION, None, AGENT_INTERACTION, body)
        room.put(
            record,
            "interaction_details",
            {"thought_at": thought_at, "response_at": thought_at + len(thought) + len(BETWEEN)},
        )
        self._count(Kind.INTERACTION, item, prompt or response)

    def _summary(self, room: _Room, session: str, found: list[items.SourceSummary]) -> None:
        """Add the summary of a session; several summaries become one text, ordered by time."""
        found.sort(key=lambda item: item.created_at)
        texts = list(dict.fromkeys(f"{one.title}\n\n{one.text}" if len(found) > 1 else one.text for one in found))
        body = parts("\n\n".join(texts), TEXT)
        if len(body) > 1:
            self.found.hints.add(f"The summary of the session {session[:100]} is cut after {TEXT:,} characters")
        last = replace(found[-1], session_id=session)
        record_id = derived_id(Kind.SUMMARY, session)
        title = _BLANKS.sub(" ", found[0].title).strip()[:NODE_NAME] or session
        record = self._record(last, record_id, Kind.SUMMARY, title, "session", body[0])
        room.put(record, "summary_details", {"memory_count": 0, **UNSCORED, "technologies": "[]"})
        self._count(Kind.SUMMARY, last, title)

    # graph -----------------------------------------------------------------------------------------------------------

    def _entity(self, room: _Room, item: items.SourceEntity) -> None:
        name = item.name if item.is_verbatim else item.name.strip()[:NODE_NAME]
        if not name.strip():
            self.found.left_out["entities without a name"] += 1
            return
        node = room.nodes.setdefault(name, _Node(replace(item, name=name)))
        known = node.item
        if len({known.type, item.type} - {"", UNKNOWN}) > 1:
            kept = f"the type {item.type[:100]!r}, but it keeps {known.type[:100]!r}"
            self.found.hints.add(f"{item.id[:100]} gives {name[:100]!r} {kept}")
        node.item = replace(
            known,
            type=known.type if known.type not in ("", UNKNOWN) else item.type,
            summary=known.summary or item.summary,
            tags=tuple(dict.fromkeys((*known.tags, *item.tags))),
            created_at=min(known.created_at, item.created_at),
            updated_at=max(known.updated_at, item.updated_at),
        )
        cut = dict.fromkeys(part for text in map(str.strip, item.observations) if text for part in parts(text, TEXT))
        node.add(item.created_at, item.observations if item.is_verbatim else cut)

    def _relation(self, room: _Room, item: items.SourceRelation) -> None:
        ends = (item.source, item.target, item.type)
        if not item.is_verbatim:
            ends = (item.source.strip()[:NODE_NAME], item.target.strip()[:NODE_NAME], item.type.strip()[:NODE_TYPE])
        if not all(ends):
            self.found.left_out["relations without a name"] += 1
            return
        room.relations.setdefault(ends, item)

    def _graph(self, room: _Room) -> None:
        # nodes of relations before all nodes are written, and these before the relations that need their ids
        for (source, target, _), item in room.relations.items():
            for name in (source, target):
                if name not in room.nodes:
                    new = items.SourceEntity(id=name, name=name, type=UNKNOWN, created_at=item.created_at)
                    room.nodes[name] = _Node(new)
                    why = f"relates {name[:100]!r}, which is not in the source"
                    self.found.hints.add(f"{item.id[:100]} {why}: created, of type {UNKNOWN}, unless it exists")
        for node in room.nodes.values():
            self._node(room, node)
        for (source, target, kind), item in room.relations.items():
            relation = {"id": derived_id("relation", source, target, kind), "relation_type": kind}
            ends = {"from_entity": derived_id(Kind.ENTITY, source), "to_entity": derived_id(Kind.ENTITY, target)}
            room.row("relations", relation | ends | {"created_at": item.created_at, "deleted_at": None})
            room.part.numbers["relations"] += 1
            self._show("relations", f"{source} {kind} {target}")

    def _node(self, room: _Room, node: _Node) -> None:
        item, entity_id = node.item, derived_id(Kind.ENTITY, node.item.name)
        summary = [item.summary] if item.is_verbatim else parts(item.summary, TEXT)
        node.add(
            item.created_at, dict.fromkeys(summary[1:])
        )  # what is too long for a summary comes after the observations
        type_ = (item.type if item.is_verbatim else item.type[:NODE_TYPE]) or UNKNOWN
        record = self._record(item, entity_id, Kind.ENTITY, item.name, type_, summary[0])
        summarized_at = record["updated_at"] if summary[0] else None
        detail = {"summary_updated_at": summarized_at, "next_ordinal": len(node.observations)}
        room.put(record, "entity_details", detail)
        self._count(Kind.ENTITY, item, item.name)
        times = Counter[str]()
        for ordinal, (text, at) in enumerate(node.observations):
            times[text] += 1
            again = (str(times[text]),) if times[text] > 1 else ()
            about = items.SourceItem(id=item.id, created_at=at, session_id=item.session_id)
            record_id = derived_id("observation", item.name, text, *again)
            record = self._record(about, record_id, Kind.OBSERVATION, item.name, "", text)
            room.put(record, "observation_details", {"entity_id": entity_id, "ordinal": ordinal})
            self._count(Kind.OBSERVATION, None, f"{item.name}: {text}")

    # rows ------------------------------------------------------------------------------------------------------------

    def _room(self, project: str) -> _Room:
        name = self._workspace
        if self._by_project and project:
            name = "".join(one for one in project if one.isprintable()).strip()[:200] or name
            name = f"{AUTO}-2" if name == AUTO else name  # like a repository of that name
        if name not in self._rooms:
            about = {"name": name, "description": "", "created_at": self._now, "updated_at": self._now}
            queries = self._database.queries(str(len(self._rooms)))
            self._rooms[name] = _Room(Part(about, queries, tells_events=False, turns_by_id=self._form.turns_by_id))
        return self._rooms[name]

    def _id(self, room: _Room, item: items.SourceItem, kind: Kind, text: str, part: str = "") -> str:
        """Return the id of a text; '' if the text is a duplicate. If another text has the id, add the text's hash."""
        # its own id, then one of its place in the source, then one of its text too
        place = (kind, self._form.name, item.id, part)
        keeps_own = self._form.turns_by_id and not part and item.id.strip() and len(item.id) <= KEY_LENGTH
        first = item.id if keeps_own else derived_id(*place)
        for tried in (first, derived_id(*place, text)):
            if tried not in room.texts:
                room.texts[tried] = hash(text)
                return tried
            if room.texts[tried] == hash(text):
                break
        return ""

    def _record(
        self,
        item: items.SourceItem,
        record_id: str,
        kind: Kind,
        name: str | None,
        type_: str,
        body: str,
        more: Iterable[str] = (),
    ) -> Row:
        """Return the row of a record, with the tags of its item and `more`."""
        return {
            "id": record_id,
            "kind": str(kind),
            "name": name,
            "type": type_,
            "body": body,
            "tags": json.dumps(self._tags(item, more), ensure_ascii=False),
            "scope": "",
            "session_id": usable_session(item.session_id) or None,
            "client": f"import {self._form.name}",
            "tool": TOOL,
            "created_at": item.created_at,
            "updated_at": max(item.created_at, item.updated_at),
            "deleted_at": None,
        }

    def _tags(self, item: items.SourceItem, more: Iterable[str]) -> list[str]:
        project = () if self._by_project or not item.project else (f"project:{item.project}",)
        tags = dict.fromkeys(_BLANKS.sub(" ", tag).strip()[:TAG] for tag in (*more, *project, *item.tags))
        tags.pop("", None)
        if len(tags) > TAGS:
            self.found.hints.add(f"{item.id[:100]}: has {len(tags)} tags; {TAGS} are kept")
        return list(tags)[:TAGS]

    # the account -----------------------------------------------------------------------------------------------------

    def _count(self, kind: Kind, item: items.SourceItem | None, text: str) -> None:
        noun = NOUNS[kind]
        if item:
            self.found.projects[item.project] += 1
        self._show(noun, f"{day(item.created_at)}  {brief(text)}" if item else brief(text))

    def _show(self, noun: str, text: str) -> None:
        if len(self.found.first[noun]) < FIRST:
            self.found.first[noun].append(text)


def _stored(item: Any) -> Any:
    """Return an item whose texts a database can store."""
    changed: dict[str, Any] = {}
    for name in item.__dataclass_fields__:
        value = getattr(item, name)
        if isinstance(value, str):
            changed[name] = storable(value)
        elif isinstance(value, tuple):
            changed[name] = tuple(storable(one) if isinstance(one, str) else one for one in value)
    return replace(item, **changed)
