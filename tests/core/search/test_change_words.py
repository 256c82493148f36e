"""Which words say that something is otherwise than before, and what they say it of."""

from dataclasses import replace

import pytest

from memoryd.core.search import changes
from memoryd.core.search.compared import compared, stems
from tests.core.search.test_changes import READ


@pytest.mark.parametrize("text", [
    "We sold the caravan.", "The caravan was sold to Ann.", "Ivo has outgrown his asthma.", "The fee was waived.",
    "From September on a lesson costs 34 euros.", "From tomorrow on the gate stays shut.",
    "The code has been 4410 since last week.", "They pushed our ferry back to 14:50.",
    "Nora is leaving for Graz.", "The licence ran out in May.", "The Nordhus contract ends in May.",
    "Lisbon is off.", "Tom's divorce came through.", "The sale fell through.", "We left the Octavia in part exchange.",
])  # fmt: skip
def test_words_that_say_what_is_otherwise_than_before(text: str) -> None:
    assert compared(text).changes


@pytest.mark.parametrize("text", [
    "Tickets are sold by the tourist office and at the door.", "Cakes are sold at the fair.",
    "The house may be entered from four on the first day.", "The shop has been in the Weststrasse since 1998.",
    "School ends at 15:20.", "Leave by the back door.", "The path ends at the lock.", "We ran out of sugar.",
    "The lane is off the harbour road.", "The pitch is off limits.",
])  # fmt: skip
def test_words_that_only_look_like_it(text: str) -> None:
    assert not compared(text).changes


def test_words_of_change_alone_link_two_of_many_facts_hardly() -> None:
    question, older = "When does Aino's school end?", "Aino's school ends at 15:20."
    newer, weak = (
        "Aino moved up to the Dolphins at the baths: 17:00.",
        changes.Logits(older=9.3, newer=-1.9, matter=-1.0),
    )
    common = stems("Aino")
    assert changes.evidence(question, older, newer, weak, common, common, 9).total < changes.ENOUGH
    moved = "School ends at 14:50: the bell of Aino's class moved."
    assert changes.evidence(question, older, moved, weak, common, common, 9).total >= changes.ENOUGH


def test_a_word_of_change_counts_for_what_its_sentence_is_about() -> None:
    question, older = "Which port has the staging database?", "The staging database has port 5432."
    aside = "Vault runs for the database team. New people are invited by mail, leavers are removed."
    assert "change_words" not in changes.evidence(question, older, aside, READ).parts
    about = "Vault runs for us. The staging database was moved behind a proxy."
    assert changes.evidence(question, older, about, READ).parts["change_words"] == 1.2


@pytest.mark.parametrize(
    ("newer", "is_one"),
    [
        ("Accounts are deleted after 60 days without use.", False),
        ("The pager is handed over on Mondays.", False),
        ("Accounts of partners are never deleted.", False),
        ("Slides are to be handed in on the 18th.", False),
        ("The left door sticks.", False),
        ("The lemonade sold out by ten.", False),
        ("Accounts are deleted from now on.", True),
        ("The pager was handed over to Aino.", True),
        ("Aino left Gannet for a start-up.", True),
        ("They sold the boat.", True),
    ],
)
def test_what_is_done_again_and_again_is_no_change(newer: str, *, is_one: bool) -> None:
    assert compared(newer).changes == is_one


def test_what_a_change_names_was_an_answer_however_poor() -> None:
    older, poor = "Aino's recorder lesson is on Wednesday at 16:15.", changes.Logits(older=-1.3, newer=2.8, matter=5.0)
    asked = ("What does Aino play?", older)
    common = stems("Aino")
    gave_up = changes.evidence(*asked, "Aino gave up the recorder and has the cello at 17:00.", poor, common, common, 0)
    assert gave_up.total >= changes.ENOUGH
    unread = replace(poor, newer=-11.3)
    aside = changes.evidence(*asked, "Aino gave up the recorder for a week.", unread, common, common, 0)
    assert aside.parts["older_answers"] < 0, "what does not answer itself says nothing of that"
    other = changes.evidence(*asked, "Aino gave up sugar and has the cello at 17:00.", poor, common, common, 0)
    assert other.total < changes.ENOUGH


@pytest.mark.parametrize(("question", "older", "newer", "takes"), [
    ("Who is our chair?", "The chair is Ivo Lund.", "Runa was elected chair at the meeting.", True),
    ("Who is the club's chair?", "Ivo is the club's chair.", "Runa took over as chair.", True),
    ("Who is the chair?", "Our chair is Ivo Lund.", "Runa was appointed our next chair.", True),
    ("Who is our chair?", "The chair is Ivo Lund.", "Runa was elected vice chair at the meeting.", False),
    ("Who is our chair?", "The chair is Ivo Lund.", "Runa was elected chair of the juniors.", False),
    ("Who is a trustee?", "Ivo is a trustee.", "Runa was elected trustee.", False),
    ("When was our chair built?", "The chair was built in May.", "Runa was elected chair.", False),
])  # fmt: skip
def test_who_came_into_an_office_is_about_who_had_it(question: str, older: str, newer: str, *, takes: bool) -> None:
    frequent = stems("chair trustee")
    parts = changes.evidence(question, older, newer, READ, frequent=frequent).parts
    assert ("same_subject" in parts) == takes
