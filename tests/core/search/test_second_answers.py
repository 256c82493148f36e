"""Two things of which there may be several, beside one that took the place of another."""

import pytest

from memoryd.core.search import changes

READ = changes.Logits(older=6.0, newer=5.0, matter=0.5)


def total(question: str, older: str, newer: str) -> float:
    return changes.evidence(question, older, newer, READ).total


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        ("Which framework does the shop use?", "Shop uses Django 5.", "Shop uses Postgres 16."),
        ("Which framework does the shop use?", "Shop uses Django.", "Shop uses Postgres."),
        ("When is the north door closed?", "The north door is closed at 8.", "The east door closed at 9."),
    ],
)
def test_the_number_of_another_name_is_no_other_value(question: str, older: str, newer: str) -> None:
    assert total(question, older, newer) < changes.ENOUGH


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        ("Which framework does the shop use?", "Shop uses Django 4.", "Shop uses Django 5."),
        ("When does the fair begin?", "Fair begins on May 5.", "Fair begins on June 7."),
        (
            "What does the search index run on?",
            "The search index runs on Elasticsearch 7.",
            "The search index runs on OpenSearch 2.",
        ),
        ("Who works at the Gutenberg press?", "Ove Lind works at Gutenberg.", "Ove Lind left Gutenberg."),
    ],
)
def test_another_value_of_the_same_thing_is_a_change(question: str, older: str, newer: str) -> None:
    assert total(question, older, newer) >= changes.ENOUGH


LABELLED = {
    (
        "How long may a member keep a book?",
        "Loans of members: 21 days.",
        "Loans of guests: 7 days, if a member vouches.",
    ),
    ("Which paint has the living room?", "Living room walls: chalk, matt.", "Bedroom walls: silk, two coats, matt."),
}


def test_what_has_another_label_is_something_else() -> None:
    assert [total(*texts) for texts in LABELLED if "counterpart" not in changes.evidence(*texts, READ).parts] == []
    since = ("What is the rent of the flat?", "Rent of the flat: 900 euros.", "Rent since June: 950 euros.")
    after = (
        "What does a large rye cost?",
        "Rye prices: large loaf 4.20.",
        "After the rise of the mill: large rye 4.60.",
    )
    assert not [one for one in (since, after) if "counterpart" in changes.evidence(*one, READ).parts]


def test_what_took_the_place_of_another_is_no_part_of_it() -> None:
    older = "kassa API is written in Sinatra; tests run with `rake test` (minitest)."
    newer = "kassa: replaced Sinatra with Roda and minitest with rspec. Run tests with `bin rspec run`."
    assert "narrower" not in changes.evidence("How do I run the tests of kassa?", older, newer, READ).parts
