"""Which hits bear on a question, which are only related to it, and what the cross-encoder reads to tell."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Criteria
from memoryd.core.scope import Scope
from memoryd.core.search import ranking
from memoryd.core.search.briefing import RELATED
from memoryd.core.search.candidates import Candidates, Found
from memoryd.core.search.pipeline import Search
from memoryd.core.search.reranking import Reranking
from memoryd.errors import ModelError
from memoryd.model import Filter, Hit, Kind, Record
from memoryd.models import helpers
from memoryd.models.helpers import Helpers
from memoryd.settings import Settings
from tests.clients import environment
from tests.core.kit import memories, with_models

COAST = [
    "Anselm: The lamp in the lighthouse has to be cleaned every morning before the boats go out.",
    "Anselm: There are two hundred and twelve steps up to the lamp room.",
    "Marit: The farmer at the coast road has sown rapeseed again, the whole hill is yellow.",
    "Marit: When the fog came in we could hear the horn, but the lighthouse itself was gone.",
    "Anselm: I walked down to the harbour to buy bread and a new pair of gloves.",
]
ASKED = "lighthouse lamp rapeseed steps fog Anselm"


@pytest.fixture(scope="module")
def coast(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Engine]:
    with with_models(tmp_path_factory.mktemp("coast"), model_dir) as here:
        for turn in COAST:
            memories(here, "one").store(turn)
        yield here


def test_hits_far_behind_the_best_are_for_callers_who_ask_for_more(coast: Engine) -> None:
    asked = "lighthouse lamp"
    default, whole = memories(coast).recall(asked, 500), memories(coast).recall(asked, 501)
    assert all(hit.bears for hit in default.hits)
    assert default.text == whole.text.split(f"\n\n{RELATED}\n")[0]
    others = [hit for hit in whole.hits if not hit.bears]
    assert 0 < len(others) <= len(default.hits)


def test_the_answers_come_first(coast: Engine) -> None:
    whole = memories(coast).recall(ASKED, 2_000)
    shown = [hit.record.body for hit in whole.hits]
    assert set(shown[:2]) == set(COAST[:2])
    scores = [hit.score for hit in whole.hits]
    assert scores == sorted(scores, reverse=True)
    first = memories(coast).recall(ASKED, 40).hits[0]
    assert first.record.body == shown[0], "a small budget gets the best"


def test_hits_that_are_only_related_are_not_forgotten_by_query(coast: Engine) -> None:
    asked = "How many steps are there up to the lamp room?"
    assert len(memories(coast).recall(asked, 2_000).hits) > 1
    gone = memories(coast).forget(Criteria(query=asked), dry_run=True).best
    assert [memory.body for memory in gone] == [COAST[1]]


def test_a_question_without_relevant_records_gets_nothing(coast: Engine) -> None:
    assert memories(coast).recall("Which TLS version does the billing API require?", 2_000).hits == ()


class Fixed:
    """A reranker with a logit for each text."""

    name = "fixed"

    def __init__(self, logits: Mapping[str, float]) -> None:
        self._logits = logits

    def reads(self, text: str) -> bool:
        return bool(text)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        assert query
        return [self._logits[text] for text in texts]


TURN, ANSWER, NOTED = (
    "Who has the key?",
    "It hangs behind the door. " * 36,
    "The library closes at six on Fridays. " * 20,
)


@pytest.mark.parametrize(
    ("logit", "shown"), [(8.0, {TURN: True, ANSWER: False}), (ranking.RECALL.least - 1, {TURN: False})]
)
def test_turns_next_to_an_answer_are_related(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, logit: float, shown: dict[str, bool]
) -> None:
    records = {body: Record(id=body, kind=Kind.MEMORY, body=body, session_id="one") for body in (TURN, ANSWER, NOTED)}
    fixed = Fixed({TURN: logit, ANSWER: -12.0, NOTED: -12.0})
    monkeypatch.setattr(helpers, "load_reranker", lambda *_: fixed)
    vectors = {TURN: (1.0, 0.0, 0.0), ANSWER: (0.5, 0.8, 0.0), NOTED: (0.2, 0.0, 0.9)}
    found = Found(
        "Where is the spare key?", Candidates({TURN: 1.0}), records,
        {body: np.array([vector], np.float32) for body, vector in vectors.items()},
        beside={TURN: {1: ANSWER, 2: NOTED}},
    )  # fmt: skip
    why = dict.fromkeys(("meaning", "context"), 0.0)
    hits = [Hit(record=record, score=0.5, why=why | {"words": float(body == TURN)}) for body, record in records.items()]
    settings = Settings.read(environment(tmp_path) | {"MEMORY_RERANKER": "fastembed"})
    reranked = Reranking(Helpers(settings), ranking.RECALL).rerank(hits, found)
    bears = {hit.record.body: hit.bears for hit in reranked.best}
    assert bears == shown, "notes of one session are less closely related"


class Broken(Fixed):
    """A reranker that breaks."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        raise ModelError("It broke. Mend it.")


