"""Workspaces as projects: names, creation, archiving, and their effect on the rest of the engine."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.admin.doctor import Doctor
from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Criteria
from memoryd.core.workspaces import registry
from memoryd.errors import InvalidInputError, NotFoundError, StoreBusyError, StoreError
from memoryd.model import Workspace
from memoryd.store import rows
from memoryd.store.base import Queries
from memoryd.store.sqlite import placement as sqlite_placement
from memoryd.store.sqlite import upkeep as sqlite_upkeep
from memoryd.store.sqlite.placement import SqlitePlacement
from memoryd.store.sqlite.store import SqliteStore
from tests.core.kit import embedded, engine, memories, never, ollama
from tests.store.kit import add, axis, python, together


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Engine]:
    with engine(tmp_path) as here:
        yield here


def files(root: Path) -> list[str]:
    """Return the database files below the data directory, except the registry."""
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*.db") if path.name != "_meta.db")


# creating ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "a", "A-1", "web.site_2-relaunch", "0", "x" * 100, "naïve", "日本語プロジェクト", "Проект-2", "πρόγραμμα",
        "مشروع", "परियोजना", "โครงการ", "פרויקט_x", "𠮷野家",
    ],
)  # fmt: skip
def test_slugs_are_names(here: Engine, tmp_path: Path, name: str) -> None:
    made = here.workspaces.create(name, "what it is about")
    assert (made.name, made.description, made.status) == (name, "what it is about", "active")
    assert made.db_path == f"projects/{made.id}.db"
    assert made.created_at == made.updated_at != ""
    assert files(tmp_path) == [made.db_path], "b: the file is there at once, with its schema"
    assert here.store.upkeep.problems(made) == []


NO_SLUGS = (
    "", " ", "-a", ".a", "_a", "a b", "a/b", "../a", "a\n", "x" * 101, "a\0b", "a\u202eb", "a\u200db", "日\u3000本",
    "日／本", "a\u3164b", "猫\ufe00", "\u0301a", "dеfault", "ａｂ", "🦀", "名\\前",
)  # fmt: skip


def test_an_invalid_slug_is_refused(here: Engine, tmp_path: Path) -> None:
    for name in NO_SLUGS:
        with pytest.raises(InvalidInputError) as caught:
            here.workspaces.create(name)
        assert str(caught.value).startswith(f'Failed to create project "{name[:100]}": ')
        assert "1 to 100 letters" in str(caught.value)
        assert "begins with a letter or a digit" in str(caught.value)
    assert files(tmp_path) == []


def test_a_name_is_the_same_however_its_accents_are_encoded(here: Engine) -> None:
    apart, whole = "プロジェクト-cafe\u0301", "プロジェクト-café"
    made = here.workspaces.create(apart.replace("プ", "フ\u309a"))
    assert made.name == whole
    for name in (apart, whole):
        assert here.workspaces.find(name).id == here.workspaces.ensure(name).id == made.id
        with pytest.raises(InvalidInputError, match="the name is taken"):
            here.workspaces.create(name)
    assert here.workspaces.free(apart) == f"{whole}-2"
    assert here.workspaces.ensure("e\u0301").name == "é"


def test_an_earlier_name_in_another_encoding_is_still_found(here: Engine) -> None:
    for name in ("cafe\u0301", "café"):
        assert here.workspaces.adopt(name).name == name
    assert [here.workspaces.find(name).name for name in ("cafe\u0301", "café")] == ["cafe\u0301", "café"]


def test_a_name_is_taken_once(here: Engine, tmp_path: Path) -> None:
    here.workspaces.create("p")
    here.workspaces.ensure("made on first use")
    here.workspaces.ensure("default")
    for name in ("p", "default"):
        with pytest.raises(InvalidInputError, match=rf'^Failed to create project "{name}": the name is taken\. Switch'):
            here.workspaces.create(name)
    here.workspaces.archive("p")
    with pytest.raises(InvalidInputError, match=r'"p": the name is taken\. It is archived: restore it, or choose'):
        here.workspaces.create("p")
    assert len(files(tmp_path)) == 2


def test_threads_that_create_the_same_project_make_one(here: Engine, tmp_path: Path) -> None:
    raised = together(lambda _n: here.workspaces.create("p"), 8)
    assert len(raised) == 7
    assert {type(error) for error in raised} == {InvalidInputError}
    assert all("the name is taken" in str(error) for error in raised)
    assert files(tmp_path) == [here.workspaces.find("p").db_path]


def test_with_a_single_file_a_project_has_no_separate_file(tmp_path: Path) -> None:
    with engine(tmp_path, MEMORY_DB_PATH=str(tmp_path / "all.db")) as here:
        assert here.workspaces.create("p").db_path == ""
        memories(here, name="p").store("kept")
        assert here.workspaces.archive("p").status == "archived"
        assert here.workspaces.restore("p").status == "active"
        here.workspaces.archive("p")
        here.workspaces.delete("p")
        assert here.workspaces.all() == []
    assert files(tmp_path) == ["all.db"]


# looking -------------------------------------------------------------------------------------------------------------


def test_projects_are_listed_by_name_and_status(here: Engine) -> None:
    for name in ("b", "c", "a"):
        here.workspaces.create(name)
    here.workspaces.ensure("default")
    here.workspaces.archive("b")
    assert [found.name for found in here.workspaces.all()] == ["a", "b", "c", "default"]
    assert [found.name for found in here.workspaces.all("active")] == ["a", "c", "default"]
    assert [found.name for found in here.workspaces.all("archived")] == ["b"]


@pytest.mark.parametrize("verb", ["active", "archive", "restore", "delete"])
def test_the_error_for_a_missing_project_lists_the_existing_ones(here: Engine, verb: str) -> None:
    with pytest.raises(NotFoundError, match=r'^project "x" not found\. There are: none yet\.$'):
        getattr(here.workspaces, verb)("x")
    here.workspaces.create("a")
    here.workspaces.create("b")
    with pytest.raises(NotFoundError, match=r'^project "x" not found\. There are: a, b\.$'):
        getattr(here.workspaces, verb)("x")


def test_some_of_many_projects_are_listed(here: Engine) -> None:
    for n in range(registry.LISTED + 2):
        here.workspaces.create(f"p{n:02}")
    with pytest.raises(NotFoundError, match=r"There are: p00, p01, .*p09 and 2 more\.$"):
        here.workspaces.find("x")
    with pytest.raises(NotFoundError, match=r"There are: p00, p01, .*p09 and 2 more\.$"):
        here.workspace(make=False)


def test_what_another_process_did_is_seen_at_once(tmp_path: Path, here: Engine) -> None:
    with engine(tmp_path) as other:
        here.workspaces.create("p")
        assert other.workspaces.active("p")
        here.workspaces.archive("p")
        with pytest.raises(InvalidInputError, match="is archived"):
            other.workspaces.ensure("p")
        here.workspaces.delete("p")
        assert other.workspaces.get("p") is None


# archiving -----------------------------------------------------------------------------------------------------------


def test_archiving_and_restoring_move_the_file(here: Engine, tmp_path: Path) -> None:
    made = here.workspaces.create("p")
    memories(here, name="p").store("kept")
    archived = here.workspaces.archive("p")
    assert (archived.status, archived.db_path) == ("archived", f"archive/{made.id}.db")
    assert archived.updated_at > made.updated_at
    assert files(tmp_path) == [archived.db_path]
    restored = here.workspaces.restore("p")
    assert (restored.status, restored.db_path) == ("active", made.db_path)
    assert restored.updated_at > archived.updated_at
    assert files(tmp_path) == [made.db_path]
    assert [hit.record.body for hit in memories(here, name="p").recent(5)] == ["kept"]


def test_each_refusal_gives_its_reason(here: Engine) -> None:
    here.workspaces.create("p")
    with pytest.raises(InvalidInputError, match=r'^project "p" is not archived$'):
        here.workspaces.restore("p")
    here.workspaces.archive("p")
    with pytest.raises(InvalidInputError, match=r'^project "p" is already archived$'):
        here.workspaces.archive("p")
    for use in (here.workspaces.active, here.workspaces.ensure):
        with pytest.raises(InvalidInputError, match=r'^project "p" is archived — restore it first$'):
            use("p")


@pytest.mark.parametrize("archived", [True, False])
def test_a_deleted_name_is_free_and_its_successor_empty(here: Engine, tmp_path: Path, archived: bool) -> None:
    for name in ("p", "default"):
        here.workspaces.create(name) if name == "p" else here.workspaces.ensure(name)
        memories(here, name=name).store("gone")
        if archived:
            here.workspaces.archive(name)
        here.workspaces.delete(name)
        assert here.workspaces.get(name) is None
        assert memories(here, name=name).recent(5) == []
    memories(here, name="p").store("new")
    assert files(tmp_path) == ["memory.db"]


def test_the_exports_of_a_deleted_workspace_go_with_it(here: Engine, tmp_path: Path) -> None:
    kept, gone = here.workspaces.create("kept"), here.workspaces.create("gone")
    for one in (kept, gone):
        (tmp_path / "exports" / one.id).mkdir(parents=True)
        (tmp_path / "exports" / one.id / "memory-backup-1.jsonl").write_text("{}")
    (tmp_path / "exports/copied.jsonl").write_text("{}")
    here.workspaces.delete("gone")
    assert sorted(path.name for path in (tmp_path / "exports").iterdir()) == sorted([kept.id, "copied.jsonl"])


def test_a_workspace_whose_exports_stay_can_be_deleted_again(
    here: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = here.workspaces.create("gone")
    (tmp_path / "exports" / gone.id).mkdir(parents=True)

    def denied(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", denied)
        with pytest.raises(StoreError, match=r"exports in .* cannot be removed: Permission denied\. Remove them"):
            here.workspaces.delete("gone")
    here.workspaces.delete("gone")
    assert here.workspaces.get("gone") is None


def damage(home: Path, of: Workspace) -> None:
    """Overwrite the file of a project, so that it is no longer a database."""
    for file in home.rglob(f"{of.id}.db*"):
        file.write_bytes(b"something else" * 500)


@pytest.mark.parametrize("archived", [True, False])
def test_a_damaged_project_can_be_deleted(tmp_path: Path, archived: bool) -> None:
    with engine(tmp_path) as here:
        made = here.workspaces.create("p")
        if archived:
            here.workspaces.archive("p")
    damage(tmp_path, made)
    with engine(tmp_path) as here:
        with pytest.raises(StoreError, match="is not a SQLite database"):
            memories(here, name="p").recent(1) if not archived else here.workspaces.restore("p")
        here.workspaces.delete("p")
        assert here.workspaces.get("p") is None
    assert list(tmp_path.rglob(f"{made.id}*")) == []


def test_a_project_that_is_busy_or_shares_its_file_is_not_deleted_unmarked(
    here: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.workspaces.create("own")
    here.workspaces.ensure("shared")
    for name, error in (("own", StoreBusyError()), ("shared", StoreError())):

        def fails(*_: object, error: StoreError = error) -> str:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(SqlitePlacement, "archive", fails)
            with pytest.raises(type(error)):
                here.workspaces.delete(name)
        assert here.workspaces.find(name).status == "archived"


@pytest.mark.parametrize("single", [True, False])
def test_a_workspace_in_a_shared_file_is_emptied_in_parts_so_that_others_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, single: bool
) -> None:
    where = {"MEMORY_DB_PATH": str(tmp_path / "all.db")} if single else {}
    real = rows.empty_some
    parts: list[int] = []

    def meanwhile(queries: Queries) -> int:
        parts.append(real(queries))
        return parts[-1]

    with engine(tmp_path, **where) as here, engine(tmp_path, **where) as other:
        monkeypatch.setattr(rows, "EMPTIED", 2)
        monkeypatch.setattr(sqlite_placement, "empty_some", meanwhile)
        store, empty = here.store, here.store.placement.empty

        def then_another_one_registers(workspace: Workspace) -> None:
            empty(workspace)
            other.workspaces.ensure("another")

        monkeypatch.setattr(store.placement, "empty", then_another_one_registers)
        for n in range(5):
            memories(here, name="p").store(f"text {n}")
        memories(here).store("kept")
        here.workspaces.delete("p")
        assert parts == [4, 4, 2, 0, 0], "records and events; and then whether there is more"
        assert [found.name for found in here.workspaces.all()] == ["another", "default"]
        assert [hit.record.body for hit in memories(here).recent(9)] == ["kept"]
        assert here.store.upkeep.problems(here.workspaces.find("default")) == []


def test_an_archived_default_is_reported_by_its_tools(tmp_path: Path, here: Engine) -> None:
    here.workspaces.ensure("default")
    here.workspaces.archive("default")
    for make in (True, False):
        with pytest.raises(InvalidInputError, match=r'"default" is archived — restore it first'):
            here.workspace(make=make)


def test_a_store_that_is_busy_archives_later(here: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    here.workspaces.create("p")

    def busy(*_: object) -> str:
        raise StoreBusyError

    with monkeypatch.context() as patch:
        patch.setattr(SqlitePlacement, "archive", busy)
        assert here.workspaces.archive("p").status == "archived"
    here.retention.settle(never)
    assert here.workspaces.find("p").db_path.startswith("archive/")


def test_a_restore_that_cannot_move_the_file_changes_nothing(here: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    here.workspaces.create("p")
    here.workspaces.archive("p")
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_placement, "move", lambda *_: False)
        with pytest.raises(StoreBusyError, match="try again"):
            here.workspaces.restore("p")
    assert here.workspaces.find("p").status == "archived"
    here.workspaces.restore("p")


BOTH = """
import sys
from pathlib import Path
from memoryd.errors import InvalidInputError, NotFoundError
from tests.core.kit import engine

