"""Searches with different snapshots share the index in memory: each finds what its own snapshot has."""

import numpy as np
import pytest

from memoryd.core.records import records
from memoryd.core.records.records import Embedded
from memoryd.model import GENERAL, Workspace
from memoryd.store.base import Queries
from memoryd.store.sqlite import vector_index
from memoryd.store.sqlite.store import SqliteStore
from tests.store.kit import EVERY, MODEL, SET, axis, change, cosines, forget, near, put, unit


@pytest.mark.parametrize("exact", [100_000, 20])
def test_a_search_finds_what_its_snapshot_has_though_the_index_is_ahead(
    store: SqliteStore, here: Workspace, exact: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "EXACT", exact)
    for row in unit(np.random.default_rng(0).standard_normal((40, 8))):
        put(store, here, "other", row)
    gone, changed = put(store, here, "gone", axis(0)), put(store, here, "changed", axis(1))
    assert near(store, here, axis(0), limit=1) == ["gone"]  # the index is loaded

    def look(queries: Queries) -> list[str]:
        index = store.index
        before = index.nearest(queries, [SET], axis(0), EVERY, 50)
        forget(store, here, gone)
        change(store, here, changed, "changed since")
        store.write(here, lambda q: records.embed(q, changed, GENERAL, Embedded(MODEL, axis(2)[None, :])))
        added = put(store, here, "added", axis(0))
        assert near(store, here, axis(0), limit=1) == ["added"]  # a later snapshot, with which the index has caught up
        assert index.nearest(queries, [SET], axis(0), EVERY, 50) == before
        assert index.cosines(queries, [SET], axis(1), [gone, changed, added]) == [pytest.approx({gone: 0, changed: 1})]
        return [gone, changed, added]

    ids = store.read(here, look)
    assert cosines(store, here, SET, axis(2), ids) == pytest.approx({ids[1]: 1, ids[2]: 0})
    assert near(store, here, axis(0), limit=1) == ["added"]
