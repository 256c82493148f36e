"""A newer text about another attribute of one subject, or about another thing of one kind, changes nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.core.search import changes
from memoryd.core.search.compared import compared
from tests.core.kit import memories, with_models

READ = changes.Logits(older=8.5, newer=1.0, matter=2.5)
ANSWERS = replace(READ, newer=5.0, matter=4.5)
DOOR = "What is the code of Una's back door?", "The code of Una's back door is 8830."


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Engine]:
    with with_models(tmp_path_factory.mktemp("subject"), model_dir) as here:
        yield here


def outdated(engine: Engine, request: pytest.FixtureRequest, question: str, texts: Sequence[str]) -> bool:
    """Return whether the first of some texts is marked as older, in a workspace of their own."""
    here = memories(engine, name=f"w{abs(hash(request.node.nodeid))}")
    for text in texts:
        here.store(text)
    return "(older" in next(line for line in here.recall(question, 500).text.splitlines() if texts[0] in line)


@pytest.mark.parametrize(
    ("question", "older", "aside", "newer"),
    [
        (*DOOR, "Una's back door has been painted green.", "The code of Una's back door was changed to 4416."),
        (
            "On which port does kiln-api listen?",
            "kiln-api listens on port 6100.",
            "We upgraded kiln-api to Go 1.25.",
            "We moved kiln-api behind the proxy, it listens on 6443.",
        ),
        (
            "Who is the accountant of Brill?",
            "The accountant of Brill is Ada Nunn.",
            "Brill has switched to oat milk.",
            "Brill has switched accountants, it is Tove Lind now.",
        ),
        (
            "Is Rosa a vegetarian?",
            "Rosa is a vegetarian.",
            "Rosa has moved to Berlin.",
            "Rosa has given up being a vegetarian.",
        ),
        (
            "What is the notice period with Solvang?",
            "The contract with Solvang Insurance has a notice period of six weeks.",
            "Solvang Insurance moved its claims desk to Bergen.",
            "The notice period with Solvang Insurance was cut to four weeks.",
        ),
        (
            "rowing club fee?",
            "The rowing club charges 9 euros a month.",
            "Nils handed the chair of the rowing club to Petra.",
            "The rowing club charges 12 euros a month as of January.",
        ),
        (
            "Where is the scanner?",
            "Our scanner is on the first floor beside the lift.",
            "We switched the scanner to colour.",
            "We moved the scanner to the basement.",
        ),
    ],
)
def test_a_change_of_another_attribute_leaves_the_fact_as_it_is(
    engine: Engine, request: pytest.FixtureRequest, question: str, older: str, aside: str, newer: str
) -> None:
    assert not outdated(engine, request, question, [older, aside])
    assert outdated(engine, request, question, [older, aside, newer])


def test_a_question_may_name_the_attribute_in_a_word_that_the_fact_has_not(
    engine: Engine, request: pytest.FixtureRequest
) -> None:
    question, older = "which port is kiln-api on?", "kiln-api listens on 6100 in production."
    assert not outdated(engine, request, question, [older, "The owner of kiln-api is now Anouk."])


def test_a_text_that_only_names_the_subject_is_no_change() -> None:
    aside = "Una's back door has been painted green."
    total = changes.evidence(*DOOR, aside, READ).total
    assert changes.evidence(*DOOR, aside, replace(READ, named=0.5)).total < changes.ENOUGH <= total
    says_more = changes.evidence(*DOOR, aside, replace(READ, named=-2.0))
    assert says_more.total == total, "it answers better than `Una's back door` does"


def test_the_subject_is_what_a_newer_text_shares_if_it_shares_nothing_else() -> None:
    assert changes.subject(*DOOR, "Una's back door has been painted green.") == "Una's back door"
    assert not changes.subject(*DOOR, "The bakery is closed.")
    runs = "Who runs the choir?", "Ines runs the choir.", "Ines is away until spring, Tobias has the choir."
    assert not changes.subject(*runs), "it says what became of Ines"
    assert changes.subject(*runs, common={compared("Ines").stems[0]}) == "choir"


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("The bar is run by Bean & Gone in Ghent.", False),
        ("Moved By Music: the hall is ours on Fridays.", False),
        ("Left Bank Hackney: the float is 100.", False),
        ("We ordered from Sold Out Records.", False),
        ("Moved to Ghent on Friday.", True),
        ("Update: Cancelled by the band.", True),
        ("The concert is CANCELLED.", True),
        ("Left Acme for Initech.", True),
        ("The beans are gone.", True),
        ("Board Meeting Postponed to Friday", True),
    ],
)
def test_a_name_is_no_word_of_change(text: str, is_one: bool) -> None:
    assert compared(text).changes is is_one


def test_a_name_is_no_hint_of_a_change() -> None:
    assert not compared("The office in New York has six desks.").hints
    assert compared("New desks came, six in all.").hints


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        ("When is handover on long days?", "Long days: handover at 07:15.", "Night shifts: handover at 19:15."),
        ("When do early birds start?", "Early birds: start at 6:00.", "Late owls: start at 10:00."),
        ("What is the till float?", "Gull & Co Camden: till float 150.", "Gull & Co Hackney: till float 100."),
        (
            "How many requests may a key make?",
            "Sandbox keys are limited to 20 requests.",
            "Live keys get 100 requests.",
        ),
        ("Where is members' data stored?", "EU members' data is in Ghent.", "UK members' data must stay in Leeds."),
        (
            "Which tap can I use for the salad?",
            "The tap by the shed is fine for the salad.",
            "The tap next to the road has rust in it, only use that for the car.",
        ),
    ],
)
def test_another_thing_of_the_same_kind_changes_nothing(question: str, older: str, newer: str) -> None:
    assert changes.evidence(question, older, newer, ANSWERS).total < changes.ENOUGH


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        ("When is handover?", "Handover: long days at 07:15.", "Handover: long days at 07:45."),
        ("What is the till float?", "Gull & Co Camden: till float 150.", "Gull & Co Camden: till float 100."),
        ("How many requests may a key make?", "A key may make 20 requests.", "New keys may make 100 requests."),
        (
            "Which tap can I use for the salad?",
            "The tap by the shed is fine for the salad.",
            "The tap by the shed is not fine for the salad, there is rust in it.",
        ),
        ("Is new_cart on?", "The flag new_cart is on for everybody.", "Had to turn new_cart off again."),
    ],
)
def test_the_same_thing_may_have_changed(question: str, older: str, newer: str) -> None:
    assert changes.evidence(question, older, newer, ANSWERS).total >= changes.ENOUGH
