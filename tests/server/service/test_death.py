"""Dead, hung and foreign services: nothing acknowledged is lost, nothing is done twice, no client waits for ever."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import apsw
import pytest

from memoryd import __version__
from memoryd.connect.conversation import UNKNOWN
from memoryd.store import sql
from tests.clients import PATIENCE, SIGNALS_ELSEWHERE, SOURCE, beginning_with, environment, rows_of, until
from tests.forks import Fork
from tests.server.service.kit import ON, Connector, begun, connected, connector, gone, kill, pid, place, services, state
from tests.wires import HELLO, ProcessWire, envelope

pytestmark = pytest.mark.process


def texts(home: Path) -> list[str]:
    return [row["body"] for row in rows_of(home) if row["deleted_at"] is None]


def post(wire: ProcessWire, text: str) -> int:
    return wire.ask("memory_store", content=text)


def test_kill_9_in_the_middle_of_calls(home: Path) -> None:
    begun(home)
    with connected(home) as one, connected(home) as two, connected(home) as three:
        wires = [one, two, three]
        posted = {(wire, post(wire, f"{n} {i}")): f"{n} {i}" for n, wire in enumerate(wires) for i in range(100)}
        for wire in wires:
            wire.answer(2)
        kill(pid(home))
        answers = {text: wire.answer(number) for (wire, number), text in posted.items()}
        assert {answer["error"]["message"] for answer in answers.values() if "error" in answer} <= {UNKNOWN}
        kept = texts(home)
        answered = {text: answer["result"] for text, answer in answers.items() if "result" in answer}
        assert {text for text, result in answered.items() if not result.get("isError")} <= set(kept)
        assert {text for text, result in answered.items() if result.get("isError")}.isdisjoint(kept), "refused"
        assert len(kept) == len(set(kept))
        for wire in wires:
            assert wire.call("memory_store", content="And it goes on.")["structuredContent"]["id"]
        assert state(home)["clients"] == 3
        assert Path(place(home).log).read_text().count("did not end properly") == 1
    assert {wire.stderr() for wire in wires} == {""}


def test_session_subscriptions_and_handshake_outlive_a_service(home: Path) -> None:
    begun(home)
    with (
        connected(home, "--toolsets", "vault,projects") as one,
        connected(home, "--toolsets", "vault", MEMORY_NAMESPACE="atlas") as other,
        connector(home, "--toolsets", "vault", MEMORY_NAMESPACE="atlas") as modern,
    ):
        one.call("create_project", name="atlas")
        one.call("set_session_id", session_id="chosen")
        one.call("switch_project", name="atlas")
        one.call("commit_memory", scope="session", key="k", content="Only here.")
        one.result("resources/subscribe", {"uri": "memory://vault/k"})
        asked = {"notifications": {"resourceSubscriptions": ["memory://vault/k"]}, "_meta": envelope()}
        modern.result("server/discover", {"_meta": envelope()})
        modern.post("subscriptions/listen", asked)
        until(lambda: b"acknowledged" in b"".join(modern.lines), "the acknowledgement")
        kill(pid(home))
        until(lambda: state(home).get("clients") == 2, "another service")
        assert "Only here" in json.dumps(one.call("search_memories", query="here"))
        other.call("commit_memory", scope="vault", key="k", content="Changed.")
        until(lambda: b"resources/updated" in b"".join(one.lines), "a notice")
        until(lambda: b"resources/updated" in b"".join(modern.lines), "a notice")
        assert sum(b"acknowledged" in line for line in modern.lines) == 1
    until(lambda: not [row for row in rows_of(home) if row["scope"]], "the end of the sessions")


def test_the_project_of_a_read_only_client_outlives_a_service(home: Path) -> None:
    begun(home)
    with connected(home, "--toolsets", "projects,vault") as writer:
        for name in ("atlas", "shop"):
            writer.call("create_project", name=name)
            writer.call("commit_memory", scope="vault", key=name, content="The door.")
        with connected(home, "--toolsets", "projects,vault", "--read-only") as reader:
            for session, project in (("first", "shop"), ("second", "shop"), ("first", ""), ("first", "atlas")):
                reader.call("set_session_id", session_id=session)
                if project:
                    reader.call("switch_project", name=project)
            kill(pid(home))
            for session, project in (("first", "atlas"), ("second", "shop")):
                reader.call("set_session_id", session_id=session)
                assert json.dumps(reader.call("search_memories", query="door")).count(project) > 1


def test_a_killed_connector_ends_its_session(home: Path) -> None:
    begun(home)
    with connected(home) as stays, connected(home, "--toolsets", "vault") as wire:
        wire.call("commit_memory", scope="session", key="k", content="Only here.")
        wire.signal(signal.SIGKILL)
        wire.wait()
        until(lambda: state(home)["clients"] == 1, "the end of a client")
        assert stays.result("ping") == {}
        until(lambda: texts(home) == [], "the end of a session")


@pytest.mark.slow
def test_many_concurrent_clients_start_one_service(home: Path) -> None:
    with ExitStack() as ends:
        wires = [ends.enter_context(connector(home)) for _ in range(10)]
        for wire in wires:
            wire.post("initialize", HELLO)
        for wire in wires:
            assert "result" in wire.answer(1)
        assert state(home)["clients"] == 10
    assert {wire.stderr() for wire in wires} == {""}


def test_two_services_started_in_a_race(home: Path) -> None:
    where = place(home)
    command = [sys.executable, "-m", "memoryd", "serve", "--socket", where.socket]
    environ = environment(home) | ON
    both = [Fork[bytes](command, env=environ, stdout=subprocess.PIPE) for _ in range(2)]
    with connected(home) as wire:
        until(lambda: sum(each.poll() is None for each in both) <= 1, "the end of one of them")
        assert wire.result("ping") == {}
        assert pid(home)
    for each in both:
        each.communicate(timeout=PATIENCE)


def test_a_stale_socket_is_replaced(home: Path) -> None:
    where = place(home)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(where.socket)
    with connected(home) as wire:
        assert wire.result("ping") == {}
        assert pid(home)


STRANGER = """
import os, socket, sys
os.chdir(sys.argv[1])
with socket.socket(socket.AF_UNIX) as own:
    if sys.argv[3] == "serves":
        own.bind(sys.argv[2])
        os.setuid(65534)
        own.listen()
        print("ready", flush=True)
        sys.stdin.read()
    else:
        os.setuid(65534)
        own.settimeout(20)
        own.connect(sys.argv[2])
        own.sendall(b'{"want":"state"}\\n')
        print(own.recv(100), flush=True)
