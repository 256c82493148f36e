"""Meaning in every language: English texts by the English embedder, all others, and across, by the multilingual one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Memories
from memoryd.core.memories.prompted import bearing_on
from memoryd.core.records.spaces import ACROSS
from memoryd.core.scope import Scope, together
from memoryd.core.search.pipeline import Search
from memoryd.model import Filter
from memoryd.models import weights
from memoryd.models.embedders import ENGLISH, MULTILINGUAL
from memoryd.settings import Settings
from tests.core.kit import memories, with_models

JAPANESE = ["歯医者が予約を木曜日の四時に変更した。", "家賃は毎月三日に払っている。", "パンは駅の隣のパン屋で買う。"]
PLAIN = ["The dentist moved my appointment to Thursday.", "We buy bread next to the station.", "Sven collects maps."]

FACTS = [
    "Bread is baked at 245 degrees.", "Pebble 874 g.", "Wren home with a cough.", "The plumber is Mr. Achterberg.",
    "Our choir sings in the minster.", "My call sign is M7RWQ.", "The Skoda passed its inspection.",
    "Rent is due on the third.", "Ruta drives the second van.", "The tap leaks.", "Otis lost a molar.",
]  # fmt: skip


GERMAN = """
Der Webserver schreibt seine Protokolle auf eine eigene Festplatte.
Anna isst sonntags gern thailändisch.
Die Besprechung über das Budget findet jeden Montag um neun statt.
Die Küchenwand wurde letztes Jahr weiß gestrichen.
Das Garagentor öffnet sich mit einem sechsstelligen Code.
Pakete ins Ausland kommen meist nach zehn Tagen an.
Mein Großvater arbeitete dreißig Jahre lang als Eisenbahningenieur.
Die Tests laufen bei jedem Commit und dauern acht Minuten.
Julia spielt Geige in einem kleinen Orchester.
Der Jahresbericht wird auf Englisch geschrieben und danach übersetzt.
Wir haben Python gewählt, weil das ganze Team es kennt.
Der Hund schläft im Winter unter dem Schreibtisch.
Die Kaffeemaschine muss jeden Mittwoch gereinigt werden.
Der Vertrag mit dem Stromanbieter endet im Dezember.
Passwörter müssen mindestens zwölf Zeichen lang sein.
Unser Zug nach Wien fährt um sieben Uhr morgens ab.
Die Nachbarn beschwerten sich über den Lärm der Bohrmaschine.
Die App unterstützt nur Telefone der letzten fünf Jahre.
Der Arzt hat empfohlen, jeden Tag eine halbe Stunde spazieren zu gehen.
Der neue Kollege fängt im September an und teilt sich das Zimmer mit Omar.
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Engine]:
    with with_models(tmp_path_factory.mktemp("languages"), model_dir) as here:
        assert here.helpers.other(600) is not None
        for workspace, texts in (("japanese", JAPANESE), ("english", PLAIN), ("both", JAPANESE + PLAIN[2:])):
            for text in texts:
                memories(here, name=workspace).store(text)
        yield here


def first(engine: Engine, question: str, workspace: str) -> str:
    search = Search(Scope(engine, engine.workspaces.ensure(workspace)))
    return search.hits(question, Filter()).best[0].record.body


def without_other(home: Path, model_dir: Path) -> Settings:
    """Settings with a directory of models that lacks the multilingual one."""
    some = home / "models"
    some.mkdir()
    for model in (weights.EMBEDDER, weights.RERANKER):
        (some / model).symlink_to(model_dir / model)
    return Settings.read({}, db_path=home / "memory.db", model_dir=some, service="off")


def test_a_question_finds_its_answer_in_its_own_and_in_other_languages(engine: Engine) -> None:
    assert first(engine, "歯科に行くのはいつ？", "japanese") == JAPANESE[0]
    assert first(engine, "Wann muss ich zum Zahnarzt?", "japanese") == JAPANESE[0]
    assert first(engine, "When do I pay the rent?", "both") == JAPANESE[1]
    assert first(engine, "Wo holen wir Brot?", "english") == PLAIN[1]


