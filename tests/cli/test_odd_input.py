"""Commands with input that does not exist, is empty, or contradicts itself: they report it and do nothing else."""

import errno
import json
import os
import sys
from pathlib import Path

import pytest
from rich.progress import Progress

from memoryd.cli import show
from tests.cli.test_commands import Run, data, error_line, run, stored

__all__ = ["data", "run"]  # fixtures


LISTED = ((["token"], "tokens"), (["login"], "people"))


# ids and times -------------------------------------------------------------------------------------------------------


def test_unknown_ids_are_named(run: Run) -> None:
    key = stored(run, "Tea is green.")
    assert error_line(run("forget", "nope", "--yes", code=1)) == "There is no memory nope in 'default'.\n"
    some = run("forget", key[:8], "nope", "none", "--yes", code=1)
    assert (some.stdout, some.stderr) == ("Forgot 1 memory.\n", "There is no memory nope, none in 'default'.\n")
    assert json.loads(run("forget", key, "--yes", "--json", code=1).stdout)["forgotten"] == 0
    assert run("forget", "nope", "--tag", "old", "--yes").stdout == "No memories match the criteria.\n"
    some = run("inspect", stored(run, "Tea is black."), "nope", code=1)
    assert ("Tea is black." in some.stdout, some.stderr) == (True, "There is no memory nope in 'default'.\n")


def test_a_deleted_memory_cannot_be_restored_to_another_time(run: Run) -> None:
    key = stored(run, "Tea is green.")
    run("edit", key, "Tea is black.")
    (changed,) = json.loads(run("history", "--json").stdout)
    run("forget", key, "--yes")
    deleted = json.loads(run("history", "--json").stdout)[0]
    assert "was deleted at" in error_line(run("restore", key, "--at", changed["at"], code=2))
    assert run("restore", key, "--at", deleted["at"]).stdout == f"Restored memory {key[:8]}: Tea is black.\n"
    assert "no ISO 8601" in error_line(run("restore", key, "--at", "", code=2)).replace("not an", "no")
    assert "Tea is green." in run("restore", key, "--at", changed["at"].lower()).stdout


# files ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["backup", "export", "export --format markdown", "models export"])
def test_no_directory_is_created_for_a_file(run: Run, tmp_path: Path, command: str) -> None:
    stored(run, "Tea is green.")
    assert error_line(run(*command.split(), str(tmp_path / "none/file"), code=2)) == (
        f"There is no directory {tmp_path}/none. Nothing was written; create it, or choose another.\n"
    )
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("command", ["import", "backup", "export", "export --format markdown"])
def test_an_empty_name_is_not_this_directory(
    run: Run, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(run, "Tea is green.")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert "it is empty" in run(*command.split(), "", code=2).stderr
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("command", ["import", "export"])
@pytest.mark.parametrize("before", [False, True])
def test_all_workspaces_and_one_contradict_each_other(run: Run, tmp_path: Path, command: str, *, before: bool) -> None:
    stored(run, "Tea is green.")
    run("export", str(tmp_path / "all"), "--all", MEMORY_NAMESPACE="default")
    options = ["--workspace", "one"]
    words = [*options[: 2 * before], command, str(tmp_path / "all"), "--all", *options[2 * before :]]
    assert "Omit one of them." in error_line(run(*words, code=2))


@pytest.mark.parametrize("command", ["backup", "export"])
def test_of_two_concurrent_creations_one_gets_the_name(
    run: Run, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(run, "Tea is green.")
    file = tmp_path / "file"

    def update(*_given: object, **_how: object) -> None:
        file.write_text("of the faster one")

    monkeypatch.setattr(Progress, "update", update)
    assert "already exists" in run(command, str(file), code=1 if command == "backup" else 2).stderr
    assert file.read_text() == "of the faster one"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("file")] == ["file"]


def test_a_remedy_for_several_files_is_given_once(run: Run, tmp_path: Path) -> None:
    models = {"MEMORY_MODEL_DIR": str(tmp_path / "none"), "MEMORY_EMBEDDER": "bundled", "MEMORY_RERANKER": "bundled"}
    output = run("doctor", code=1, **models).stdout
    assert output.count("the model file is missing.\n") == 4
    assert output.count("  Run `memoryd models pull`.\n") == 1


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (errno.ENOSPC, "No space left on device. Make room, or"),
        (errno.EACCES, "Permission denied. Choose a place that this user may write."),
        (errno.EIO, "Input/output error. Choose another place."),
    ],
)
def test_space_is_freed_only_on_a_full_disk(
    run: Run, tmp_path: Path, form: str, error: int, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_given: object) -> None:
        raise OSError(error, os.strerror(error))

    stored(run, "Tea is green.")
    monkeypatch.setattr(os, "fsync", refuse)
    assert f"cannot be written: {remedy}" in error_line(run("export", "--format", form, str(tmp_path / "x"), code=1))


