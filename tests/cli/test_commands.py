"""Commands as a person or a script uses them: what they print, where, and with which exit code."""

import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from typer.testing import CliRunner, Result

from memoryd import __version__
from memoryd.cli import PANELS, app
from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.settings import Settings
from memoryd.toolsets import TOOLSETS
from tests import forks
from tests.clients import NO_MODELS, PATIENCE, environment
from tests.commands import REHEARSED
from tests.wires import ProcessWire

Run = Callable[..., Result]
UNPRIVILEGED = 65534


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run commands in this process, without models, on the test's own data directory."""
    for name in [name for name in os.environ if name.startswith("MEMORY_")]:
        monkeypatch.delenv(name)
    for name, value in ({"MEMORY_DATA_DIR": str(tmp_path / "data")} | NO_MODELS).items():
        monkeypatch.setenv(name, value)

    def invoke(*arguments: str, code: int = 0, stdin: str | bytes | None = None, **env: str) -> Result:
        result = CliRunner().invoke(app, arguments, input=stdin, env=env)
        assert result.exit_code == code, (result.exit_code, result.output, result.exception)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    return invoke


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def stored(run: Run, text: str, *options: str) -> str:
    """Store a text; return its id."""
    return str(json.loads(run("store", text, "--json", *options).stdout)["id"])


def error_line(result: Result) -> str:
    """Return the one line on stderr with which a command fails; nothing else is printed."""
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


# storing and finding -------------------------------------------------------------------------------------------------


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"memoryd {__version__}\n"


def test_every_command_explains_itself(run: Run) -> None:
    for command in ("serve", "store", "recall", "context", "forget", "inspect", "doctor", "backup"):
        assert f"memoryd {command}" in run(command, "-h").stdout.replace("root ", "memoryd ")


def test_words_of_a_text_are_one_memory(run: Run) -> None:
    output = run("store", "The", "staging", "port", "is", "5433.", "--tag", "db", "--importance", ".9").stdout
    (memory_id,) = re.findall(r"Stored memory ([0-9a-f]{8})\.\n", output)
    (memory,) = json.loads(run("inspect", memory_id, "--json").stdout)["memories"]
    assert (memory["content"], memory["tags"], memory["importance"]) == ("The staging port is 5433.", ["db"], 0.9)


@pytest.mark.parametrize("arguments", [("store",), ("store", "-")])
def test_a_pipe_is_stored_verbatim_but_for_its_last_line_break(run: Run, arguments: tuple[str, ...]) -> None:
    run(*arguments, stdin="  two\nlines \N{SNOWMAN}\n")
    (memory,) = json.loads(run("inspect", "--view", "recent", "--json").stdout)["memories"]
    assert memory["content"] == "  two\nlines \N{SNOWMAN}"


def test_recall_shows_text_and_id_or_what_agents_see(run: Run) -> None:
    memory_id = stored(run, "The staging port is 5433.", "--tag", "db")
    shown = run("recall", "staging", "port").stdout
    assert shown.startswith("- The staging port is 5433.\n")
    assert shown.splitlines()[1].startswith(f"  {memory_id[:8]}  ")
    assert "#db" in shown
    assert "importance 0.5] The staging" in run("recall", "port", "--format", "list").stdout
    assert json.loads(run("recall", "port", "--json").stdout)["memories"][0]["id"] == memory_id
    assert run("recall", "port", "--tag", "other").stdout == "No memory has the tag other.\n"
    assert run("recall", "port", "--kind", "entity").stdout.startswith("No record of these kinds bears on this ")


def test_recall_is_limited_in_time(run: Run) -> None:
    stored(run, "The staging port is 5433.")
    time = json.loads(run("recall", "port", "--format", "raw", "--json").stdout)["memories"][0]["created_at"]
    assert "5433" in run("recall", "port", "--after", time).stdout
    assert run("recall", "port", "--before", time).stdout.startswith("No memory of that time bears on this in ")
    assert "5433" in run("recall", "what", "happened", "today?").stdout
    assert "not earlier than before" in run("recall", "port", "--after", time, "--before", time, code=2).stderr
    run("forget", "--before", "9999-01-01", "--yes")
    assert "importance 0.5] The staging" in run("recall", "port", "--as-of", time).stdout, "as it was then"


