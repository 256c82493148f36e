"""Which words tell that a text changes what one in another language states."""

import pytest

from memoryd.core.search import changes_across
from memoryd.core.search.changes import ENOUGH

NEAR, ASKED, ANSWERS = 0.4, 0.4, 4.0
"""Rescaled cosines of texts about one thing, and the logit of a text that answers."""
CASES = {
    "a word of change": ("Où habite Léa ?", "Léa lives in Lyon.", "Léa a déménagé à Nantes.", True),
    "now, and another number": ("Welcher Port?", "The port is 5433.", "Der Port ist jetzt 6432.", True),
    "what was before": ("Which queue do we use?", "Wir nutzen RabbitMQ.", "We went from RabbitMQ to NATS.", True),
    "no word of change": ("Where is the key?", "Der Schlüssel liegt im Büro.", "The key opens the office.", False),
    "a relative": ("Where does Ivan live?", "Иван живёт в Казани.", "Ivan's parents moved to Perm.", False),
    "a friend": ("Wo wohnt Ina?", "Ina lives in Kiel.", "Der Freund von Ina ist nach Ulm gezogen.", False),
    "a counterpart": ("Which port has staging?", "Staging hat Port 54.", "The production port is now 77.", False),
    "the same change": ("When is it?", "Der Termin wurde auf Freitag verlegt.", "It was moved to Friday.", False),
    "nothing new": ("Wann hat Anna Geburtstag?", "Anna hat am 3. März Geburtstag.", "Jonas is on 7 July.", False),
    "in addition": ("Que toca a Pia?", "Pia plays the piano.", "A Pia agora também toca harpa.", False),
}


@pytest.mark.parametrize("name", CASES)
def test_a_change_differs_from_facts_that_both_hold(name: str) -> None:
    question, older, newer, changed = CASES[name]
    for logit in (ANSWERS, None):
        found = changes_across.evidence(question, older, newer, NEAR, ASKED, logit)
        assert (found.total >= ENOUGH) == changed, found.parts


def test_a_text_that_does_not_answer_the_question_changes_nothing() -> None:
    question, older, newer, _ = CASES["a word of change"]
    assert changes_across.evidence(question, older, newer, NEAR, ASKED, -4.0).total < ENOUGH
    assert changes_across.evidence(question, older, newer, 0.1, 0.1, None).total < ENOUGH
    assert changes_across.evidence(question, older, newer, 0.25, 0.6, None).total < ENOUGH, "near the question alone"


def test_a_name_that_both_have_links_them_however_far_they_are() -> None:
    texts = "Каким линтером проверяем код?", "Code is checked with Flake8.", "Flake8 заменили на Ruff."
    assert changes_across.evidence(*texts, 0.2, 0.0, None).total >= ENOUGH


def test_a_name_and_now_tell_less_of_a_text_in_another_language_than_the_question() -> None:
    texts = "Which Go version does CI use?", "CI builds with Go 1.24.", "Seit Montag antwortet die CI mit 503."
    assert changes_across.evidence(*texts, 0.3, 0.25, None).total < ENOUGH
    assert changes_across.evidence(*texts, 0.6, 0.5, None).total >= ENOUGH


def test_texts_far_from_each_other_share_a_name_by_chance() -> None:
    texts = "Où habite Camille ?", "Camille lives in Lyon.", "Paul a déménagé de Lyon à Metz."
    assert changes_across.evidence(*texts, 0.17, 0.0, None).total < ENOUGH