# credentials ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["token create ci", "login set anna"])
@pytest.mark.parametrize("name", ["", " "])
def test_a_credential_for_an_empty_workspace_is_not_one_for_all(run: Run, command: str, name: str) -> None:
    stored(run, "Tea is green.")
    words = [*command.split(), "--workspace", name]
    assert "--workspace is empty" in error_line(run(*words, code=2, stdin="a long password"))
    assert run(command.split(maxsplit=1)[0], "list").stdout.startswith("No ")


@pytest.mark.parametrize("command", ["token create ci", "login set anna", "sync init https://127.0.0.1:1/x.git"])
def test_a_workspace_before_a_command_that_binds_to_one_is_not_lost(run: Run, command: str) -> None:
    stored(run, "Tea is green.")
    message = error_line(run("--workspace", "default", *command.split(), code=2, stdin="a long password"))
    assert message.startswith("Write --workspace after `")
    assert f" {' '.join(command.split()[:2])}`" in message
    assert run("token", "list").stdout.startswith("No ")


def test_read_only_commands_do_not_change_credentials(run: Run) -> None:
    run("token", "create", "mine")
    run("login", "set", "me", stdin="a long password")
    for command in ("token create ci", "token revoke mine", "login set anna", "login remove me", "access revoke me"):
        message = error_line(run("--read-only", *command.split(), code=2, stdin="a long password"))
        assert message == f"{' '.join(command.split()[:2])} writes, which --read-only (MEMORY_READ_ONLY) forbids.\n"
        assert [len(json.loads(run(*of, "list", "--json").stdout)[name]) for of, name in LISTED] == [1, 1]


@pytest.mark.parametrize("option", ["--db", "--data-dir", "--workspace"])
def test_an_empty_option_does_not_mean_the_default(run: Run, data: Path, option: str) -> None:
    assert error_line(run(option, "", "store", "x", code=2)) == f"{option} is empty. Name one, or omit the option.\n"
    assert not data.exists()


# texts, tags, services -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", " \t"])
def test_blank_texts_and_queries_are_refused(run: Run, data: Path, text: str) -> None:
    assert error_line(run("store", text, code=2)).startswith("Nothing to store. ")
    assert error_line(run("recall", text, code=2)).startswith("The query is empty. ")
    assert not data.exists()


def test_tags_are_not_set_and_removed_at_once(run: Run) -> None:
    key = stored(run, "Tea is green.")
    assert "Omit one of them." in error_line(run("edit", key, "--tag", "tea", "--no-tags", code=2))


def test_a_failed_inclusion_creates_no_workspace(run: Run) -> None:
    assert "There are: none yet." in error_line(run("workspace", "include", "nope", code=1))
    assert run("workspace", "list").stdout == "No workspaces yet.\n"


@pytest.mark.skipif(sys.platform == "win32", reason="no service there")
def test_without_a_service_there_is_none_to_stop(run: Run, data: Path) -> None:
    assert run("service", "stop").stdout == "No service is running.\n"
    assert "no service was ever started" in error_line(run("service", "logs"))
    (data / "service").mkdir(parents=True)
    (data / "service").chmod(0o755)
    assert "chmod 700" in error_line(run("service", "stop", code=2))


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes with a name there")
def test_models_do_not_come_from_a_pipe(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is not a file" in error_line(run("models", "import", str(tmp_path / "pipe"), code=2))


# sizes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (999_499, "999 kB"),
        (999_600, "1 MB"),
        (1_234_567, "1.23 MB"),
        (2e12, "2 TB"),
    ],
)
def test_a_size_has_three_figures(count: int, shown: str) -> None:
    assert show.size(count) == shown