def test_a_node_is_shown_with_its_type_as_agents_see_it(run: Run, tmp_path: Path) -> None:
    graph = tmp_path / "graph.jsonl"
    graph.write_text(json.dumps({"entity": "Acme", "type": "company"}))
    run("import", str(graph), "--yes", "--no-vectors")
    assert run("recall", "acme").stdout.startswith("- Acme (company)\n")


def test_what_the_budget_keeps_out_is_counted_on_stderr(run: Run) -> None:
    for number in range(5):
        stored(run, f"port {number} " + f"is written down in detail {number} " * 8)
    result = run("recall", "port", "--budget", "90")
    assert "more were found" in result.stderr
    assert "were found" not in result.stdout


def test_context_and_inspect(run: Run) -> None:
    stored(run, "Tabs, not spaces.", "--tag", "style")
    assert "Tabs, not spaces." in run("context").stdout
    assert "Tabs, not spaces." in run("context", "style", "of", "code").stdout
    assert json.loads(run("context", "--json").stdout)["memories"]
    assert re.search(r"total +1", run("inspect").stdout)
    assert re.search(r"style +1", run("inspect", "--view", "tags").stdout)
    assert "Tabs" in run("inspect", "--view", "important").stdout


def test_a_long_memory_is_cut_in_a_list_and_whole_by_its_id(run: Run) -> None:
    text = "word " * 200
    memory_id = stored(run, text)
    assert text not in run("inspect", "--view", "recent").stdout
    assert text in run("inspect", memory_id).stdout


def test_terminal_control_characters_are_shown_not_obeyed(run: Run) -> None:
    run("store", stdin="red \x1b[31m and \x9b2J and \N{RIGHT-TO-LEFT OVERRIDE}txt [bold]tag[/bold]")
    for arguments in (
        ("recall", "red"),
        ("context",),
        ("inspect", "--view", "recent"),
        ("forget", "--query", "red", "--dry-run"),
    ):
        shown = run(*arguments).stdout
        assert not re.search("[\x1b\x9b\N{RIGHT-TO-LEFT OVERRIDE}]", shown)
        assert "[bold]tag[/bold]" in shown


def test_workspaces_are_separate_wherever_the_option_is(run: Run) -> None:
    run("--workspace", "work", "store", "secret of work")
    run("store", "secret of home", "--workspace", "home")
    assert run("recall", "secret", "--workspace", "work").stdout.count("secret") == 1
    assert "secret of home" in run("--workspace", "work", "recall", "secret", "--workspace", "home").stdout
    assert "secret of work" in run("recall", "secret", MEMORY_NAMESPACE="work").stdout


def test_options_choose_the_database(run: Run, tmp_path: Path) -> None:
    run("store", "in a file", "--db", str(tmp_path / "one.db"))
    run("--data-dir", str(tmp_path / "other"), "store", "in a directory")
    assert (tmp_path / "one.db").exists()
    assert (tmp_path / "other/memory.db").exists()
    assert not (tmp_path / "data").exists()


# forgetting ----------------------------------------------------------------------------------------------------------


def test_forgetting_asks_first_unless_yes_is_given(run: Run) -> None:
    memory_id = stored(run, "to go", "--tag", "old")
    stored(run, "to stay")
    assert "--yes" in error_line(run("forget", memory_id, code=2))
    assert f"- {memory_id[:8]}: to go\n" in run("forget", "--tag", "old", "--dry-run").stdout
    assert re.search(r"total +2", run("inspect").stdout)
    assert run("forget", "--tag", "old", "--yes").stdout == "Forgot 1 memory.\n"
    assert run("forget", "--tag", "old", "--yes").stdout == "No memories match the criteria.\n"
    assert run("forget", "--tag", "old").stdout == "No memories match the criteria.\n"
    assert re.search(r"total +1", run("inspect").stdout)


@pytest.mark.process
@pytest.mark.parametrize(("answer", "code", "left"), [(b"n\n", 1, 130), (b"y\n", 0, 0), (b"\x04", 1, 130)])
def test_at_a_terminal_exactly_what_was_shown_is_forgotten(
    run: Run, home: Path, answer: bytes, code: int, left: int
) -> None:
    with Engine(Settings.read()) as engine:
        memories = Memories(Scope(engine, engine.workspaces.ensure("default")))
        for number in range(130):  # more than a tool takes ids at once
            memories.store(f"number {number} of them", ["many"])
    environ = environment(home) | {"MEMORY_DATA_DIR": str(Settings.read().data_dir)}
    ended = _at_a_terminal(environ, answer, "forget", "--tag", "many")
    assert ended.returncode == code, ended.stderr
    assert b"and 110 more" in ended.stderr
    assert re.search(rf"total +{left}\b", run("inspect").stdout)


