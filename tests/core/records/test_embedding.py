"""Vectors of rows: the backfill resumes, and after a change of model the old set is used until the new is complete."""

import queue
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from memoryd.core.base import background
from memoryd.core.base.background import Worker
from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Criteria
from memoryd.core.records import embedding, records
from memoryd.core.records.question import Question
from memoryd.errors import StoreError
from memoryd.model import GENERAL, Filter, VectorSet, Workspace
from memoryd.models import helpers
from memoryd.models import ollama as service
from memoryd.store.sqlite.layout import DataDirectory
from tests.core.kit import NOMIC, Ollama, embedded, engine, memories, never, no_threads, stored, with_ollama
from tests.store.kit import nearest, put

BUNDLED = "bundled:e5-small-v2"

TEXTS = ["The ship sails north.", "Bread needs yeast.", "Mount Etna is a volcano.", "Jazz began in New Orleans."]


def bundled(home: Path, models: Path, server: Ollama) -> Engine:
    here = engine(home, MEMORY_EMBEDDER="bundled", MEMORY_MODEL_DIR=str(models), OLLAMA_HOST=server.url)
    here.helpers.embedder.start()
    assert here.helpers.embedder.get(wait=30)
    return here


def a_minute_later(here: Engine) -> None:
    """Let failed models be tried again."""
    here.helpers.embedder._retry_at = 0.0


def asked(here: Engine, query: str) -> Question:
    """Return a question with the embedder in use; its snapshot has ended."""
    return here.embedding.ask(here.workspaces.ensure("default"), query, lambda question: question)


def found(here: Engine, query: str) -> list[str]:
    """Return what is nearest by the vectors in use."""
    place = here.workspaces.ensure("default")
    question = asked(here, query)
    assert question.embedder
    among = VectorSet(GENERAL, question.embedder.name)
    ids = [key for key, _ in nearest(here.store, place, among, question.compared[0].vector, Filter(), 10)]
    return [hit.record.body for hit in memories(here).get(ids)]


def test_a_small_text_gets_its_vector_with_its_row_and_a_long_one_later(
    tmp_path: Path, server: Ollama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "INLINE", 100)
    with with_ollama(tmp_path, server) as here:
        memories(here).store("short")
        assert embedded(here) == {NOMIC: 1}
        memories(here).store("long " * 100)
        assert embedded(here) == {NOMIC: 1}
        here.embedding.catch_up(never)
        assert embedded(here) == {NOMIC: 2}


def test_the_backfill_embeds_what_has_no_vector_once(
    tmp_path: Path, server: Ollama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "BATCH", 8)
    stored(tmp_path, [f"number {n}" for n in range(30)])
    with with_ollama(tmp_path, server) as here:
        assert embedded(here) == {}
        here.embedding.catch_up(never)
        assert embedded(here) == {NOMIC: 30}
        assert len(server.asked) == len(set(server.asked)) == 30
        here.embedding.catch_up(never)
        assert len(server.asked) == 30
        key = memories(here).recent(1)[0].record.id
        memories(here).forget(Criteria(ids=(key,)))
        here.embedding.catch_up(never)
        assert (embedded(here), len(server.asked)) == ({NOMIC: 29}, 30)


@pytest.mark.slow
def test_a_restart_resumes_where_the_last_one_stopped(
    tmp_path: Path, server: Ollama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "BATCH", 5)
    stored(tmp_path, [f"number {n}" for n in range(30)])
    for done in (10, 20, 30):
        with with_ollama(tmp_path, server) as here:
            here.embedding.catch_up(lambda: len(server.asked) >= 10)  # the process ends in the middle
            assert embedded(here) == {NOMIC: done}
    with with_ollama(tmp_path, server) as here:
        here.embedding.catch_up(never)
        assert server.asked == []


def test_a_model_that_fails_for_a_while(tmp_path: Path, server: Ollama) -> None:
    with with_ollama(tmp_path, server) as here:
        server.fails = lambda _text: True
        for text in TEXTS:
            assert memories(here).store(text).status == "stored"  # by words alone
        assert embedded(here) == {}
        assert "yeast" in memories(here).recall("yeast", 500).text
        assert len(server.asked) == 1, "it is not asked again for a while"
        server.fails = lambda _text: False
        a_minute_later(here)
        here.embedding.catch_up(never)
        assert embedded(here) == {NOMIC: len(TEXTS)}
        assert found(here, "Bread needs yeast.")[0] == "Bread needs yeast."