def test_english_texts_alone_have_the_vectors_of_the_english_model_alone(engine: Engine) -> None:
    for text in PLAIN:
        memories(engine, name="alone").store(text)
    assert first(engine, "Where do we get bread?", "alone") == PLAIN[1]
    assert engine.embedding.sets(engine.workspaces.ensure("alone")) == {ENGLISH: 3}


def test_among_english_texts_a_question_that_may_be_english_is(engine: Engine) -> None:
    assert engine.helpers.other(60), "another workspace has had it loaded"
    memories(engine, name="doubtful").store("Henrik is allergic to hazelnuts.")
    found = memories(engine, name="doubtful").recall("Henrik's allergies", 500)
    assert (len(found.hits), found.degraded) == (1, "")
    assert engine.embedding.sets(engine.workspaces.ensure("doubtful")) == {ENGLISH: 1}


def test_in_a_workspace_with_both_english_texts_have_vectors_of_both(engine: Engine) -> None:
    engine.embedding.catch_up(lambda: False, 600)
    sets = engine.embedding.sets(engine.workspaces.ensure("both"))
    assert sets == {ENGLISH: 1, ACROSS: 1, MULTILINGUAL: 3}


def test_english_texts_and_questions_fetch_no_other_model(tmp_path: Path, model_dir: Path) -> None:
    with with_models(tmp_path, model_dir) as here:
        for text in [*FACTS, "getUserProfile(id) returns None: see src/app.py:42", "5433", "TCP 4370"]:
            memories(here).store(text)
            memories(here).recall(text, 500)
        assert here.helpers.speaks
        assert here.helpers.multilingual.state == "idle"


def test_with_english_models_alone_every_text_has_the_english_vector(tmp_path: Path, model_dir: Path) -> None:
    settings = Settings.read(
        {}, db_path=tmp_path / "memory.db", model_dir=model_dir, languages="english", service="off"
    )
    with Engine(settings) as here:
        here.helpers.start()
        assert here.helpers.embedder.get(60) is not None
        memories(here).store(JAPANESE[0])
        assert here.embedding.sets(here.workspaces.ensure("default")) == {ENGLISH: 1}
        assert here.helpers.multilingual.state == "idle"


