"""The items of a workspace, read from one snapshot: those of some files, or all."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memoryd.core.base.batches import batches
from memoryd.core.transfer.export import NOUNS, Numbers
from memoryd.features.sync.documents import FIELDS, LISTS, Group, Item, written
from memoryd.store import rows
from memoryd.store.base import Queries, Row

BATCH = 500  # groups that are in memory together


def all_groups(queries: Queries) -> set[Group]:
    """Return every group of a workspace."""
    return {_group(row["kind"], row["id"], row["session_id"]) for row in queries.all("sync.all")}


def _group(kind: str, key: str, session: str) -> Group:
    return (kind, key) if kind in ("memory", "entity") else ("session", session)


def groups_of(queries: Queries, ids: Iterable[str]) -> tuple[set[Group], set[str]]:
    """Return the groups whose files some records or relations are in, or are named in; and the ids that are gone."""
    asked = set(ids)
    wanted = asked | {row["id"] for row in queries.all("sync.around", ids=json.dumps(sorted(asked)))}
    found = places(queries, wanted)
    return {group for _, group in found.values()}, asked - found.keys()


def places(queries: Queries, ids: Iterable[str]) -> dict[str, tuple[str, Group]]:
    """Return the kinds of some records and relations, and the groups whose files they are in, by their ids."""
    found = dict[str, tuple[str, Group]]()
    for row in queries.all("sync.places", ids=json.dumps(sorted(ids))):
        kind = "entity" if row["kind"] in ("observation", "relation") else row["kind"]
        found[row["id"]] = row["kind"], _group(kind, row["entity_id"] or row["id"], row["session_id"])
    return found


def holders(queries: Queries, given: Iterable[Item]) -> set[Group]:
    """Return the groups of the living memories and entities that have the keys and names of some items."""
    names = sorted({one["name"] for one in given if one["kind"] in ("memory", "entity") and one["name"] is not None})
    found = queries.all("sync.holders", names=json.dumps(names, ensure_ascii=False)) if names else []
    return {_group(row["kind"], row["id"], "") for row in found}


def documents(
    queries: Queries, groups: Iterable[Group], numbers: Numbers | None = None
) -> Iterator[tuple[Group, str, bytes]]:
    """Yield the file of each group that still has items: its path and content; count the items in `numbers`."""
    for batch in batches(sorted(groups), BATCH):
        found = read(queries, batch)
        targets = {one["to_entity"] for items in found.values() for one in items if one["kind"] == "relation"}
        heads = {row["id"]: row for row in rows.of(queries, "records", sorted(targets))}
        for group, items in found.items():
            if numbers is not None:
                numbers.update(NOUNS.get(one["kind"], "relations") for one in items)
            if items:
                yield group, *written(group, items, heads)


def read(queries: Queries, groups: Iterable[Group]) -> dict[Group, list[Item]]:
    """Return the items of some groups; a group that is forgotten has none."""
    found: dict[Group, list[Item]] = {group: [] for group in groups}
    for kind, load in (("memory", _memories), ("entity", _entities), ("session", _sessions)):
        for key, item in load(queries, [key for each, key in found if each == kind]):
            found[kind, key].append(item)
    return found


def _item(kind: str, record: Mapping[str, Any], details: Mapping[str, Any]) -> Item:
    row = {**record, **details}
    item: Item = {"kind": kind, "id": row["id"]}
    for name in FIELDS[kind]:
        value = row[name]
        item[name] = json.loads(value) if name in LISTS and isinstance(value, str) else value
    if "session_id" in item:
        item["session_id"] = item["session_id"] or None
    return item


def _records(queries: Queries, ids: Iterable[str]) -> dict[str, Row]:
    """Return the durable records among some ids, also deleted ones."""
    return {row["id"]: row for row in rows.of(queries, "records", ids) if not row["scope"]}


def _living(queries: Queries, ids: Iterable[str]) -> dict[str, Row]:
    return {key: row for key, row in _records(queries, ids).items() if row["deleted_at"] is None}


def _memories(queries: Queries, ids: list[str]) -> Iterator[tuple[str, Item]]:
    records = {key: row for key, row in _records(queries, ids).items() if row["kind"] == "memory"}
    details = {row["id"]: row for row in rows.of(queries, "memory_details", ids)}
    deleted = [key for key, row in records.items() if row["deleted_at"]]
    standing = {row["id"] for row in queries.all("sync.standing", ids=json.dumps(deleted))} if deleted else set()
    for key, row in records.items():
        if row["deleted_at"] is None or key in standing:
            yield key, _item("memory", row, details[key])


def _entities(queries: Queries, ids: list[str]) -> Iterator[tuple[str, Item]]:
    details = {row["id"]: row for row in rows.of(queries, "entity_details", ids)}
    records = _living(queries, details)
    if not records:
        return
    also, asked = merged_into(queries), json.dumps(list(records))
    about = {row["id"]: row for row in queries.all("imports.observed", entities=asked)}
    observed, beyond = _living(queries, about), defaultdict[str, int](int)
    for key in observed:  # one that has made room and was restored is beyond the next ordinal
        beyond[about[key]["entity_id"]] = max(beyond[about[key]["entity_id"]], about[key]["ordinal"] + 1)
    for key, row in records.items():
        free = max(details[key]["next_ordinal"], beyond[key])
        yield key, _item("entity", row, details[key] | {"also": sorted(also.get(key, ())), "next_ordinal": free})
    for key, row in observed.items():
        yield about[key]["entity_id"], _item("observation", row, about[key])
    ties = [row for row in queries.all("imports.related", entities=asked) if row["deleted_at"] is None]
    ends = _living(queries, {row["to_entity"] for row in ties})
    for row in ties:
        if row["from_entity"] in records and row["to_entity"] in ends:
            yield row["from_entity"], _item("relation", row, {})


def merged_into(queries: Queries) -> dict[str, set[str]]:
    """Return the ids of the entities that became an entity, directly or through others, by its id."""
    direct = {row["id"]: row["other"] for row in queries.all("sync.merged")}
    found = defaultdict[str, set[str]](set)
    for key, other in direct.items():
        after, seen = other, {key}
        while after in direct and after not in seen:
            seen.add(after)
            after = direct[after]
        found[after].add(key)
    return found


def _sessions(queries: Queries, sessions: list[str]) -> Iterator[tuple[str, Item]]:
    ids = [row["id"] for row in queries.all("sync.turns", sessions=json.dumps(sessions))]
    if "" in sessions:
        ids += [row["id"] for row in queries.all("sync.turns_alone")]
    records = _records(queries, ids)
    details = {
        row["id"]: row for table in ("interaction", "summary") for row in rows.of(queries, f"{table}_details", ids)
    }
    for key, row in records.items():
        yield row["session_id"] or "", _item(row["kind"], row, details[key])
