"""Merge two changes of the same items by fixed rules, which give every machine the same result.

Different items never conflict. Fields that one side changed are taken from it; of a field that both changed, the later
one stands (by the time of the item's last change, then by its content). Forgotten stays forgotten.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memoryd.features.sync.conflicts import KEPT
from memoryd.features.sync.documents import Item

Items = dict[str, Item]
"""Items by their ids."""
UNITS = (
    ("body", "client", "tool", "thought_at", "response_at"),
    ("deleted_at", "superseded_by", "ending", "reason"),
)
"""Fields that stay together: a text and its writer, and how a memory was replaced."""
GIVE_WAY = {"body": "text", "name": "name"}
"""The fields of which the earlier one is kept where both sides changed them, and what people call them."""
WITH_TEXT = {"memory": ("body", "client", "tool", "importance"), "entity": ("body", "summary_updated_at")}
"""The fields that come with the text of an item."""
SAME_KEY = "the same key was used on two machines"


@dataclass(slots=True)
class Merged:
    """The result of a merge."""

    items: Items = field(default_factory=dict)
    lost: dict[str, list[Item]] = field(default_factory=lambda: defaultdict(list))
    """What had a text that gave way to a later one, by the id of the item that stands."""
    forgotten: list[str] = field(default_factory=list)
    """The items that one side changed and the other one deleted: they stay deleted."""
    remarks: list[str] = field(default_factory=list)
    became: dict[str, str] = field(default_factory=dict)
    """The ids of the entities that became others, and theirs."""

    def conflicts(self) -> list[Item]:
        """Return the records that stand as those were that gave way to them, and `until` when; the latest last."""
        own = ("name", "body", "tags", "client", "tool", "importance", "updated_at")
        return [
            now | {name: one[name] for name in own if name in one} | {"until": now["updated_at"]}
            for key, lost in self.lost.items()
            if (now := self.items.get(key)) and now["kind"] in KEPT
            for one in lost
            if wording(one) != wording(now)
        ]

    def united(self) -> dict[str, str]:
        """Return the ids of the records that became others because of equal names or keys, and those of these."""
        found = {
            key: str(one["superseded_by"])
            for key, one in self.items.items()
            if one["kind"] == "memory" and one["reason"] == SAME_KEY and one["superseded_by"] in self.items
        }
        return {key: found.get(into, into) for key, into in (self.became | found).items()}


def merge(base: Items, ours: Items, theirs: Items, gone: Iterable[str] = ()) -> Merged:
    """Merge two changes of `base`; `gone` are ids that were forgotten here, where no base tells of it."""
    result, dead = Merged(), set(gone)
    for key in sorted(base.keys() | ours.keys() | theirs.keys()):
        before, one, other = base.get(key), ours.get(key), theirs.get(key)
        if other in (one, before):
            chosen = one
        elif one == before:
            chosen = None if before is None and key in dead else other
        elif one is None or other is None:
            chosen = None
        elif before is None and one["kind"] == "interaction" and one["body"] != other["body"]:
            chosen = _parted(result, one, other)
        else:
            chosen = _both(result, before or {}, one, other)
        if chosen is not None:
            result.items[key] = dict(chosen)
        elif before and (one or other) not in (None, before):
            result.forgotten.append(key)
    _unite_keys(result)
    _unite_late(result, base, (ours, theirs))
    _unite_names(result)
    _keep_summaries(result, base, (ours, theirs))
    _move(result)
    _end_circles(result.items)
    _number(result)
    return result


def order(item: Item) -> tuple[str, str]:
    """Return what orders items that were made on different machines."""
    return item["created_at"], item["id"]


def wording(item: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return what of a record, or of a version of it, gives way to another machine's: its text, an entity's name."""
    return item["body"], item["name"] if item["kind"] == "entity" else None


def _rank(item: Item) -> tuple[str, str]:
    return item.get("updated_at") or item["created_at"], json.dumps(item, sort_keys=True)


