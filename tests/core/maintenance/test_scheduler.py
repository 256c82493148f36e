"""Maintenance: duplicates are merged, contradicted memories are superseded, decayed ones are compacted."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Timer

import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import proposals, scheduler
from memoryd.core.maintenance.actions import BY_WORDS, Act
from memoryd.core.maintenance.history import entries, restore
from memoryd.core.maintenance.scheduler import Maintenance, maintain
from memoryd.core.scope import Scope
from memoryd.errors import BusyError, ModelError, NotFoundError
from memoryd.models import helpers
from memoryd.models.llm import CountingWriter, Llm, load_llm
from memoryd.settings import Settings
from memoryd.store.base import Row
from memoryd.text import estimate_tokens
from tests.clients import Json, environment
from tests.core.kit import memories, never
from tests.llm import Model, model

SAME = ("The user doesn't like dark mode.", "The user does not like dark mode.")
BERLIN, LISBON = "The user lives in Berlin.", "The user moved to Lisbon last week."


@pytest.fixture
def llm() -> Iterator[Model]:
    with model() as found:
        yield found


@pytest.fixture
def one(tmp_path: Path, model_dir: Path) -> Iterator[Engine]:
    """An engine with the bundled embedder and no language model."""
    with opened(tmp_path, model_dir) as made:
        yield made


@pytest.fixture
def writing(tmp_path: Path, model_dir: Path, llm: Model) -> Iterator[Engine]:
    """An engine with a language model, for which everything has decayed immediately."""
    everything = {"MEMORY_DECAY_THRESHOLD": "1", "MEMORY_COMPACTION_MIN_GROUP": "3"}
    with opened(tmp_path, model_dir, **llm.settings(), **everything) as made:
        yield made


def opened(home: Path, models: Path, **more: str) -> Engine:
    return Engine(Settings.read(environment(home, models, MEMORY_RERANKER="none", **more)), fetch=False)


def store(of: Engine, *texts: str, importance: float = 0.5) -> list[str]:
    ids = [memories(of).store(text, [f"t{at}"], importance).id for at, text in enumerate(texts)]
    of.embedding.complete(lambda _: None)
    return ids


def done(of: Engine, *, dry_run: bool = False, compacting: bool = False) -> list[Act]:
    place = of.workspaces.ensure("default")
    return list(maintain(of, place, never, compacting=compacting, dry_run=CountingWriter() if dry_run else None))


def living(of: Engine) -> list[str]:
    return sorted(hit.record.body for hit in memories(of).recent(100))


def fresh(of: Engine) -> list[Row]:
    """The memories that are not consolidated yet."""
    place = of.workspaces.ensure("default")
    return of.store.read(place, lambda q: q.all("maintenance.fresh", limit=99, time="", id=""))


def graph(of: Engine) -> Graph:
    return Graph(Scope(of, of.workspaces.ensure("default")))


def judging(verdict: Callable[[Json], str | None]) -> Callable[[Json], tuple[int, str]]:
    """A model that gives each pair the verdict of `verdict`."""

    def reply(body: Json) -> tuple[int, str]:
        lines = [line for line in body["messages"][-1]["content"].splitlines() if line.startswith('{"number"')]
        given = [(pair["number"], verdict(pair)) for pair in map(json.loads, lines)]
        verdicts = [{"number": number, "verdict": word, "reason": "so it is"} for number, word in given if word]
        return 200, json.dumps({"verdicts": verdicts})

    return reply


def contradicted(pair: Json) -> str:
    return "contradiction" if "Berlin" in pair["older"]["text"] and "Lisbon" in pair["newer"]["text"] else "distinct"


# consolidation -------------------------------------------------------------------------------------------------------


@pytest.mark.stores
def test_a_near_duplicate_is_merged_into_the_older_memory(one: Engine) -> None:
    older, newer = store(one, *SAME)
    (act,) = done(one)
    assert (act.ending, act.by.id, [memory.id for memory in act.gone]) == ("merged", older, [newer])
    assert living(one) == [SAME[0]]


@pytest.mark.parametrize(
    "other", ["The user doesn't like dark mode 2.", "The user likes dark mode.", "The admin doesn't like dark mode."]
)
def test_different_memories_are_kept(one: Engine, other: str) -> None:
    store(one, SAME[0], other)
    assert done(one) == []
    assert len(living(one)) == 2


@pytest.mark.stores
def test_a_merge_keeps_tags_importance_and_recalls_and_can_be_undone(one: Engine) -> None:
    (older,) = store(one, SAME[0])
    (newer,) = [memories(one).store(SAME[1], ["second"], 0.9).id]
    one.embedding.complete(lambda _: None)
    done(one)
    (kept,) = memories(one).get([older])
    assert (kept.record.tags, kept.record.importance) == (("t0", "second"), 0.9)
    restore(graph(one), [newer])
    again = memories(one).get([older, newer])
    assert [(hit.record.tags, hit.record.importance) for hit in again] == [(("t0",), 0.5), (("second",), 0.9)]
    assert done(one) == []  # they are not merged again


def test_a_dry_run_lists_acts_and_changes_nothing(one: Engine) -> None:
    store(one, *SAME)
    assert [act.ending for act in done(one, dry_run=True)] == ["merged"]
    assert len(living(one)) == 2
    assert [act.ending for act in done(one)] == ["merged"]


def test_memories_are_consolidated_once(one: Engine) -> None:
    store(one, BERLIN, LISBON)
    done(one)
    assert fresh(one) == []


def test_memories_without_vectors_are_judged_later(writing: Engine) -> None:
    one = writing
    memories(one).store("x" * 9_000)  # too long to be embedded at once
    done(one)
    assert len(fresh(one)) == 1


@pytest.mark.stores
def test_a_contradicted_memory_is_superseded_with_the_reason(writing: Engine, llm: Model) -> None:
    llm.reply = judging(contradicted)
    older, newer = store(writing, BERLIN, LISBON)
    (act,) = done(writing)
    assert (act.ending, act.gone[0].id, act.by.id) == ("superseded", older, newer)
    (entry,) = entries(graph(writing), 10)
    assert entry.reason.startswith("so it is (test at 127.0.0.1")
    assert living(writing) == [LISBON]


def test_a_memory_stored_again_is_newer_than_those_in_between(writing: Engine, llm: Model) -> None:
    llm.reply = judging(lambda pair: "contradiction" if "Berlin" in pair["newer"]["text"] else "distinct")
    store(writing, BERLIN, LISBON)
    store(writing, BERLIN)
    done(writing)
    assert living(writing) == [BERLIN]


def test_a_memory_too_long_for_the_prompt_is_not_judged(writing: Engine, llm: Model) -> None:
    llm.reply = judging(lambda _: "duplicate")
    store(writing, *(f"{'The minutes of the meeting about tea. ' * 40}It ended at {time}." for time in ("5", "6")))
    assert done(writing) == []


@pytest.mark.parametrize("reply", ["twice", "neither", "prose", "nothing", "refusal"])
def test_a_model_that_contradicts_itself_or_fails_changes_nothing(writing: Engine, llm: Model, reply: str) -> None:
    store(writing, BERLIN, LISBON)
    both = [{"number": 1, "verdict": verdict, "reason": ""} for verdict in ("duplicate", "contradiction")]
    answers = {
        "twice": (200, json.dumps({"verdicts": both})),
        "neither": (200, json.dumps({"verdicts": []})),
        "prose": (200, "I would say the second one."),
        "nothing": (200, ""),
        "refusal": (401, {"error": "no"}),
    }
    llm.reply = lambda _: answers[reply]
    assert done(writing) == []
    assert living(writing) == [BERLIN, LISBON]


def test_pairs_that_a_failing_model_did_not_judge_are_judged_later(writing: Engine, llm: Model) -> None:
    store(writing, BERLIN, LISBON)
    llm.fails(500)
    done(writing)
    llm.reply = judging(contradicted)
    assert [act.ending for act in done(writing)] == ["superseded"]


def test_proposals_of_a_model_are_accepted_or_refused_one_by_one(writing: Engine, llm: Model) -> None:
    place = writing.workspaces.ensure("default")
    store(writing, BERLIN, LISBON)
    assert proposals.proposals(writing, place) == []
    llm.fails(500)
    with pytest.raises(ModelError, match="500"):
        proposals.judged(writing, place)
    llm.reply = judging(contradicted)
    (act,) = proposals.judged(writing, place)
    assert (act.ending, living(writing)) == ("superseded", [BERLIN, LISBON])
    key = proposals.key_of(act)
    with pytest.raises(NotFoundError):
        proposals.accept(writing, place, key)
    proposals.accept(writing, place, key, act)
    assert living(writing) == [LISBON]
    with pytest.raises(NotFoundError):
        proposals.accept(writing, place, key, act)
    restore(graph(writing), [act.gone[0].id])
    assert proposals.judged(writing, place) == []


@pytest.mark.stores
def test_a_refused_proposal_of_a_model_is_not_proposed_again(writing: Engine, llm: Model) -> None:
    place = writing.workspaces.ensure("default")
    store(writing, BERLIN, LISBON)
    llm.reply = judging(contradicted)
    (act,) = proposals.judged(writing, place)
    proposals.refuse(writing, place, proposals.key_of(act), act)
    assert proposals.judged(writing, place) == done(writing) == []
    proposals.take_back(writing, place, [act.gone[0].id])
    assert len(proposals.judged(writing, place)) == 1


# models that are not ready, and memories not judged yet --------------------------------------------------------------


@pytest.mark.parametrize("state", ["idle", "broken"])
def test_while_a_models_client_is_not_loaded_nothing_counts_as_judged(
    tmp_path: Path, model_dir: Path, llm: Model, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    llm.reply = judging(contradicted)
    loads = Event()

    def load(settings: Settings) -> Llm | None:
        if state == "broken":
            raise ModelError("openai is not installed.")
        loads.wait(20)
        return load_llm(settings)

    monkeypatch.setattr(helpers, "load_llm", load)
    monkeypatch.setattr(helpers, "PATIENCE", 0.01)  # of callers, not of maintenance
    with opened(tmp_path, model_dir, **llm.settings()) as one:
        store(one, BERLIN, LISBON, *SAME)
        assert one.helpers.writer() is None
        Timer(0.3, loads.set).start()
        endings = [act.ending for act in done(one)]
        if state == "broken":
            assert endings == ["merged"], "words still decide"
            assert len(fresh(one)) == 3
        else:
            assert sorted(endings) == ["merged", "superseded"]


def unjudged(of: Engine) -> int:
    return len(scheduler._unjudged(of, of.workspaces.ensure("default"), 99))


def test_memories_settled_by_words_are_judged_once_a_model_is_configured(
    tmp_path: Path, model_dir: Path, llm: Model
) -> None:
    with opened(tmp_path, model_dir) as one:
        store(one, BERLIN, LISBON, *TEAS)
        assert done(one) == []
        assert (len(fresh(one)), unjudged(one)) == (0, 5)
    llm.reply = judging(contradicted)
    with opened(tmp_path, model_dir, **llm.settings()) as one:
        one.embedding.complete(lambda _: None)
        counted = CountingWriter()
        assert list(maintain(one, one.workspaces.ensure("default"), never, dry_run=counted)) == []
        assert (counted.prompts, llm.asked) == (1, [])
        assert [act.ending for act in done(one)] == ["superseded"]
        (body,) = llm.asked
        asked = sum(estimate_tokens(message["content"]) for message in body["messages"]) + body["max_tokens"]
        assert counted.tokens == asked
        assert done(one) == []
        assert len(llm.asked) == 1, "each pair once"
        store(one, "Something else.")
        done(one)
        assert unjudged(one) == 0


def test_a_server_judges_older_memories_a_batch_at_a_time(tmp_path: Path, model_dir: Path, llm: Model) -> None:
    with opened(tmp_path, model_dir) as one:
        store(one, *TEAS, BERLIN, LISBON)
        done(one)
    llm.reply = judging(contradicted)
    few = llm.settings(MEMORY_CONSOLIDATION_BATCH_SIZE="2")
    with opened(tmp_path, model_dir, **few) as one:
        one.embedding.complete(lambda _: None)
        chores = Maintenance(one)
        left = []
        for _ in range(4):
            chores.catch_up(never)
            left.append(unjudged(one))
        assert left == [3, 1, 0, 0]
        assert BERLIN not in living(one)
        chores.follow(never)


def test_if_the_model_fails_older_memories_are_judged_later(tmp_path: Path, model_dir: Path, llm: Model) -> None:
    with opened(tmp_path, model_dir) as one:
        store(one, BERLIN, LISBON)
        done(one)
    llm.fails(401)
    with opened(tmp_path, model_dir, **llm.settings()) as one:
        one.embedding.complete(lambda _: None)
        done(one)
        assert unjudged(one) == 2
        llm.reply = judging(contradicted)
        assert [act.ending for act in done(one)] == ["superseded"]


@pytest.mark.stores
def test_without_vectors_nothing_counts_as_judged(tmp_path: Path, model_dir: Path, llm: Model) -> None:
    with opened(tmp_path, model_dir, MEMORY_EMBEDDER="none", **llm.settings()) as one:
        memories(one).store(BERLIN)
        done(one)
        assert (llm.asked, fresh(one)) == ([], [])
        (row,) = one.store.read(
            one.workspaces.ensure("default"), lambda q: q.all("moved.memory_details_first", limit=9)
        )
        assert row["consolidated"] == BY_WORDS


# compaction ----------------------------------------------------------------------------------------------------------

TEAS = ("The team drank green tea in May.", "The team drank black tea in June.", "The team drank white tea in July.")
SUMMARY = "They drank tea from May to June."


def summarizing(body: Json) -> tuple[int, str]:
    """A model that keeps all pairs, and summarizes the first two of some memories in one statement."""
    answer = {"statements": [{"text": SUMMARY, "sources": [1, 2]}]}
    return 200, json.dumps(answer if "Memories:" in body["messages"][-1]["content"] else {"verdicts": []})


def test_decayed_memories_are_replaced_by_a_summary_that_refers_to_them(writing: Engine, llm: Model) -> None:
    llm.reply = summarizing
    store(writing, *TEAS, importance=0.7)
    (act,) = done(writing, compacting=True)
    assert living(writing) == sorted([TEAS[2], SUMMARY])  # no statement rests on July
    (summary,) = [hit.record for hit in memories(writing).get([act.by.id])]
    assert (summary.importance, summary.tool, summary.tags) == (0.7, "maintenance", ("t0", "t1"))


@pytest.mark.parametrize("summary_first", [True, False])
def test_a_summary_and_its_originals_may_be_restored_together(
    writing: Engine, llm: Model, *, summary_first: bool
) -> None:
    llm.reply = summarizing
    store(writing, *TEAS)
    (act,) = done(writing, compacting=True)
    originals = [memory.id for memory in act.gone]
    restore(graph(writing), [act.by.id, *originals] if summary_first else [*originals, act.by.id])
    assert living(writing) == sorted(TEAS)


@pytest.mark.parametrize("text", [" \n", "tea " * 9_000])
def test_a_summary_that_says_nothing_or_too_much_replaces_nothing(writing: Engine, llm: Model, text: str) -> None:
    answer = {"statements": [{"text": text, "sources": [1, 2]}], "verdicts": []}
    llm.reply = lambda _: (200, json.dumps(answer))
    store(writing, *TEAS)
    assert done(writing, compacting=True) == []
    assert living(writing) == sorted(TEAS)


def test_undoing_a_compaction_restores_all_originals(writing: Engine, llm: Model) -> None:
    llm.reply = summarizing
    store(writing, *TEAS)
    (act,) = done(writing, compacting=True)
    (undone,) = restore(graph(writing), [act.by.id])
    assert undone.along == 2
    assert living(writing) == sorted(TEAS)


def test_restoring_the_last_original_deletes_the_summary(writing: Engine, llm: Model) -> None:
    llm.reply = summarizing
    store(writing, *TEAS)
    (act,) = done(writing, compacting=True)
    restore(graph(writing), [memory.id for memory in act.gone])
    assert living(writing) == sorted(TEAS)


def test_without_a_language_model_nothing_is_compacted(tmp_path: Path, model_dir: Path) -> None:
    with opened(tmp_path, model_dir, MEMORY_DECAY_THRESHOLD="1", MEMORY_COMPACTION_MIN_GROUP="3") as one:
        store(one, *TEAS)
        assert done(one, compacting=True) == []


# schedule ------------------------------------------------------------------------------------------------------------


def test_maintenance_is_due_after_the_configured_number_of_stores(tmp_path: Path, model_dir: Path) -> None:
    with opened(tmp_path, model_dir, MEMORY_MAINTENANCE_INTERVAL="3") as one:
        chores = Maintenance(one)
        store(one, *SAME)
        chores.follow(never)
        assert len(living(one)) == 2
        store(one, "Something else.")
        chores.follow(never)
        assert living(one) == ["Something else.", SAME[0]]


def test_a_pass_without_anything_to_compact_delays_no_compaction_and_a_compaction_does(
    tmp_path: Path, model_dir: Path, llm: Model
) -> None:
    llm.reply = summarizing
    soon = {"MEMORY_DECAY_THRESHOLD": "1", "MEMORY_COMPACTION_MIN_GROUP": "3", "MEMORY_MAINTENANCE_INTERVAL": "3"}
    with opened(tmp_path, model_dir, **llm.settings(**soon)) as one:
        store(one, "Something else.")
        chores = Maintenance(one)
        chores.catch_up(never)
        store(one, *TEAS)
        chores.follow(never)
        assert living(one) == sorted(["Something else.", TEAS[2], SUMMARY])
        more = [text.replace("tea", "juice") for text in TEAS]
        store(one, *more)
        chores.follow(never)
        assert set(more) <= set(living(one))


def test_unfinished_work_is_done_at_the_start(tmp_path: Path, model_dir: Path) -> None:
    with opened(tmp_path, model_dir) as one:
        store(one, *SAME)
    with opened(tmp_path, model_dir) as another:
        another.embedding.complete(lambda _: None)
        Maintenance(another).catch_up(never)
        assert living(another) == [SAME[0]]


@pytest.mark.stores
def test_one_process_at_a_time_maintains_a_workspace(one: Engine, tmp_path: Path, model_dir: Path) -> None:
    place = one.workspaces.ensure("default")
    with opened(tmp_path, model_dir) as other, other.leases.alone(f"maintain {place.id}") as mine:
        assert mine
        with pytest.raises(BusyError, match="Another process is maintaining the workspace 'default'"):
            done(one)


@pytest.mark.stores
def test_memories_that_changed_meanwhile_are_left_alone(one: Engine) -> None:
    store(one, *SAME)
    (act,) = done(one, dry_run=True)
    place = one.workspaces.ensure("default")
    one.write(place, lambda q: q.run("records.delete", ids=json.dumps([act.by.id]), now=one.clock.now()))
    assert scheduler.do(one, place, act) is False
    assert living(one) == [SAME[1]]


def test_a_model_that_fails_is_asked_once_a_pass_and_words_still_decide(
    tmp_path: Path, model_dir: Path, llm: Model
) -> None:
    llm.fails(401)
    few = {"MEMORY_CONSOLIDATION_BATCH_SIZE": "2", "MEMORY_MAINTENANCE_INTERVAL": "2"}
    with opened(tmp_path, model_dir, **llm.settings(**few)) as one:
        store(one, BERLIN, LISBON, *TEAS, *SAME)
        chores = Maintenance(one)
        chores.follow(never)
        assert len(llm.asked) == 1
        assert len(living(one)) == 6
        assert len(fresh(one)) == 6  # and all of them are considered again
        store(one, "Something else.", "And more.")
        chores.follow(never)  # not before the next catch_up
        assert len(llm.asked) == 1


@pytest.mark.stores
def test_restored_memories_are_permanently_left_alone(writing: Engine, llm: Model) -> None:
    llm.reply = summarizing
    store(writing, *TEAS, *SAME)
    acts = done(writing, compacting=True)
    for act in acts:
        restore(graph(writing), [act.by.id] if act.ending == "compacted" else [act.gone[0].id])
    for text in (*TEAS, *SAME):
        memories(writing).store(text)  # stored again
    assert done(writing, compacting=True) == []
    assert living(writing) == sorted([*TEAS, *SAME])
