"""Changes to records can be listed and undone, all or none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import as_of, entities, observations, relations, renaming, report, view
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.names import named
from memoryd.core.graph.observations import Deletion
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import purging
from memoryd.core.maintenance.history import BEGINNING, HistoryFilter, entries, restore
from memoryd.core.memories import correction, listing
from memoryd.core.memories.correction import Correction
from memoryd.core.memories.listing import Facets
from memoryd.core.memories.memories import Criteria
from memoryd.core.memories.vault import Vault
from memoryd.core.records.records import written_by
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.settings import Settings
from tests.clients import environment
from tests.core.kit import memories, never, ollama, with_ollama

pytestmark = pytest.mark.stores


def engine(home: Path, **more: str) -> Engine:
    return Engine(Settings.read(environment(home, None, **more)), fetch=False)


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Engine]:
    with engine(tmp_path) as made:
        yield made


@pytest.fixture
def graph(one: Engine) -> Graph:
    """Ann, who works at Acme and likes tea."""
    made = Graph(Scope(one, one.workspaces.ensure("default")))
    news = [
        NewEntity(name="Ann", type="person", observations=("works there", "likes tea")),
        NewEntity(name="Acme", type="firm"),
    ]
    entities.create(made, news)
    relations.create(made, [Edge("Ann", "Acme", "works_at")])
    return made


def last(graph: Graph, kind: str) -> str:
    """The id of the record of a kind that was touched last."""
    return next(entry.id for entry in entries(graph, 100) if entry.kind == kind)


def facts(graph: Graph) -> list[str]:
    found = graph.read(lambda q: q.one("history.holder", kind="entity", name="Ann"))
    assert found is not None
    return [one.content for one in graph.read(lambda q: observations.of(q, [found["id"]]))[found["id"]]]


def test_a_restored_memory_is_found_again(one: Engine, graph: Graph) -> None:
    kept = memories(one)
    stored = kept.store("The office is in Berlin.", ["place"])
    kept.forget(Criteria(ids=(stored.id,)))
    (done,) = restore(graph, [stored.id])
    assert (done.id, done.text) == (stored.id, "The office is in Berlin.")
    assert [hit.record.id for hit in kept.recall("office", 500, tags=["place"]).hits] == [stored.id]
    assert entries(graph, 100) == []


def test_the_latest_change_is_first_with_the_current_text(one: Engine, graph: Graph) -> None:
    old = memories(one).store("The database is MySQL.")
    new = memories(one).store("The database is Postgres.", supersedes=[old.id])
    observations.replace(graph, "Ann", 0, "left")
    changed, superseded = entries(graph, 2)
    assert (changed.what, changed.text, changed.now) == ("changed", "Ann: works there", "left")
    assert (superseded.what, superseded.id, superseded.successor) == ("superseded", old.id, new.id)


def test_an_entity_is_restored_with_all_parts_deleted_with_it(graph: Graph) -> None:
    entities.delete(graph, ["Ann"])
    (done,) = restore(graph, [last(graph, "entity")])
    assert done.along == 2
    assert facts(graph) == ["works there", "likes tea"]
    assert [edge.type for edge in relations.between(graph, "Ann", "Acme")] == ["works_at"]


def test_parts_deleted_before_an_entity_are_not_restored_with_it(graph: Graph) -> None:
    observations.delete(graph, [observations.Deletion(entity="Ann", ordinals=(1,))])
    entities.delete(graph, ["Ann"])
    restore(graph, [last(graph, "entity")])
    assert facts(graph) == ["works there"]


def test_an_observation_cannot_be_restored_before_its_entity(graph: Graph) -> None:
    entities.delete(graph, ["Ann"])
    with pytest.raises(InvalidInputError, match=r"'Ann', which is deleted. Nothing was restored; restore [0-9a-f-]+"):
        restore(graph, [last(graph, "observation")])


def test_a_relation_is_restored_unless_it_was_created_again(graph: Graph) -> None:
    relations.delete(graph, [edge := Edge("Ann", "Acme", "works_at")])
    gone = last(graph, "relation")
    restore(graph, [gone])
    assert [one.id for one in relations.between(graph, "Ann", "Acme")] == [gone]
    relations.delete(graph, [edge])
    relations.create(graph, [edge])
    with pytest.raises(InvalidInputError, match="it exists again"):
        restore(graph, [gone])


def test_a_living_record_gets_its_earlier_text_back(graph: Graph) -> None:
    observations.replace(graph, "Ann", 0, "left")
    restore(graph, [last(graph, "observation")])
    assert facts(graph) == ["works there", "likes tea"]
    restore(graph, [last(graph, "observation")])  # and this can be undone as well
    assert facts(graph) == ["left", "likes tea"]


def test_a_taken_key_is_an_error_and_nothing_is_restored(one: Engine, graph: Graph) -> None:
    vault = Vault(Scope(one, graph.workspace))
    vault.commit("vault", "db", "MySQL")
    vault.prune("vault", key="db")
    gone = last(graph, "memory")
    vault.commit("vault", "db", "Postgres")
    other = memories(one).store("The office is in Berlin.")
    memories(one).forget(Criteria(ids=(other.id,)))
    with pytest.raises(InvalidInputError, match=r"was not restored: its key 'db' now belongs to"):
        restore(graph, [other.id, gone])
    assert {entry.id for entry in entries(graph, 100)} == {gone, other.id}


def test_unknown_ids_cannot_be_restored(one: Engine, graph: Graph) -> None:
    with pytest.raises(NotFoundError, match="never existed, or it was purged"):
        restore(graph, ["nope"])
    with pytest.raises(NotFoundError, match="not deleted, and no earlier version of it is known"):
        restore(graph, [memories(one).store("It has always been so.").id])


def test_earlier_texts_are_purged_after_the_retention(tmp_path: Path) -> None:
    with engine(tmp_path, MEMORY_RETENTION_DAYS="0") as one:
        vault = Vault(Scope(one, one.workspaces.ensure("default")))
        vault.commit("vault", "db", "MySQL")
        vault.commit("vault", "db", "Postgres")
        one.retention.purge_workspace(one.workspaces.ensure("default"))
        assert entries(Graph(Scope(one, one.workspaces.ensure("default"))), 10) == []


def test_superseded_memories_outlive_the_retention(tmp_path: Path) -> None:
    with engine(tmp_path, MEMORY_RETENTION_DAYS="0") as one:
        kept = memories(one)
        first = kept.store("The database is MySQL.")
        second = kept.store("The database is Postgres.", supersedes=[first.id])
        kept.store("The database is CockroachDB.", supersedes=[second.id])
        one.retention.purge_workspace(one.workspaces.ensure("default"))
        found = entries(Graph(Scope(one, one.workspaces.ensure("default"))), 10)
        assert [entry.id for entry in found] == [second.id, first.id]


def test_a_record_restored_along_with_another_may_be_named_too_in_any_order(graph: Graph) -> None:
    observations.replace(graph, "Ann", 0, "left")
    entities.delete(graph, ["Ann"])
    gone = [entry.id for entry in entries(graph, 100) if entry.what == "deleted"]
    assert len(gone) == 4
    restore(graph, gone)
    assert facts(graph) == ["left", "likes tea"]
    assert len(relations.between(graph, "Ann", "Acme")) == 1


def test_changed_tags_do_not_hide_the_earlier_text(one: Engine, graph: Graph) -> None:
    vault = Vault(Scope(one, graph.workspace))
    vault.commit("vault", "db", "MySQL")
    vault.commit("vault", "db", "Postgres")
    vault.commit("vault", "db", "Postgres", tags=["infra"])
    (done,) = restore(graph, [last(graph, "memory")])
    assert done.text == "db: MySQL"


def test_past_texts_are_found_by_words_if_the_model_fails(tmp_path: Path) -> None:
    with ollama() as server, with_ollama(tmp_path, server) as one:
        kept = memories(one)
        gone = kept.store("The office was in Berlin.")
        before = one.clock.now()
        kept.forget(Criteria(ids=(gone.id,)))
        server.fails = lambda text: "Berlin" in text
        assert "Berlin" in kept.recall("Where was the office?", 500, as_of=before).text


def test_the_last_change_is_undone_even_if_the_clock_was_set_back(
    one: Engine, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = memories(one).store("The lamp is red.")
    for text, day in (("The lamp is green.", 9), ("The lamp is blue.", 5)):
        with monkeypatch.context() as patched:
            patched.setattr(one.clock, "now", lambda day=day: f"2040-01-0{day}T00:00:00.000Z")
            correction.correct(graph.scope, Correction(id=kept.id, content=text))
    (done,) = restore(graph, [kept.id])
    assert done.text == "The lamp is green."


def test_any_of_the_earlier_texts_can_be_restored(graph: Graph) -> None:
    for text in ("left", "came back"):
        observations.replace(graph, "Ann", 0, text)
    _, first = [entry for entry in entries(graph, 100) if entry.what == "changed"]
    restore(graph, [first.id], first.at)
    assert facts(graph) == ["works there", "likes tea"]
    with pytest.raises(NotFoundError, match="not deleted, and no version until 2026-01-01"):
        restore(graph, [first.id], "2026-01-01")


# filters -------------------------------------------------------------------------------------------------------------


def test_filters_reach_the_whole_history_page_by_page(one: Engine, graph: Graph) -> None:
    kept = memories(one)
    ids = [kept.store(f"The office {number} is 100% in Köln.").id for number in range(7)]
    with written_by("claude-code 2", "memory_forget"):
        kept.forget(Criteria(ids=tuple(ids[:5])))  # all at the same time
    with written_by("cursor", "memory_forget"):
        kept.forget(Criteria(ids=(ids[5],)))
    entities.delete(graph, ["Acme"])
    found, after = [], BEGINNING
    while page := entries(graph, 2, HistoryFilter(what="deleted", kind="memory"), after):
        found += page
        after = page[-1].mark
    assert {entry.id for entry in found} == set(ids[:6])
    assert len(found) == 6
    assert [entry.id for entry in entries(graph, 9, HistoryFilter(by="Cursor"))] == [ids[5]]
    assert len(entries(graph, 9, HistoryFilter(by="claude", words="100% IN"))) == 5
    assert entries(graph, 9, HistoryFilter(words="1_0")) == []
    assert [entry.kind for entry in entries(graph, 9, HistoryFilter(kind="relation", words="works_AT"))] == ["relation"]
    last = found[0].at
    assert {entry.kind for entry in entries(graph, 9, HistoryFilter(since=last))} == {"memory", "entity", "relation"}
    assert last not in {entry.at for entry in entries(graph, 9, HistoryFilter(until=last))}
    with pytest.raises(InvalidInputError):
        HistoryFilter(since="yesterday")


def test_the_history_names_who_made_a_change(one: Engine, graph: Graph) -> None:
    stored = memories(one).store("The office is in Berlin.").id
    for client, text in (("a", "The office is in Bonn."), ("b", "The office is in Kiel.")):
        with written_by(client, "edit"):
            correction.correct(graph.scope, Correction(id=stored, content=text))
    assert [(entry.client, entry.text[-5:-1]) for entry in entries(graph, 9)] == [("b", "Bonn"), ("a", "rlin")]


def test_the_history_names_who_restored_and_who_purged(one: Engine, graph: Graph) -> None:
    kept = memories(one)
    stored = kept.store("The office is in Berlin.").id
    (edge,) = relations.between(graph, "Ann", "Acme")
    with written_by("cursor", "edit"):
        correction.correct(graph.scope, Correction(id=stored, content="The office is in Bonn."))
    with written_by("memoryd ui", "ui.restore"):
        restore(graph, [stored])
    (undone,) = entries(graph, 9)
    assert (undone.what, undone.client, undone.tool) == ("changed", "memoryd ui", "ui.restore")
    assert [version.undone and version.undone.tool for version in listing.story(graph.scope, stored).versions] == [
        "ui.restore",
        None,
    ]
    with written_by("claude", "delete_relations"):
        relations.delete(graph, [Edge("Ann", "Acme", "works_at")])
    (cut,) = entries(graph, 9, HistoryFilter(by="CLAUDE"))
    assert (cut.id, cut.tool) == (edge.id, "delete_relations")
    kept.forget(Criteria(ids=(stored,)))
    with written_by("", "memoryd restore"):
        restore(graph, [stored, edge.id])
    assert entries(graph, 9, HistoryFilter(what="deleted")) == []
    done = entries(graph, 9, HistoryFilter(what="restored"))
    assert {(each.id, each.kind, each.tool) for each in done} == {
        (stored, "memory", "memoryd restore"),
        (edge.id, "relation", "memoryd restore"),
    }
    assert {each.text for each in done} == {"The office is in Berlin.", "Ann works_at Acme"}
    assert entries(graph, 1, HistoryFilter(what="restored"), done[0].mark) == done[1:]
    with written_by("memoryd ui", "ui.purge"):
        purging.purge(graph.scope, [stored, edge.id])
    gone = entries(graph, 9, HistoryFilter(what="purged", by="ui.purge"))
    assert {(each.id, each.kind, each.text) for each in gone} == {(stored, "memory", ""), (edge.id, "relation", "")}
    assert len(entries(graph, 9, HistoryFilter(what="purged", kind="relation"))) == 1
    assert len(entries(graph, 99, HistoryFilter(with_done=True))) == len(entries(graph, 99)) + 4


def test_operations_on_a_record_are_part_of_its_story(one: Engine, graph: Graph) -> None:
    stored = memories(one).store("The office is in Berlin.").id
    for client in ("codex", "cursor"):
        with written_by(client, "memory_forget"):
            memories(one).forget(Criteria(ids=(stored,)))
    restore(graph, [stored])
    acts = listing.story(graph.scope, stored).acts
    assert [(act.verb, act.client) for act in acts] == [("restore", ""), ("delete", "codex")]


# names of nodes ------------------------------------------------------------------------------------------------------


def test_an_earlier_name_is_restored(graph: Graph) -> None:
    before = graph.engine.clock.now()
    with written_by("memoryd ui", "ui.n"):
        node = renaming.rename(graph, "Ann", "Ann Smith")
    (entry,) = entries(graph, 9)
    assert (entry.what, entry.text, entry.now) == ("changed", "Ann (person)", "Ann Smith (person)")
    assert entry.client == "memoryd ui"
    assert list(graph.read(lambda q: as_of.nodes(q, ["Ann"], before)).entities) == ["Ann"]
    assert not graph.read(lambda q: as_of.nodes(q, ["Ann Smith"], before)).entities
    restore(graph, [node.id])
    assert facts(graph) == ["works there", "likes tea"]
    assert graph.read(lambda q: q.one("history.holder", kind="entity", name="Ann Smith")) is None
    renaming.rename(graph, "Ann", "Ann Smith")
    entities.create(graph, [NewEntity(name="Ann", type="person")])
    with pytest.raises(InvalidInputError, match="now belongs to"):
        restore(graph, [node.id])


def test_an_observation_is_restored_under_the_new_name(graph: Graph) -> None:
    observations.delete(graph, [Deletion(entity="Ann", ordinals=(1,))])
    renaming.rename(graph, "Ann", "Zoe")
    assert restore(graph, [last(graph, "observation")])
    (found,) = [one.record for one in listing.typed(graph.scope, "tea", Facets())]
    assert found.name == "Zoe"


def test_restoring_a_merged_node_separates_the_two(graph: Graph) -> None:
    with written_by("claude", "add"):
        bob = NewEntity(name="Bob", type="person", observations=("likes tea", "rows"))
        entities.create(graph, [bob, NewEntity(name="Rome", type="city")])
    about = [Edge("Bob", "Rome", "lives_in"), Edge("Bob", "Acme", "works_at"), Edge("Bob", "Ann", "is")]
    relations.create(graph, about)
    done = renaming.merge(graph, "Bob", "Ann")
    entry = next(one for one in entries(graph, 99) if one.id == done.gone)
    assert (entry.what, entry.now) == ("merged", "Ann (person)")
    assert facts(graph) == ["works there", "likes tea", "rows"]
    (rows,) = [one.record for one in listing.typed(graph.scope, "rows", Facets())]
    assert (rows.name, rows.client) == ("Ann", "claude")
    restore(graph, [done.gone])
    assert facts(graph) == ["works there", "likes tea"]
    assert relations.between(graph, "Ann", "Rome") == []
    assert [one.type for one in relations.between(graph, "Ann", "Acme")] == ["works_at"]
    for edge in about:
        assert [one.type for one in relations.between(graph, "Bob", edge.target)] == [edge.type]


@pytest.mark.parametrize("backwards", [False, True])
def test_several_deletions_are_undone_from_the_last_one_on(graph: Graph, backwards: bool) -> None:
    entities.delete(graph, ["Ann"])
    entities.delete(graph, ["Acme"])
    gone = [one.id for one in entries(graph, 99) if one.kind == "entity"]
    restore(graph, gone[::-1] if backwards else gone)
    assert [one.type for one in relations.between(graph, "Ann", "Acme")] == ["works_at"]


@pytest.mark.parametrize("backwards", [False, True])
def test_two_merges_in_a_row_are_undone_whatever_the_order_of_the_ids(graph: Graph, backwards: bool) -> None:
    entities.create(graph, [NewEntity(name="Bob", type="person", observations=("rows",))])
    gone = [renaming.merge(graph, "Bob", "Ann").gone, renaming.merge(graph, "Ann", "Acme").gone]
    restore(graph, gone[::-1] if backwards else gone)
    assert facts(graph) == ["works there", "likes tea"]


def test_relations_of_the_past_have_the_names_of_the_past(graph: Graph) -> None:
    then = graph.engine.clock.now()
    renaming.rename(graph, "Ann", "Zoe")
    renaming.rename(graph, "Acme", "Apex")
    past = view.opened(graph, ["Ann"], 0, then)
    assert past["relations"] == [{"from": "Ann", "to": "Acme", "relation_type": "works_at"}]
    assert view.opened(graph, ["Zoe"], 0, graph.engine.clock.now())["relations"][0]["to"] == "Apex"


def test_what_a_node_gained_by_a_merge_does_not_stay_if_both_are_undone(graph: Graph) -> None:
    entities.create(graph, [NewEntity(name="Bob", type="person", observations=("rows",))])
    gone = [renaming.merge(graph, "Ann", "Bob").gone]
    relations.delete(graph, [Edge("Bob", "Acme", "works_at")])
    observations.delete(graph, [Deletion(entity="Bob", contents=("likes tea",))])
    gone += [one.id for one in entries(graph, 2)]
    restore(graph, gone)
    assert [one.type for one in relations.between(graph, "Ann", "Acme")] == ["works_at"]
    bob = view.opened(graph, ["Bob"], 0)
    assert (bob["relations"], [one["content"] for one in bob["entities"][0]["observations"]]) == ([], ["rows"])


def test_a_name_is_given_back_before_the_one_who_had_it_first_is_restored(graph: Graph) -> None:
    entities.delete(graph, ["Ann"])
    other = renaming.rename(graph, "Acme", "Ann").id
    restore(graph, [next(one.id for one in entries(graph, 9) if one.what == "deleted" and one.kind == "entity"), other])
    assert facts(graph) == ["works there", "likes tea"]


def test_a_node_waits_for_a_summary_if_the_only_one_is_undone(graph: Graph) -> None:
    def waiting() -> list[str]:
        return [one["name"] for one in report.pending(graph, 9)[0]]

    ann = graph.read(lambda q: named(q, ["Ann"]))["Ann"].id
    entities.set_summary(graph, "Ann", "She works at Acme.")
    assert waiting() == ["Acme"]
    restore(graph, [ann])
    assert waiting() == ["Ann", "Acme"]
    restore(graph, [ann])
    assert waiting() == ["Acme"]


def test_vectors_follow_restored_tags_of_a_node(tmp_path: Path) -> None:
    with ollama() as server, with_ollama(tmp_path, server) as here:
        graph = Graph(Scope(here, here.workspaces.ensure("default")))
        here.embedding.change_perspectives(graph.workspace, {"labels": "{tags}: {text}"})
        ann = NewEntity(name="Ann", type="person", observations=("likes tea",), tags=("old",))
        (made,) = entities.create(graph, [ann])["result"]
        entities.set_summary(graph, "Ann", "She is new.")
        entities.set_tags(graph, "Ann", ["new"])
        here.embedding.catch_up(never)
        server.asked.clear()
        restore(graph, [made["id"]])
        here.embedding.catch_up(never)
        assert any("old: likes tea" in text for text in server.asked)
