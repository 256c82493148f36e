"""Lists for people: every record is on exactly one page; facets, and words as they are typed, narrow them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.graph import entities
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.transaction import Graph
from memoryd.core.journal.journal import Journal
from memoryd.core.memories import listing
from memoryd.core.memories.listing import BEGINNING, Facets, News
from memoryd.core.memories.memories import Criteria, Memories
from memoryd.core.memories.vault import Vault
from memoryd.core.records.records import written_by
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import Kind
from tests.core.kit import engine


@pytest.fixture
def scope(home: Path) -> Iterator[Scope]:
    with engine(home) as made:
        yield Scope(made, made.workspaces.ensure("default"))


def bodies(scope: Scope, **facets: object) -> list[str]:
    return [one.record.body for one in listing.page(scope, Facets(**facets)).records]  # type: ignore[arg-type]


def test_each_record_is_on_one_page(scope: Scope) -> None:
    ids = [Memories(scope).store(f"fact {number}").id for number in range(7)]
    entities.create(Graph(scope), [NewEntity(name="Ann", type="person", observations=("likes tea", "works there"))])
    seen, after = [], BEGINNING
    while True:
        page = listing.page(scope, Facets(), after, limit=2)
        seen += [one.record.id for one in page.records]
        if page.after is None:
            break
        after = page.after
    assert len(seen) == len(set(seen)) == 10
    assert [one for one in seen if one in ids] == ids[::-1]


def test_facets_narrow_together(scope: Scope) -> None:
    session = Scope(scope.engine, scope.workspace, "s1")
    with written_by("codex 1", "memory_store"):
        Memories(session).store("one", ["a", "b"], 0.9)
    with written_by("cursor 2", "memory_store"):
        Memories(scope).store("two", ["a"], 0.3)
    entities.create(Graph(scope), [NewEntity(name="Ann", type="person")])
    assert bodies(scope, kinds=(Kind.MEMORY,)) == ["two", "one"]
    assert bodies(scope, tags=("a", "b")) == ["one"]
    assert bodies(scope, client="cursor") == ["two"]
    assert bodies(scope, session="s1") == ["one"]
    assert bodies(scope, least=0.5) == ["one"]
    assert bodies(scope, until="2020-01-01") == []
    assert bodies(scope, tags=("a",), client="codex", tool="memory_store", since="2020-01-01") == ["one"]
    counts = listing.counts(scope)
    assert (counts["kind"], counts["tag"]) == ({"memory": 2, "entity": 1}, {"a": 2, "b": 1})
    assert counts["client"] == {"codex": 1, "cursor": 1}
    assert len(listing.ids(scope, Facets(tags=("a",)))) == 2
    with pytest.raises(InvalidInputError):
        Facets(since="yesterday")


@pytest.mark.stores
def test_a_client_is_one_under_all_its_names_and_versions(scope: Scope) -> None:
    names = ["codex", "codex-mcp-client 0.169.0", "Codex 1", "codex-wrapper", "Visual Studio Code 1.104.0"]
    for name in names:  # as they may be stored already
        with written_by(name, "memory_store"):
            stored = Memories(scope).store(f"a fact by {name}", ["a"])
    assert listing.counts(scope)["client"] == {"codex": 3, "codex-wrapper": 1, "vscode": 1}
    for asked in names[:3]:
        assert bodies(scope, client=asked) == [f"a fact by {name}" for name in names[2::-1]]
        assert len(listing.ids(scope, Facets(client=asked))) == len(bodies(scope, client=asked, tags=("a",))) == 3
    assert [one.record.client for one in listing.typed(scope, "fact", Facets(client="vscode"))] == ["vscode"]
    Memories(scope).forget(Criteria(ids=(stored.id,)))
    assert [one.record.client for one in listing.page(scope, Facets(client="vscode", deleted=True)).records] == [
        "vscode"
    ]
    assert bodies(scope, client="code") == bodies(scope, client="vscode") == []


@pytest.mark.stores
@pytest.mark.parametrize("few", [0, 500])
def test_records_with_tags_are_listed_in_the_same_order_whether_rare_or_not(
    scope: Scope, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(listing, "FEW", few)
    kept = Memories(scope)
    ids = [kept.store(f"fact {number}", ["a", *(["b"] if number % 2 else [])], 0.1 * number).id for number in range(6)]
    kept.store("a quoted one", ['"', "a\\b"])
    entities.create(Graph(scope), [NewEntity(name="Ann", type="person", tags=("a",))])
    Vault(Scope(scope.engine, scope.workspace, "s1")).commit("session", "key", "of a session", ["a", "b", "c"])
    kept.forget(Criteria(ids=(ids[3],)))
    first = listing.page(scope, Facets(tags=("a",), kinds=(Kind.MEMORY,)), limit=2)
    assert [one.record.id for one in first.records] == ids[5:3:-1]
    assert first.after is not None
    second = listing.page(scope, Facets(tags=("a",), kinds=(Kind.MEMORY,)), first.after, limit=9)
    assert [one.record.id for one in second.records] == [ids[2], ids[1], ids[0]]
    assert (bodies(scope, tags=("b", "a")), bodies(scope, tags=("c",))) == (["fact 5", "fact 1"], [])
    assert bodies(scope, tags=('"', "a\\b")) == ["a quoted one"]
    assert bodies(scope, tags=("a",), least=0.45) == ["fact 5"]
    assert listing.ids(scope, Facets(tags=("b",))) == sorted([ids[1], ids[5]])
    assert listing.counts(scope)["tag"] == {"a": 6, "b": 2, '"': 1, "a\\b": 1}


def test_deleted_records_have_their_own_list(scope: Scope) -> None:
    stored = Memories(scope).store("gone", ["a"])
    Memories(scope).forget(Criteria(ids=(stored.id,)))
    assert bodies(scope) == []
    (one,) = listing.page(scope, Facets(deleted=True, tags=("a",))).records
    assert (one.record.body, one.ending, bool(one.deleted_at)) == ("gone", "", True)


def test_words_are_found_as_they_are_typed(scope: Scope) -> None:
    for text in ("The backup of ledger runs at night.", "The ledger is closed in March.", "Backups are tested."):
        Memories(scope).store(text)

    def typed(text: str, **facets: object) -> list[str]:
        return [one.record.body for one in listing.typed(scope, text, Facets(**facets))]  # type: ignore[arg-type]

    assert typed("backup led") == ["The backup of ledger runs at night."]
    assert len(typed("led")) == 2
    assert typed('"closed in"') == ["The ledger is closed in March."]
    assert typed("closed zebra") == ["The ledger is closed in March."]  # no record has both words, so any word counts
    assert typed("ledger", kinds=(Kind.ENTITY,)) == []
    assert typed("  ") == []
    assert typed("((((") == []


def test_facts_come_before_turns_about_them_and_these_before_their_summary(scope: Scope) -> None:
    journal = Journal(scope)
    for _ in range(2):
        journal.add("Ledger backup?", "", "Ledger backup, ledger backup.", "s")
    journal.summarize("s")
    Memories(scope).store("The backup of the ledger runs at night.")
    kinds = [one.record.kind for one in listing.typed(scope, "ledger backup", Facets())]
    assert kinds == [Kind.MEMORY, Kind.INTERACTION, Kind.INTERACTION, Kind.SUMMARY]
    assert listing.meant(scope, "ledger backup", Facets()).best[0].record.kind is Kind.MEMORY


def test_a_search_reaches_what_others_have_more_of(scope: Scope) -> None:
    for number in range(listing.FOUND + 5):
        Memories(scope).store(f"harbour {number}")
    with written_by("codex 1", "memory_store"):
        Memories(scope).store("The harbour is deep, and there is much more to be written about it than a number.")
    facets = Facets(client="codex")
    assert [one.record.client for one in listing.typed(scope, "harbour", facets)] == ["codex"]
    assert [one.record.client for one in listing.meant(scope, "harbour", facets).best] == ["codex"]
    assert listing.typed(scope, "harbour", Facets(client="cursor")) == []


def test_a_record_has_its_story(scope: Scope) -> None:
    old = Memories(scope).store("The office is in Rome.")
    new = Memories(scope).store("The office is in Oslo.", supersedes=[old.id])
    story = listing.story(scope, old.id[:8])
    assert (story.now.ending, story.successor and story.successor.record.id) == ("superseded", new.id)
    assert [one.record.id for one in listing.story(scope, new.id).replaced] == [old.id]
    with pytest.raises(NotFoundError):
        listing.story(scope, "nothing")


def test_news_contain_the_changes_since_an_event(scope: Scope) -> None:
    before = listing.latest(scope)
    stored = Memories(scope).store("new")
    found = listing.news(scope, before)
    assert (found.ids, found.graph) == ([stored.id], False)
    assert listing.news(scope, found.last) == News(found.last, [], graph=False)
    entities.create(Graph(scope), [NewEntity(name="Ann", type="person")])
    assert listing.news(scope, found.last).graph
