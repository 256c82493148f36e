"""The cards of a list: a node of the graph and what is known about it are one."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from memoryd.core.graph import observations
from memoryd.core.graph.names import named
from memoryd.core.memories import listing
from memoryd.core.memories.listing import ListedRecord
from memoryd.core.scope import Scope
from memoryd.model import Kind
from memoryd.store.base import Queries

FACTS = 5  # observations of a card, unless more of them match a search


@dataclass(frozen=True, slots=True)
class ListCard:
    """A record of a list; with an entity the texts of some of its observations."""

    listed: ListedRecord
    facts: Sequence[str] = ()
    further: int = 0
    """The number of its observations that are not shown."""


def cards(scope: Scope, records: Sequence[ListedRecord]) -> list[ListCard]:
    """Return the cards of records in their order; living observations join the card of their entity."""
    found = defaultdict[str, list[ListedRecord]](list)
    for one in records:
        if one.record.kind is Kind.OBSERVATION and not one.deleted_at:
            found[one.record.name or ""].append(one)
    own = {one.record.name: one for one in records if one.record.kind is Kind.ENTITY and not one.deleted_at}
    lacking = [name for name in found if name not in own]
    if lacking:
        nodes = scope.read(lambda queries: named(queries, lacking))
        own |= {one.record.name: one for one in listing.some(scope, [node.id for node in nodes.values()])}
    facts = scope.read(lambda queries: _facts(queries, list(own.values()), found)) if own else {}
    made = dict[str, ListCard]()
    for one in records:
        node = one if one.deleted_at or one.record.kind is not Kind.OBSERVATION else own.get(one.record.name, one)
        key = node.record.id
        made.setdefault(key, ListCard(node, *facts.get(key, ())))
    return list(made.values())


def _facts(
    queries: Queries, nodes: Sequence[ListedRecord], found: dict[str, list[ListedRecord]]
) -> dict[str, tuple[Sequence[str], int]]:
    """Return the texts about each node, those that were found first, and how many more there are."""
    ids = [node.record.id for node in nodes]
    numbers = observations.counts(queries, ids)
    first = {key: list(islice(of, FACTS)) for key, of in observations.each_onward(queries, ids).items()}
    shown = dict[str, tuple[Sequence[str], int]]()
    for node in nodes:
        key = node.record.id
        texts = {one.record.id: one.record.body for one in found.get(node.record.name or "", ())}
        for one in first[key]:
            if len(texts) < FACTS:
                texts.setdefault(one.id, one.content)
        shown[key] = list(texts.values()), numbers[key] - len(texts)
    return shown
