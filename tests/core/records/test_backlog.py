"""Processes share the backlog of records without vectors."""

import threading
from pathlib import Path

import pytest

from memoryd.core.records import unembedded
from memoryd.core.records.spaces import Need
from memoryd.core.records.unembedded import missing, slice_of
from tests.core.kit import NOMIC, Ollama, embedded, never, stored, with_ollama
from tests.store.kit import together

NEED = Need(NOMIC, NOMIC)


def test_processes_that_embed_the_same_records_do_not_conflict(tmp_path: Path, server: Ollama) -> None:
    stored(tmp_path, [f"number {n}" for n in range(10)])
    with with_ollama(tmp_path, server) as one, with_ollama(tmp_path, server) as two:
        rows = missing(one.store, one.workspaces.ensure("default"), NEED, "")
        assert len(rows) == 10
        two.embedding.catch_up(never)
        one.embedding.catch_up(never)
        assert embedded(one) == {NOMIC: 10}


def test_slices_contain_every_record_once(tmp_path: Path, server: Ollama, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path, [f"number {n}" for n in range(40)])
    monkeypatch.setattr(unembedded, "BATCH", 3)
    with with_ollama(tmp_path, server) as here:
        place = here.workspaces.ensure("default")
        walked = [key for n in range(16) for ids in slice_of(here.store, place, NEED, n) for key in ids]
        assert len(walked) == len(set(walked)) == 40
        assert walked == sorted(walked)


@pytest.mark.slow
def test_processes_share_a_backlog(tmp_path: Path, server: Ollama) -> None:
    stored(tmp_path, [f"number {n}" for n in range(60)])
    with with_ollama(tmp_path, server) as one, with_ollama(tmp_path, server) as two:
        for each in (one, two):
            each.helpers.embedder.get(10)
        server.asked.clear()
        assert together(lambda n: (one, two)[n].embedding.catch_up(never), 2) == []
        for each in (one, two):
            each.embedding.catch_up(never)
        assert embedded(one) == {NOMIC: 60}
        assert len(server.asked) == len(set(server.asked)) == 60


def test_what_another_process_embeds_is_left_to_it_or_waited_for(tmp_path: Path, server: Ollama) -> None:
    stored(tmp_path, [f"number {n}" for n in range(30)])
    with with_ollama(tmp_path, server) as one, with_ollama(tmp_path, server) as two:
        place = one.workspaces.ensure("default")
        rest = sum(len(ids) for n in range(1, 16) for ids in slice_of(one.store, place, NEED, n))
        with two.leases.alone(f"embed {place.id} 0 {NOMIC}"):
            one.embedding.catch_up(never)
            assert embedded(one) == {NOMIC: rest}
            waiting = threading.Thread(target=lambda: one.embedding.complete(lambda _done: None))
            waiting.start()
        waiting.join(10)
        assert embedded(one) == {NOMIC: 30}
