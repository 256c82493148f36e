"""A text is English, or it is not."""

import pytest

from memoryd.languages import is_english, is_foreign

ENGLISH = [
    "Where is Gina's internship?", "npm install fails", "Take care!", "lighthouse lamp", "wifi password",
    "getUserProfile returns None", "Lives in Berlin", "5433", "", "The café in Zürich closes at six.",
    "CI runs on GitHub Actions", "NE650AP", "where is NE65 0AP", "LE3 5DE", "HL-L2350DW", "memory 14ce5f59 please",
    "TCP 4370", "Bob's birthday: March 3",
]  # fmt: skip
OTHERS = [
    "Wo ist Anna?", "Über welchen Port?", "Die API erlaubt jedem Client hundert Anfragen.", "limite de l'API",
    "¿Dónde vive Paul?", "senha do wifi", "Какой порт?", "порт", "ポートは？", "端口", "포트 번호는?", "पोर्ट क्या है?",
    "أي منفذ؟", "getUserProfile gibt None zurück, wenn der Nutzer fehlt", "wat is het wachtwoord",
    "Was kostet das iPhone15?", "WO IST ANNA?", "1;Müller;Straße;5", "D'où vient notre huile d'olive ?",
]  # fmt: skip


@pytest.mark.parametrize("text", ENGLISH)
def test_an_english_text_is_recognized(text: str) -> None:
    assert is_english(text)


@pytest.mark.parametrize("text", OTHERS)
def test_a_text_in_another_language_is_recognized(text: str) -> None:
    assert not is_english(text)


@pytest.mark.parametrize("text", [*ENGLISH, "SQLSTATE 55P03", "Pebble 874 g.", "shadcn zustand", "limite"])
def test_what_may_be_english_is_not_surely_in_another_language(text: str) -> None:
    assert not is_foreign(text)


@pytest.mark.parametrize("text", ["Wo ist Anna?", "Zürich", "порт", "ポートは？", "senha da casa", "hangi dükkân"])
def test_what_is_surely_in_another_language_is_recognized(text: str) -> None:
    assert is_foreign(text)
