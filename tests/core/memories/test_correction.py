"""A memory is corrected in place: its words, vectors and fingerprint follow, and the correction can be undone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import scheduler
from memoryd.core.maintenance.history import restore
from memoryd.core.memories import correction, listing
from memoryd.core.memories.correction import Correction
from memoryd.core.memories.listing import Facets
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.memories.vault import Vault
from memoryd.core.records.records import written_by
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import CLIENT, VectorSet
from tests.core.kit import embedded, engine, memories, never, ollama, with_ollama


@pytest.fixture
def here(home: Path) -> Iterator[Engine]:
    with engine(home) as made:
        yield made


@pytest.fixture
def scope(here: Engine) -> Scope:
    return Scope(here, here.workspaces.ensure("default"))


def text(scope: Scope, record_id: str) -> str:
    return listing.story(scope, record_id).now.record.body


def test_text_tags_and_importance_change_together(here: Engine, scope: Scope) -> None:
    stored = memories(here).store("Ann lives in Rome.", ["people"], 0.5)
    done = correction.correct(
        scope, Correction(id=stored.id[:8], content="Ann lives in Oslo.", tags=(" people ", "moved"), importance=0.9)
    )
    record = listing.story(scope, stored.id).now.record
    assert (record.body, record.tags, record.importance) == ("Ann lives in Oslo.", ("people", "moved"), 0.9)
    assert record.updated_at == done.at
    assert [one.record.id for one in listing.typed(scope, "Oslo", Facets())] == [stored.id]
    assert listing.typed(scope, "Rome", Facets()) == []


def test_a_version_knows_who_wrote_it(here: Engine, scope: Scope) -> None:
    with written_by("codex", "memory_store"):
        stored = memories(here).store("Ann lives in Rome.", ["people"])
    with written_by("memoryd ui", "ui.correct"):
        correction.correct(scope, Correction(id=stored.id, content="Ann lives in Oslo."))
    story = listing.story(scope, stored.id)
    (before,) = story.versions
    assert (before.body, before.tags, before.client, before.tool) == (
        "Ann lives in Rome.",
        ("people",),
        "codex",
        "memory_store",
    )
    assert (story.now.record.client, story.now.record.tool) == ("memoryd ui", "ui.correct")


def test_undo_restores_everything(here: Engine, scope: Scope) -> None:
    with written_by("codex", "memory_store"):
        stored = memories(here).store("Ann lives in Rome.", ["people"], 0.5)
    done = correction.correct(scope, Correction(id=stored.id, content="Bob.", tags=("b",), importance=0.1))
    restore(Graph(scope), [stored.id], done.at)
    record = listing.story(scope, stored.id).now.record
    assert (record.body, record.tags, record.importance) == ("Ann lives in Rome.", ("people",), 0.5)
    assert (record.client, record.tool) == ("codex", "memory_store")


def test_storing_the_new_text_again_merges_with_the_corrected_memory(here: Engine, scope: Scope) -> None:
    stored = memories(here).store("Ann lives in Rome.")
    done = correction.correct(scope, Correction(id=stored.id, content="Ann lives in Oslo."))
    assert memories(here).store("Ann lives in Oslo.").status == "merged"
    again = memories(here).store("Ann lives in Rome.")
    assert again.status == "stored"
    memories(here).forget(Criteria(ids=(again.id,)))
    restore(Graph(scope), [stored.id], done.at)
    assert memories(here).store("Ann lives in Rome.").id == stored.id


def test_consolidation_compares_the_new_text(here: Engine, scope: Scope) -> None:
    kept = memories(here).store("The mirror does not run in Oslo.")
    other = memories(here).store("Something else.")
    list(scheduler.maintain(here, scope.workspace, never))
    correction.correct(scope, Correction(id=other.id, content="In Oslo the mirror does not run."))
    correction.correct(scope, Correction(id=other.id, content="The mirror doesn't run in Oslo."))
    (act,) = scheduler.maintain(here, scope.workspace, never)
    assert (act.by.id, [one.id for one in act.gone]) == (kept.id, [other.id])


def test_vectors_follow_the_new_text(tmp_path: Path) -> None:
    with ollama() as server, with_ollama(tmp_path, server) as one:
        scope = Scope(one, one.workspaces.ensure("default"))
        stored = memories(one).store("Ann lives in Rome")
        correction.correct(scope, Correction(id=stored.id, content="Ann lives in Oslo"))
        assert sum(embedded(one).values()) == 1
        model = one.helpers.embedder.get()
        assert model
        found = scope.read(lambda q: scope.index.vectors(q, VectorSet("general", model.name), [stored.id]))
        assert found[stored.id] @ model.embed_passage("Ann lives in Oslo")[0] > 0.99


def test_a_key_keeps_its_memory_and_loses_the_callers_vector(here: Engine, scope: Scope) -> None:
    Vault(scope).commit("vault", "db", "we use MySQL", vector=[1.0, 0.0])
    record = Vault(scope).get("db")
    done = correction.correct(scope, Correction(id=record.id, content="we use Postgres"))
    assert Vault(scope).get("db").body == "we use Postgres"
    vectors = VectorSet(CLIENT, f"{CLIENT}:2")
    assert scope.read(lambda q: scope.index.vectors(q, vectors, [record.id])) == {}
    restore(Graph(scope), [record.id], done.at)
    assert Vault(scope).get("db").body == "we use MySQL"


def test_an_equal_correction_changes_nothing(here: Engine, scope: Scope) -> None:
    stored = memories(here).store("Ann lives in Rome.", ["people"])
    done = correction.correct(scope, Correction(id=stored.id, content="Ann lives in Rome.", tags=("people",)))
    assert done.at == ""
    assert listing.story(scope, stored.id).versions == []


def test_secrets_in_corrections_are_masked(here: Engine, scope: Scope) -> None:
    stored = memories(here).store("The mirror's key is kept elsewhere.")
    correction.correct(scope, Correction(id=stored.id, content="The mirror's key is AKIA" + "QYLPMN5HHFIQR7XY."))
    assert text(scope, stored.id) == "The mirror's key is [masked: AWS access key]."


def test_the_text_of_another_memory_is_refused(here: Engine, scope: Scope) -> None:
    one, other = memories(here).store("Ann lives in Rome."), memories(here).store("Ann lives in Oslo.")
    with pytest.raises(InvalidInputError, match=f"Memory {one.id[:8]} already says"):
        correction.correct(scope, Correction(id=other.id, content="Ann lives  in Rome."))
    assert text(scope, other.id) == "Ann lives in Oslo."


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": " "},
        {"content": "x" * 10_001},
        {"tags": ("",)},
        {"tags": ("x" * 101,)},
        {"importance": 1.1},
        {"tags": tuple(map(str, range(51)))},
        {"content": "a\0b"},
        {"importance": float("nan")},
    ],
)
def test_invalid_values_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        Correction(id="x", **wrong)  # type: ignore[arg-type]


def test_only_living_memories_are_corrected(here: Engine, scope: Scope) -> None:
    stored = memories(here).store("Ann lives in Rome.")
    Memories(scope).forget(Criteria(ids=(stored.id,)))
    with pytest.raises(NotFoundError):
        correction.correct(scope, Correction(id=stored.id, content="Ann lives in Oslo."))


def test_many_memories_are_tagged_and_untagged_at_once(here: Engine, scope: Scope) -> None:
    ids = [memories(here).store(f"fact {number}", ["old", "kept"]).id for number in range(3)]
    done = correction.retag(scope, [*ids[:2], "nothing"], ["new"], ["old"])
    assert done.ids == tuple(sorted(ids[:2], key=done.ids.index))
    tags = {one.record.id: one.record.tags for one in listing.page(scope, Facets()).records}
    assert [tags[key] for key in ids] == [("kept", "new"), ("kept", "new"), ("old", "kept")]
    restore(Graph(scope), done.ids, done.at)
    assert {one.record.tags for one in listing.page(scope, Facets()).records} == {("old", "kept")}


def test_tags_are_removed_from_a_memory_that_has_too_many(here: Engine, scope: Scope) -> None:
    kept = memories(here)
    for part in "ab":
        (one,) = {kept.store("A fact.", [f"{part}{number}" for number in range(30)]).id}
    with pytest.raises(InvalidInputError, match="at most 50 tags"):
        correction.retag(scope, [one], ["new"])
    assert correction.retag(scope, [one], remove=["a0"]).ids == (one,)
    assert len(kept.get([one])[0].record.tags) == 59