def test_a_reranker_that_failed_counts_as_absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(helpers, "load_reranker", lambda *_: Broken({}))
    here = Helpers(Settings.read(environment(tmp_path) | {"MEMORY_EMBEDDER": "none", "MEMORY_RERANKER": "fastembed"}))
    record = Record(id="a", kind=Kind.MEMORY, body=TURN)
    found = Found("Where is the key?", Candidates({"a": 1.0}), {"a": record}, {})
    hits, reranking = [Hit(record=record, score=0.5)], Reranking(here, ranking.RECALL)
    assert reranking.rerank(hits, found).degraded == f"Not reranked: {helpers.UNUSABLE['reranker']}."
    assert here.reranker.get(10) is None
    assert here.states()["reranker"] == "fastembed: It broke. Mend it."
    assert here.patience == 0, "no caller waits while it is loaded again"
    assert reranking.rerank(hits, found).degraded == f"Not reranked: {helpers.UNUSABLE['reranker']}."


def test_reading_continues_while_hits_come_close_to_the_best(coast: Engine) -> None:
    profile = ranking.RECALL
    here = memories(coast, "one", "many")
    for number in range(profile.most + 2):
        here.store(f"Anselm: I counted {number + 3} boats from the harbour wall {number}.")
    here.store("Marit: My bicycle is red, and it has a basket.")
    search = Search(Scope(coast, coast.workspaces.ensure("many"), "one"), profile)

    def read(question: str) -> list[Hit]:
        return [hit for hit in search.hits(question, Filter()).best if "reranker" in hit.why]

    assert len(read("How many boats did Anselm count from the wall?")) == profile.most
    red, *others = read("Which colour is the bicycle of Marit?")
    assert "red" in red.record.body
    assert len(others) < profile.head


def test_reading_continues_only_while_it_may_change_the_top() -> None:
    profile = ranking.RECALL
    best = {f"read {rank}": float(-rank) for rank in range(profile.head)}
    far = {key: logit if key == "read 0" else logit - 10 for key, logit in best.items()}
    assert ranking.promising(list(best), best, best, profile)
    assert not ranking.promising(list(far), far, far, profile), "the last hits that were read are far behind the best"
    beside = {f"next {rank}": 0.0 for rank in range(profile.further)}
    assert ranking.promising(list(beside), best | beside, best | beside, profile), "an answer is among them"
    unsure = dict.fromkeys(best, profile.sure - 1)
    assert ranking.promising(list(unsure), unsure, unsure, profile), "one more group may have an answer"
    more = dict.fromkeys(beside, profile.sure - 1)
    assert not ranking.promising(list(more), unsure | more, unsure | more, profile)


