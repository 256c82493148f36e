"""The texts that still need vectors, and the vectors made of them, read and written in batches."""

import json
from collections.abc import Iterator, Mapping, Sequence

from memoryd.core.records import perspectives
from memoryd.core.records.records import Embedded, embed
from memoryd.core.records.spaces import Need, Space
from memoryd.model import Workspace
from memoryd.models.embedders import ENGLISH, MULTILINGUAL
from memoryd.store.base import AFTER_EVERY_ID, Queries, Store

BATCH = 64  # records in a transaction of the backfill
SLICES = ("", *"123456789abcdef")  # the starts of slices of all ids, which are random
Texts = Mapping[str, str]
"""The texts of one record to embed, by perspective."""


def missing(store: Store, workspace: Workspace, need: Need, after: str, last: str = AFTER_EVERY_ID) -> list[str]:
    """Return the ids of a batch of records that lack vectors, in order."""

    def next_batch(queries: Queries) -> list[str]:
        wanted = perspectives.to_be_counted(queries, after, last)
        return [row["id"] for row in queries.all("embeddings.missing", **wanted, **need.sets, limit=BATCH)]

    return store.read(workspace, next_batch)


def slice_of(store: Store, workspace: Workspace, need: Need, number: int) -> Iterator[list[str]]:
    """Yield batches of ids in one slice that lack vectors."""
    after, last = SLICES[number], (*SLICES, AFTER_EVERY_ID)[number + 1]
    while batch := missing(store, workspace, need, after, last):
        yield batch
        after = batch[-1]


def lacking_texts(store: Store, workspace: Workspace, need: Need, ids: Sequence[str]) -> dict[str, Texts]:
    """Return the texts of some records that have no vector yet."""

    def lacking_texts(queries: Queries) -> dict[str, Texts]:
        bounds = {"first": min(ids), "last": max(ids)}
        rows = queries.all("embeddings.present", **bounds, ids=json.dumps(ids), **need.sets)
        present = {(row["id"], row["perspective"]) for row in rows}
        texts = perspectives.texts(queries, workspace, ids)
        lacking = {
            record_id: {name: text for name, text in by_perspective.items() if (record_id, name) not in present}
            for record_id, by_perspective in texts.items()
        }
        return {record_id: by_perspective for record_id, by_perspective in lacking.items() if by_perspective}

    return store.read(workspace, lacking_texts)


def embedded(space: Space, text: str, *, hurry: bool) -> Embedded:
    """Return the vectors of a text in its set. Raise ModelError."""
    return Embedded(space.model, space.embedder.embed_passage(text, hurry=hurry))


def length(texts: Texts) -> int:
    """Return how many characters of a record are embedded."""
    return sum(map(len, texts.values()))


def write(workspace: Workspace, made: Sequence[tuple[str, Texts, Mapping[str, Embedded]]], queries: Queries) -> None:
    """Write the vectors whose texts are still current."""
    # compared inside the transaction: a record may have changed while the model worked
    now = perspectives.texts(queries, workspace, [record_id for record_id, _, _ in made])
    for record_id, texts, vectors in made:
        for name, made_of in vectors.items():
            if now.get(record_id, {}).get(name) == texts[name]:
                if made_of.model == MULTILINGUAL:  # it was taken for English, or stored where one model embeds all
                    queries.run("embeddings.refile", id=record_id, model=ENGLISH)
                embed(queries, record_id, name, made_of)