def _at_a_terminal(environ: dict[str, str], typed: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command whose stdin is a terminal with typed input."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, typed)
        return forks.run(
            [sys.executable, "-m", "memoryd", *arguments],
            stdin=theirs, capture_output=True, env=environ, timeout=PATIENCE, check=False,
        )  # fmt: skip
    finally:
        os.close(ours)
        os.close(theirs)


# errors are one line -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("store", "x" * 10_001), "it has 10001"),
        (("store", "x", "--importance", "2"), "importance"),
        (("recall", "x", "--budget", "0"), "token_budget"),
        (("recall", "x", "--format", "prose"), "'summary', 'list', 'raw' or 'answer'"),
        (("recall", "x", "--kind", "nothing"), "kinds"),
        (("inspect", "--view", "nothing"), "'stats', 'recent', 'important', 'tags' or 'export'"),
        (("inspect", "--limit", "0"), "limit"),
        (("forget", "--before", "yesterday", "--yes"), "'yesterday' is not an ISO 8601 time"),
        (("forget",), "At least one of ids, tags, query, or before"),
        (("--read-only", "store", "x"), "--read-only"),
        (("--workspace", " ", "store", "x"), "is not a valid workspace name"),
    ],
)
def test_wrong_input_is_named_and_exits_2(run: Run, arguments: tuple[str, ...], message: str) -> None:
    run("store", "a database must be there to look into")
    assert message in error_line(run(*arguments, code=2))


def test_a_pipe_that_is_not_text_is_refused(run: Run) -> None:
    assert "not UTF-8" in error_line(run("store", stdin=b"caf\xe9", code=2))
    assert "10000 characters" in error_line(run("store", stdin="x" * 1_000_000, code=2))


def test_wrong_settings_exit_2(run: Run) -> None:
    assert "MEMORY_DURABILITY='maybe'" in error_line(run("store", "x", MEMORY_DURABILITY="maybe", code=2))
    assert "MEMORY_DEFAULT_TOKEN_BUDGET='lots'" in error_line(run("doctor", MEMORY_DEFAULT_TOKEN_BUDGET="lots", code=2))
    assert "MEMORY_READ_ONLY='perhaps'" in error_line(run("doctor", MEMORY_READ_ONLY="perhaps", code=2))
    assert "There are: recall" in error_line(run("--toolsets", "nothing", code=2))
    assert "MEMORY_TOOLSETS='recal'" in error_line(run("doctor", MEMORY_TOOLSETS="recal", code=2))
    assert "MEMORY_LOG_LEVEL" in error_line(run("serve", MEMORY_LOG_LEVEL="loud", code=2))


def test_reading_creates_no_database_and_no_workspace(run: Run, data: Path) -> None:
    for arguments in (("recall", "x"), ("context",), ("inspect",), ("forget", "--tag", "x"), ("backup", "b.db")):
        assert "There is no database yet" in error_line(run(*arguments, code=1))
    run("doctor")
    assert not data.exists()
    run("store", "x")
    assert "There is no workspace 'typo'. There are: default." in error_line(
        run("--workspace", "typo", "inspect", code=1)
    )


def test_a_damaged_database_is_reported_without_a_traceback(run: Run, data: Path) -> None:
    run("store", "x")
    (data / "_meta.db").write_bytes(b"not a database, but long enough to be looked into" * 100)
    assert "is not a SQLite database" in error_line(run("recall", "x", code=1))
    assert "is not a SQLite database" in error_line(run("store", "x", code=1))