def test_for_a_prompt_little_is_read_if_nothing_comes_near_an_answer() -> None:
    profile = ranking.PROMPT
    hopeless = {f"read {rank}": profile.begun - 1 for rank in range(profile.head)}
    assert not ranking.promising(list(hopeless), hopeless, hopeless, profile)
    doubtful = hopeless | {"read 1": profile.begun}
    assert ranking.promising(list(doubtful), doubtful, doubtful, profile), "one that was not read may answer"


def test_the_parts_explain_the_score(coast: Engine) -> None:
    profile = ranking.RECALL
    for hit in Search(Scope(coast, coast.workspaces.ensure("default"))).hits(ASKED, Filter()).best:
        why = hit.why
        assert why["composite"] == pytest.approx(ranking.composite(why, profile))
        total = why["lifted"] + profile.prior * why["composite"] / profile.fusion
        assert hit.score == pytest.approx(ranking.probability(total))


def test_the_speaker_neighbours_and_session_raise_a_record() -> None:
    lengths = dict.fromkeys("abcd", 100)
    named = ranking.favour({"a": 0.5, "b": 0.5}, {"b"}, 0.1)
    assert named == {"a": 0.5, "b": 0.6}
    beside = {"a": {"b": 0.5, "c": 0.5}}
    assert ranking.answered(beside, set(), {"a": "b"}, ranking.RECALL) == beside
    answered = ranking.answered(beside, {"a"}, {"a": "b"}, ranking.RECALL)
    lifted = ranking.lift({"a": 1.0}, answered, lengths, ranking.RECALL)
    assert 1.0 > lifted["b"] > lifted["c"] > 0, "the record after a question answers it"
    sessions = {"a": "one", "b": "one", "c": "two", "d": None}
    scores = {"a": 1.0, "b": 0.5, "c": 0.5, "d": 0.5}
    raised = ranking.lift_in_sessions(scores, sessions, lengths, ranking.RECALL)
    assert (raised["a"], raised["c"], raised["d"]) == (1.0, 0.5, 0.5)
    assert raised["b"] > 0.5


def test_records_bear_on_a_question_by_their_distance_to_the_best() -> None:
    profile = ranking.RECALL
    logits = {"best": 4.0, "near": 0.0, "far": -4.0, "further": -4.1, "hopeless": -11.2}
    assert ranking.bearing(logits, profile) == {"best", "near", "far"}
    assert ranking.bearing({**logits, "best": 0.5}, profile) == {"best", "near", "far", "further"}
    weak = {"best": profile.sure, "least": profile.least, "below": profile.least - 0.1}
    assert ranking.bearing(weak, profile) == {"best", "least"}
    assert ranking.bearing({**weak, "best": profile.sure - 0.1}, profile) == set(), "nothing is sure"
    assert ranking.bearing({}, profile) == set()


def test_if_nothing_is_sure_meaning_says_more_than_the_logits() -> None:
    profile = ranking.RECALL

    def total(logit: float, near: float, words: float = 0.0) -> float:
        return ranking.doubt(logit, near, {"words": words}, profile)

    assert total(-11.2, 0.3) > total(-9.5, 0.2), "near the floor"
    assert total(-5.0, 0.2) > total(-11.2, 0.3), "what is nearly sure stays ahead"
    assert total(-11.2, 0.3) > total(-11.2, 0.29, words=1.0), "it has read what has the words"
    assert ranking.doubt(-9.0, 0.2, {"time": 1.0}, profile) > total(-9.0, 0.2), "a time that is named still counts"


def test_a_score_is_about_a_probability() -> None:
    totals = [-20.0, -4.0, 0.0, 4.3, 8.0, 11.3, 20.0]
    scores = [ranking.probability(total) for total in totals]
    assert scores == sorted(scores)
    assert (ranking.probability(4.3), ranking.probability(11.3) > 0.9, ranking.probability(-0.7) < 0.15) == (
        0.5, True, True,
    )  # fmt: skip