def _both(result: Merged, before: Mapping[str, Any], one: Item, other: Item) -> Item:
    later, earlier = (one, other) if _rank(one) > _rank(other) else (other, one)
    found = dict(later)
    units = [unit for unit in UNITS if unit[0] in later]
    lost = dict[str, Any]()
    single = [(name,) for name in later if not any(name in unit for unit in units)]
    for unit in (*units, *single):
        fields = [name for name in unit if name in later]
        new, old, was = ([side.get(name) for name in fields] for side in (later, earlier, before))
        if new == was:
            found |= dict(zip(fields, old, strict=True))
        elif old not in (new, was) and fields[0] in GIVE_WAY:
            lost |= dict(zip(fields, old, strict=True))
            name, what = (later.get("name") or later["id"])[:60], GIVE_WAY[fields[0]]  # no text: the state keeps it
            result.remarks.append(f"the {later['kind']} {name!r} was changed on two machines: the later {what} stands")
        elif old not in (new, was) and fields[0] == "deleted_at":
            ended = max(later, earlier, key=lambda side: (side["deleted_at"] or "", *_rank(side)))
            found |= {name: ended[name] for name in fields}
    for name in ("tags", "also", "technologies"):
        if name in later:
            found[name] = united(before.get(name) or [], earlier[name], later[name])
    for name, choose in (("updated_at", max), ("next_ordinal", max), ("created_at", min)):
        if name in later:
            found[name] = choose(one[name], other[name])
    if lost:
        result.lost[one["id"]].append(found | {"updated_at": earlier.get("updated_at")} | lost)
    return found


def united(before: list[str], one: list[str], other: list[str]) -> list[str]:
    """Return what either side has; what one of them has removed is gone. The order is that of the later side."""
    removed = {value for value in before if value not in one or value not in other}
    return [value for value in dict.fromkeys([*other, *one]) if value not in removed]


def _parted(result: Merged, one: Item, other: Item) -> Item:
    """Keep both turns that got the same id: the one with the smaller rank keeps it."""
    first, second = sorted((one, other), key=_rank)
    renamed = second | {"id": f"{second['id']}-2"}
    result.items[renamed["id"]] = renamed
    return first


# what was born twice -------------------------------------------------------------------------------------------------


def _twins(items: Items, kind: str) -> list[list[Item]]:
    found = defaultdict[str, list[Item]](list)
    for item in items.values():
        if item["kind"] == kind and item["name"] is not None and not item.get("deleted_at"):
            found[item["name"]].append(item)
    return [sorted(each, key=order) for _, each in sorted(found.items()) if len(each) > 1]


def _unite_keys(result: Merged) -> None:
    """Let one memory stand for a key: the oldest, with the latest text; the others are its earlier ones."""
    for first, *others in _twins(result.items, "memory"):
        for other in others:
            end = {"deleted_at": max(other["updated_at"], first["updated_at"]), "superseded_by": first["id"]}
            result.items[other["id"]] = other | end | {"ending": "merged", "reason": SAME_KEY}
        if any(other["body"] != first["body"] for other in others):
            result.remarks.append(f"the key {first['name'][:60]!r} has the later of two texts")
        _adopt(result, first, others)


def _unite_late(result: Merged, base: Items, sides: Iterable[Items]) -> None:
    """Have the text of a memory count that one machine changed while another one had already united it with another."""
    for key, item in list(result.items.items()):
        first = result.items.get(item.get("superseded_by") or "")
        is_new = first and item["reason"] == SAME_KEY and all(item != side.get(key) for side in sides)
        if not first or not is_new or first["name"] != item["name"] or first["deleted_at"]:
            continue
        if item["updated_at"] > first["updated_at"]:
            _adopt(result, first, [item])
        elif item["body"] != base.get(key, item)["body"]:
            _give_way(result, first["id"], first["body"], [item])


def _adopt(result: Merged, first: Item, others: list[Item]) -> None:
    """Let one item stand for several: with the latest text, and the tags of all."""
    every = [first, *others]
    latest = max((one for one in every if one["body"]), key=_rank, default=first)
    _give_way(result, first["id"], latest["body"], every)
    found = first | {name: latest[name] for name in WITH_TEXT[first["kind"]]}
    for name in first.keys() & {"updated_at", "next_ordinal"}:
        found[name] = max(one[name] for one in every)
    found["tags"] = list(dict.fromkeys(tag for one in (latest, *every) for tag in one["tags"]))
    result.items[first["id"]] = found


