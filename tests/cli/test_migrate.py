"""`memoryd migrate` and `memoryd backup` between databases, as a person or a script uses them."""

import json
import re
from pathlib import Path

import pytest

from memoryd.store.postgres import pool
from tests.clients import database
from tests.commands import process, run


@pytest.fixture
def source(home: Path, tmp_path: Path) -> Path:
    """A data directory with two workspaces."""
    for name, text in (("default", "The ship sails north."), ("other", "Bread needs yeast.")):
        run(home, "--data-dir", tmp_path / "source", "store", text, "--workspace", name, MEMORY_DATABASE_URL="")
    return tmp_path / "source"


@pytest.fixture
def url(postgres: str, tmp_path: Path) -> str:
    return database(postgres, tmp_path)


@pytest.mark.process
def test_from_sqlite_to_postgres_and_back(home: Path, source: Path, url: str, tmp_path: Path) -> None:
    result = process(home, "migrate", "--from", source, "--to", url)
    assert re.findall(r"^(\w+) +active +(\d+) +0 +0 +(\d+) +(\d+) *$", result.stdout, re.MULTILINE) == [
        ("default", "1", "1", "3"),
        ("other", "1", "1", "3"),
    ]
    assert result.stdout.endswith("\nSource and target have the same content.\n")
    assert result.stderr == ""
    assert "sails" in run(home, "recall", "ship", MEMORY_DATABASE_URL=url).stdout
    back = json.loads(run(home, "migrate", "--from", url, "--to", tmp_path / "back.db", "--json").stdout)
    assert [(each["name"], each["rows"]["records"], each["written"]) for each in back["workspaces"]] == [
        ("default", 1, 3),
        ("other", 1, 3),
    ]
    assert back["differences"] == []
    recalled = run(
        home, "--db", tmp_path / "back.db", "recall", "bread", "--workspace", "other", MEMORY_DATABASE_URL=""
    )
    assert "yeast" in recalled.stdout


def test_tokens_and_people_that_are_not_copied_are_named(home: Path, source: Path, url: str) -> None:
    run(home, "--data-dir", source, "token", "create", "ci", MEMORY_DATABASE_URL="")
    run(home, "--data-dir", source, "token", "create", "laptop", MEMORY_DATABASE_URL="")
    run(home, "token", "create", "laptop", MEMORY_DATABASE_URL=url)
    output = run(home, "migrate", "--from", source, "--to", url).stdout
    assert "Not copied are tokens and people: ci. Before you serve" in output
    again = json.loads(run(home, "migrate", "--from", source, "--to", url, "--json").stdout)
    assert again["stayed"] == ["ci"]


def test_a_difference_exits_with_1_and_a_message(home: Path, source: Path, url: str) -> None:
    run(home, "migrate", "--from", source, "--to", url)
    run(home, "store", "more", MEMORY_DATABASE_URL=url)
    ended = run(home, "migrate", "--from", source, "--to", url, code=1)
    assert ended.stderr.startswith("Source and target differ: records of default: 1 in the source, 2 in the target; ")
    assert ended.stderr.count("\n") == 1
    script = run(home, "migrate", "--from", source, "--to", url, "--json", code=1)
    assert {each["table"] for each in json.loads(script.stdout)["differences"]} == {
        "records",
        "memory_details",
        "events",
    }


def test_a_name_that_is_taken_is_reported_in_one_line(home: Path, source: Path, url: str) -> None:
    run(home, "store", "mine", MEMORY_DATABASE_URL=url)
    ended = run(home, "migrate", "--from", source, "--to", url, code=2)
    assert "same name: default. Nothing was written" in ended.stderr
    assert (ended.stdout, ended.stderr.count("\n")) == ("", 1)
    assert "`memoryd export FILE --all` on the source and `memoryd import FILE --all` on the target" in ended.stderr
    run(home, "--data-dir", source, "export", source / "all.jsonl", "--all", MEMORY_DATABASE_URL="")
    run(home, "import", source / "all.jsonl", "--all", MEMORY_DATABASE_URL=url)
    assert all(word in run(home, "recall", word, MEMORY_DATABASE_URL=url).stdout for word in ("mine", "sails"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["migrate", "--from", "{source}", "--to", "{source}"], 2, "the same place"),
        (["migrate", "--from", "{source}/none", "--to", "{source}.db"], 1, "contains no workspace"),
        (["migrate", "--from", "", "--to", "{source}.db"], 2, "--from is empty"),
        (["migrate", "--from", "{source}", "--to", ":memory:"], 2, "--to: ':memory:': it names no file"),
        (["migrate", "--from", "file:x?mode=memory", "--to", "{source}.db"], 2, "--from: 'file:x?mode=memory': it nam"),
        (["migrate", "--from", "{source}", "--to", "postgresql:"], 2, "--to is not a valid URL"),
        (["migrate", "--from", "postgresql://127.0.0.1:9/x", "--to", "{source}.db"], 1, "correct --from;"),
        (["--read-only", "migrate", "--from", "{source}", "--to", "{source}.db"], 2, "--read-only"),
    ],
)
def test_impossible_requests_are_reported_and_create_nothing(
    home: Path, source: Path, arguments: list[str], code: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "FAILOVER", 0)
    ended = run(home, *(one.format(source=source) for one in arguments), code=code)
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert sorted(path.name for path in source.parent.iterdir()) == ["home", "source"]


def test_a_link_to_the_source_is_not_a_target(home: Path, source: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(source)
    assert "the same place" in run(home, "migrate", "--from", source, "--to", link, code=2).stderr
    into = run(home, "migrate", "--from", source, "--to", link / "memory.db", code=2)
    assert "is part of the source" in into.stderr


@pytest.mark.slow
def test_no_password_is_shown(home: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "FAILOVER", 0)
    url = "postgresql://someone:geheim@127.0.0.1:9/nowhere?connect_timeout=1"
    ended = run(home, "migrate", "--from", source, "--to", url, code=1)
    assert "geheim" not in ended.stdout + ended.stderr


def test_a_backup_of_postgres_serves_as_a_database(home: Path, url: str, tmp_path: Path) -> None:
    run(home, "store", "The ship sails north.", MEMORY_DATABASE_URL=url)
    result = run(home, "backup", tmp_path / "all.db", MEMORY_DATABASE_URL=url)
    assert re.match(rf"Wrote {tmp_path}/all\.db: 1 record, ", result.stdout)
    assert "sails" in run(home, "--db", tmp_path / "all.db", "recall", "ship", MEMORY_DATABASE_URL="").stdout
    assert "already exists" in run(home, "backup", tmp_path / "all.db", code=1, MEMORY_DATABASE_URL=url).stderr
