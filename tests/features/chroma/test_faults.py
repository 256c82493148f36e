"""A ChromaDB that is killed, stopped, shared or external, and a memoryd that is killed while it runs."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

from memoryd.core.admin.doctor import Doctor
from memoryd.errors import StoreAwayError, StoreError
from memoryd.features.chroma.client import Chroma
from memoryd.origin import address
from memoryd.store.journal import STOPPED
from tests.clients import Agent, environment, process_agent, until
from tests.store.journals import BREAD, engine, journal, turn
from tests.wires import ProcessWire

ChromaServer = pytest.importorskip("memoryd.features.chroma.server", exc_type=ImportError).ChromaServer
pytestmark = [pytest.mark.process, pytest.mark.slow]

TURN = dict(zip(("prompt", "thought", "response"), BREAD, strict=True))
ON = {"MEMORY_JOURNAL_STORE": "chroma", "MEMORY_TOOLSETS": "journal"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a data directory, and wait at the end until its ChromaDB has stopped."""
    directory = tmp_path_factory.mktemp("data")
    yield directory
    gone(directory)


def pid(directory: Path) -> int:
    running = ChromaServer(directory)._running()
    return running.pid if running else 0


def gone(directory: Path) -> None:
    until(lambda: not pid(directory), "the end of ChromaDB")


def kill(number: int) -> None:
    os.kill(number, signal.SIGKILL)


def with_models(data: Path, models: Path) -> dict[str, str]:
    return environment(data.parent / "home", models, **ON, MEMORY_DATA_DIR=str(data))


@contextmanager
def serving(data: Path, models: Path, **settings: str) -> Iterator[Agent]:
    environ = with_models(data, models) | settings
    with process_agent(environ, log=data.parent / f"{data.name}.log") as client:
        yield client


def test_it_is_started_by_the_first_user_and_stopped_by_the_last(data: Path, model_dir: Path) -> None:
    with serving(data, model_dir) as client:
        assert client.tools()
        assert not pid(data)
        added = client.ok("add_memory", **TURN, sessionId="first")
        health = client.ok("healthcheck")
        assert health["database"] == {"product": "ChromaDB", "place": str(data / "chroma"), "state": "running"}
        assert pid(data)
    gone(data)
    with serving(data, model_dir) as client:
        (found,) = client.ok("get_session_memories", sessionId="first")["memories"]
    assert found["id"] == added["id"]
    assert found["prompt"] == BREAD[0]


def test_it_is_stopped_and_started_on_request(data: Path, model_dir: Path) -> None:
    gone(data)
    with serving(data, model_dir) as client:
        assert client.ok("start_database")["status"] == "started"
        assert client.ok("start_database")["status"] == "already_running"
        assert client.ok("stop_database")["status"] == "stopped"
        assert not pid(data)
        for tool, arguments in (("healthcheck", {}), ("add_memory", TURN)):
            message = client.refused(tool, **arguments)
            assert message == f"Tool Error: Database connection failed. Message: {STOPPED}"
        assert client.ok("stop_database")["status"] == "already_stopped"
        assert client.ok("start_database")["status"] == "started"
        assert client.ok("healthcheck")["status"] == "healthy"


def test_acknowledged_turns_survive_its_kill(data: Path, model_dir: Path) -> None:
    gone(data)
    with engine(data, model_dir, MEMORY_JOURNAL_STORE="chroma") as made:
        kept = journal(made, "killed")
        ids = []
        for number in range(9):
            ids.append(kept.add(turn(number)).id)
            if number % 3 == 2:
                kill(pid(data))
        assert [one.id for one in kept.every_turn()] == ids
        assert {one.id for one, *_ in kept.find("bread", 20, "").best} == set(ids)


def bound(impostor: socket.socket, port: int) -> bool:
    with suppress(OSError):
        impostor.bind(("127.0.0.1", port))
        return True
    return False


def test_another_program_on_its_old_port_is_not_mistaken_for_it(data: Path) -> None:
    gone(data)
    server = ChromaServer(data)
    with closing(Chroma(server)) as chroma, socket.socket() as impostor:
        assert chroma.database("default_database").collection("none") is None
        port = int(server.url().rpartition(":")[2])
        kill(pid(data))
        gone(data)
        impostor.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        until(lambda: bound(impostor, port), "the port, which a connection may still use")
        impostor.listen()  # but never answer
        assert chroma.database("default_database").collection("none") is None
        assert not server.url().endswith(f":{port}")


