"""The behaviour of every store. A backend is tested by a small subclass of `Storage` that opens it."""

import json
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from memoryd.core.records import records
from memoryd.core.records.records import Embedded
from memoryd.errors import StoreError
from memoryd.model import GENERAL, Filter, Kind, VectorSet, Workspace
from memoryd.store.base import Queries, Store
from memoryd.store.postgres import pool
from memoryd.store.sqlite.layout import SingleFile
from tests.store.kit import (
    LATER,
    MODEL,
    NOW,
    SET,
    add,
    axis,
    bodies,
    change,
    cosines,
    forget,
    made,
    near,
    nearest,
    purge,
    put,
    together,
    vectors_of,
    words,
    workspace,
)
from tests.store.test_words import Words

MANY = 2_000


class Storage(Words):
    """The suite; a subclass defines how to open a store at a place, which is empty at first."""

    # transactions ----------------------------------------------------------------------------------------------------

    def test_what_was_written_is_there_after_a_restart(self, tmp_path: Path, here: Workspace) -> None:
        with closing(self.open(tmp_path)) as store:
            record_id = put(store, here, "kept", axis(0), tags=("a", "b"), name="key", session_id="s")
        with closing(self.open(tmp_path)) as store:
            memory = store.read(here, lambda q: records.fetch(q, [record_id], ""))[record_id]
            assert (memory.body, memory.tags, memory.name) == ("kept", ("a", "b"), "key")
            assert memory.created_at == NOW
            assert words(store, here, "kept") == ["kept"]
            assert near(store, here, axis(0)) == ["kept"]

    def test_a_job_that_fails_leaves_nothing(self, store: Store, here: Workspace) -> None:
        def work(queries: Queries) -> None:
            add(queries, "half", axis(0))
            raise LookupError("as planned")

        with pytest.raises(LookupError, match="as planned"):
            store.write(here, work)
        assert words(store, here, "half") == []
        assert near(store, here, axis(0)) == []
        assert store.read(here, lambda q: q.all("records.kinds", session="")) == []

    def test_a_statement_that_fails_leaves_nothing(self, store: Store, here: Workspace) -> None:
        def work(queries: Queries) -> None:
            add(queries, "first", id="same")
            add(queries, "second", id="same")

        with pytest.raises(Exception, match=r"(?i)unique|constraint"):
            store.write(here, work)
        assert words(store, here, "first second") == []
        assert put(store, here, "third", id="same") == "same"

    def test_jobs_that_fail_do_not_harm_those_that_are_committed_with_them(self, store: Store, here: Workspace) -> None:
        held, release = threading.Event(), threading.Event()

        def hold(queries: Queries) -> None:
            held.set()
            assert release.wait(30)

        def work(number: int) -> None:
            if number == 0:
                store.write(here, hold)
                return
            assert held.wait(30)
            if number == 20:  # the others have had time to queue up behind the one that waits
                release.set()
            if number % 3 == 0:
                with pytest.raises(LookupError):
                    store.write(here, lambda q: fail(q, number))
            else:
                put(store, here, f"number {number}")

        def fail(queries: Queries, number: int) -> None:
            add(queries, f"number {number}")
            raise LookupError

        assert together(work, 21) == []
        expected = {f"number {n}" for n in range(1, 21) if n % 3}
        assert set(words(store, here, "number")) == expected

    def test_many_threads_write_at_once(self, store: Store, here: Workspace) -> None:
        ids: list[str] = []
        assert together(lambda n: ids.append(put(store, here, f"thread {n}", axis(n % 8))), 60) == []
        assert len(set(ids)) == 60
        assert sorted(bodies(store, here, ids)) == sorted(f"thread {n}" for n in range(60))
        assert len(words(store, here, "thread", limit=100)) == 60
        assert len(near(store, here, axis(0), limit=100)) == 60

    def test_a_write_is_seen_by_the_next_read_of_every_thread(self, store: Store, here: Workspace) -> None:
        def work(number: int) -> None:
            for turn in range(5):
                put(store, here, f"t{number}x{turn}")
                assert words(store, here, f"t{number}x{turn}") == [f"t{number}x{turn}"]

        assert together(work, 8) == []

    @pytest.mark.slow
    def test_a_write_of_another_process_is_heard(self, tmp_path: Path, store: Store, here: Workspace) -> None:
        put(store, here, "earlier")
        with closing(self.open(tmp_path)) as other:
            other.changes(0.05)  # from here on it listens
            put(store, here, "later")
            heard = other.changes(1)
            assert heard is None or here.id in heard

    def test_a_read_sees_one_snapshot(self, store: Store, here: Workspace) -> None:
        put(store, here, "old")

        def count(queries: Queries) -> int:
            return int(queries.all("records.kinds", session="")[0]["number"])

        def work(queries: Queries) -> tuple[int, int]:
            before = count(queries)
            writer = threading.Thread(target=put, args=(store, here, "new"))
            writer.start()
            writer.join(30)
            return before, count(queries)

        assert store.read(here, work) == (1, 1)
        assert store.read(here, count) == 2

    def test_a_read_cannot_write(self, store: Store, here: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pool, "FAILOVER", 0)  # to a store, a server that takes no writes is about to be replaced
        with pytest.raises(StoreError):
            store.read(here, lambda q: add(q, "sly"))
        assert words(store, here, "sly") == []

    def test_run_counts_what_it_changed(self, store: Store, here: Workspace) -> None:
        ids = [put(store, here, f"n{n}") for n in range(3)]
        assert forget(store, here, *ids[:2], "unknown") == 2
        assert forget(store, here, *ids[:2]) == 0
        assert purge(store, here) == 2
        assert purge(store, here) == 0

    # filters ---------------------------------------------------------------------------------------------------------

    @pytest.mark.slow
    def test_a_rare_tag_and_a_narrow_span_of_time_among_many_matches_are_found(
        self, store: Store, here: Workspace
    ) -> None:
        def work(queries: Queries) -> None:
            for n in range(MANY):
                rare = n == MANY // 2
                text = "common words" + (" padded so that it ranks last" if rare else "")
                tags, kind = ("rare", "all") if rare else ("all",), Kind.SUMMARY if n == 7 else Kind.OBSERVATION
                vector, now = (axis(1), NOW) if rare else (axis(0), LATER)
                add(queries, text, vector, tags=tags, kind=kind, now=now)

        store.write(here, work)
        rare = ["common words padded so that it ranks last"]
        for allowed in (
            Filter(tags=("rare",)), Filter(tags=("all", "rare")), Filter(tags=("rare", "all", "rare")),
            Filter(before=LATER), Filter(after=NOW, before=LATER),
        ):  # fmt: skip
            assert words(store, here, "common", allowed, limit=3) == rare
            assert words(store, here, "common AND words", allowed, limit=3) == rare
            assert near(store, here, axis(0), allowed, limit=3) == rare
        for allowed, number in (
            (Filter(kinds=(Kind.SUMMARY,)), 1), (Filter(kinds=(Kind.SUMMARY, Kind.OBSERVATION)), MANY),
            (Filter(after=LATER), MANY - 1), (Filter(tags=("none",)), 0), (Filter(before=NOW), 0),
            (Filter(after=LATER, before=LATER), 0), (Filter(before=LATER, tags=("none",)), 0),
        ):  # fmt: skip
            assert len(words(store, here, "common", allowed, MANY + 1)) == number
            assert len(near(store, here, axis(0), allowed, MANY + 1)) == number

    def test_a_record_must_have_all_tags(self, store: Store, here: Workspace) -> None:
        every: list[tuple[str, ...]] = [("a",), ("b",), ("a", "b"), ("a", "b", "c"), ("A", "B"), ()]
        for tags in every:
            put(store, here, f"tagged {'+'.join(tags)}", axis(0), tags=tags)
        for tags, found in {
            ("a",): {"tagged a", "tagged a+b", "tagged a+b+c"},
            ("a", "b"): {"tagged a+b", "tagged a+b+c"},
            ("b", "a", "b"): {"tagged a+b", "tagged a+b+c"},
            ("A",): {"tagged A+B"},
            ("a", "A"): set(),
        }.items():
            assert set(words(store, here, "tagged", Filter(tags=tags))) == found
            assert set(near(store, here, axis(0), Filter(tags=tags))) == found

    def test_any_text_is_a_tag(self, store: Store, here: Workspace) -> None:
        put(store, here, "marked plain", axis(0), tags=("other",))
        for number, tag in enumerate(("it's", 'quo"te', "[x]", "a,b", "ünï", "🏷️", " ", "null", "1", "%")):
            put(store, here, f"marked {number}", axis(0), tags=(tag, "other"))
            assert words(store, here, "marked", Filter(tags=(tag,))) == [f"marked {number}"]
            assert near(store, here, axis(0), Filter(tags=(tag, "other"))) == [f"marked {number}"]

    def test_kinds(self, store: Store, here: Workspace) -> None:
        for kind in Kind:
            put(store, here, f"thing {kind}", axis(0), kind=kind)
        for kind in Kind:
            assert words(store, here, "thing", Filter(kinds=(kind,))) == [f"thing {kind}"]
            assert near(store, here, axis(0), Filter(kinds=(kind,))) == [f"thing {kind}"]
        two = Filter(kinds=(Kind.ENTITY, Kind.SUMMARY))
        assert set(words(store, here, "thing", two)) == {"thing entity", "thing summary"}
        assert set(near(store, here, axis(0), two)) == {"thing entity", "thing summary"}

    def test_volatile_records_are_seen_only_by_their_session(self, store: Store, here: Workspace) -> None:
        for scope in ("", "s1", "s2"):
            put(store, here, f"scoped {scope}".strip(), axis(0), scope=scope)
        for session, found in {"": {"scoped"}, "s1": {"scoped", "scoped s1"}, "s3": {"scoped"}}.items():
            assert set(words(store, here, "scoped", Filter(session=session))) == found
            assert set(near(store, here, axis(0), Filter(session=session))) == found

    def test_many_volatile_records_of_others_do_not_crowd_out_ours(self, store: Store, here: Workspace) -> None:
        store.write(here, lambda q: [add(q, "crowd", axis(0), scope="theirs") for _ in range(300)])
        put(store, here, "crowd of one", axis(1), scope="ours")
        assert words(store, here, "crowd", Filter(session="ours"), limit=2) == ["crowd of one"]
        assert near(store, here, axis(0), Filter(session="ours"), limit=2) == ["crowd of one"]

    def test_workspaces_do_not_see_each_other(self, store: Store) -> None:
        one, two = workspace("one"), workspace("two")
        put(store, one, "secret of one", axis(0), tags=("t",), name="key")
        put(store, two, "secret of two", axis(0), tags=("t",), name="key")
        for place in (one, two):
            text = f"secret of {place.name}"
            assert words(store, place, "secret") == [text]
            assert words(store, place, "secret", Filter(tags=("t",), kinds=(Kind.MEMORY,))) == [text]
            assert near(store, place, axis(0)) == near(store, place, axis(0), Filter(tags=("t",))) == [text]
        assert words(store, workspace("empty"), "secret") == near(store, workspace("empty"), axis(0)) == []
        ((theirs, _),) = nearest(store, two, SET, axis(0), Filter(), 1)
        assert cosines(store, one, SET, axis(0), [theirs]) == vectors_of(store, one, SET, [theirs]) == {}

    # changes and deletes ---------------------------------------------------------------------------------------------

    def test_a_changed_text_is_found_by_its_present_words(self, store: Store, here: Workspace) -> None:
        record_id = put(store, here, "before", axis(0), tags=("old",))
        change(store, here, record_id, "after", ("new",))
        assert words(store, here, "before") == words(store, here, "after", Filter(tags=("old",))) == []
        assert words(store, here, "after", Filter(tags=("new",))) == ["after"]
        assert near(store, here, axis(0)) == []  # the vector was made from another text
        store.write(here, lambda q: records.embed(q, record_id, GENERAL, Embedded(MODEL, axis(1)[None, :])))
        assert near(store, here, axis(0)) == ["after"]

    def test_a_soft_deleted_record_is_out_of_words_and_vectors_at_once(self, store: Store, here: Workspace) -> None:
        gone, kept = put(store, here, "twin gone", axis(0), tags=("t",)), put(store, here, "twin kept", axis(0))
        assert sorted(near(store, here, axis(0))) == ["twin gone", "twin kept"]  # the index is loaded
        assert forget(store, here, gone) == 1
        assert words(store, here, "twin") == near(store, here, axis(0), limit=1) == ["twin kept"]
        assert words(store, here, "twin", Filter(tags=("t",))) == near(store, here, axis(0), Filter(tags=("t",))) == []
        assert cosines(store, here, SET, axis(0), [gone, kept]) == pytest.approx({kept: 1.0})
        assert vectors_of(store, here, SET, [gone, kept]).keys() == {kept}
        assert bodies(store, here, [gone, kept]) == ["twin kept"]
        assert store.read(here, lambda q: q.one("records.deleted")) == {"number": 1}

    def test_a_purge_deletes_permanently_and_leaves_the_rest(self, store: Store, here: Workspace) -> None:
        gone, kept = put(store, here, "twin gone", axis(0)), put(store, here, "twin kept", axis(0))
        forget(store, here, gone)
        assert store.write(here, lambda q: q.changed("records.purge", before=NOW)) == 0  # it was deleted later
        assert purge(store, here) == 1
        assert store.read(here, lambda q: q.one("records.deleted")) == {"number": 0}
        assert words(store, here, "twin") == near(store, here, axis(0)) == ["twin kept"]
        assert put(store, here, "again", id=gone) == gone
        assert bodies(store, here, [gone, kept]) == ["again", "twin kept"]

    def test_a_key_is_unique_among_the_living_of_a_scope(self, store: Store, here: Workspace) -> None:
        first = put(store, here, "first", name="key")
        put(store, here, "volatile", name="key", scope="s")
        put(store, here, "entity", name="key", kind=Kind.ENTITY)
        with pytest.raises(Exception, match=r"(?i)unique"):
            put(store, here, "second", name="key")
        forget(store, here, first)
        put(store, here, "second", name="key")
        assert words(store, here, "first second") == ["second"]

    # vectors ---------------------------------------------------------------------------------------------------------

    def test_nearest_is_by_cosine_of_the_best_chunk_and_of_all(self, store: Store, here: Workspace) -> None:
        put(store, here, "half", (axis(0) + np.float32(np.sqrt(3)) * axis(1)) / 2)
        put(store, here, "long", np.stack([axis(2), axis(0), axis(3)]))
        put(store, here, "far", axis(4))
        put(store, here, "none")
        assert near(store, here, axis(0)) == ["long", "half", "far"]
        scores = [score for _, score in nearest(store, here, SET, axis(0), Filter(), 3)]
        assert scores == pytest.approx([2 / 3, 0.5, 0.0], abs=1e-3)
        assert near(store, here, axis(2), limit=1) == ["long"]

    def test_cosines_and_vectors_of_given_records(self, store: Store, here: Workspace) -> None:
        ids = [put(store, here, f"n{n}", axis(n)) for n in range(3)]
        bare = put(store, here, "bare")
        ours = cosines(store, here, SET, axis(1), [*ids, bare, "unknown"])
        assert ours == pytest.approx({ids[0]: 0, ids[1]: 1, ids[2]: 0})
        assert cosines(store, here, SET, axis(1), []) == vectors_of(store, here, SET, []) == {}
        found = vectors_of(store, here, SET, [*ids, bare, "unknown"])
        assert found.keys() == set(ids)
        np.testing.assert_allclose(found[ids[2]], axis(2)[None, :])
        long = put(store, here, "long", np.stack([axis(3), axis(4)]))
        np.testing.assert_allclose(vectors_of(store, here, SET, [long])[long], [axis(3), axis(4)])

    def test_models_and_dimensions_are_apart(self, store: Store, here: Workspace) -> None:
        record_id = put(store, here, "both", axis(0))
        other = Embedded("test:other", axis(1, 16)[None, :])
        store.write(here, lambda q: records.embed(q, record_id, GENERAL, other))
        assert near(store, here, axis(0)) == ["both"]
        found = nearest(store, here, VectorSet(GENERAL, "test:other"), axis(0, 16), Filter(), 5)
        assert dict(found) == pytest.approx({record_id: 0.0})
        assert nearest(store, here, SET, axis(0, 16), Filter(), 5) == []
        assert nearest(store, here, VectorSet(GENERAL, "test:none"), axis(0), Filter(), 5) == []

    # neighbours and events -------------------------------------------------------------------------------------------

    def test_neighbours_are_those_before_and_after_in_the_session(self, store: Store, here: Workspace) -> None:
        times = [f"2026-01-01T00:00:0{n}.000Z" for n in range(6)]
        ids = [put(store, here, f"turn {n}", session_id="talk", now=time) for n, time in enumerate(times)]
        alone = put(store, here, "no session", now=times[2])
        put(store, here, "elsewhere", session_id="other talk", now=times[2])
        hidden = put(store, here, "volatile of another", session_id="talk", scope="x", now="2026-01-01T00:00:02.500Z")
        forget(store, here, ids[4])
        rows = neighbours(store, here, [ids[0], ids[2], ids[5], alone], session="")
        assert rows == {ids[0]: (None, ids[1]), ids[2]: (ids[1], ids[3]), ids[5]: (ids[3], None)}
        assert neighbours(store, here, [ids[2]], session="x") == {ids[2]: (ids[1], hidden)}

    def test_neighbours_of_the_same_moment_have_an_order(self, store: Store, here: Workspace) -> None:
        ids = sorted(put(store, here, f"turn {n}", session_id="talk") for n in range(4))
        rows = neighbours(store, here, ids, session="")
        assert rows == dict(zip(ids, zip([None, *ids], [*ids[1:], None], strict=False), strict=True))

    def test_events_outlive_their_subjects(self, store: Store, here: Workspace) -> None:
        record_id = put(store, here, "short-lived")
        forget(store, here, record_id)
        purge(store, here)
        store.write(
            here, lambda q: q.run("events.add", operation="later", subject=None, now=LATER)
        )  # and the table still takes more

    # upkeep ----------------------------------------------------------------------------------------------------------

    def test_there_are_no_problems_after_all_kinds_of_changes(self, store: Store, here: Workspace) -> None:
        ids = [put(store, here, f"text {n}", axis(n % 8), tags=(f"t{n % 3}",)) for n in range(30)]
        for record_id in ids[::3]:
            change(store, here, record_id, "changed", ("t9",))
        forget(store, here, *ids[::4])
        purge(store, here)
        assert store.upkeep.problems(here) == store.upkeep.problems(None) == []

    def test_the_registry_belongs_to_no_workspace(self, store: Store) -> None:
        def register(queries: Queries) -> int:
            return queries.changed("workspaces.add", id="i", name="n", description="", db_path="", now=NOW)

        assert store.write(None, register) == 1
        assert store.write(None, register) == 0
        assert [row["name"] for row in store.read(None, lambda q: q.all("workspaces.all"))] == ["n"]
        assert store.read(None, lambda q: q.one("workspaces.by_name", name="none")) is None

    def test_close_may_be_called_twice_and_nothing_after_it(self, store: Store, here: Workspace) -> None:
        put(store, here, "kept")
        store.close()
        store.close()
        create = store.placement.create
        for access in (lambda: words(store, here, "kept"), lambda: put(store, here, "more"), lambda: create(here)):
            with pytest.raises(StoreError, match="closed"):
                access()


def neighbours(
    store: Store, place: Workspace, ids: list[str], session: str
) -> dict[str, tuple[str | None, str | None]]:
    rows = store.read(place, lambda q: q.all("records.neighbours", ids=json.dumps(ids), session=session))
    return {row["id"]: (row["before_id"], row["after_id"]) for row in rows}


class TestSqlite(Storage):
    def open(self, place: Path) -> Store:
        return made(SingleFile(place / "memory.db"), "normal")
