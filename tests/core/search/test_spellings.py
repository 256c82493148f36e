"""Words that people spell in several ways are found in each of them, on both stores; other words stay others."""

import pytest

from memoryd.core.engine import Engine
from memoryd.query_syntax import literal_query
from tests.core.kit import memories

FOUND = """Frau Müller wohnt oben. | Mueller
Frau Müller wohnt oben. | Muller
Herr Mueller zahlt. | Müller
Die Straße ist zu. | strasse
Die Strasse ist zu. | Straße
Mu\u0308ller zahlt. | Mueller
São Paulo é grande. | Sao
El niño duerme. | nino
ёлка стоит | елка
елка стоит | ёлка
Łódź | Lodz
le cœur | coeur
كتب أحمد رسالة | احمد
كتب احمد رسالة | أحمد
مدرسة كبيرة | مدرسه
مَدْرَسَة | مدرسة
مدرسة | مَدْرَسَة
क़लम रखी है | कलम
कलम रखी है | क़लम
ＡＢＣ１２３ | ABC123
ABC123 | ＡＢＣ１２３
カタカナ | ｶﾀｶﾅ
Ελλάδα | ελλαδα"""


def test_a_word_is_found_in_its_other_spellings(engine: Engine) -> None:
    for number, line in enumerate(FOUND.splitlines()):
        text, word = line.split(" | ")
        here = memories(engine, name=f"line {number}")
        here.store(text)
        here.store("sonst nichts")
        assert [hit.record.body for hit in here.recall(word, 500).hits] == [text], word


def test_the_exact_spelling_comes_first_and_other_words_are_not_found(engine: Engine) -> None:
    for text in ("Frau Mueller zahlt.", "Frau Müller zahlt.", "Frau Möller zahlt.", "Frau Muller zahlt."):
        memories(engine).store(text)
    assert memories(engine).recall("Müller", 500).hits[0].record.body == "Frau Müller zahlt."
    found = {hit.record.body for hit in memories(engine).recall("Mueller", 500).hits}
    assert found == {"Frau Mueller zahlt.", "Frau Müller zahlt."}


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("¿A quién pregunto por mi sueldo?", ["pregunto", "sueldo"]),
        ("Где висит мой ключ?", ["висит", "ключ"]),
        ("هل هذا من أحمد", ["أحمد", "احمد"]),
        ("Who did the die cast?", ["die", "cast"]),
        ("où ?", ["où"]),
    ],
)
def test_function_words_of_other_languages_are_not_looked_for(question: str, words: list[str]) -> None:
    parsed = literal_query(question)
    assert parsed
    assert {phrase.words for phrase in parsed.terms()} == set(words)