"""

root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become another user")


@root
def test_a_socket_of_another_user_is_not_used(home: Path) -> None:
    where = Path(place(home).socket)
    where.unlink(missing_ok=True)  # an earlier run with this home left its own
    stranger = subprocess.Popen(
        [sys.executable, "-c", STRANGER, str(where.parent), where.name, "serves"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert stranger.stdout
    stranger.stdout.readline()
    with connected(home) as wire:
        wire.call("memory_store", content="For its user alone.")
        assert "another user" in wire.stderr()
    stranger.communicate(timeout=PATIENCE)
    assert texts(home) == ["For its user alone."]


@root
def test_another_user_is_refused(near: Path) -> None:
    begun(near)
    with connected(near) as wire:
        where = Path(place(near).socket)
        where.parent.chmod(0o711)
        where.chmod(0o666)
        command = [sys.executable, "-c", STRANGER, str(where.parent), where.name, "asks"]
        asked = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        where.parent.chmod(0o700)
        assert asked.stdout.strip() in ("b''", ""), asked
        assert wire.result("ping") == {}
        assert "refused" in Path(place(near).log).read_text()


def is_stopped(process: int) -> bool:
    return all("T (stopped)" in status.read_text() for status in Path(f"/proc/{process}/task").glob("*/status"))


def stop_between_writes(process: int, home: Path) -> None:
    """Stop a process while it does not hold SQLite's write lock, which could not be taken from it."""
    with closing(apsw.Connection(str(home / "data" / "memory.db"))) as connection:
        while True:
            os.kill(process, signal.SIGSTOP)
            until(lambda: is_stopped(process), "the stop of every thread")
            try:
                connection.execute("BEGIN IMMEDIATE; ROLLBACK")
            except apsw.BusyError:
                os.kill(process, signal.SIGCONT)
            else:
                return


