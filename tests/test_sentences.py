"""Where sentences end, and where abbreviations only look like it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.sentences import sentences


def test_sentences_end_at_marks_and_lines() -> None:
    assert sentences("One. Two!  Three?\nfour\n\n Five… Six e.g.this") == [
        "One.",
        "Two!",
        "Three?",
        "four",
        "Five…",
        "Six e.g.this",
    ]


def test_sentences_without_spaces_between_them() -> None:
    assert sentences("雨だ。傘は？「ない。」と言う。終わり") == ["雨だ。", "傘は？", "「ない。」と言う。", "終わり"]


def test_sentences_of_other_scripts() -> None:
    assert sentences("Redis सिर्फ cache रहेगा। RBI को report भेजनी है।") == [
        "Redis सिर्फ cache रहेगा।",
        "RBI को report भेजनी है।",
    ]
    assert sentences("أين المفتاح؟ عند سارة. شكرا") == ["أين المفتاح؟", "عند سارة.", "شكرا"]
    assert sentences("کہاں ہے؟ گھر میں۔ ٹھیک") == ["کہاں ہے؟", "گھر میں۔", "ٹھیک"]
    assert sentences("Он вышел. Она ждёт.") == ["Он вышел.", "Она ждёт."]


@pytest.mark.parametrize(
    "one",
    [
        "The manager, Mr. Pugh, is away.",
        "Ask Dr. No.",
        "Use a tool, e.g. Sed.",
        "Two of them, i.e. Anna and Bo",
        "See No. 5.",
        "The answer is no. 5 people left",  # both readings are possible
        "We met in St. Gallen.",
        "Cats vs. Dogs.",
        "It takes ca. 5 km.",
        "Milk, etc. and bread.",
        "At 5 p.m. today.",
        "J. R. R. Tolkien wrote it.",
        "John F. Kennedy spoke.",
        "The U.S. Army came.",
        "Smith et al. show it.",
        "It costs 3.5 of version 1.2.3.",
        "See https://a.example/c.d?e=f.",
        "Well... then we left.",
        "So… then",
        "“Really?” he asks.",
        "1. Stop the writers.",
        "Open it on Jan. 5 at noon.",
        "See p. 5 and Fig. 3.",
        "Das ist z. B. Ein Hund.",
        "Katzen, d. h. Tiere.",
        "z.B. Anna kommt.",
        "Am 5. Mai ist frei.",
        "Hauptstr. 5",
        "M. Dupont et Mme. Curie, p. ex. Paris.",
        "La Sra. Ruiz, p. ej. Ana.",
        "Il sig. Rossi e il Dott. Bianchi.",
        "Dhr. Jansen en bijv. Piet.",
        "Офис на ул. Мира, д. 5, кв. 12.",
        "Аренда 60 тыс. руб. в месяц с 2024 г. по договору.",
        "डॉ. शर्मा कल मिलेंगे।",
    ],
)
def test_abbreviations_end_no_sentence(one: str) -> None:
    assert sentences(one) == [one]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("It began in 2019.", "Then it rained."),
        ("Ask Dr. No.", "He knows."),
        ("Milk, etc.", "Then bread."),
        ("He lives on Main St.", "Then he moved."),
        ("We take Plan B.", "Then we left."),
        ("So did I.", "Anna came."),
        ("It ended at 5 p.m.", "We left."),
        ("It is in the U.S.", "They grow it."),
        ("It took 5 ms.", "Good."),
        ("We moved to CA.", "It is warm."),
        ("ok.", "then we left."),
        ("really?", "yes"),
        ("Hm...", "Then no."),
        ("**Bold.**", "More."),
        ("“Yes.”", "He left."),
        ("On May 5.", "Then we met."),
        ("Is it open? No.", "Wait."),
    ],
)
def test_true_ends_are_not_swallowed(first: str, second: str) -> None:
    assert sentences(f"{first} {second}")[-1] == second


@given(st.lists(st.characters(exclude_categories=["Cs"]) | st.sampled_from([". ", ".", "\n", "。", "J", "” ", "e.g"])))
def test_sentences_lose_nothing_but_blanks(drawn: list[str]) -> None:
    text = "".join(drawn)
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())
