"""Purging on request removes texts immediately, from the files too; proposals are accepted or refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.core.graph import entities, relations, renaming
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import proposals, purging, scheduler
from memoryd.core.maintenance.history import restore
from memoryd.core.memories import correction, listing
from memoryd.core.memories.correction import Correction
from memoryd.core.memories.listing import Facets
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.scope import Scope
from memoryd.errors import NotFoundError
from memoryd.settings import Settings
from tests.clients import environment
from tests.commands import run
from tests.core.kit import never

pytestmark = pytest.mark.stores

SECRET = "Paprika cormorant of the seventh lighthouse, Xylocopa violacea on the veranda."


@pytest.fixture
def scope(home: Path) -> Iterator[Scope]:
    with Engine(Settings.read(environment(home, None)), fetch=False) as made:
        yield Scope(made, made.workspaces.ensure("default"))


def holding(home: Path, text: str) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.mark.files
def test_nothing_remains_of_a_purged_record(home: Path, scope: Scope) -> None:
    Memories(scope).store("Something that stays.")
    stored = Memories(scope).store(SECRET, ["lighthouse"])
    correction.correct(scope, Correction(id=stored.id, content="Nothing to see."))
    assert holding(home, SECRET[:24])
    done = purging.purge(scope, [stored.id])
    assert done.proven
    assert (done.ids, done.pieces > 2, bool(done.size)) == ((stored.id,), True, True)
    assert holding(home, SECRET[:24]) == []
    assert holding(home, "xylocopa") == []
    assert len(listing.page(scope, Facets()).records) == 1
    with pytest.raises(NotFoundError):
        restore(Graph(scope), [stored.id])


def test_deleted_records_are_purged_too_and_an_entity_with_all_its_parts(scope: Scope) -> None:
    gone = Memories(scope).store(SECRET)
    Memories(scope).forget(Criteria(ids=(gone.id,)))
    graph = Graph(scope)
    people = [NewEntity(name="Ann", type="p", observations=(SECRET,)), NewEntity(name="Bob", type="p")]
    ann, bob = entities.create(graph, people)["result"]
    relations.create(graph, [Edge("Ann", "Bob", "knows")])
    shown = {(row["kind"], row["text"]) for row in purging.subjects(scope, [gone.id, ann["id"]])}
    assert shown == {("memory", SECRET), ("entity", "Ann"), ("observation", SECRET)}
    done = purging.purge(scope, [gone.id, ann["id"]])
    assert len(done.ids) == 3
    assert [one.record.id for one in listing.page(scope, Facets()).records] == [bob["id"]]
    assert listing.page(scope, Facets(deleted=True)).records == []


@pytest.mark.files
def test_other_records_with_the_same_text_are_listed(home: Path, scope: Scope) -> None:
    stored = Memories(scope).store(SECRET)
    other = Memories(scope).store(f"Quoted: {SECRET}")
    (home / "data" / "copy.jsonl").write_text(SECRET, encoding="utf-8")
    done = purging.purge(scope, [stored.id])
    assert not done.proven
    assert {trace.path.name for trace in done.traces} == {"memory.db", "copy.jsonl"}
    assert {trace.holders for trace in done.traces} == {(other.id,)}


@pytest.mark.files
def test_names_are_searched_for_too(home: Path, scope: Scope) -> None:
    graph, name = Graph(scope), SECRET[:40]
    (node,) = entities.create(graph, [NewEntity(name=name, type="p", observations=("It is far away.",))])["result"]
    other = Memories(scope).store(f"More about the {name}")
    (seen,) = [one for one in listing.page(scope, Facets()).records if one.record.kind == "observation"]
    assert purging.purge(scope, [seen.record.id]).traces == (), "the node still has this name"
    renaming.rename(graph, name, "Nothing to see")
    assert {trace.holders for trace in purging.purge(scope, [node["id"]]).traces} == {(other.id,)}


def test_a_relation_is_shown_before_it_is_purged(scope: Scope) -> None:
    graph = Graph(scope)
    entities.create(graph, [NewEntity(name="Ann", type="p"), NewEntity(name="Bob", type="p")])
    (edge,) = relations.create(graph, [Edge("Ann", "Bob", "knows")])["created"]
    (shown,) = purging.subjects(scope, [edge["id"]])
    assert (shown["kind"], shown["text"]) == ("relation", "Ann knows Bob")
    assert purging.purge(scope, [edge["id"]]).ids == (edge["id"],)


def test_an_unknown_id_purges_nothing(scope: Scope) -> None:
    stored = Memories(scope).store(SECRET)
    with pytest.raises(NotFoundError):
        purging.purge(scope, [stored.id, "nothing"])
    assert Memories(scope).get([stored.id])


@pytest.mark.files
def test_the_command_reports_what_it_found(home: Path, scope: Scope) -> None:
    stored = Memories(scope).store(SECRET)
    scope.engine.close()
    assert "confirmation" in run(home, "purge", stored.id, code=2).stderr
    assert "none left" in run(home, "purge", stored.id, "--yes").stdout
    run(home, "purge", stored.id, "--yes", code=1)


def test_the_command_corrects_and_shows_how_to_undo(home: Path, scope: Scope) -> None:
    stored = Memories(scope).store("Ann lives in Rome.", ["people"])
    output = run(home, "edit", stored.id[:8], "Ann", "lives", "in", "Oslo.", "--importance", "0.9").stdout
    undo = output.split("`")[1].split()[1:]
    assert listing.story(scope, stored.id).now.record.body == "Ann lives in Oslo."
    run(home, *undo)
    record = listing.story(scope, stored.id).now.record
    assert (record.body, record.importance) == ("Ann lives in Rome.", 0.5)
    run(home, "edit", stored.id, "--no-tags")
    assert listing.story(scope, stored.id).now.record.tags == ()
    assert "Nothing to change" in run(home, "edit", stored.id, code=2).stderr


# proposals -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def pair(scope: Scope) -> tuple[str, str]:
    """Two memories that maintenance would merge."""
    one = Memories(scope).store("The mirror does not run in Oslo.")
    other = Memories(scope).store("The mirror doesn't run in Oslo.")
    return one.id, other.id


def test_a_proposal_is_accepted_and_undone(scope: Scope, pair: tuple[str, str]) -> None:
    (act,) = proposals.proposals(scope.engine, scope.workspace)
    assert len(listing.page(scope, Facets()).records) == 2
    proposals.accept(scope.engine, scope.workspace, proposals.key_of(act))
    assert [one.record.id for one in listing.page(scope, Facets()).records] == [pair[0]]
    restore(Graph(scope), [pair[1]])
    assert len(listing.page(scope, Facets()).records) == 2
    assert proposals.proposals(scope.engine, scope.workspace) == []


def test_a_refusal_is_remembered(scope: Scope, pair: tuple[str, str]) -> None:
    (act,) = proposals.proposals(scope.engine, scope.workspace)
    key = proposals.key_of(act)
    proposals.refuse(scope.engine, scope.workspace, key)
    assert proposals.proposals(scope.engine, scope.workspace) == []
    assert list(scheduler.maintain(scope.engine, scope.workspace, never)) == []
    assert len(listing.page(scope, Facets()).records) == 2
    with pytest.raises(NotFoundError):
        proposals.accept(scope.engine, scope.workspace, key)