@pytest.mark.slow
@pytest.mark.long
def test_a_stopped_service_is_left_alone(home: Path) -> None:
    begun(home)
    with connected(home) as wire, connector(home) as newcomer:
        wire.call("memory_store", content="Before it was stopped.")
        service = pid(home)
        stop_between_writes(service, home)
        try:
            number = post(wire, "While it was stopped.")
            newcomer.handshake()
            answer = newcomer.call("memory_store", content="Beside it.")
            assert not answer["isError"], answer
            assert "does not answer" in newcomer.stderr()
            assert wire.answer(number)["error"]["message"] == UNKNOWN
            assert "Before it was stopped" in json.dumps(wire.call("memory_recall", query="stopped"))
            assert wire.stderr().count("does not answer") == 1
        finally:
            os.kill(service, signal.SIGCONT)
    gone(home)


def test_a_data_directory_that_is_removed(home: Path) -> None:
    begun(home)
    with connected(home) as wire:
        wire.call("memory_store", content="In a directory.")
        service = pid(home)
        (home / "data").rename(home / "away")
        assert wire.result("ping") == {}
        with connected(home) as newcomer:
            answer = newcomer.call("memory_store", content="In another.")
            assert not answer["isError"], answer
            assert pid(home) != service
    until(lambda: not Path(f"/proc/{service}").exists(), "the end of a service that clients cannot find")


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """An installation of the next version, which has another schema."""
    directory = tmp_path / "newer"
    shutil.copytree(SOURCE / "memoryd", directory / "memoryd")  # with compiled files: compiling is slow
    package = directory / "memoryd" / "__init__.py"
    package.write_text(package.read_text().replace("__version__ =", '__version__ = "99"\nOLD ='))
    migrations = directory / "memoryd" / "store" / "sql" / "sqlite" / "migrations"
    (migrations / f"{max(sql.migrations('sqlite')) + 1:04}_next.sql").write_text("CREATE TABLE next (id TEXT);")
    return directory


def test_an_upgrade_has_its_own_service(home: Path, newer: Path) -> None:
    begun(home)
    with connected(home) as one, Connector(environment(home) | ON | {"PYTHONPATH": str(newer)}) as two:
        assert two.handshake()["serverInfo"]["version"] == "99"
        one.call("memory_store", content="Of the older one.")
        assert "older one" in json.dumps(two.call("memory_recall", query="older"))
        both = (("older", one), ("newer", two))
        posted = [(wire, post(wire, f"{name} {number}")) for number in range(50) for name, wire in both]
        for wire, number in posted:
            assert not wire.answer(number)["result"]["isError"]
        for wire in (one, two):
            assert wire.call("memory_inspect")["structuredContent"]["stats"]["total"] == 101
        assert sorted(each["memoryd"] for each in services(home)) == [__version__, "99"]
    until(lambda: not services(home), "the end of both")
    (file,) = (home / "data").glob("memory.db")
    with closing(apsw.Connection(str(file))) as connection:
        connection.set_busy_timeout(int(PATIENCE * 1000))  # the processes close it after their sockets
        assert connection.pragma("integrity_check") == "ok"
        assert connection.execute("SELECT count(*) FROM next").fetchall() == [(0,)]
    begun(home)
    with connected(home) as late:
        answer = late.call("memory_store", content="Of an older one that starts again.")
        assert "Upgrade memoryd" in json.dumps(answer)


def test_a_newer_schema_is_left_alone(home: Path) -> None:
    begun(home)
    with connected(home) as wire:
        wire.call("memory_store", content="Before the upgrade.")
    gone(home)
    for file in (home / "data").glob("*.db"):
        with apsw.Connection(str(file)) as connection:
            connection.execute("PRAGMA user_version = 999")
    begun(home)
    with connected(home) as wire:
        answer = wire.call("memory_store", content="After it.")
        assert answer["isError"]
        assert "newer" in json.dumps(answer)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_a_connector_and_its_session(home: Path, number: signal.Signals) -> None:
    begun(home)
    with connected(home), connected(home, "--toolsets", "vault") as wire:
        wire.call("commit_memory", scope="session", key="k", content="Only here.")
        wire.signal(number)
        assert wire.wait() == {signal.SIGTERM: 0, signal.SIGINT: 130}[number]
        until(lambda: texts(home) == [], "the end of a session")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_interrupts_no_wait_of_a_connector(home: Path, number: signal.Signals) -> None:
    begun(home)
    with connected(home, PYTHONPATH=beginning_with(SIGNALS_ELSEWHERE, home)) as wire:
        wire.signal(number)
        assert wire.wait() == {signal.SIGTERM: 0, signal.SIGINT: 130}[number]
