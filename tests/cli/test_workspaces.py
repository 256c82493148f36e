"""`memoryd workspace`: what it prints, where, and with which exit code."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from typer.testing import Result

from memoryd.cli import memories
from memoryd.errors import MemorydError, OverloadedError, StoreError, UnknownWorkspaceError
from memoryd.server import requests
from tests.cli.test_commands import Run, data, error_line, run, stored

__all__ = ["data", "run"]  # fixtures


def error_of(result: Result) -> str:
    """Return the error of a command."""
    return error_line(result).strip()


def listed(run: Run, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("workspace", "list", "--json", *options).stdout)["workspaces"]
    return found


def test_a_workspace_through_its_life(run: Run) -> None:
    assert run("workspace", "list").stdout == "No workspaces yet.\n"
    assert run("workspace", "create", "p", "--description", "what it is").stdout == "Created workspace p.\n"
    (made,) = listed(run)
    assert (made["name"], made["description"], made["status"]) == ("p", "what it is", "active")
    assert set(made) == {"id", "name", "description", "status", "created_at", "updated_at"}
    stored(run, "kept", "--workspace", "p")
    assert run("workspace", "archive", "p").stdout == "Archived workspace p.\n"
    assert listed(run, "--status", "active") == []
    assert run("workspace", "list", "--status", "active").stdout == "No active workspaces.\n"
    assert error_of(run("inspect", "--workspace", "p", code=2)) == 'project "p" is archived — restore it first'
    assert json.loads(run("workspace", "restore", "p", "--json").stdout)["status"] == "active"
    assert "kept" in run("inspect", "--view", "recent", "--workspace", "p").stdout
    assert run("workspace", "delete", "p", "--yes").stdout == "Deleted workspace p.\n"
    assert listed(run) == []


def test_the_list_is_a_table(run: Run) -> None:
    for name in ("one", "two"):
        run("workspace", "create", name, "--description", f"about {name}")
    run("workspace", "archive", "two")
    head, *lines = run("workspace", "list").stdout.splitlines()
    assert head.split() == ["name", "status", "created_at", "updated_at", "description"]
    assert [line.split()[:2] + line.split()[6:] for line in lines] == [
        ["one", "active", "about", "one"],
        ["two", "archived", "about", "two"],
    ]


def test_deleting_asks(run: Run) -> None:
    run("workspace", "create", "p")
    assert "stdin is not a terminal. Add --yes" in error_of(run("workspace", "delete", "p", code=2))
    assert len(listed(run)) == 1


def test_impossible_requests_are_reported(run: Run) -> None:
    assert error_of(run("workspace", "archive", "p", code=1)) == 'workspace "p" not found. There are: none yet.'
    run("workspace", "create", "p")
    assert "the name is taken" in error_of(run("workspace", "create", "p", code=2))
    assert "1 to 100 letters" in error_of(run("workspace", "create", "a b", code=2))
    assert error_of(run("workspace", "restore", "p", code=2)) == 'workspace "p" is not archived'
    assert error_of(run("workspace", "delete", "q", "--yes", code=1)) == 'workspace "q" not found. There are: p.'


def test_a_new_workspace_is_named_as_it_may_be_a_typing_error(run: Run) -> None:
    assert "is new" not in run("store", "One.", "--workspace", "blog").stderr
    assert "'blgo' is new. There are: blog." in run("store", "Two.", "--workspace", "blgo").stderr
    assert "is new" not in run("store", "Three.", "--workspace", "blog").stderr


def test_an_import_names_a_new_workspace_too(run: Run, tmp_path: Path) -> None:
    run("store", "One.", "--workspace", "blog")
    run("export", str(tmp_path / "blog.jsonl"), "--workspace", "blog")
    (tmp_path / "graph.jsonl").write_text('{"type":"entity","name":"Ann","entityType":"person","observations":[]}\n')
    graph = ("--from", "server-memory", str(tmp_path / "graph.jsonl"), "--yes")
    for name, words in (("blgo", [str(tmp_path / "blog.jsonl")]), ("bolg", graph)):
        assert f"{name!r} is new. There are: bl" in run("import", *words, "--workspace", name).stderr
        assert "is new" not in run("import", *words, "--workspace", name).stderr


def test_an_error_of_a_service_carries_what_it_carries_in_it() -> None:
    for error in (OverloadedError(3), UnknownWorkspaceError("There is no workspace 'c'.", "a, b"), StoreError()):

        async def fails(error: MemorydError = error) -> dict[str, object]:
            raise error

        answer = json.loads(json.dumps(anyio.run(lambda: requests.answered(fails()))))
        with pytest.raises(type(error)) as raised:
            memories.answered(answer)
        assert (str(raised.value), vars(raised.value)) == (str(error), vars(error))


def test_a_file_is_no_record_to_restore(run: Run, tmp_path: Path) -> None:
    run("store", "One.")
    run("backup", str(tmp_path / "b.db"))
    message = error_of(run("restore", str(tmp_path / "b.db"), code=2))
    command = message.partition("`memoryd ")[2].partition("`")[0].replace("DIRECTORY", str(tmp_path / "new"))
    run(*command.split())
    assert "gone.db names a file" in error_of(run("restore", "gone.db", code=2)), "also where it is not"
    assert "One." in run("recall", "One", "--data-dir", str(tmp_path / "new")).stdout


def test_read_only_only_lists(run: Run) -> None:
    run("workspace", "create", "p")
    assert len(listed(run)) == 1
    for verb in (["create", "q"], ["archive", "p"], ["restore", "p"], ["delete", "p", "--yes"]):
        assert "MEMORY_READ_ONLY" in error_of(run("workspace", *verb, code=2, MEMORY_READ_ONLY="true"))
    assert [found["status"] for found in listed(run)] == ["active"]


def test_one_file_holds_all_workspaces(run: Run, tmp_path: Any) -> None:
    where = ("--db", str(tmp_path / "all.db"))
    run("workspace", "create", "p", *where)
    run("workspace", "archive", "p", *where)
    assert [found["status"] for found in listed(run, *where)] == ["archived"]
    assert listed(run) == []


def test_a_backup_holds_archived_workspaces(run: Run, tmp_path: Any) -> None:
    for name in ("p", "q"):
        run("workspace", "create", name)
        stored(run, f"kept in {name}", "--workspace", name)
    run("workspace", "archive", "p")
    run("backup", str(tmp_path / "backup.db"))
    where = ("--db", str(tmp_path / "backup.db"))
    assert [found["status"] for found in listed(run, *where)] == ["archived", "active"]
    run("workspace", "restore", "p", *where)
    assert "kept in p" in run("inspect", "--view", "recent", "--workspace", "p", *where).stdout


# perspectives --------------------------------------------------------------------------------------------------------


def perspectives(run: Run, *options: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(run("workspace", "perspectives", "p", "--json", *options).stdout)["perspectives"]
    return found


def test_perspectives_are_shown_added_changed_removed_and_reset(run: Run) -> None:
    run("workspace", "create", "p")
    five = perspectives(run)
    assert list(five) == ["general", "technical", "relational", "temporal", "project"]
    changed = perspectives(
        run, "--set", "dated={date}: {text}", "--set", "technical={type} {text}", "--remove", "project"
    )
    assert changed["dated"] == "{date}: {text}"
    assert changed["technical"] == "{type} {text}"
    assert perspectives(run) == changed
    assert sorted(changed) == ["dated", "general", "relational", "technical", "temporal"]
    assert "A running server recreates the vectors" in run("workspace", "perspectives", "p", "--reset").stderr
    assert perspectives(run) == five
    assert "{entity}, {date}: {text}" in run("workspace", "perspectives", "p").stdout


def test_invalid_perspectives_are_reported_and_nothing_changes(run: Run) -> None:
    run("workspace", "create", "p")
    before = perspectives(run, "--set", "dated={date}: {text}")
    for options, message in {
        ("--reset", "--set", "x=BAD"): "must name {text}",
        ("--reset", "--remove", "dated"): "there are: general",
        ("--set", "dated"): "has no =",
        ("--set", "a={text}", "--set", "b=nothing"): "must name {text}",
        ("--remove", "general"): "recall searches it",
        ("--set", "a={text}", "--remove", "moods"): "there are: dated, general",
    }.items():
        assert message in error_of(run("workspace", "perspectives", "p", *options, code=2))
    assert perspectives(run) == before
    assert "not found" in error_of(run("workspace", "perspectives", "q", code=1))
    assert "forbids" in error_of(run("workspace", "perspectives", "p", "--reset", code=2, MEMORY_READ_ONLY="true"))


def test_a_directory_declares_its_workspace(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop" / "src").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    assert run("workspace", "which").stdout.startswith("default (not created yet): the default, as ")
    stored(run, "by hand", "--workspace", "till")
    file = tmp_path / "shop" / ".memoryd"
    file.write_text('workspace = "till"')
    assert "run `memoryd workspace use till`" in error_of(run("recall", "hand", "--workspace", "auto", code=2))
    output = run("workspace", "use", "till").stdout
    assert output == f"{file} declares the workspace till; MEMORY_NAMESPACE=auto uses it here.\n"
    monkeypatch.chdir(tmp_path / "shop" / "src")
    assert "by hand" in run("recall", "hand", "--workspace", "auto").stdout
    assert run("workspace", "which").stdout == f"till: declared by {file}.\n"
    found = json.loads(run("workspace", "which", "--json").stdout)
    assert found == {"workspace": "till", "found_by": f"declared by {file}", "keys": ["file:till"]}
    assert run("workspace", "which", "--workspace", "other").stdout == "other (not created yet).\n"


def test_a_workspace_is_opened_to_a_file_only_if_the_file_was_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(run, "by hand", "--workspace", "till")
    (tmp_path / "shop" / ".memoryd").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    shown = error_of(run("workspace", "use", "till", code=1))
    assert shown.startswith(f"{tmp_path / 'shop' / '.memoryd'} cannot be used: Is a directory.")
    (tmp_path / "strange").mkdir()
    monkeypatch.chdir(tmp_path / "strange")
    Path(".memoryd").write_text('workspace = "till"')
    assert "run `memoryd workspace use till`" in error_of(run("recall", "hand", "--workspace", "auto", code=2))


def test_over_http_no_directory_names_the_workspace(run: Run) -> None:
    assert "Over HTTP name a workspace" in error_of(run("serve", "--transport", "http", "--workspace", "auto", code=2))


def test_included_workspaces_are_read_together(run: Run) -> None:
    stored(run, "Green tea in the morning.", "--workspace", "personal")
    stored(run, "Staging has port 5433.", "--workspace", "shop")
    shop = ("--workspace", "shop")
    assert run("workspace", "include", *shop).stdout == "shop is read together with: no other.\n"
    assert run("workspace", "include", "personal", *shop).stdout == "shop is read together with: personal.\n"
    assert "in personal" in run("recall", "tea", "--format", "list", *shop).stdout
    assert "in personal" in run("context", *shop).stdout
    assert "personal" in json.dumps(json.loads(run("recall", "tea", "--format", "raw", *shop).stdout))
    run("workspace", "archive", "personal")
    assert run("workspace", "include", *shop).stdout == "shop is read together with: personal (archived).\n"
    gone = run("workspace", "include", "personal", "--remove", *shop, "--json").stdout
    assert json.loads(gone) == {"workspace": "shop", "includes": []}
    assert "read-only" in error_of(run("workspace", "include", "shop", code=2, MEMORY_READ_ONLY="1"))
