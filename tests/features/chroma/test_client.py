"""The journal in ChromaDB: what it writes, how it reads what others wrote, and how it is replaced."""

import importlib.metadata
import signal
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memoryd.core.engine import Engine
from memoryd.core.journal.journal import Journal, own_home
from memoryd.core.scope import Scope, together
from memoryd.errors import InvalidInputError, StoreAwayError, StoreError
from memoryd.features.chroma import database
from memoryd.features.chroma.across import JournalVectors
from memoryd.features.chroma.client import Chroma, ExternalChroma
from memoryd.features.chroma.database import DEFAULT, SWAP, ChromaDatabase, ChromaRow
from memoryd.features.chroma.journal import JournalChroma
from memoryd.settings import Settings
from memoryd.store.journal import COLLECTIONS
from tests.store.journals import BREAD, CAR, engine, journal, summary, texts, turn
from tests.store.kit import output, python

API = "/api/v2/tenants/default_tenant/databases"
TURNS, SESSIONS = COLLECTIONS["memories"], COLLECTIONS["summaries"]
OLD, NEW = "old", "new"
CAT = "User Prompt: El gato duerme en la cama.\nAgent Thought: Es el gato.\nAgent Response: Que duerma."
CAR_SUMMARY = summary(2, "t", title="Car", summary="Why it does not start.")