def test_the_backfill_gives_up_for_now_and_does_not_slow_down_searches(tmp_path: Path, server: Ollama) -> None:
    stored(tmp_path, [f"number {n}" for n in range(10)])
    with with_ollama(tmp_path, server) as here:
        server.fails = lambda text: "number" in text
        here.embedding.catch_up(never)
        assert (embedded(here), len(server.asked)) == ({}, embedding.FAILURES)
        assert here.embedding.passages(["another"]) != [None]


def test_a_service_that_hangs_costs_one_wait(tmp_path: Path, server: Ollama, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "HURRY", 0.5)
    hangs = threading.Event()
    with with_ollama(tmp_path, server) as here:
        server.fails = lambda _text: hangs.wait(60)
        try:
            began = time.monotonic()
            memories(here).store("Bread needs yeast.")
            assert time.monotonic() - began < 45, "the service would answer after a minute"
            server.asked.clear()
            for _ in range(3):
                memories(here).store("Jazz began in New Orleans.")
                assert "yeast" in memories(here).recall("yeast", 500).text
            assert server.asked == []
            assert "took too long" in here.helpers.states()["embedder"]
            a_minute_later(here)
            began = time.monotonic()
            for _ in range(3):
                assert "yeast" in memories(here).recall("yeast", 500).text
            assert time.monotonic() - began < 45, "it is tried in the background, and no search waits"
        finally:
            hangs.set()


@pytest.mark.slow
def test_two_models_that_are_loaded_cost_one_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helpers, "PATIENCE", 1.5)
    go = threading.Event()
    for loads in ("load_embedder", "load_reranker"):
        monkeypatch.setattr(helpers, loads, lambda *_: go.wait(30) and None)
    with engine(tmp_path, MEMORY_EMBEDDER="ollama", MEMORY_RERANKER="fastembed") as here:
        try:
            memories(here).store("Bread needs yeast.")
            began = time.monotonic()
            for _ in range(40):
                assert "yeast" in memories(here).recall("yeast", 500).text
            assert time.monotonic() - began < 45, "a wait each would be a minute"
        finally:
            go.set()


def test_refused_texts_do_not_keep_the_others_from_their_vectors(
    tmp_path: Path, server: Ollama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "BATCH", 4)
    with engine(tmp_path) as here:
        place = here.workspaces.ensure("default")
        for n in range(60):  # in the order of their ids, in which they are embedded
            put(here.store, place, f"{'poison' if n % 6 == 0 else 'number'} {n}", id=f"{n:03}")
    with with_ollama(tmp_path, server) as here:
        server.fails = lambda text: "poison" in text
        for _ in range(3):
            here.embedding.catch_up(never)
        assert embedded(here) == {NOMIC: 50}


def test_a_text_that_changes_while_it_is_embedded_gets_no_old_vector(tmp_path: Path, server: Ollama) -> None:
    stored(tmp_path, ["the old words"])
    with with_ollama(tmp_path, server) as here:
        (hit,) = memories(here).recent(1)

        def change(text: str) -> bool:
            if "old" in text:
                server.fails = lambda _text: False
                with engine(tmp_path) as other:
                    place, now = other.workspaces.ensure("default"), other.clock.now()
                    other.write(place, lambda q: records.change(q, hit.record.id, "The new words.", (), None, now))
            return False

        server.fails = change
        here.embedding.catch_up(never)
        assert embedded(here) == {}
        here.embedding.catch_up(never)
        assert embedded(here) == {NOMIC: 1}
        assert memories(here).get([hit.record.id])[0].record.body == "The new words."


def test_only_the_old_set_is_searched_until_the_new_one_is_complete(
    tmp_path: Path, server: Ollama, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "BATCH", 2)
    with bundled(tmp_path, model_dir, server) as here:
        for text in TEXTS:
            memories(here).store(text)
        here.embedding.catch_up(never)
        assert embedded(here) == {BUNDLED: 4}
        assert found(here, "Which mountain erupts?")[0] == "Mount Etna is a volcano."
    monkeypatch.setenv("MEMORY_MODEL_DIR", str(model_dir))
    with engine(tmp_path, MEMORY_EMBEDDER=NOMIC, OLLAMA_HOST=server.url, MEMORY_MODEL_DIR=str(model_dir)) as here:
        here.helpers.embedder.start()
        assert here.helpers.embedder.get(wait=30)
        server.asked.clear()
        here.embedding.catch_up(lambda: len(server.asked) >= 2)
        assert embedded(here) == {BUNDLED: 4, NOMIC: 2}
        question = asked(here, "Which mountain erupts?")
        assert question.embedder
        assert question.embedder.name == BUNDLED  # not the two vectors of the new model
        assert found(here, "Which mountain erupts?")[0] == "Mount Etna is a volcano."
        here.embedding.catch_up(never)
        assert embedded(here) == {BUNDLED: 4, NOMIC: 4}
        question = asked(here, "Bread needs yeast.")
        assert question.embedder
        assert question.embedder.name == NOMIC
        assert found(here, "Bread needs yeast.")[0] == "Bread needs yeast."