with engine(Path(sys.argv[1])) as here:
    for _ in range(15):
        for verb in sys.argv[2:]:
            try:
                getattr(here.workspaces, verb)("p")
            except (InvalidInputError, NotFoundError):
                pass
"""


@pytest.mark.process
def test_conflicting_processes_leave_a_consistent_state(tmp_path: Path) -> None:
    with engine(tmp_path) as here:
        here.workspaces.create("p")
        memories(here, name="p").store("kept")
        others = [python(BOTH, tmp_path, *verbs) for verbs in (("archive", "restore"), ("restore", "archive"))]
        for other in others:
            _, errors = other.communicate(timeout=60)
            busy = "is being read" in errors
            assert other.returncode == 0 or busy, errors
        here.retention.settle(never)
        if here.workspaces.find("p").status == "active":
            here.workspaces.archive("p")
        assert here.workspaces.find("p").db_path.startswith("archive/")
        here.workspaces.restore("p")
        memories(here, name="p").store("and writable")
        assert len(memories(here, name="p").recent(5)) == 2


# the background, and who looks after it all --------------------------------------------------------------------------


def test_unwritten_recalls_do_not_keep_a_process_from_ending(tmp_path: Path) -> None:
    with engine(tmp_path) as here:
        here.workspaces.create("p")
        for name in ("p", "default"):
            memories(here, name=name).store("a text about cats")
            memories(here, name=name).recall("cats", 500, [], [], "summary")
        here.workspaces.archive("p")
    with engine(tmp_path) as again:
        (hit,) = memories(again).recent(5)
        assert hit.record.access_count == 1


def test_an_unusable_workspace_does_not_keep_others_from_being_maintained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine(tmp_path) as here:
        made = {name: here.workspaces.create(name) for name in ("a", "b", "old-a", "old-b")}
        memories(here, name="b").forget(Criteria(ids=(memories(here, name="b").store("gone").id,)))
        with monkeypatch.context() as patch:
            patch.setattr(sqlite_placement, "move", lambda *_: False)
            for name in ("old-a", "old-b"):
                here.workspaces.archive(name)
    for name in ("a", "old-a"):
        damage(tmp_path, made[name])
    with engine(tmp_path, MEMORY_RETENTION_DAYS="0") as here:
        here.retention.settle(never)
        assert here.workspaces.find("old-b").db_path.startswith("archive/")
        here.retention.purge(never)
        deleted = here.store.read(here.workspaces.find("b"), lambda q: q.one("records.deleted"))
        assert deleted == {"number": 0}


def test_recalls_of_others_are_written_if_one_workspace_is_damaged(tmp_path: Path) -> None:
    with engine(tmp_path) as here:
        made = here.workspaces.create("a")
        for name in ("a", "default"):
            memories(here, name=name).store("a text about cats")
            memories(here, name=name).recall("cats", 500, [], [], "summary")
        assert isinstance(here.store, SqliteStore)
        here.store._files.let_go(here.store.layout.path(made))
        damage(tmp_path, made)
    with engine(tmp_path) as again:
        (hit,) = memories(again).recent(5)
        assert hit.record.access_count == 1


def test_removals_of_vectors_are_deleted_even_if_nothing_is_purged(
    here: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_upkeep, "TOMBSTONES", 4)
    place = here.workspaces.ensure("default")

    def removals() -> int:
        marks = here.store.read(place, lambda q: q.one("search.marks"))
        assert marks
        return int(marks["removals"] - marks["oldest_removal"]) + 1

    for expected in (3, 4, 4):
        for _ in range(3):
            here.write(place, lambda q: q.run("embeddings.clear", id=add(q, "text", axis(0))))
        here.retention.tend(never)
        assert removals() == expected


def test_archived_projects_are_not_embedded(tmp_path: Path) -> None:
    with ollama() as service, engine(tmp_path, MEMORY_EMBEDDER="none") as here:
        here.workspaces.create("p")
        memories(here, name="p").store("a text")
        here.workspaces.archive("p")
        with engine(tmp_path, MEMORY_EMBEDDER="ollama:nomic-embed-text", OLLAMA_HOST=service.url) as other:
            other.embedding.catch_up(never)
            assert not any("a text" in asked for asked in service.asked)
            here.workspaces.restore("p")
            other.embedding.catch_up(never)
            assert embedded(other, "p") == {"ollama:nomic-embed-text": 1}


def findings(here: Engine) -> list[str]:
    return [str(found) for found in Doctor(here, lambda *_: None).examine().findings]


def test_doctor_finds_a_lost_archive_and_nothing_else(here: Engine, tmp_path: Path) -> None:
    for name in ("own", "shared", "default"):
        here.workspaces.create(name) if name == "own" else here.workspaces.ensure(name)
        memories(here, name=name).store("kept")
    for name in ("own", "shared"):
        here.workspaces.archive(name)
    assert findings(here) == []
    (tmp_path / here.workspaces.find("own").db_path).unlink()
    (found,) = findings(here)
    assert re.search(r"workspace own.*archive/.*is missing.*Restore it", found)
    here.retention.settle(never)
    with pytest.raises(StoreError, match="is missing"):
        here.workspaces.restore("own")
    here.workspaces.delete("own")
    assert findings(here) == []


def test_doctor_reports_a_file_that_no_workspace_uses_and_keeps_it(here: Engine, tmp_path: Path) -> None:
    for name in ("p", "old"):
        here.workspaces.create(name)
    here.workspaces.archive("old")
    stray = tmp_path / "projects" / "x.db"
    here.store.placement.create(Workspace(id="x", name="x", db_path="projects/x.db"))
    (found,) = Doctor(here, lambda *_: None).examine().findings
    assert (found.subject, "no registered workspace" in found.problem) == (str(stray), True)
    assert "_meta.db" in found.remedy
    assert stray.exists()


def test_a_file_that_waits_to_be_moved_is_not_a_finding(here: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    made: Workspace = here.workspaces.create("p")
    monkeypatch.setattr(sqlite_placement, "move", lambda *_: False)
    assert here.workspaces.archive("p").db_path == made.db_path
    assert findings(here) == []