@pytest.fixture(scope="module")
def made(chroma: str, model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    home = tmp_path_factory.mktemp("home")
    with engine(home, model_dir, MEMORY_JOURNAL_STORE="chroma", MEMORY_CHROMA_URL=chroma) as made:
        yield made


@pytest.fixture
def kept(made: Engine) -> JournalChroma:
    found = journal(made, str(uuid.uuid4()))
    assert isinstance(found, JournalChroma)
    return found


@pytest.fixture
def raw(kept: JournalChroma) -> ChromaDatabase:
    """The database behind the journal, to write to it as others do."""
    return kept._database


def add_raw(raw: ChromaDatabase, name: str, metadata: dict[str, Any], document: str = "", size: int = 384) -> None:
    row = ChromaRow(str(uuid.uuid4()), metadata, document, [1.0] + [0.0] * (size - 1))
    raw.add(raw.made(name, {}), [row])


def names(raw: ChromaDatabase) -> set[str]:
    return {name for name in raw._listed() if not name.startswith("memoryd-health")}


# what is written -----------------------------------------------------------------------------------------------------


def test_the_default_workspace_is_where_other_programs_look(made: Engine, chroma: str) -> None:
    journal(made).add(turn(1))
    journal(made).summarized([summary(2, "s", quality=50)])
    found = httpx2.get(f"{chroma}{API}/{DEFAULT}/collections", trust_env=False).json()
    rows = {
        one["name"]: httpx2.post(
            f"{chroma}{API}/{DEFAULT}/collections/{one['id']}/get", json={}, trust_env=False
        ).json()
        for one in found
    }
    prompt, thought, response = BREAD
    assert rows[TURNS]["metadatas"] == [
        {
            "sessionId": "s",
            "timestamp": "2026-01-02T03:01:00.000Z",
            "prompt": prompt,
            "thought": thought,
            "response": response,
            "type": "agent-interaction",
        }
    ]
    assert rows[TURNS]["documents"] == [f"User Prompt: {prompt}\nAgent Thought: {thought}\nAgent Response: {response}"]
    assert rows[SESSIONS]["metadatas"] == [
        {
            "sessionId": "s",
            "timestamp": "2026-01-02T03:02:00.000Z",
            "title": "Bread",
            "category": "other",
            "memoryCount": 1,
            "quality": 50,
            "technologies": "flour,yeast",
        }
    ]
    assert rows[SESSIONS]["documents"] == ["How bread is baked."]


def test_a_read_creates_nothing(kept: JournalChroma, raw: ChromaDatabase) -> None:
    kept.numbers(), kept.find("bread", 1, ""), kept.unsummarized(), kept.delete_summaries()
    assert names(raw) == set()


def test_a_megabyte_is_kept_verbatim(kept: JournalChroma) -> None:
    large = "MixFlourWaterAndYeast" * 50_000  # without a blank, as the model takes seconds for a thousand words
    kept.add(turn(1, text=("", "", large)))
    assert len(large) > 1_000_000
    assert kept.of_session("s", 1, 0).page[0].response == large


# what others wrote ---------------------------------------------------------------------------------------------------


def test_what_lacks_optional_fields_is_read(kept: JournalChroma, raw: ChromaDatabase) -> None:
    say = "User Prompt: p\nAgent Thought: t\nAgent Response: r"
    add_raw(raw, TURNS, {"sessionId": "s", "timestamp": 1_760_000_000_000, "type": "agent-interaction"}, say)
    add_raw(raw, SESSIONS, {"sessionId": "s", "timestamp": "2026-01-02T03:04:05Z", "title": "T", "quality": 84.6}, "S")
    (one,) = kept.of_session("s", 5, 0).page
    assert (one.prompt, one.thought, one.response, one.created_at) == ("p", "t", "r", "2025-10-09T08:53:20.000Z")
    (found,) = kept.summaries(5, 0, "").page
    assert (found.quality, found.impact, found.memory_count, found.technologies) == (85, None, 0, ())
    assert [one.id for one, *_ in kept.find("anything", 5, "s").best] == [one.id]


def test_a_row_that_is_not_a_turn_is_named(kept: JournalChroma, raw: ChromaDatabase) -> None:
    add_raw(raw, TURNS, {"sessionId": "s", "a": "b"})
    with pytest.raises(StoreError, match=r"in ChromaDB is not a turn or summary \(prompt is not a text\)"):
        list(kept.every_turn())


def test_vectors_of_another_dimension_are_refused(kept: JournalChroma, raw: ChromaDatabase) -> None:
    add_raw(raw, TURNS, {"sessionId": "s"}, size=3)
    for refused in (lambda: kept.add(turn(1)), lambda: kept.find("bread", 1, "")):
        with pytest.raises(
            StoreError, match=r"dimension of 3, got 384\. .* not from MEMORY_EMBEDDER's .* mode replace"
        ):
            refused()
    assert kept.numbers()["memories"] == 1


def test_vectors_of_another_model_are_refused_until_they_are_replaced(kept: JournalChroma, raw: ChromaDatabase) -> None:
    raw.made(TURNS, {"embedder": "ollama:other"})
    for refused in (lambda: kept.add(turn(1)), lambda: kept.find("bread", 1, "")):
        with pytest.raises(StoreError, match="neo-agent-memory was embedded by ollama:other"):
            refused()
    kept.replace([turn(1)], None)
    assert kept.find("bread", 1, "").best[0][0] == turn(1)


def test_a_turn_is_found_in_any_language(made: Engine, kept: JournalChroma, raw: ChromaDatabase) -> None:
    assert made.helpers.other(600), "the multilingual model"
    bread = ("パンはどうやって焼くの？", "パンの作り方を聞かれた。", "小麦粉と水と酵母を混ぜる。")
    kept.put([turn(1, text=CAR), turn(2, "t", ("It rains.", "Yes.", "So it does."))])
    assert kept.find("How do I bake bread?", 3, "").best
    assert names(raw) == {TURNS}, "an English journal has no other vectors"
    kept.add(turn(3, text=bread))
    for query, found in (("Wie backe ich Brot?", bread), ("How do I bake bread?", bread), ("車が動かない", CAR)):
        hits = kept.find(query, 3, "").best
        assert (hits[0].item.prompt, len(hits)) == (found[0], 3), query
        assert [hit.item.prompt for hit in kept.find(query, 3, "t").best] == ["It rains."], query
    add_raw(raw, TURNS, {"sessionId": "s", "timestamp": turn(4).created_at}, CAT)
    assert "gato" in kept.find("Wo schläft die Katze?", 1, "").best[0].item.prompt, "what another program wrote"
    kept.replace([turn(3, text=CAR)], None)
    hits = kept.find("車が動かない", 3, "").best
    assert [hit.item.prompt for hit in hits] == [CAR[0]], "what was replaced is gone"


def test_of_turns_in_two_languages_the_one_that_answers_comes_first(made: Engine, kept: JournalChroma) -> None:
    assert made.helpers.other(600), "the multilingual model"
    german = (
        "Der Vertrag mit dem Stromanbieter endet im Dezember.", "Die Kaffeemaschine muss mittwochs gereinigt werden.",
        "Passwörter müssen zwölf Zeichen lang sein.", "Die Besprechung über das Budget ist jeden Montag um neun.",
        "Unser Zug nach Wien fährt um sieben Uhr ab.", "Der neue Kollege fängt im September an.",
    )  # fmt: skip
    texts = [*german, "Rent is due on the third.", "The spare key hangs behind the boiler."]
    kept.put([turn(number, text=(text, "", "")) for number, text in enumerate(texts, 1)])
    assert kept.find("Wann muss die Miete bezahlt werden?", 2, "").best[0].item.prompt == texts[-2]
    assert kept.find("Wo ist der Ersatzschlüssel?", 2, "").best[0].item.prompt == texts[-1]
    assert kept.find("When does the train to Vienna leave?", 2, "").best[0].item.prompt == german[4]


def test_a_summary_in_another_language_follows_its_changes(made: Engine, kept: JournalChroma) -> None:
    assert made.helpers.other(600), "the multilingual model"
    kept.summarized([summary(1, "s", title="Brot", summary="Wie man Brot backt."), CAR_SUMMARY])
    assert kept.find_summaries("how bread is baked", 1, "").best[0].item.session_id == "s"
    kept.summarized([summary(3, "s", title="Steuer", summary="Wie die Steuererklärung abgegeben wird.")])
    assert kept.find_summaries("¿Cómo se declaran los impuestos?", 1, "other").best[0].item.session_id == "s"
    kept.delete_summaries()
    assert kept.find_summaries("¿Cómo se declaran los impuestos?", 1, "").best == []


def test_by_the_multilingual_model_alone_a_turn_is_found_in_any_language(
    chroma: str, model_dir: Path, tmp_path: Path
) -> None:
    here = {"MEMORY_JOURNAL_STORE": "chroma", "MEMORY_CHROMA_URL": chroma, "MEMORY_EMBEDDER": "multilingual"}
    with engine(tmp_path, model_dir, **here) as made:
        kept = journal(made, str(uuid.uuid4()))
        kept.put([turn(1, text=BREAD), turn(2, text=CAR)])
        assert kept.find("Wie backe ich Brot?", 1, "").best[0].item.prompt == BREAD[0]
        assert kept.find("車が動かない", 1, "").best[0].item.prompt == CAR[0]


def test_included_workspaces_are_searched_together(made: Engine) -> None:
    names = [str(uuid.uuid4()) for _ in range(2)]
    for name, text in zip(names, (BREAD, CAR), strict=True):
        journal(made, name).put([turn(1, text=text), turn(2, text=("It rains.", "Yes.", "So it does."))])
    made.workspaces.include(names[0], [names[1]])
    both = Journal(together(made, made.workspaces.find(names[0]))).kept
    for query, text, name in (("bread", BREAD, names[0]), ("car battery", CAR, names[1])):
        hits = both.find(query, 4, "").best
        assert (hits[0].item.prompt, hits[0].workspace and hits[0].workspace.name) == (text[0], name)
        assert len(hits) == 3, "what both have is shown once"
    assert len(both.find("bread", 2, "").best) == 2
    assert both.find_summaries("bread", 2, "").best == []


def test_without_a_model_everything_can_be_read_and_nothing_is_written(
    made: Engine, chroma: str, tmp_path: Path
) -> None:
    journal(made, "common").replace([turn(1)], ())
    with ExitStack() as ends:
        server = ends.enter_context(closing(Chroma(ExternalChroma(chroma))))
        without = ends.enter_context(engine(tmp_path, None))
        common = Scope(without, made.workspaces.ensure("common"))
        kept = JournalChroma(server, common, JournalVectors(without.helpers))
        assert texts(kept) == [BREAD[0]]
        assert [*kept.every_turn()] == [turn(1)]
        kept.try_out()
        for refused in (lambda: kept.add(turn(2)), lambda: kept.find("bread", 1, ""), lambda: kept.replace((), ())):
            with pytest.raises(StoreError, match=r"embedding model is not available \(off\).*check MEMORY_EMBEDDER"):
                refused()
        assert kept.numbers() == {"memories": 1, "summaries": 0}


# replacing -----------------------------------------------------------------------------------------------------------


def left_by(kept: JournalChroma, raw: ChromaDatabase, steps: int) -> None:
    """Leave the state of a process killed some steps after the announcement."""
    kept.put([turn(1, OLD)])
    kept.put_summaries([summary(1, OLD)])
    fresh = {name: raw._make(f"{name}.new-1", {}) for name in (TURNS, SESSIONS)}
    kept._put(fresh[TURNS], [turn(2, NEW, CAR)])
    kept._put_summaries(fresh[SESSIONS], [summary(2, NEW)])
    there = raw._listed()
    plan = {name: f"{there[name].id} {new.id}" for name, new in fresh.items()}
    raw._announce(plan)
    done = 0

    def some(method: str, path: str, body: Any = None) -> Any:
        nonlocal done
        if done == steps:
            raise StoreAwayError
        done += 1
        return ask(method, path, body)

    ask, raw._ask = raw._ask, some
    with pytest.raises(StoreAwayError):
        raw._swap(plan)
    raw._ask = ask


@pytest.mark.parametrize("steps", range(7))
def test_the_next_process_finishes_an_interrupted_replacement(
    kept: JournalChroma, raw: ChromaDatabase, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    left_by(kept, raw, steps)
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    assert [one.session_id for one in kept.every_turn()] == [NEW]
    assert [one.session_id for one in kept.every_summary()] == [NEW]
    assert names(raw) == {TURNS, SESSIONS}
    kept.add(turn(3, NEW))
    assert kept.numbers() == {"memories": 2, "summaries": 1}


KILLED = """
import os, signal, sys
from pathlib import Path
from memoryd.model import Interaction
from tests.store.journals import engine, journal, turn

def turns():
    yield from (turn(0, "new", id=f"{number}") for number in range(101))
    os.kill(os.getpid(), signal.SIGKILL)

with engine(Path(sys.argv[1]), Path(sys.argv[2]), MEMORY_JOURNAL_STORE="chroma", MEMORY_CHROMA_URL=sys.argv[3]) as made:
    kept = journal(made)
    kept._database = kept._chroma.database(sys.argv[4])
    kept.replace(turns(), ())
"""


@pytest.mark.process
def test_a_process_killed_before_everything_is_read_has_changed_nothing(
    kept: JournalChroma,
    raw: ChromaDatabase,
    chroma: str,
    model_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept.put([turn(1, OLD)])
    kept.put_summaries([summary(1, OLD)])
    process = python(KILLED, tmp_path, model_dir, chroma, raw._name)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert texts(kept, OLD) == [BREAD[0]]
    assert kept.numbers() == {"memories": 1, "summaries": 1}
    assert len(names(raw)) == 4
    monkeypatch.setattr(database, "LEFT", 0.0)
    kept.replace([turn(2)], None)
    assert names(raw) == {TURNS, SESSIONS}


def test_only_one_process_replaces_at_a_time(kept: JournalChroma, raw: ChromaDatabase) -> None:
    def meanwhile() -> Iterator[Any]:
        yield turn(1)
        raw._ask("POST", f"{raw._path}/collections", {"name": SWAP, "metadata": {"another": "plan"}})

    kept.add(turn(5, OLD))
    with pytest.raises(StoreError, match="Another import is replacing the journal"):
        kept.replace(meanwhile(), None)
    raw._drop(SWAP)
    assert [one.session_id for one in kept.every_turn()] == [OLD]
    assert names(raw) == {TURNS}


# where it is ---------------------------------------------------------------------------------------------------------


def test_the_password_of_a_server_is_not_shown() -> None:
    server = ExternalChroma("https://user:secret@chroma.example.org:8000/")
    assert server.place == "chroma.example.org:8000"
    assert server.state() == "external"


def test_an_unreachable_server_is_reported() -> None:
    with (
        closing(Chroma(ExternalChroma("http://127.0.0.1:9"))) as unreachable,
        pytest.raises(
            StoreAwayError, match=r"Could not connect to ChromaDB at 127\.0\.0\.1:9 .*stored nothing; start that"
        ),
    ):
        unreachable.database("x").collection(TURNS)


def test_without_its_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    monkeypatch.delitem(sys.modules, "memoryd.features.chroma.server", raising=False)
    settings = Settings.read({"MEMORY_JOURNAL_STORE": "chroma", "MEMORY_DATA_DIR": str(tmp_path)})
    with pytest.raises(StoreError, match=r"chromadb is not installed. .*memoryd\[chroma\]"):
        own_home(Engine(settings))


def test_without_its_setting_chroma_is_not_used() -> None:
    assert own_home(Engine(Settings.read({"MEMORY_CHROMA_URL": "http://127.0.0.1:8000"}))) is None


def test_on_windows_a_server_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    with pytest.raises(InvalidInputError, match="Set MEMORY_CHROMA_URL to a URL"):
        own_home(Engine(Settings.read({"MEMORY_JOURNAL_STORE": "chroma"})))
    named = {"MEMORY_JOURNAL_STORE": "chroma", "MEMORY_CHROMA_URL": "http://127.0.0.1:8000"}
    with Engine(Settings.read(named)) as engine:
        home = own_home(engine)
        assert home
        assert home.state() == "external"


# many processes ------------------------------------------------------------------------------------------------------

ADD = """
import sys
from pathlib import Path
from tests.store.journals import engine, journal, turn

with engine(Path(sys.argv[1]), Path(sys.argv[2]), MEMORY_JOURNAL_STORE="chroma", MEMORY_CHROMA_URL=sys.argv[3]) as made:
    kept = journal(made)
    kept._database = kept._chroma.database(sys.argv[4])
    print("ready", flush=True)
    sys.stdin.readline()
    print(*(kept.add(turn(1)).id for _ in range(6)))
"""


@pytest.mark.process
def test_processes_that_write_in_one_millisecond_lose_nothing(
    kept: JournalChroma, raw: ChromaDatabase, chroma: str, model_dir: Path, tmp_path: Path
) -> None:
    processes = [python(ADD, tmp_path / str(number), model_dir, chroma, raw._name) for number in range(2)]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    ids = [key for process in processes for key in output(process).split()]
    assert len(set(ids)) == 12
    assert {one.id for one in kept.every_turn()} == set(ids)