def test_it_outlives_a_killed_memoryd_which_got_none_of_its_output_and_is_used_again(
    data: Path, model_dir: Path
) -> None:
    gone(data)
    with ProcessWire(with_models(data, model_dir)) as wire:
        wire.handshake()
        assert not wire.call("start_database").get("isError")
        number = pid(data)
        wire.signal(signal.SIGKILL)
        wire.wait()
        assert all(line.startswith(b"{") for line in wire.lines)
        assert wire.stderr() == ""
    assert (data / "chroma" / "log").stat().st_size
    assert pid(data) == number
    with serving(data, model_dir) as client:
        assert client.ok("start_database")["status"] == "already_running"
        client.ok("add_memory", **TURN, sessionId="after")
        assert pid(data) == number
    gone(data)


def test_processes_share_one_and_none_stops_it_while_another_uses_it(data: Path) -> None:
    gone(data)
    with ExitStack() as ends:
        first, second = (ends.enter_context(closing(ChromaServer(data))) for _ in range(2))
        assert first.url() == second.url()
        number = pid(data)
        with pytest.raises(StoreError, match=r"Another process uses the ChromaDB in .*, so it was not stopped"):
            first.stop()
        assert first.url() == second.url()
        with pytest.raises(StoreError, match="Another process uses"):
            second.stop()
        first.close()
        assert pid(data) == number
        assert second.stop()
        with pytest.raises(StoreAwayError, match="start_database"):
            second.url()
        assert not pid(data)
        assert first.url()
    gone(data)


def test_no_second_one_starts_while_the_first_is_invisible(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone(data)
    with closing(ChromaServer(data)) as seen, closing(ChromaServer(data)) as blind:
        seen.url()
        monkeypatch.setattr(psutil, "process_iter", lambda: iter(()))
        with pytest.raises(StoreError, match="of another user or container uses"):
            blind.url()
        monkeypatch.undo()
        assert blind.url() == seen.url()


def test_a_failed_start_is_explained(tmp_path: Path) -> None:
    (tmp_path / "chroma" / "chroma.sqlite3").mkdir(parents=True)
    with closing(ChromaServer(tmp_path)) as server, pytest.raises(StoreError, match=r"did not start .*see .*log"):
        server.url()


def test_an_external_server_is_not_started_or_stopped(chroma: str, model_dir: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data, model_dir, MEMORY_CHROMA_URL=chroma) as client:
        for tool in ("start_database", "stop_database"):
            result: Any = client.ok(tool)
            assert result["status"] == "external"
            assert result["database"]["place"] == address(chroma)
        assert client.ok("healthcheck")["database"]["state"] == "external"
    assert not (data / "chroma").exists()


@pytest.mark.parametrize(("url", "findings"), [("chroma", []), ("http://127.0.0.1:9", ["journal"])])
def test_doctor_reports_the_place_of_the_journal(
    request: pytest.FixtureRequest, model_dir: Path, tmp_path: Path, url: str, findings: list[str]
) -> None:
    place = request.getfixturevalue(url) if url == "chroma" else url
    with engine(tmp_path, model_dir, MEMORY_JOURNAL_STORE="chroma", MEMORY_CHROMA_URL=place) as made:
        report = Doctor(made, lambda _what, _done: None).examine()
    assert report.facts["journal"] == f"ChromaDB at {address(place)} (external)"
    assert [finding.subject for finding in report.findings if finding.subject == "journal"] == findings


def test_an_unreachable_external_server_is_reported(model_dir: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "data", model_dir, MEMORY_CHROMA_URL="http://127.0.0.1:9") as client:
        for tool, arguments in (("healthcheck", {}), ("get_session_memories", {"sessionId": "s"})):
            error = client.refused(tool, **arguments)
            assert error.startswith("Tool Error: Database connection failed. Message: Could not connect to ChromaDB at")
        assert client.ok("start_database")["status"] == "external"