def _give_way(result: Merged, key: str, text: str, sides: list[Item]) -> None:
    """Note the texts other than the one that stands, the latest last; an entity without a summary has none."""
    result.lost[key] += sorted((one for one in sides if one["body"] not in ("", text)), key=_rank)


def _unite_names(result: Merged) -> None:
    """Let one entity have a name: the oldest, with what is known of all."""
    items = result.items
    for first, *others in _twins(items, "entity"):
        also = {one["id"] for one in others}.union(*(one["also"] for one in (first, *others)))
        _adopt(result, first | {"also": sorted(also)}, others)
        for other in others:
            del items[other["id"]]
        result.remarks.append(f"the entity {first['name'][:60]!r} was created on two machines, and is one now")
    for item in list(items.values()):
        for key in item["also"] if item["kind"] == "entity" else ():
            if key not in items:
                result.became[key] = item["id"]


def _keep_summaries(result: Merged, base: Items, sides: Iterable[Items]) -> None:
    """Have the summary of an entity count that one machine changed while on another one it became another entity."""
    for key, into in result.became.items():
        for one in filter(None, (side.get(key) for side in sides)):
            stands = result.items[into]
            if one["body"] in ("", base.get(key, one)["body"], stands["body"]):
                continue
            if (one["summary_updated_at"] or "") > (stands["summary_updated_at"] or ""):
                later = max(one["updated_at"], stands["updated_at"])
                text = {name: one[name] for name in ("body", "summary_updated_at")}
                result.items[into] = stands | text | {"updated_at": later}
            _give_way(result, into, result.items[into]["body"], [stands, one])


def _move(result: Merged) -> None:
    """Give what is about an entity that became another one to that one; drop what it has already."""
    items, moved = result.items, result.became
    for key, item in list(items.items()):
        ends = {
            name: moved[item[name]] for name in ("entity_id", "from_entity", "to_entity") if item.get(name) in moved
        }
        if ends:
            items[key] = item | ends
    seen, same = dict[tuple[str, ...], str](), tuple[str, ...]()
    for item in sorted((one for one in items.values() if "entity_id" in one or "to_entity" in one), key=order):
        if item["kind"] == "relation":
            same = (item["from_entity"], item["to_entity"], item["relation_type"])
            is_loop = item["from_entity"] == item["to_entity"] and item["from_entity"] in moved.values()
        else:
            same = (item["entity_id"], item["body"]) if item["entity_id"] in moved.values() else (item["id"],)
            is_loop = False
        if is_loop or seen.setdefault(same, item["id"]) != item["id"]:
            del items[item["id"]]


def _end_circles(items: Items) -> None:
    """Let the oldest memory live where memories replaced each other on two machines: one of them must stand."""
    for key in sorted(items):
        seen, at = list[str](), key
        while at in items and items[at].get("deleted_at") and at not in seen:
            seen.append(at)
            at = items[at]["superseded_by"] or ""
        if at in seen:
            first = min((items[one] for one in seen[seen.index(at) :]), key=order)
            items[first["id"]] = first | {"deleted_at": None, "superseded_by": None, "ending": "", "reason": ""}


def _number(result: Merged) -> None:
    """Keep the ordinals of observations unique: the oldest keeps a number that two have."""
    about = defaultdict[str, list[Item]](list)
    for item in result.items.values():
        if item["kind"] == "observation":
            about[item["entity_id"]].append(item)
    for entity, observations in sorted(about.items()):
        head, taken, later = result.items.get(entity), set[int](), list[Item]()
        for one in sorted(observations, key=order):
            later += [one] if one["ordinal"] in taken else []
            taken.add(one["ordinal"])
        free = max([head["next_ordinal"] if head else 0, *(number + 1 for number in taken)])
        for number, one in enumerate(later, free):
            result.items[one["id"]] = one | {"ordinal": number}
            result.remarks.append(f"an observation of {(head or one).get('name') or entity!r} got the ordinal {number}")
        if head:
            result.items[entity] = head | {"next_ordinal": max(free + len(later), head["next_ordinal"])}
