"""The newer of two facts comes first and the older one is marked, if both state the same thing differently."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memoryd.core.engine import Engine
from memoryd.core.journal.journal import Journal
from memoryd.core.scope import Scope
from memoryd.core.search import changes
from memoryd.core.search.briefing import NEAREST, UNSURE
from memoryd.core.search.candidates import Candidates, Found
from memoryd.core.search.changes import Evidence
from memoryd.core.search.current import Pair, ordered, pairs
from memoryd.core.search.ranking import RECALL
from memoryd.model import Hit, Kind, Record
from tests.core.kit import memories, with_models

CHANGED = [
    (
        "Where are the spare fuses?",
        "The spare fuses are in the drawer below the oven.",
        "The spare fuses have moved to the box beside the meter.",
    ),
    (
        "Which map library does the tracker use?",
        "The tracker draws its maps with Leaflet.",
        "We switched the tracker's maps from Leaflet to MapLibre.",
    ),
    (
        "What does a season ticket of the museum cost?",
        "A season ticket of the museum costs 48 euros.",
        "Since spring a season ticket of the museum costs 55 euros.",
    ),
    ("Does Runa drink coffee?", "Runa drinks coffee with oat milk.", "Runa no longer drinks coffee, only mint tea."),
]  # fmt: skip
BOTH = [
    (
        "What is the code of the back gate?",
        "The code of the back gate is 7719.",
        "The code of the front gate is 3302.",
    ),
    (
        "What did we pay for heating in January?",
        "Heating cost 212 euros in January.",
        "Heating cost 187 euros in February.",
    ),
    ("What is Lene allergic to?", "Lene is allergic to hazelnuts.", "Lene is allergic to cat hair."),
    ("Which languages does Oskar speak?", "Oskar speaks Danish.", "Oskar speaks Polish, too."),
]  # fmt: skip
BESIDE = ["The lease of the studio ends in June.", "Wilma collects maps of islands.", "The hedge is cut twice a year."]
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\dZ"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Engine]:
    with with_models(tmp_path_factory.mktemp("current"), model_dir) as here:
        yield here


def recalled(engine: Engine, request: pytest.FixtureRequest, question: str, texts: Sequence[str]) -> list[str]:
    """Return the lines of the answer about texts that were stored one after another, in a workspace of their own."""
    here = memories(engine, name=f"w{abs(hash(request.node.nodeid))}")
    for text in texts:
        here.store(text)
    return here.recall(question, 500).text.splitlines()


@pytest.mark.parametrize(("question", "older", "newer"), CHANGED)
def test_a_change_comes_first(
    engine: Engine, request: pytest.FixtureRequest, question: str, older: str, newer: str
) -> None:
    first, second, *_ = recalled(engine, request, question, [older, *BESIDE, newer])
    assert re.search(rf"{re.escape(newer)} \({TIME}\)$", first), "both are of one day, so the time tells"
    assert re.search(rf"{re.escape(older)} \(older, {TIME}\)$", second)


@pytest.mark.parametrize(("question", "one", "other"), BOTH)
@pytest.mark.parametrize("turned", [False, True])
def test_facts_that_both_hold_are_not_marked(
    engine: Engine, request: pytest.FixtureRequest, question: str, one: str, other: str, turned: bool
) -> None:
    texts = [other, one] if turned else [one, other]
    answer = recalled(engine, request, question, [*texts, *BESIDE])
    assert one in "\n".join(answer)
    assert "(older" not in "\n".join(answer)
    assert not re.search(TIME, "\n".join(answer)), "where nothing changed, the day is enough"


@pytest.mark.parametrize(("question", "one", "other"), BOTH[:2])
@pytest.mark.parametrize("turned", [False, True])
def test_the_question_orders_what_both_holds(
    engine: Engine, request: pytest.FixtureRequest, question: str, one: str, other: str, turned: bool
) -> None:
    first, *_ = recalled(engine, request, question, [other, one] if turned else [one, other])
    assert one in first


def test_of_three_versions_the_last_comes_first(engine: Engine, request: pytest.FixtureRequest) -> None:
    versions = [
        "The newsletter is sent on Mondays.",
        "The newsletter moved from Mondays to Wednesdays.",
        "The newsletter moved from Wednesdays to Fridays.",
    ]
    lines = recalled(engine, request, "On which day is the newsletter sent?", [*versions, *BESIDE])
    shown = [next(text for text in versions if text in line) for line in lines[:3]]
    assert shown == versions[::-1]
    assert ["(older, " in line for line in lines[:3]] == [False, True, True]


def test_turns_of_a_conversation_are_left_alone(engine: Engine, request: pytest.FixtureRequest) -> None:
    spoken = ["Rafael: The rehearsal is at 18:30.", "Rafael: No, the rehearsal was moved to 19:15."]
    lines = recalled(engine, request, "When is the rehearsal?", spoken)
    assert sorted(line.partition("] ")[2].rpartition(" (")[0] for line in lines) == sorted(spoken)
    assert not [line for line in lines if "older" in line]
    facts = recalled(engine, request, "When is the rehearsal?", [text.partition(": ")[2] for text in spoken])
    assert [line for line in facts if "older" in line], "without speakers these are facts"


def test_turns_of_the_journal_are_left_alone(engine: Engine) -> None:
    scope = Scope(engine, engine.workspaces.ensure("turns"))
    for when in ("at 18:30.", "moved to 19:15."):
        Journal(scope).add("When is the rehearsal?", "", f"The rehearsal is {when}", "one")
    assert "older" not in memories(engine, name="turns").recall("When is the rehearsal?", 500).text


def test_a_change_is_marked_in_every_format(engine: Engine) -> None:
    question, older, newer = CHANGED[0]
    here = memories(engine, name="formats")
    old, new = (here.store(text).id for text in (older, newer))
    for form in ("summary", "list", "answer"):
        assert "older, " in here.recall(question, 500, form=form).text, form
    raw = here.recall(question, 2_000, form="raw").hits
    assert [(hit.record.id, hit.changed_by) for hit in raw[:2]] == [(new, ""), (old, new)]


def test_the_tags_of_a_memory_say_what_its_text_leaves_out(engine: Engine) -> None:
    here = memories(engine, name="tagged")
    here.store("Quarrywright supports Rust 1.74 and later.", ["quarrywright"])
    here.store("The demo of quarrywright runs at demo.quarrywright.example.", ["quarrywright"])
    here.store("Licence is MPL-2.0; contributors sign off, no agreement.", ["quarrywright"])
    here.store("Licence is Apache-2.0; contributors sign an agreement.", ["heronry"])
    first, *_ = here.recall("Which licence does quarrywright have?", 500).text.splitlines()
    assert re.search(r"MPL-2\.0.*\(\d", first), "it is the other project's licence that is newer"
    here.store("The licence moved to EUPL-1.2 in version 2.", ["quarrywright"])
    first, *_ = here.recall("Which licence does quarrywright have?", 500).text.splitlines()
    assert "EUPL-1.2" in first


def test_facts_that_share_but_a_name_with_a_question_are_few(engine: Engine) -> None:
    here = memories(engine, name="names")
    for text in (
        "Marisol wants figures of waste per shop.", "Old journal files are in Marisol's cabinet.",
        "Decided with Marisol: no self-checkout this year.", "Marisol owns the chain and decides on large sums.",
        "Marisol's bike is at the workshop of Bram.", "Bram reminded Marisol of the invoices.",
        "Tamsin's birthday is 27 January.",
    ):  # fmt: skip
        here.store(text)
    assert len(here.recall("What is Marisol's birthday?", 500).hits) <= 3
    for day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday"):
        here.store(f"Marisol visits the shop in {day} Street on {day}.")
    assert len(here.recall("When does Marisol visit which shop?", 500).hits) >= 5, "what surely bears is all there"


def test_a_change_is_marked_where_nothing_surely_bears(engine: Engine, request: pytest.FixtureRequest) -> None:
    older = "Our plumber is Mr. Haldane, 01555 0142."
    newer = "Mr. Haldane has retired; Quill & Daughter look after our pipes now, 01555 0171."
    lines = recalled(engine, request, "Whom do I call about a flood in the bathroom?", [older, *BESIDE, newer])
    assert lines[0] == UNSURE
    assert [("older, " in line) for line in lines if newer in line or older in line] == [False, True]


def test_a_text_that_changes_one_fact_hardly_changes_another() -> None:
    def hit(key: str) -> Hit:
        return Hit(record=Record(id=key, kind=Kind.MEMORY, body=key, created_at="2026-03-04T00:00:00Z"), score=1.0)

    first, second, new = map(hit, ("first", "second", "new"))
    both = [Pair(old, new, 0.5, frozenset(), frozenset(), None, 0.0) for old in (first, second)]

    def older(points: float) -> list[str]:
        found = {"first": changes.ENOUGH, "second": points}
        hits = ordered([first, second, new], both, lambda pair: Evidence({"x": found[pair.older.record.id]}), {})
        assert hits[0].record.id == "new"
        return [hit.record.id for hit in hits if hit.changed_by]

    assert older(changes.ENOUGH) == ["first"]
    assert older(changes.ENOUGH + changes.ANOTHER) == ["first", "second"]


@pytest.mark.parametrize("bears", [True, False])
def test_a_change_that_was_not_found_is_no_surer_than_what_it_changes(bears: bool) -> None:
    def hit(key: str) -> Hit:
        return Hit(record=Record(id=key, kind=Kind.MEMORY, body=key, created_at="2026-03-04T00:00:00Z"), score=1.0)

    old = replace(hit("old"), bears=bears)
    pair = [Pair(old, hit("new"), 0.5, frozenset(), frozenset(), None, 0.0)]
    hits = ordered([old], pair, lambda _: Evidence({"x": changes.ENOUGH}), {})
    assert [(hit.record.id, hit.bears) for hit in hits] == [("new", bears), ("old", bears)]


@pytest.mark.parametrize(
    ("older", "newer", "named"),
    [
        (
            "Piano lessons are with Ms. Egger on Tuesdays at 16:00.",
            "Piano is with Mr. Lindt on Thursdays at 17:15.",
            True,
        ),
        ("Ebba drives the bus to the quarry.", "Nils drives the quarry bus since Ebba broke her arm.", True),
        ("The choir has 31 singers.", "The choir's spring concert is on 9 May.", False),
        ("The ferry to Hven leaves at 8:40.", "The ferry to Landskrona leaves at 9:05.", False),
    ],
)
def test_a_text_may_replace_what_it_answers_in_other_words(
    engine: Engine, request: pytest.FixtureRequest, older: str, newer: str, named: bool
) -> None:
    here = memories(engine, name=f"w{abs(hash(request.node.nodeid))}")
    for text in [*BESIDE, older]:
        here.store(text)
    may_replace = here.store(newer, suggest=True).may_replace
    assert [one.text for one in may_replace] == ([older] if named else [])


@pytest.mark.parametrize(("points", "shown"), [(changes.POSSIBLE, True), (changes.POSSIBLE - 0.1, False)])
def test_what_may_be_a_change_is_shown_beside_what_bears(points: float, shown: bool) -> None:
    def hit(key: str, *, bears: bool) -> Hit:
        record = Record(id=key, kind=Kind.MEMORY, body=key, created_at="2026-03-04T00:00:00Z")
        return Hit(record=record, score=1.0, bears=bears)

    best, next_one, new = hit("best", bears=True), hit("next", bears=True), hit("new", bears=False)
    pair = [Pair(best, new, 0.5, frozenset(), frozenset(), None, 0.0)]
    hits = ordered([best, next_one], pair, lambda _: Evidence({"x": points}), {})
    assert [(hit.record.id, hit.bears, hit.changed_by) for hit in hits] == (
        [("best", True, ""), ("new", True, ""), ("next", True, "")]
        if shown
        else [("best", True, ""), ("next", True, "")]
    )
    unsure = [replace(best, bears=False)]
    pair = [replace(pair[0], older=unsure[0])]
    assert len(ordered(unsure, pair, lambda _: Evidence({"x": points}), {})) == 1, "what does not bear has none beside"


def test_facts_without_vectors_are_compared_with_none() -> None:
    """As if they were stored a moment ago, among texts in two languages that are too long for a statement."""
    fact = Hit(record=Record(id="a", kind=Kind.MEMORY, body="Ulm", created_at="2026-03-04T00:00:00Z"), score=1.0)
    found = Found("Where?", Candidates({}), {"a": fact.record}, {}, across={"b": np.ones((1, 2), np.float32)})
    assert pairs([fact], found, RECALL) == []


def test_of_a_time_what_has_a_word_of_the_rest_of_the_question_bears(
    engine: Engine, request: pytest.FixtureRequest
) -> None:
    decision = "Decision: the shop will take Klarna from January, PayPal stays."
    near = "Frau Lindqvist asked for the October receipts by Friday; three are missing from Adobe."
    crates = [f"Crate {number} holds {number * 7} plum jars." for number in range(1, 60)]
    lines = recalled(engine, request, "Which decisions did we take this week?", [decision, near, *crates])
    assert any(decision in line for line in lines)
    assert not [line for line in lines if "Crate" in line]


def test_a_time_of_which_everything_is_adds_nothing(engine: Engine, request: pytest.FixtureRequest) -> None:
    desks = [f"Room {number} of the school has {number * 3} desks and a piano." for number in range(1, 40)]
    assert len(recalled(engine, request, "Which rooms got money for beamers this year?", desks)) <= 1 + NEAREST


def test_a_text_that_happens_to_have_the_words_of_a_sentence_does_not_answer_it(
    engine: Engine, request: pytest.FixtureRequest
) -> None:
    minutes = (
        "The kiosk's lease runs until March 2028. On Sundays some forty people come past. The new contact at the "
        "estates office is Ms. Ferro, who wants figures of the first quarter before she decides on longer hours."
    )
    calls = "Phone calls only when something is on fire; everything else as text."
    lines = recalled(engine, request, "How should people contact me?", [minutes, calls, *BESIDE])
    assert lines[0] == UNSURE
    assert any(calls in line for line in lines)
    words = recalled(engine, request, "people contact", [])
    assert any(minutes[:30] in line for line in words), "a list of words is looked up"