def test_until_the_model_is_there_words_serve_and_the_answer_says_so(
    tmp_path: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with with_models(tmp_path, model_dir) as here:
        monkeypatch.setattr(here.helpers.multilingual, "start", lambda: None)
        memories(here).store(JAPANESE[0])
        answer = memories(here).recall("歯医者", 500)
        assert [hit.record.body for hit in answer.hits] == JAPANESE[:1]
        assert answer.degraded.startswith("Searched by words alone: the multilingual model is still being")


def test_nonsense_gets_nothing(engine: Engine) -> None:
    for text in FACTS:  # of fewer than ten records the nearest are named in any case
        memories(engine, name="many").store(text)
    assert memories(engine, name="many").recall("wibblefrotz", 500).hits == ()
    assert first(engine, "Backofen Temperatur", "many") == FACTS[0]


def test_an_answer_in_another_language_is_shown_however_far_it_is(engine: Engine) -> None:
    for text in [*FACTS, "My son's lessons end at a quarter past one."]:
        memories(engine, name="far").store(text)
    question = "¿A qué hora sale mi hijo del colegio?"
    assert any("son" in hit.record.body for hit in memories(engine, name="far").recall(question, 500).hits)


def test_a_few_facts_in_another_language_are_found_among_many(engine: Engine) -> None:
    for text in [*FACTS, "De boekhouding wordt elke vrijdagavond op schijf bewaard."]:
        memories(engine, name="few").store(text)
    hits = memories(engine, name="few").recall("When do we back up the accounts?", 500).hits
    assert any("boekhouding" in hit.record.body for hit in hits)


def test_a_prompt_about_somebody_whom_a_fact_names_gets_that_fact_only_if_it_answers(engine: Engine) -> None:
    for text in GERMAN.strip().splitlines():
        memories(engine, name="german").store(text)
    scope = Scope(engine, engine.workspaces.ensure("german"))
    added = bearing_on(scope, "Welches Instrument spielt Julia?", 300)
    assert added is not None
    assert [hit.record.body for hit in added.hits] == ["Julia spielt Geige in einem kleinen Orchester."]
    assert bearing_on(scope, "Was wünscht sich Julia zu Weihnachten?", 300) is None


@pytest.mark.parametrize(
    ("language", "question", "older", "newer", "changed"),
    [
        ("German", "Wo steht die Leiter?", "Die Leiter steht im Keller.", "Die Leiter ist jetzt im Schuppen.", True),
        ("Russian", "Где живёт Олег?", "Олег живёт в Твери.", "Олег переехал в Казань.", True),
        ("Japanese", "朝会は何時から？", "朝会は9時からです。", "朝会は10時に変更されました。", True),
        ("Spanish", "¿Dónde vive Elena?", "Elena vive en Toledo.", "El hermano de Elena se mudó a Bilbao.", False),
        ("Chinese", "后门的号码是多少？", "后门的号码是4471。", "前门的号码改成9023了。", False),
    ],
)
def test_a_change_comes_before_what_it_changed(
    engine: Engine, language: str, question: str, older: str, newer: str, changed: bool
) -> None:
    named = memories(engine, name=f"{language} {changed}")
    for text in (older, newer):
        named.store(text)
    hits = named.recall(question, 500).hits
    assert hits[0].record.body == (newer if changed else older)
    assert [hit.record.body for hit in hits if hit.changed_by] == [older] * changed


def test_the_nearest_in_another_language_is_named_beside_the_nearest_in_english(engine: Engine) -> None:
    for number in range(20):
        memories(engine, name="shelves").store(f"Shelf {number} holds the red boxes of lamps in room {number % 7}.")
    german = "Die Heizung wird jeden Oktober gewartet."
    memories(engine, name="shelves").store(german)
    hits = memories(engine, name="shelves").recall("When is the heating checked?", 500).hits
    assert german in [hit.record.body for hit in hits]


@pytest.mark.parametrize("apart", [False, True])
def test_of_facts_in_two_languages_the_one_that_answers_comes_first_whatever_its_language(
    engine: Engine, apart: bool
) -> None:
    keys = ["The spare key hangs behind the boiler.", "Ruta drives the second van.", "Rent is due on the third."]
    name = "project" if apart else "two languages"
    english, german = memories(engine, name=name), memories(engine, name="personal" if apart else name)
    for texts, of in ((GERMAN.strip().splitlines(), german), ([*FACTS, *keys], english)):
        for text in texts:
            of.store(text)
    if apart:
        engine.workspaces.include(name, ["personal"])
    engine.embedding.complete(lambda _: None)

    def found(question: str) -> str:
        here = together(engine, engine.workspaces.ensure(name))
        return Memories(here).recall(question, 500).hits[0].record.body

    assert found("Wann muss die Miete bezahlt werden?") == "Rent is due on the third."
    assert found("Wo ist der Ersatzschlüssel?") == "The spare key hangs behind the boiler."
    assert "Kaffeemaschine" in found("When do we clean the espresso machine?")
    assert "Garagentor" in found("How do I get into the garage?")


@pytest.mark.parametrize(
    ("question", "older", "newer", "changed"),
    [
        ("Where is the archive?", "Das Archiv liegt im Keller.", "The archive was moved to the second floor.", True),
        ("Wo probt der Chor?", "The choir rehearses in the minster.", "Der Chor probt jetzt in der Aula.", True),
        ("¿Dónde vive Elena?", "Elena lives in Toledo.", "Elena se mudó a Bilbao.", True),
        ("Где живёт Олег?", "Oleg lives in Tver.", "Брат Олега переехал в Казань.", False),
        ("When is the town meeting?", "Die Bürgerversammlung ist am 4. Mai.", "The book club moved to 9 May.", False),
    ],
)
def test_a_change_in_another_language_than_the_fact_comes_before_it(
    engine: Engine, question: str, older: str, newer: str, changed: bool
) -> None:
    named = memories(engine, name=f"across {older}")
    for text in (older, newer):
        named.store(text)
    engine.embedding.complete(lambda _: None)
    hits = named.recall(question, 500).hits
    assert (hits[0].record.body == newer) or not changed
    assert [hit.record.body for hit in hits if hit.changed_by] == [older] * (changed and len(hits) > 1)


@pytest.mark.parametrize(
    ("question", "older", "newer", "changed"),
    [
        (
            "Mit wem verschicken wir Pakete?",
            "We ship parcels with Falke Express.",
            "We moved our parcels from Falke Express to Norla.",
            True,
        ),
        (
            "合唱団はどこで練習しますか？",
            "The choir rehearses in the gym.",
            "The choir now rehearses in the chapel.",
            True,
        ),
        ("Quelle est la limite ?", "The retry limit is 5.", "The retry limit was cut to 3.", True),
        (
            "Welches Java braucht Version 3 des Importers?",
            "Version 3 of the importer needs Java 11.",
            "Version 4 of the importer moved to Java 17.",
            False,
        ),
        (
            "Wie ist der Code der Hintertür?",
            "The code of the back door is 7719.",
            "The front door has 3302 now.",
            False,
        ),
    ],
)
def test_english_facts_asked_about_in_another_language_are_current_too(
    engine: Engine, question: str, older: str, newer: str, changed: bool
) -> None:
    assert engine.helpers.reranker.get(60)
    named = memories(engine, name=f"asked otherwise {older}")
    for text in (older, newer):
        named.store(text)
    named.recall(question, 500)
    engine.embedding.complete(lambda _: None)
    hits = named.recall(question, 500).hits
    assert (hits[0].record.body == newer) or not changed
    assert [hit.record.body for hit in hits if hit.changed_by] == [older] * (changed and len(hits) > 1)


def test_an_english_change_is_seen_before_it_can_be_compared_with_other_languages(engine: Engine) -> None:
    named = memories(engine, name="just stored")
    for text in (*GERMAN.strip().splitlines()[:5], "The book club meets on Tuesdays."):
        named.store(text)
    engine.embedding.complete(lambda _: None)
    named.store("The book club was moved to Thursdays.")
    hits = named.recall("When does the book club meet?", 500).hits
    assert hits[0].record.body == "The book club was moved to Thursdays."
    assert [hit.record.body for hit in hits if hit.changed_by] == ["The book club meets on Tuesdays."]


JONAS = {
    "birthday": "Jonas hat am 7. November Geburtstag.",
    "work": "Jonas arbeitet in einer Tischlerei in Kiel.",
    "allergy": "Jonas ist gegen Haselnüsse allergisch.",
    "news": "Jonas arbeitet nicht mehr in der Tischlerei, sondern in einem Museum.",
}


@pytest.mark.parametrize(
    ("question", "first_one", "older"),
    [
        ("Wo arbeitet Jonas?", "news", ["work"]),
        ("Wann hat Jonas Geburtstag?", "birthday", []),
        ("Wogegen ist Jonas allergisch?", "allergy", []),
    ],
)
def test_only_what_was_clearly_asked_for_is_changed(
    engine: Engine, question: str, first_one: str, older: list[str]
) -> None:
    named = memories(engine, name="news of Jonas")
    if not named.recent(1):
        for text in (*list(JONAS.values())[:3], *GERMAN.strip().splitlines(), JONAS["news"]):
            named.store(text)
        named.recall(question, 500)
        engine.embedding.complete(lambda _: None)
    hits = named.recall(question, 500).hits
    assert hits[0].record.body == JONAS[first_one]
    assert [hit.record.body for hit in hits if hit.changed_by] == [JONAS[key] for key in older]


def test_without_fetching_the_answer_says_how_to_get_the_model(tmp_path: Path, model_dir: Path) -> None:
    with Engine(without_other(tmp_path, model_dir), fetch=False) as here:
        here.helpers.start()
        assert here.helpers.embedder.get(60) is not None
        memories(here).store(JAPANESE[0])
        answer = memories(here).recall("Wann muss ich zum Zahnarzt?", 500)
        assert "`memoryd models pull --all`" in answer.degraded
        assert "is still being" not in answer.degraded


def test_if_the_model_cannot_be_fetched_the_answer_names_the_command_that_says_why(
    tmp_path: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0", "PIP_NO_INDEX": ""}.items():
        monkeypatch.setenv(name, value)
    with Engine(without_other(tmp_path, model_dir)) as here:
        here.helpers.start()
        assert here.helpers.embedder.get(60) is not None
        memories(here).store(JAPANESE[0])
        here.helpers.other(60)
        answer = memories(here).recall("Wann muss ich zum Zahnarzt?", 500)
        assert answer.degraded.endswith("cannot be fetched; `memoryd models pull --all` says why.")