def test_a_database_of_another_program_is_left_alone(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    theirs = apsw.Connection(str(path))
    theirs.execute("CREATE TABLE t (x)")
    theirs.close()
    before = path.read_bytes()
    assert "another program" in error_line(run("store", "x", "--db", str(path), code=1))
    assert path.read_bytes() == before


def test_a_database_from_the_future_is_left_alone(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "future.db"
    run("store", "x", "--db", str(path))
    future = apsw.Connection(str(path))
    future.pragma("user_version", 9_999)
    future.close()
    assert "Upgrade memoryd" in error_line(run("recall", "x", "--db", str(path), code=1))


def test_a_data_directory_that_is_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert "cannot be opened" in error_line(run("--data-dir", str(tmp_path / "file"), "store", "x", code=1))


WITHOUT_RIGHTS = f"""
import json, os, sys
{REHEARSED}
commands = json.loads(sys.argv[1])
rehearse(*commands)
if os.getuid() == 0:
    os.setuid({UNPRIVILEGED})
ended = [CliRunner().invoke(app, command) for command in commands]
print(json.dumps([(each.exit_code, each.output) for each in ended]))
"""


NOT_WRITTEN: dict[tuple[str, ...], str] = {
    ("store", "x"): "do not allow it",
    ("recall", "x"): "There is no database yet",
    ("doctor",): "this user cannot write to it",
    ("models", "pull"): "choose another directory with MEMORY_MODEL_DIR",
}
NOT_ENTERED: dict[tuple[str, ...], str] = {
    ("store", "x"): "_meta.db cannot be opened: the permissions of",
    ("doctor",): "run memoryd as the owner",
}


@pytest.mark.process
@pytest.mark.parametrize(("mode", "outcomes"), [(0o555, NOT_WRITTEN), (0o000, NOT_ENTERED)], ids=["written", "entered"])
def test_a_directory_without_permissions(mode: int, outcomes: dict[tuple[str, ...], str], home: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(mode)
        ended = forks.run(
            [sys.executable, "-c", WITHOUT_RIGHTS, json.dumps(list(outcomes))],
            env=environment(home) | {"MEMORY_DATA_DIR": f"{folder}/x"},
            capture_output=True, text=True, timeout=PATIENCE, check=True,
        )  # fmt: skip
    for (arguments, expected), (code, output) in zip(outcomes.items(), json.loads(ended.stdout), strict=True):
        assert arguments != ("doctor",) or output.count(folder + "/x/_meta.db: ") == 1, output
        assert code == 1, arguments
        assert expected in output, arguments
        assert "Traceback" not in output


@pytest.mark.process
def test_a_full_disk(home: Path) -> None:
    full = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)"
    full += "; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"  # less than an empty database needs
    ended = script(full, "store", "x", home=home)
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "Nothing was stored" in ended.stderr


def script(first: str, *arguments: str, home: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that first runs some code, once everything is imported."""
    every = "import os, sys, memoryd.cli, typer.main\ndict(typer.main.get_command(memoryd.cli.app).commands)"
    lines = f"{every}\n{first}\nsys.argv = ['memoryd', *{arguments!r}]\nmemoryd.cli.main()"
    return forks.run(
        [sys.executable, "-c", lines], env=environment(home) | settings,
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


# doctor and backup ---------------------------------------------------------------------------------------------------


def test_doctor_finds_no_problems(run: Run, data: Path) -> None:
    run("store", "x")
    output = run("doctor").stdout
    assert f"memoryd {__version__}" in re.sub(" +", " ", output)
    assert str(data / "memory.db") in output
    assert re.search(r"default +memory: 1", output)
    assert "All is well." in output


def test_doctor_finds_and_repairs_and_its_exit_code_says_so(run: Run, data: Path) -> None:
    run("store", "findable")
    broken = apsw.Connection(str(data / "memory.db"))
    broken.execute("INSERT INTO records_fts(records_fts) VALUES ('delete-all')")
    broken.close()
    output = run("doctor", code=1).stdout
    assert "! " in output
    assert "memoryd doctor --repair" in output
    (finding,) = json.loads(run("doctor", "--json", code=1).stdout)["findings"]
    assert finding["subject"] == str(data / "memory.db")
    assert "--read-only" in error_line(run("--read-only", "doctor", "--repair", code=2))
    assert "All is well." in run("doctor", "--repair").stdout
    assert "findable" in run("recall", "findable").stdout


def test_a_backup_serves_as_a_database(run: Run, tmp_path: Path) -> None:
    run("store", "of default")
    run("--workspace", "other", "store", "of other")
    target = tmp_path / "new folder/backup file.db"
    assert "There is no directory" in error_line(run("backup", str(target), code=2))
    target.parent.mkdir()
    result = json.loads(run("backup", str(target), "--json").stdout)
    assert (result["file"], result["records"]) == (str(target), 2)
    assert "of other" in run("--db", str(target), "recall", "other", "--workspace", "other").stdout
    assert "All is well" in run("doctor", "--db", str(target)).stdout  # not least: it has a write-ahead log again
    assert "already exists" in error_line(run("backup", str(target), code=1))
    assert sorted(path.name for path in target.parent.iterdir()) == ["backup file.db"]


@pytest.mark.process
def test_a_backup_while_others_write(run: Run, home: Path, tmp_path: Path) -> None:
    data = {"MEMORY_DATA_DIR": str(Settings.read().data_dir)}
    writing = threading.Event()
    stop = threading.Event()
    written: list[str] = []

    def write() -> None:
        with ProcessWire(environment(home) | data) as other:
            other.handshake()
            while not stop.is_set():
                answer = other.call("memory_store", content=f"number {len(written)}")
                written.append(answer["structuredContent"]["id"])
                writing.set()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert writing.wait(PATIENCE)
        acknowledged = len(written)
        result: dict[str, Any] = json.loads(run("backup", str(tmp_path / "b.db"), "--json").stdout)
    finally:
        stop.set()
        thread.join(PATIENCE)
    assert acknowledged <= result["records"] <= len(written)
    shown = json.loads(
        run("--db", str(tmp_path / "b.db"), "inspect", "--view", "export", "--limit", "1000", "--json").stdout
    )
    assert {memory["id"] for memory in shown["memories"]} == set(written[: result["records"]])


# the server ----------------------------------------------------------------------------------------------------------


@pytest.mark.process
def test_the_server_takes_its_options_before_and_after_serve(home: Path) -> None:
    with ProcessWire(environment(home), "--read-only", "serve", "--toolsets", "vault") as wire:
        wire.handshake()
        names = {tool["name"] for tool in wire.result("tools/list")["tools"]}
    assert names == {tool.name for tool in TOOLSETS["vault"] if tool.capability == "read"}


@pytest.mark.process
def test_at_a_terminal_memoryd_explains_what_it_waits_for(home: Path) -> None:
    ended = _at_a_terminal(environment(home), b"\x04")
    assert ended.returncode == 0
    assert ended.stdout == b""
    assert b"memoryd install claude-code --hooks" in ended.stderr
    assert ended.stderr.count(b"\n") == 1


# maintenance and history ---------------------------------------------------------------------------------------------


def test_history_lists_changes_and_restore_undoes_them(run: Run) -> None:
    key = stored(run, "The office is in Berlin.")
    run("forget", key, "--yes")
    output = run("history").stdout
    assert "deleted memory: The office is in Berlin." in output
    assert output.endswith(" forget\n"), "by whom"
    assert f"\n  {key[:8]}  " in output
    assert run("restore", key).stdout == f"Restored memory {key[:8]}: The office is in Berlin.\n"
    assert "Berlin" in run("recall", "office").stdout
    assert run("history").stdout == "There is nothing to undo.\n"
    assert "memoryd history" in error_line(run("restore", "nope", code=1))


def test_a_dry_run_of_maintenance_shows_what_it_would_do(run: Run) -> None:
    older, newer = (stored(run, f"The user {negation} like tea.") for negation in ("doesn't", "does not"))
    assert f"{newer[:8]} would be merged: The user does not like tea." in run("maintain", "--dry-run").stdout
    (act,) = json.loads(run("maintain", "--json").stdout)["acts"]
    assert (act["ending"], act["gone"][0]["id"], act["by"]["id"]) == ("merged", newer, older)
    assert f"{newer[:8]}  a duplicate with the same words" in run("history").stdout
    assert run("maintain").stdout == "There was nothing to do.\n"
    assert "--read-only" in error_line(run("--read-only", "maintain", code=2))


def test_the_help_groups_commands(run: Run) -> None:
    shown = run("--help").stdout
    places = [shown.index(f"─ {panel} ─") for panel in PANELS]
    assert places == sorted(places)
    assert shown.index("│ store ") > places[0]
    assert "─ Commands ─" not in shown, "each command stands in a group"
