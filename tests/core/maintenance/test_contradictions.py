"""Pairs of memories that may contradict: which are shown, and what a person decides about them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import contradictions, verdicts
from memoryd.core.maintenance.contradictions import Survey
from memoryd.core.maintenance.history import entries, restore
from memoryd.core.maintenance.scheduler import maintain
from memoryd.core.memories import correction
from memoryd.core.memories.correction import Correction
from memoryd.core.memories.memories import Criteria
from memoryd.core.memories.vault import Vault
from memoryd.core.scope import Scope
from memoryd.errors import ChangedMeanwhileError, InvalidInputError, NotFoundError
from memoryd.model import Workspace
from memoryd.settings import Settings
from tests.clients import environment
from tests.core.kit import memories, never
from tests.llm import model

pytestmark = pytest.mark.stores

STAND_UP = ("The stand-up is at 09:45.", "The stand-up moved to 10:15.")
ROOT = ("The deploy script needs root.", "The deploy script doesn't need root any more.")
DOORS = ("The code of the front door is 4711.", "The code of the back door is 0815.")
SAME = ("The user doesn't like dark mode.", "The user does not like dark mode.")


@pytest.fixture
def one(tmp_path: Path, model_dir: Path) -> Iterator[Engine]:
    with opened(tmp_path, model_dir) as made:
        yield made


def opened(home: Path, models: Path, **more: str) -> Engine:
    return Engine(Settings.read(environment(home, models, **{"MEMORY_RERANKER": "none", **more})), fetch=False)


def place(of: Engine, name: str = "default") -> Workspace:
    return of.workspaces.ensure(name)


def scope(of: Engine) -> Scope:
    return Scope(of, place(of))


def store(of: Engine, *texts: str) -> list[str]:
    ids = [memories(of).store(text).id for text in texts]
    of.embedding.complete(lambda _: None)
    return ids


def surveyed(of: Engine) -> Survey:
    return contradictions.survey(of, place(of))


def shown(of: Engine) -> list[tuple[str, str]]:
    return [(pair.older.body, pair.newer.body) for pair in surveyed(of).found]


# which pairs are shown -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reads", [False, True])
def test_the_cross_encoder_leaves_out_what_is_about_something_else(
    tmp_path: Path, model_dir: Path, reads: bool
) -> None:
    others = ("Wren's passport expires on 30 August 2029.", "The battery at Mill Lane was replaced, next in May 2029.")
    with opened(tmp_path, model_dir, **({"MEMORY_RERANKER": "bundled"} if reads else {})) as of:
        store(of, *others, *STAND_UP)
        found = [(pair.older.body, pair.newer.body) for pair in surveyed(of).found]
    assert found == ([STAND_UP] if reads else [STAND_UP, others])


def test_a_fact_and_its_change_are_shown_newest_first_with_the_reason(one: Engine) -> None:
    store(one, *STAND_UP, *ROOT)
    found = surveyed(one)
    assert [(pair.older.body, pair.newer.body) for pair in found.found] == [ROOT, STAND_UP]
    assert found.found[1].why[:2] == ("speaks of a change", "states it otherwise")
    assert (found.compared, found.all) == (4, True)


@pytest.mark.parametrize("texts", [DOORS, SAME, ("The user likes tea.", "Anna likes coffee.")])
def test_a_pair_of_which_both_hold_or_that_says_the_same_is_not_shown(one: Engine, texts: tuple[str, str]) -> None:
    store(one, *texts)
    assert shown(one) == []


@pytest.mark.parametrize("newer", [f"{STAND_UP[1]}\nSo it is.", STAND_UP[1] + " So it is." * 40])
def test_only_single_statements_are_compared(one: Engine, newer: str) -> None:
    store(one, STAND_UP[0], newer)
    assert shown(one) == []


def test_texts_under_keys_and_of_sessions_and_other_workspaces_are_not_compared(one: Engine) -> None:
    store(one, STAND_UP[0])
    Vault(scope(one)).commit("vault", "stand-up", STAND_UP[1])
    Vault(Scope(one, place(one), "s")).commit("session", "stand-up", STAND_UP[1])
    memories(one, name="other").store(STAND_UP[1])
    assert shown(one) == []


def test_what_was_forgotten_or_superseded_vanishes(one: Engine) -> None:
    _, moved, needs, _ = store(one, *STAND_UP, *ROOT)
    memories(one).forget(Criteria(ids=(moved,)))
    assert shown(one) == [ROOT]
    memories(one).store("Each deploy starts by itself.", supersedes=[needs])
    assert shown(one) == []


def test_of_more_memories_the_last_changed_are_compared(one: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contradictions, "RECENT", 2)
    store(one, *STAND_UP, *ROOT)
    found = surveyed(one)
    assert ([pair.newer.body for pair in found.found], found.compared, found.all) == ([ROOT[1]], 2, False)
    monkeypatch.setattr(contradictions, "RECENT", 3)  # an older one is found as the neighbour of a recent one
    assert shown(one) == [ROOT, STAND_UP]


def test_without_vectors_none_are_shown(tmp_path: Path) -> None:
    with Engine(Settings.read(environment(tmp_path, None))) as one:
        memories(one).store(STAND_UP[0])
        memories(one).store(STAND_UP[1])
        assert contradictions.survey(one, place(one)) == Survey()


# one replaces the other ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [1, -1])
def test_either_memory_replaces_the_other_until_that_is_undone(one: Engine, way: int) -> None:
    gone, by = store(one, *STAND_UP)[::way]
    verdicts.replace(one, place(one), by, gone)
    assert [hit.record.id for hit in memories(one).recent(9)] == [by]
    assert shown(one) == []
    graph = Graph(scope(one))
    (entry,) = entries(graph, 9)
    assert (entry.what, entry.id, entry.successor, entry.reason) == (
        "superseded", gone, by, "replaced by another memory on request",
    )  # fmt: skip
    restore(graph, [gone])
    assert shown(one) == [STAND_UP]


def test_what_was_changed_since_it_was_seen_is_neither_replaced_nor_held(one: Engine) -> None:
    older, newer = store(one, *STAND_UP)
    (pair,) = surveyed(one).found
    correction.correct(scope(one), Correction(id=older, content="The stand-up is at 09:50."))
    seen = (pair.newer.updated_at, pair.older.updated_at)
    for verdict in (verdicts.replace, verdicts.hold):
        with pytest.raises(ChangedMeanwhileError):
            verdict(one, place(one), newer, older, seen)
    assert [pair.older.body for pair in surveyed(one).found] == ["The stand-up is at 09:50."]


def test_only_two_living_memories_without_a_key_are_judged(one: Engine) -> None:
    older, newer = store(one, *STAND_UP)
    Vault(scope(one)).commit("vault", "stand-up", "At ten.")
    row = one.store.read(place(one), lambda q: q.one("vault.named", scope="", key="stand-up"))
    (elsewhere,) = [memories(one, name="other").store("At eleven.").id]
    for verdict in (verdicts.replace, verdicts.hold, verdicts.pair):
        with pytest.raises(InvalidInputError):
            verdict(one, place(one), older, older)
        for other in (row["id"] if row else "", elsewhere, "nothing"):
            with pytest.raises(NotFoundError):
                verdict(one, place(one), older, other)
    memories(one).forget(Criteria(ids=(newer,)))
    with pytest.raises(NotFoundError):
        verdicts.replace(one, place(one), newer, older)
    assert entries(Graph(scope(one)), 9)[0].what == "deleted"


# both hold -----------------------------------------------------------------------------------------------------------


def test_a_pair_of_which_both_hold_stays_away_until_that_is_taken_back(tmp_path: Path, model_dir: Path) -> None:
    with opened(tmp_path, model_dir) as one:
        older, newer = store(one, *STAND_UP, *ROOT)[:2]
        verdicts.hold(one, place(one), newer, older)
        assert shown(one) == [ROOT]
    with opened(tmp_path, model_dir) as one:
        assert shown(one) == [ROOT]
        (held,) = verdicts.judged(one, place(one))
        assert {held.one.id, held.other.id} == {older, newer}
        verdicts.hold(one, place(one), older, newer, again=True)
        assert (shown(one), verdicts.judged(one, place(one))) == ([ROOT, STAND_UP], [])
        verdicts.hold(one, place(one), older, newer)
        assert shown(one) == [ROOT]


def test_that_both_hold_is_kept_until_one_of_the_texts_changes(one: Engine) -> None:
    older, newer, other, _ = store(one, *STAND_UP, *ROOT)
    verdicts.hold(one, place(one), older, newer)
    correction.correct(scope(one), Correction(id=older, tags=("team",), importance=0.9))
    correction.correct(scope(one), Correction(id=other, content="The deploy script wants root."))
    assert STAND_UP not in shown(one)
    correction.correct(scope(one), Correction(id=newer, content="The stand-up moved to 10:30."))
    assert "The stand-up moved to 10:30." in {text for pair in shown(one) for text in pair}


def test_a_language_model_is_not_asked_about_a_pair_of_which_both_hold(tmp_path: Path, model_dir: Path) -> None:
    with model() as llm, opened(tmp_path, model_dir, **llm.settings()) as one:
        llm.reply = lambda _: (200, json.dumps({"verdicts": []}))
        older, newer = store(one, *STAND_UP, *ROOT)[:2]
        verdicts.hold(one, place(one), older, newer)
        assert list(maintain(one, place(one), never, compacting=False)) == []
        asked = "".join(llm.prompts())
        assert ROOT[0] in asked
        assert STAND_UP[0] not in asked