def test_without_the_old_model_the_present_one_is_used(
    tmp_path: Path, server: Ollama, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bundled(tmp_path, model_dir, server) as here:
        place = here.workspaces.ensure("default")
        for text in TEXTS:
            put(here.store, place, text)
        here.embedding.catch_up(never)
    monkeypatch.setattr(helpers, "PATIENCE", 0.0)
    settings = {"MEMORY_EMBEDDER": NOMIC, "OLLAMA_HOST": server.url, "MEMORY_MODEL_DIR": str(tmp_path / "empty")}
    with engine(tmp_path, **settings) as here:
        monkeypatch.setattr(here.helpers, "older", lambda _name: None)
        here.helpers.embedder.start()
        assert here.helpers.embedder.get(wait=30)
        question = asked(here, "bread")
        assert question.embedder
        assert question.embedder.name == NOMIC
        here.embedding.catch_up(never)
        assert embedded(here) == {BUNDLED: 4, NOMIC: 4}


OTHER = "ollama:all-minilm"


def served(here: Engine) -> str:
    question = asked(here, "Bread needs yeast.")
    assert question.embedder
    return question.embedder.name


def test_clients_with_different_models_leave_each_other_alone(tmp_path: Path, server: Ollama) -> None:
    stored(tmp_path, TEXTS)
    with with_ollama(tmp_path, server) as one, with_ollama(tmp_path, server, OTHER) as two:
        for _ in range(2):
            one.embedding.catch_up(never)
            two.embedding.catch_up(never)
            assert embedded(one) == {NOMIC: 4, OTHER: 4}
            assert (served(one), served(two)) == (NOMIC, OTHER)
        assert len(server.asked) == 2 * len(TEXTS) + 4, "each model embeds each text once"


@pytest.mark.slow
def test_a_set_that_another_process_completes_is_searched(
    tmp_path: Path, server: Ollama, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(tmp_path, TEXTS)
    with with_ollama(tmp_path, server) as one, with_ollama(tmp_path, server, OTHER) as two:
        one.embedding.catch_up(never)
        assert served(two) == NOMIC
        with with_ollama(tmp_path, server, OTHER) as third:
            third.embedding.catch_up(never)
        assert served(two) == NOMIC, "counting costs something, so not before each question"
        monkeypatch.setattr(embedding, "RECHECK", 0.0)
        assert served(two) == OTHER


def test_a_dropped_set_is_not_searched(tmp_path: Path, server: Ollama, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path, TEXTS)
    monkeypatch.setattr(embedding, "DROPPED", 3)  # fewer than there are
    with with_ollama(tmp_path, server) as one, with_ollama(tmp_path, server, OTHER) as two:
        one.embedding.catch_up(never)
        assert served(one) == NOMIC
        two.embedding.retire(two.workspaces.ensure("default"))
        assert embedded(two) == {NOMIC: 4}, "an incomplete set is no reason to drop another"
        two.embedding.catch_up(never)
        two.embedding.retire(two.workspaces.ensure("default"))
        assert embedded(two) == {OTHER: 4}
        assert served(one) == OTHER
        assert found(one, "Bread needs yeast.")[0] == "Bread needs yeast."


def test_the_searched_set_is_chosen_again_when_the_backfill_has_just_finished(tmp_path: Path) -> None:
    with engine(tmp_path) as here:
        assert here.embedding._due(here.workspaces.ensure("default").id)


# several workspaces --------------------------------------------------------------------------------------------------


@pytest.fixture
def projects(tmp_path: Path) -> list[Workspace]:
    """Return three workspaces, each with a memory that has no vector."""
    with engine(tmp_path) as here:
        for name in ("a", "b", "c"):
            here.workspaces.create(name)
            memories(here, name=name).store(f"a text in {name}")
        return here.workspaces.all()


def test_an_unusable_workspace_does_not_keep_others_from_their_vectors(
    tmp_path: Path, server: Ollama, projects: list[Workspace]
) -> None:
    file = tmp_path / projects[0].db_path
    file.rename(aside := tmp_path / "aside")
    progress: list[float] = []
    with with_ollama(tmp_path, server) as here:
        here.embedding.complete(progress.append)
        assert [embedded(here, name) for name in "bc"] == [{NOMIC: 1}, {NOMIC: 1}]
        assert (progress[0], progress[-1]) == (0, 1)
        aside.rename(file)
        here.embedding.catch_up(never)
        assert embedded(here, "a") == {NOMIC: 1}


def test_a_busy_registry_or_an_unready_model_loses_no_knowledge(
    tmp_path: Path, server: Ollama, projects: list[Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> list[Workspace]:
        raise StoreError

    with engine(tmp_path, MEMORY_EMBEDDER=NOMIC, OLLAMA_HOST=server.url) as here:
        ids = [hit.record.id for hit in memories(here, name="a").recent(1)]
        here.embedding.lacks(projects[0], ids)
        with monkeypatch.context() as patch:
            patch.setattr(here.helpers.embedder, "get", lambda **_: None)
            here.embedding.follow(never)
        with monkeypatch.context() as patch:
            patch.setattr(here.workspaces, "all", busy)
            with pytest.raises(StoreError):
                here.embedding.follow(never)
        here.embedding.follow(never)
        assert embedded(here, "a") == {NOMIC: 1}


def test_only_the_workspaces_that_are_known_to_lack_vectors_are_opened(
    tmp_path: Path, server: Ollama, projects: list[Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = DataDirectory.path

    def path(files: DataDirectory, workspace: Workspace | None) -> Path:
        asked.extend([workspace.name] if workspace else [])
        return real(files, workspace)

    with with_ollama(tmp_path, server) as here:
        monkeypatch.setattr(DataDirectory, "path", path)
        here.embedding.follow(never)
        assert asked == []
        here.embedding.lacks(projects[1], [])
        here.embedding.follow(never)
        assert asked == []
        here.embedding.lacks(projects[1], [hit.record.id for hit in memories(here, name="b").recent(1)])
        here.embedding.follow(never)
        assert set(asked) == {"b"}
        here.embedding.catch_up(never)
        assert set(asked) == {"a", "b", "c"}
        assert [embedded(here, name) for name in "abc"] == 3 * [{NOMIC: 1}]


def test_after_too_many_or_refused_records_all_are_checked(
    tmp_path: Path, server: Ollama, projects: list[Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "LACKING", 2)
    with with_ollama(tmp_path, server) as here:
        here.embedding.lacks(projects[0], ["1", "2", "3"])
        here.embedding.lacks(projects[0], ["4"])
        server.fails = lambda _text: True
        for n in range(embedding.FAILURES):
            put(here.store, projects[0], f"another {n}")
        here.embedding.follow(never)
        assert embedded(here, "a") == {}
        server.fails = lambda _text: False
        here.embedding.follow(never)
        assert embedded(here, "a") == {NOMIC: 1 + embedding.FAILURES}
        assert embedded(here, "b") == {}


# the thread ----------------------------------------------------------------------------------------------------------


def test_rare_tasks_run_at_the_start_and_when_due_however_often_the_worker_is_woken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(background, "time", SimpleNamespace(monotonic=lambda: now[0]))
    runs: queue.Queue[str] = queue.Queue()
    here = Worker([lambda _stopping: runs.put("often")], seldom=[lambda _stopping: runs.put("seldom")])

    def woken() -> str:
        here.wake()
        first = runs.get(timeout=10)
        return f"{first} {runs.get(timeout=10)}" if first == "seldom" else first

    here.start()
    try:
        assert [woken() for _ in range(3)] == ["seldom often", "often", "often"]
        now[0] = background.SELDOM
        assert [woken() for _ in range(3)] == ["seldom often", "often", "often"]
    finally:
        here.stop(10)


def test_a_dead_worker_continues_when_it_is_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    died: queue.Queue[type[BaseException]] = queue.Queue()
    monkeypatch.setattr(threading, "excepthook", lambda args: died.put(args.exc_type))
    runs: queue.Queue[int] = queue.Queue()
    errors = [ZeroDivisionError(), StoreError()]

    def chore(_stopping: object) -> None:
        runs.put(1)
        if errors:
            raise errors.pop(0)

    background, before = Worker([chore]), set(threading.enumerate())
    background.wake()
    new = {thread.name for thread in set(threading.enumerate()) - before}
    assert "memoryd-worker" not in new, "it was not started"
    background.start()
    runs.get(timeout=10)
    assert died.get(timeout=10) is ZeroDivisionError
    first = background._thread
    assert first
    first.join(10)
    with no_threads():
        background.wake()
    assert background._thread is first
    for _ in range(2):  # after what can be foreseen the thread lives on
        background.wake()
        runs.get(timeout=10)
    background.stop(10)
    background.wake()
    assert background._thread
    assert not background._thread.is_alive()
    assert died.empty()


def test_without_a_model_rows_and_words_are_served(tmp_path: Path) -> None:
    with engine(tmp_path) as here:
        memories(here).store("Bread needs yeast.")
        here.embedding.catch_up(never)
        assert embedded(here) == {}
        assert "yeast" in memories(here).recall("yeast", 500).text
