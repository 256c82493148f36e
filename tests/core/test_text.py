"""Queries by words, what two texts have in common, extracts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.text import (
    content_words,
    cut,
    estimate_tokens,
    extract,
    fingerprint,
    may_differ,
    parse_query,
    sentences,
    words,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
QUERIES = st.lists(
    st.sampled_from(['"', "(", ")", "*", "AND", "OR", "NOT", "NEAR", "a", "b*", "ç", "-", ":", "'"]), max_size=40
)


@pytest.mark.parametrize(
    ("query", "emitted"),
    [
        ("where is the red car", '"red" OR "car"'),
        ("where is it", '"where" OR "is" OR "it"'),  # nothing but stop words: then those
        ("red AND car", '"red" AND "car"'),
        ("red car*", '"red" AND "car"*'),
        ('"red car" blue', '"red car" AND "blue"'),
        ("red OR blue AND car", '"red" OR ("blue" AND "car")'),
        ("(red OR blue) car*", '("red" OR "blue") AND "car"*'),
        ("red NOT blue NOT green", '"red" NOT ("blue" OR "green")'),
        ("a-b c*", '"a b" AND "c"*'),
        ("red and blue or not", '"red" OR "blue"'),  # operators stand in capitals
        ("AND", '"and"'),
        ("red AND", '"red"'),
        ("NOT red", '"red"'),
        ('say "unfinished', '"say" AND "unfinished"'),
        ("(red OR", '"red"'),
        ("don't", '"don" OR "t"'),
        ("body: x", '"body" OR "x"'),
        ("NEAR(a b)", '"near" OR "b"'),
        ("Café ПРИВЕТ 東京", '"café" OR "привет" OR "東京"'),
        ("x x X", '"x"'),
    ],
)
def test_queries(query: str, emitted: str) -> None:
    parsed = parse_query(query)
    assert parsed
    assert parsed.fts5() == emitted


@pytest.mark.parametrize("query", ["", "   ", "?!", '""', "***", "🚀", '"" *'])
def test_without_a_word_there_is_no_query(query: str) -> None:
    assert parse_query(query) is None


@given(st.one_of(TEXTS, QUERIES.map(" ".join)))
def test_every_query_has_balanced_quotes_and_brackets(query: str) -> None:
    parsed = parse_query(query)
    if parsed:
        emitted = parsed.fts5()
        assert emitted.count('"') % 2 == 0
        assert emitted.count("(") == emitted.count(")")


def test_words_as_the_index_folds_them() -> None:
    assert words("Straße") == ["straße"]  # FTS5 does not make ss of it
    assert content_words("The Cat and the Hat, the CAT") == ["cat", "hat"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The cat sat.", "the cat sat"),
        ("A cat sat.", "Cat sat"),
        ("Then (it is said) it works", "then it is said it works"),
        (" fine  line\n", "fine line"),
        ("Café", "cafe\u0301"),
    ],
)
def test_the_same_in_other_clothes_has_the_same_fingerprint(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("port 80", "port 81"), ("it works", "it works not"), ("Ann called Bob", "Bob called Ann"),
        ("plan A", "plan B"), ("version 1.2", "version 12"), ("C", "C++"), ("5 %", "-5 %"), ("👍", "👎"),
        ("yes", "no"), ("x > y", "x < y"),
    ],
)  # fmt: skip
def test_what_differs_has_another_fingerprint(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


@given(TEXTS)
def test_every_text_has_a_fingerprint(text: str) -> None:
    assert fingerprint(text) == fingerprint(f" {text}\n")
    assert not may_differ(text, text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The server listens on port 80", "The server listens on port 8080"),
        ("We deploy on Monday", "We deploy on Tuesday"),
        ("He likes tea", "He does not like tea"),
        ("Alice manages Bob", "Bob manages Alice"),
        ("The talk is by Meyer", "The talk is by Miller"),
        ("The flag is enabled", "The flag is disabled"),
        ("It costs $5", "It costs $6"),
        ("rotate left", "rotate right"),
        ("released in v2.1", "released in v2.2"),
        ("the limit is 10 %", "the limit is 10 ms"),
    ],
)
def test_facts_that_may_differ(one: str, other: str) -> None:
    assert may_differ(one, other)
    assert may_differ(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("She prefers dark themes.", "she prefers dark themes"),
        ("The build takes ten minutes", "The build needs ten minutes"),
        ("We deploy on Monday", "We ship on Monday"),
    ],
)
def test_paraphrases(one: str, other: str) -> None:
    assert not may_differ(one, other)


# extracts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("🚀" * 8, 2)])
def test_tokens_are_characters_by_four(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_sentences() -> None:
    assert sentences("One. Two!  Three?\nfour\n\n five… six e.g.this") == [
        "One.", "Two!", "Three?", "four", "five…", "six e.g.this",
    ]  # fmt: skip


def test_an_extract_keeps_what_bears_on_the_question_in_order() -> None:
    filler = "Something else entirely is told here at length. " * 3
    text = f"{filler}The red car is fast. {filler}Its owner lives in Rome. {filler}"
    found = extract(text, ["rome", "car"], 25)
    assert found == "… The red car is fast. … Its owner lives in Rome. …"


@given(TEXTS, st.integers(2, 60), st.lists(st.text(max_size=5), max_size=4))
def test_an_extract_fits(text: str, tokens: int, about: list[str]) -> None:
    assert estimate_tokens(extract(text, about, tokens)) <= tokens
    assert estimate_tokens(cut(text, tokens)) <= tokens


@given(TEXTS)
def test_what_fits_is_not_cut(text: str) -> None:
    assert cut(text, estimate_tokens(text)) == extract(text, [], estimate_tokens(text)) == text


def test_a_cut_ends_between_words() -> None:
    assert cut("one two three four five six", 5) == "one two three …"
    assert cut("東京" * 20, 4) == "東京" * 7 + " …"
