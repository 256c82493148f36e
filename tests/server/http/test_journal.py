"""The journal over HTTP: isolation of turns and files, and who may stop the database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import Json
from tests.http import HttpServer, bearer, beside, granted, remote, serving

TURN = {"prompt": "p", "thought": "t", "response": "r"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with serving(tmp_path_factory.mktemp("journal"), "--toolsets", "journal") as server:
        yield server


@pytest.fixture(scope="module")
def tokens(server: HttpServer) -> dict[str, str]:
    """The tokens of an admin and a writer, each for a separate workspace."""
    with beside(server) as engine:
        for name in ("one", "two"):
            engine.workspaces.ensure(name)
    return {"one": granted(server, "ann", "admin", workspace="one"), "two": granted(server, "bob", workspace="two")}


def result_of(server: HttpServer, token: str, tool: str, **arguments: object) -> Json:
    answer = server.tool(tool, bearer(token), **arguments)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def refused(server: HttpServer, token: str, tool: str, **arguments: object) -> str:
    answer = server.tool(tool, bearer(token), **arguments)
    assert answer.status_code in (400, 403, 404), answer.text
    return str(answer.json()["error"])


def test_a_workspaces_exports_cannot_be_imported_into_another(server: HttpServer, tokens: dict[str, str]) -> None:
    result_of(server, tokens["one"], "add_memory", **TURN, sessionId="secret")
    file = result_of(server, tokens["one"], "export_database")["file"]
    assert "outside the directory of exports" in refused(server, tokens["two"], "import_database", file=file)
    assert result_of(server, tokens["two"], "get_session_memories", sessionId="secret")["total"] == 0
    assert result_of(server, tokens["one"], "import_database", file=file)["memories"] == 1


def test_a_caller_with_a_token_learns_no_directory(server: HttpServer, tokens: dict[str, str]) -> None:
    home = server.environ["MEMORY_DATA_DIR"]
    answers = [
        str(result_of(server, tokens["one"], "export_database")),
        str(result_of(server, tokens["one"], "healthcheck")),
        refused(server, tokens["one"], "import_database", file="/etc/hostname"),
        refused(server, tokens["one"], "import_database", file="missing.jsonl"),
    ]
    assert not [text for text in answers if home in text]


def test_errors_about_files_name_no_directory_either(server: HttpServer, tokens: dict[str, str]) -> None:
    home = Path(server.environ["MEMORY_DATA_DIR"])
    name = result_of(server, tokens["one"], "export_database")["file"]
    folder = (home / "exports" / name).parent
    (folder / "binary.jsonl").write_bytes(b"\x7fELF\0\0\n")
    error = refused(server, tokens["one"], "import_database", file=f"{folder.name}/binary.jsonl")
    assert "is not UTF-8 text" in error
    assert str(home) not in error
    aside = folder.rename(folder.with_name("aside"))
    folder.write_text("in the way")
    answer = server.tool("export_database", bearer(tokens["one"]))
    assert (answer.status_code, "cannot be written" in answer.text, str(home) in answer.text) == (503, True, False)
    folder.unlink()
    aside.rename(folder)
    assert result_of(server, tokens["one"], "export_database")["file"]


def test_a_writer_cannot_stop_the_database(server: HttpServer, tokens: dict[str, str]) -> None:
    assert "does not allow stop_database" in refused(server, tokens["two"], "stop_database")
    assert result_of(server, tokens["one"], "stop_database")["status"] in ("embedded", "external")


def test_an_error_has_the_seeds_form_over_plain_http_too(server: HttpServer, tokens: dict[str, str]) -> None:
    text = refused(server, tokens["one"], "add_memory", prompt="p")
    assert text.startswith("Tool Error: Invalid arguments. Message: Invalid arguments for add_memory.")


@pytest.mark.parametrize("mode", ["legacy", "sse"])
def test_a_connection_keeps_one_session_for_its_turns(server: HttpServer, tokens: dict[str, str], mode: str) -> None:
    with remote(server, mode, **bearer(tokens["one"])) as agent, remote(server, mode, **bearer(tokens["one"])) as other:
        first, second = (agent.ok("add_memory", **TURN)["sessionId"] for _ in range(2))
        assert first == second != other.ok("add_memory", **TURN)["sessionId"]
