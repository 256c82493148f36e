"""The behaviour of every journal, wherever it is kept."""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from memoryd.core.engine import Engine
from memoryd.model import Interaction
from memoryd.store.journal import JournalStore
from tests.store.journals import BREAD, CAR, engine, journal, summary, texts, turn

ODD = ("\n\n \u2028 'a' \"b\" \\ é \U0001f600", "", " Agent Response: \nUser Prompt: ")


@pytest.fixture(scope="module", params=["records", "chroma"])
def kept_by(
    request: pytest.FixtureRequest, model_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    settings = {"MEMORY_JOURNAL_STORE": request.param}
    if request.param == "chroma":
        settings["MEMORY_CHROMA_URL"] = request.getfixturevalue("chroma")
    with TemporaryDirectory() as home, engine(Path(home), model_dir, **settings) as made:
        yield made


@pytest.fixture
def kept(kept_by: Engine) -> JournalStore:
    return journal(kept_by, str(uuid.uuid4()))


def failing() -> Iterator[Interaction]:
    yield turn(8, text=CAR)
    raise ValueError("a bad line")


# turns ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [BREAD, ODD, ("bread " * 600, "water", "flour " * 600)])
def test_a_turn_is_kept_verbatim(kept: JournalStore, text: tuple[str, str, str]) -> None:
    added = kept.add(turn(1, text=text))
    assert kept.of_session("s", 10, 0).page == [added] == [turn(1, text=text)]


def test_turns_in_the_same_millisecond_are_all_kept(kept: JournalStore) -> None:
    ids = [kept.add(turn(1, text=text)).id for text in (BREAD, CAR, BREAD)]
    assert ids == [turn(1).id, f"{turn(1).id}-2", f"{turn(1).id}-3"]
    assert texts(kept) == [BREAD[0], CAR[0], BREAD[0]]


def test_the_turns_of_a_session_are_listed_in_the_order_of_time(kept: JournalStore) -> None:
    kept.put([turn(number, id=f"z{number:02}") for number in (7, 3, 59, 1)])
    kept.add(turn(2, "other"))
    page, total = kept.of_session("s", 2, 1)
    assert [one.id for one in page] == ["z03", "z07"]
    assert total == 4
    assert kept.of_session("s", 2, 9) == ([], 4)


def test_what_bears_on_a_query_is_found_first(kept: JournalStore) -> None:
    kept.put([turn(1), turn(2, text=CAR), turn(3, "t")])
    found = kept.find("flour and yeast for bread", 2, "")
    assert {one.id for one, *_ in found.best} == {turn(1).id, turn(3).id}
    assert all(0 < score <= 1 for _, score, _ in found.best)


def test_a_query_can_be_limited_to_one_session(kept: JournalStore) -> None:
    kept.put([turn(1), turn(2, "t", text=CAR)])
    assert [one.id for one, *_ in kept.find("bread", 5, "t").best] in ([turn(2).id], [])
    assert [one.id for one, *_ in kept.find("car battery", 5, "t").best] == [turn(2).id]


def test_existing_turns_are_not_stored_again(kept: JournalStore) -> None:
    assert kept.put([turn(1), turn(2), turn(1)]) == 2
    assert kept.put([turn(1), turn(2, text=CAR), turn(3)]) == 2
    assert [one.id for one in kept.every_turn()] == [turn(1).id, turn(2).id, f"{turn(2).id}-2", turn(3).id]
    assert kept.put([turn(2, text=CAR)]) == 0


def test_many_turns_are_all_listed(kept: JournalStore) -> None:
    many = [turn(0, id=f"{number:04}") for number in range(120)]
    assert kept.put(many[::-1]) == 120
    assert list(kept.every_turn()) == many
    assert kept.of_session("s", 1_000, 0) == (many, 120)


# summaries -----------------------------------------------------------------------------------------------------------


def test_a_session_is_summarized_until_it_grows(kept: JournalStore) -> None:
    kept.put([turn(1), turn(2), turn(3, "t"), turn(0, "u")])
    assert kept.unsummarized() == ["u", "s", "t"]
    kept.put_summaries([summary(5, "s", memory_count=2), summary(5, "t", memory_count=1)])
    assert kept.unsummarized() == ["u"]
    kept.add(turn(4, "t"))
    assert kept.unsummarized() == ["u", "t"]


def test_the_summary_of_a_session_is_replaced(kept: JournalStore) -> None:
    kept.put_summaries([summary(1, "s", id="older", quality=50, technologies=("a", "b"))])
    new = kept.summarized([summary(2, "s", title="Cars", complexity=0, technologies=())])[0]
    assert new.id == "older"
    assert kept.summaries(10, 0, "") == ([new], 1)
    assert (new.quality, new.complexity, new.technologies) == (None, 0, ())


def test_summaries_are_listed_newest_first(kept: JournalStore) -> None:
    feature = summary(3, "b", category="feature")
    for one in (summary(1, "a"), feature, summary(2, "c"), summary(3, "d")):
        kept.summarized([one])
    assert [one.session_id for one in kept.summaries(3, 0, "").page] == ["b", "d", "c"]
    assert kept.summaries(5, 0, "feature") == ([feature], 1)
    assert kept.summaries(2, 3, "").total == 4


def test_an_existing_summary_stays_unchanged(kept: JournalStore) -> None:
    kept.put_summaries([summary(1, "s", id="mine")])
    assert kept.put_summaries([summary(2, "s"), summary(2, "t", id="mine"), summary(2, "u")]) == 1
    assert [one.id for one in kept.every_summary()] == ["mine", "summary_u"]


def test_summaries_are_found_within_a_category(kept: JournalStore) -> None:
    car = summary(2, "b", title="Car", summary="Why the car does not start.", category="bugfix")
    kept.put_summaries([summary(1, "a"), car])
    assert kept.find_summaries("car battery", 1, "").best[0][0] == car
    assert [one for one, *_ in kept.find_summaries("bread or car", 5, "bugfix").best] == [car]


def test_deleting_summaries_leaves_turns(kept: JournalStore) -> None:
    kept.add(turn(1))
    kept.put_summaries([summary(1, "s"), summary(1, "t")])
    assert kept.delete_summaries() == 2
    assert kept.numbers() == {"memories": 1, "summaries": 0}
    assert kept.summarized([summary(3, "s")])[0].id == "summary_s"


# both ----------------------------------------------------------------------------------------------------------------


def test_a_new_journal_is_empty(kept: JournalStore) -> None:
    assert kept.numbers() == {"memories": 0, "summaries": 0}
    assert (kept.of_session("s", 5, 0), kept.summaries(5, 0, "")) == (([], 0), ([], 0))
    assert [*kept.find("bread", 5, "").best, *kept.find_summaries("bread", 5, "other").best, *kept.unsummarized()] == []
    assert [*kept.every_turn(), *kept.every_summary()] == []
    assert kept.delete_summaries() == 0


def test_replacing_keeps_these_and_no_others(kept: JournalStore) -> None:
    kept.put([turn(1), turn(2)])
    kept.put_summaries([summary(1, "s")])
    kept.replace([turn(2), turn(3, text=CAR), turn(3), turn(2)], None)
    assert {one.id for one in kept.every_turn()} == {turn(2).id, turn(3).id, f"{turn(3).id}-2"}
    assert kept.numbers() == {"memories": 3, "summaries": 1}
    kept.replace((), (summary(2, "t"),))
    assert list(kept.every_summary()) == [summary(2, "t")]
    kept.add(turn(4))
    assert texts(kept) == [BREAD[0]]


def test_a_failure_while_replacing_changes_nothing(kept: JournalStore) -> None:
    kept.add(turn(1))
    with pytest.raises(ValueError, match="a bad line"):
        kept.replace(failing(), None)
    assert texts(kept) == [BREAD[0]]
    assert kept.numbers() == {"memories": 1, "summaries": 0}


def test_trying_out_leaves_nothing_behind(kept: JournalStore) -> None:
    kept.try_out()
    assert kept.numbers() == {"memories": 0, "summaries": 0}


def test_several_can_try_it_out_at_once(kept: JournalStore) -> None:
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(kept.try_out) for _ in range(40)]:
            done.result()


def test_workspaces_are_separate(kept_by: Engine, kept: JournalStore) -> None:
    other = journal(kept_by, str(uuid.uuid4()))
    kept.add(turn(1))
    kept.put_summaries([summary(1, "s")])
    assert other.add(turn(1, text=CAR)).id == turn(1).id
    assert [one.prompt for one, *_ in other.find("bread", 5, "").best] in ([CAR[0]], [])
    assert other.numbers() == {"memories": 1, "summaries": 0}
    other.replace((), ())
    assert kept.numbers() == {"memories": 1, "summaries": 1}
    assert texts(kept) == [BREAD[0]]


def test_a_summary_is_returned_as_given(kept: JournalStore) -> None:
    given = replace(summary(1, "s"), quality=0, productivity=100, impact=None, complexity=7)
    kept.summarized([given])
    assert kept.summaries(1, 0, "").page == [given]
