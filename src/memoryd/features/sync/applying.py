"""Make the store what a merge says, within one transaction, with versions and events as after any other change."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from memoryd.core.base.clock import moment, timestamp
from memoryd.core.graph import entities, relations
from memoryd.core.graph.transaction import Change, entity
from memoryd.core.records import records
from memoryd.core.records.deduplication import fingerprint
from memoryd.features.sync.conflicts import KEPT
from memoryd.features.sync.documents import Item
from memoryd.features.sync.merging import Items, Merged, order, wording
from memoryd.store import rows
from memoryd.store.columns import MOVED


class QuietChange(Change):
    """A change that leaves the times of entities as they are on the machine that made it."""

    def touch(self, entity_ids: Iterable[str]) -> None:
        """Do nothing."""


TEXT = ("name", "type", "body", "tags")
"""The fields that are embedded, or are kept as a version before they change."""
RECORD = MOVED["records"].columns.keys() - {"scope", "tags"}
PUT: Mapping[str, str] = {
    "memory": "sync.put_memory",
    "entity": "sync.put_entity",
    "observation": "sync.put_observation",
    "interaction": "sync.put_interaction",
    "summary": "sync.put_summary",
}
"""The statements that write the details of records, by their kinds in the order in which they are written: an
observation after its entity."""


def apply(change: Change, ours: Items, merged: Merged, given_way: Sequence[Item] = ()) -> int:
    """Change the store from `ours` to what was merged; return how many items changed.

    What gave way in the merge becomes a version of what stands, and so does what has `given_way` elsewhere.
    """
    after = merged.items
    gone = [one for key, one in ours.items() if key not in after]
    new = [one for key, one in after.items() if ours.get(key) != one]
    _delete(change, gone)
    for kind in PUT:
        _put(change, kind, [one for one in new if one["kind"] == kind], ours)
    _keep_others(change, [*given_way, *merged.conflicts()])
    _move(change, merged.became)
    _drop(change, gone, merged)
    _relate(change, [one for one in new if one["kind"] == "relation"])
    return len(gone) + len(new)


# what is gone --------------------------------------------------------------------------------------------------------


def _delete(change: Change, gone: Sequence[Item]) -> None:
    """Delete records; entities wait until the relations of those that became others have moved."""
    relations_gone = [one for one in gone if one["kind"] == "relation"]
    change.relate({one[end] for one in relations_gone for end in ("from_entity", "to_entity")})
    relations.remove(change, [one["id"] for one in relations_gone])
    plain = [one for one in gone if one["kind"] not in ("relation", "entity")]
    change.queries.run("sync.release", ids=json.dumps([one["id"] for one in plain if one.get("deleted_at")]))
    records.delete(change.queries, [one["id"] for one in plain if not one.get("deleted_at")], change.now)
    # the names of the entities are free for others
    change.queries.run("sync.unnamed", ids=json.dumps([one["id"] for one in gone if one["kind"] == "entity"]))


def _drop(change: Change, gone: Sequence[Item], merged: Merged) -> None:
    heads = {one["id"]: one for one in gone if one["kind"] == "entity"}
    for row in rows.of(change.queries, "records", list(heads)):
        entities.drop(change, [entity(row)], merged.became.get(row["id"], ""))
        change.queries.run("sync.named", id=row["id"], name=heads[row["id"]]["name"])
    for key, into in merged.became.items():
        if key not in heads:  # an entity that never was here
            records.sign(change.queries, "delete_entity", key, change.now, into)


def _move(change: Change, became: Mapping[str, str]) -> None:
    """Give the relations of entities that became others to these, unless they have the same."""
    if not became:
        return
    found = change.queries.all("imports.related", entities=json.dumps(sorted(became)))
    moved = [
        row | {end: became.get(row[end], row[end]) for end in ("from_entity", "to_entity")}
        for row in found
        if row["deleted_at"] is None
    ]
    _relate(change, [one for one in moved if one["from_entity"] != one["to_entity"]])


# what is new or changed ----------------------------------------------------------------------------------------------


def _put(change: Change, kind: str, items: Sequence[Item], ours: Items) -> None:
    queries, there = change.queries, _there(change, items)
    observations = items if kind == "observation" else ()
    _keep(change, items, there)
    given_up = [
        key
        for one in items
        if (key := one["id"]) in there and (one.get("deleted_at") or one.get("name") != there[key]["name"])
    ]
    queries.run("sync.unnamed", ids=json.dumps(given_up))  # others get these names and keys
    _make_room(change, observations)
    named = sorted({one["entity_id"] for one in observations})
    names = {row["id"]: row["name"] for row in rows.of(queries, "records", named)}  # observations have them, too
    queries.many("sync.put_record", [_record(one, names) for one in items])
    queries.many(PUT[kind], [_details(one) for one in items])
    _note(change, items, there, ours)


def _there(change: Change, items: Iterable[Item]) -> dict[str, Mapping[str, object]]:
    return {row["id"]: row for row in rows.of(change.queries, "records", [one["id"] for one in items])}


def _keep(change: Change, items: Sequence[Item], there: Mapping[str, Mapping[str, object]]) -> None:
    """Keep what the records say now as versions."""
    for one in items:
        row = there.get(one["id"])
        if row and one["kind"] in KEPT and wording(row) != wording(one):
            _make_earlier(change, one["id"], one["updated_at"])
            change.queries.run("versions.keep_whole", id=one["id"], now=one["updated_at"])


def _keep_others(change: Change, others: Sequence[Item]) -> None:
    """Keep what gave way to records as their versions, unless they have it; each item has the time `until` it stood.

    What was replaced has them, too, as it can be restored; what was forgotten has none.
    """
    queries, there = change.queries, _there(change, others)
    replaced = {row["id"] for row in rows.of(queries, "memory_details", list(there)) if row["superseded_by"]}
    for one in others:
        row = there.get(one["id"])
        if (
            row is None
            or row["kind"] != one["kind"]
            or row["scope"]
            or (row["deleted_at"] and row["id"] not in replaced)
        ):
            continue
        since = [v for v in rows.of(queries, "versions", [one["id"]]) if v["until"] >= one["updated_at"]]
        if wording(one) not in [wording(row), *(wording({**v, "kind": row["kind"]}) for v in since)]:
            _make_earlier(change, one["id"], one["until"], one["updated_at"])
            fields = {name: one.get(name) for name in ("id", "until", "body", "client", "tool", "name")}
            queries.run("sync.keep", **fields, importance=one.get("importance", 0.5), tags=_tags(one))


def _make_earlier(change: Change, key: str, until: str, begun: str = "9") -> None:
    """Let the version that ended at a time have ended before what is about to be kept, which `begun` at a time."""
    taken = {row["until"] for row in rows.of(change.queries, "versions", [key])}
    earlier = min(begun, _before(until))
    while earlier in taken:
        earlier = _before(earlier)
    if until in taken:
        change.queries.run("sync.earlier", id=key, until=until, earlier=earlier)


def _before(time: str) -> str:
    return timestamp(moment(time) - timedelta(milliseconds=1))


def _tags(item: Item) -> str:
    return json.dumps(item["tags"], ensure_ascii=False)


def _record(item: Item, names: Mapping[str, str]) -> dict[str, object]:
    found = {name: item.get(name) for name in RECORD} | {"tags": _tags(item)}
    return found | {"name": names.get(item["entity_id"])} if item["kind"] == "observation" else found


def _details(item: Item) -> dict[str, object]:
    found: dict[str, object] = {name: item[name] for name in MOVED[f"{item['kind']}_details"].columns if name in item}
    if item["kind"] == "summary":
        found["technologies"] = json.dumps(item["technologies"], ensure_ascii=False)
    if item["kind"] == "memory":
        keyed = item["name"] is not None
        found |= {"fingerprint": "" if keyed else fingerprint(item["body"]), "consolidated": int(keyed)}
    return found


def _make_room(change: Change, observations: Sequence[Item]) -> None:
    """Free the ordinals that observations are about to get: others have them, which get new ones or are deleted.

    The next ordinal stays: it would be raised wherever one is deleted, and no two machines would have the same.
    """
    about = defaultdict[str, list[int]](list)
    for one in observations:
        about[one["entity_id"]].append(one["ordinal"])
    details = {row["id"]: row for row in rows.of(change.queries, "entity_details", list(about))}
    for key, ordinals in about.items():
        held = change.queries.all("imports.observed", entities=json.dumps([key]))
        above = max([row["ordinal"] for row in held] + [*ordinals, details[key]["next_ordinal"]]) + 1
        change.queries.run("sync.make_room", entity_id=key, ordinals=json.dumps(ordinals), above=above)


def _note(change: Change, items: Sequence[Item], there: Mapping[str, Mapping[str, object]], ours: Items) -> None:
    """Write the events, and drop the vectors of texts that have changed."""
    queries, verbs = change.queries, defaultdict[str, list[str]](list)
    for one in items:
        row = there.get(one["id"])
        if one.get("deleted_at"):
            verbs["delete" if row and not row["deleted_at"] else "update"].append(one["id"])
        elif row is None:
            verbs["create"].append(one["id"])
        else:
            verbs["restore" if row["deleted_at"] else "update"].append(one["id"])
        if row is None or any(_stored(one, name) != row[name] for name in TEXT if name in one) or row["deleted_at"]:
            queries.run("embeddings.clear", id=one["id"])
            change.lacking.add(one["id"])
    for verb, ids in verbs.items():
        (records.event if verb in ("create", "update") else records.act)(queries, verb, ids, change.now)
    heads = [(one, ours[one["id"]]) for one in items if one["kind"] == "entity" and one["id"] in ours]
    _rename(change, [one for one, was in heads if one["name"] != was["name"]])
    for name, field in (("body", "summary"), ("tags", "tags")):
        change.reads_differently([one["id"] for one, was in heads if one[name] != was[name]], field)


def _stored(item: Item, name: str) -> object:
    return _tags(item) if name == "tags" else item[name]


def _rename(change: Change, renamed: Iterable[Item]) -> None:
    """Give the observations of renamed entities their new names."""
    for item in renamed:
        key = item["id"]
        about = [row["id"] for row in change.queries.all("imports.observed", entities=json.dumps([key]))]
        by = {"client": item["client"], "tool": item["tool"]}
        change.queries.run("entities.rename", ids=json.dumps([key, *about]), name=item["name"], **by)
        change.queries.run("entities.unembed", ids=json.dumps([key, *about]))
        change.lacking.update([key, *about])
        change.note("rename_entity", key)


def _relate(change: Change, ties: Sequence[Item]) -> None:
    """Add relations whose ends live; of equal ones the oldest stays."""
    ends = {one[end] for one in ties for end in ("from_entity", "to_entity")}
    living = {row["id"] for row in rows.of(change.queries, "records", sorted(ends)) if row["deleted_at"] is None}
    change.relate(ends & living)
    for one in sorted(ties, key=order):
        if {one["from_entity"], one["to_entity"]} <= living:
            same = change.queries.all(
                "relations.find", sources=json.dumps([one["from_entity"]]), targets=json.dumps([one["to_entity"]])
            )
            others = [row for row in same if row["relation_type"] == one["relation_type"] and row["id"] != one["id"]]
            if any(order(dict(row)) < order(one) for row in others):
                relations.remove(change, [one["id"]])
                continue
            relations.remove(change, [row["id"] for row in others])
            names = ("id", "from_entity", "to_entity", "relation_type", "created_at")
            change.queries.run("sync.put_relation", **{name: one[name] for name in names})
            change.note("create_relation", one["id"])
