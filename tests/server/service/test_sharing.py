"""Many clients of one process, each with its own view."""

import json
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd import environment as environment_of
from memoryd.errors import InvalidInputError
from memoryd.settings import Settings, variables
from memoryd.toolsets.recall import FRAME
from tests.clients import LEGACY, MODERN, PATIENCE, Json, environment, until
from tests.commands import run
from tests.conftest import Start
from tests.features.app.kit import HELPERS, SHOWS, Talk
from tests.forks import Fork
from tests.server.service.kit import ON, Connector, begun, connected, connector, gone, homes, pid, place, state
from tests.wires import ProcessWire, envelope

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One home for the whole module, since a service takes a second to start."""
    with homes(tmp_path_factory) as shared:
        yield shared


def stored(wire: ProcessWire, text: str) -> None:
    assert not wire.call("memory_store", content=text)["isError"]


def test_clients_share_a_process_and_a_memory(home: Path) -> None:
    service = pid(home)
    with connected(home) as one, connected(home) as other:
        assert state(home)["clients"] == 3
        stored(one, "The ferry leaves at seven.")
        assert "ferry" in json.dumps(other.call("memory_recall", query="ferry"))
        with connected(home, "--workspace", "another") as third:
            assert "ferry" not in json.dumps(third.call("memory_recall", query="ferry"))
    until(lambda: state(home)["clients"] == 1, "the end of two clients")
    assert pid(home) == service


@pytest.mark.parametrize("era", ["legacy", MODERN])
def test_each_client_has_its_own_tools_and_workspace(home: Path, era: str) -> None:
    meta = envelope() if era == MODERN else None
    asked: Json = {"_meta": meta} if meta else {}
    with (
        connector(home, "--toolsets", "vault", "--workspace", f"one {era}") as one,
        connector(home, MEMORY_NAMESPACE=f"two {era}", MEMORY_READ_ONLY="1") as two,
    ):
        for wire in (one, two):
            assert wire.result("server/discover", asked) if meta else wire.handshake()
        tools = [{tool["name"] for tool in wire.result("tools/list", asked)["tools"]} for wire in (one, two)]
        assert tools[0] & {"commit_memory", "memory_recall"} == {"commit_memory"}
        assert tools[1] == {"memory_recall", "memory_context", "memory_inspect"}
        assert not one.call("commit_memory", meta, scope="vault", key="k", content="Of one.")["isError"]
        assert two.call("memory_inspect", meta)["isError"], "a read-only client creates no workspace"


def test_only_the_client_that_shows_apps_is_offered_one(home: Path) -> None:
    with connector(home) as one, connected(home) as other:
        shows = Talk(one, LEGACY, SHOWS)
        id_ = other.call("memory_store", content="To be browsed.")["structuredContent"]["id"]
        assert id_ in [memory["id"] for memory in shows.call("memory_browse")["memories"]]
        assert set(HELPERS) < set(shows.tools())
        assert "_meta" not in json.dumps(other.result("tools/list"))


def test_each_client_has_its_project(home: Path) -> None:
    places = [home / name for name in ("till", "shop", "by-variable")]
    for directory in places:
        directory.mkdir()
        (directory / ".memoryd").write_text(f'workspace = "{directory.name}"')

    def working(directory: Path, *arguments: str, **settings: str) -> ProcessWire:
        return Connector(environment(home) | ON | settings, *arguments, cwd=directory)

    auto = {"MEMORY_WORKSPACE": "auto"}
    clients = [
        working(places[0], **auto),
        working(places[1], "--workspace", "auto"),
        working(places[0], CLAUDE_PROJECT_DIR=str(places[2]), **auto),
    ]
    with clients[0], clients[1], clients[2]:
        for wire, directory in zip(clients, places, strict=True):
            wire.handshake()
            stored(wire, f"Of {directory.name}.")
            briefing = wire.call("memory_context")["content"][0]["text"]
            source = f'Workspace "{directory.name}": declared by {directory / ".memoryd"}.\n'
            assert briefing.startswith(FRAME + source)
            assert briefing.count("Of ") == 1
    assert len({pid(home)}) == 1


def test_sessions_are_the_clients_own_and_end_with_them(home: Path) -> None:
    with connected(home, "--toolsets", "vault,projects") as one, connected(home, "--toolsets", "vault,projects") as two:
        one.call("create_project", name="ones-own")
        one.call("commit_memory", scope="session", key="mine", content="Only for one.")
        assert "Only for one" in json.dumps(one.call("search_memories", query="only"))
        assert "Only for one" not in json.dumps(two.call("search_memories", query="only"))
        assert "ones-own" in json.dumps(one.call("get_current_project"))
        assert "ones-own" not in json.dumps(two.call("get_current_project"))
    with connected(home, "--toolsets", "vault", MEMORY_MCP_SESSION_ID="named") as one:
        one.call("commit_memory", scope="session", key="mine", content="Of a named one.")
        with connected(home, "--toolsets", "vault", MEMORY_MCP_SESSION_ID="named") as two:
            assert "Of a named one" in json.dumps(two.call("search_memories", query="named"))
    with connected(home, "--toolsets", "vault", MEMORY_MCP_SESSION_ID="named") as later:
        assert "Of a named one" not in json.dumps(later.call("search_memories", query="named"))


def test_notices_go_to_the_clients_they_concern(home: Path) -> None:
    with (
        connected(home, "--toolsets", "vault", "--workspace", "watched") as one,
        connected(home, "--toolsets", "vault", "--workspace", "watched") as two,
        connected(home, "--toolsets", "vault", "--workspace", "elsewhere") as other,
    ):
        for wire in (two, other):
            wire.result("resources/subscribe", {"uri": "memory://vault/k"})
        one.call("commit_memory", scope="vault", key="k", content="For those who watch.")
        until(lambda: b"resources/updated" in b"".join(two.lines), "a notice")
        assert other.result("ping") == {}
        assert b"notifications" not in b"".join(other.lines)


def test_different_engine_settings_have_different_services(home: Path) -> None:
    other = home / "other.db"
    begun(home, MEMORY_DB_PATH=str(other))
    begun(home, MEMORY_DURABILITY="normal")
    with (
        connected(home, "--db", str(other)) as one,
        connected(home, MEMORY_MCP_DB_PATH=str(other)) as two,
        connected(home, MEMORY_DURABILITY="normal"),
    ):
        services = [pid(home), pid(home, MEMORY_DB_PATH=str(other)), pid(home, MEMORY_DURABILITY="normal")]
        assert len(set(services)) == 3
        stored(one, "In a file of its own.")
        assert "file of its own" in json.dumps(two.call("memory_recall", query="file"))
        shown = run(home, "service", "status", "--json", MEMORY_SERVICE="on").stdout
        assert {each["pid"] for each in json.loads(shown)["services"]} >= set(services)


# lines ---------------------------------------------------------------------------------------------------------------


def test_half_a_line_does_not_affect_other_clients(home: Path) -> None:
    with connected(home) as other, connected(home) as wire:
        assert wire.process.stdin
        wire.process.stdin.write(b'{"jsonrpc":"2.0","id":1')
        wire.close_stdin()
        assert wire.wait() == 0
        assert other.result("ping") == {}


def test_last_answers_come_after_the_client_has_closed(home: Path) -> None:
    with connected(home) as wire:
        numbers = [wire.ask("memory_store", content=f"Last words {number}.") for number in range(40)]
        wire.close_stdin()
        assert wire.wait() == 0
        assert all(wire.answer(number)["result"]["isError"] is False for number in numbers)


def test_long_lines_pass_both_ways(home: Path) -> None:
    with connected(home, "--toolsets", "vault") as wire:
        text = "wörd " * 400_000
        assert wire.call("commit_memory", scope="vault", key="long", content=text)["isError"]
        assert wire.result("ping") == {}
    with connected(home, "--toolsets", "journal") as wire:
        turn: Json = {"prompt": "p" * 900_000, "thought": "t", "response": "r", "sessionId": "long"}
        assert not wire.call("add_memory", None, **turn)["isError"]
        shown = wire.call("get_session_memories", sessionId="long")
        assert "p" * 900_000 in json.dumps(shown)


@pytest.mark.parametrize("service", ["on", "off"])
def test_a_client_whose_pipes_are_sockets_may_leave_without_its_answers(home: Path, service: str) -> None:
    """Node.js gives its children sockets, which report an end with unread data as an error."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(PATIENCE)
        process = Fork[bytes](
            [sys.executable, "-m", "memoryd"],
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=subprocess.PIPE,
            env=environment(home) | ON | {"MEMORY_SERVICE": service},
        )
        theirs.close()
        for number in range(40):
            ours.sendall(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % number)
        assert ours.recv(1)
        until(lambda: select.select([ours], [], [], 0)[0], "an answer that is not read")
        ours.close()
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, b"")


# settings and lifetime -----------------------------------------------------------------------------------------------


def test_engine_and_connection_settings_exist() -> None:
    known = {name for field in Settings.model_fields for name in variables(field)}
    assert known >= environment_of.CONNECTION | environment_of.TRANSPORT | set(environment_of.FILES)


def test_the_data_directory_is_the_one_of_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    where = [{"XDG_DATA_HOME": place} for place in (str(tmp_path), "x", "~/x", " ")]
    for environ in ({}, *where, {"MEMORY_DATA_DIR": "~/x"}, {"MEMORY_DATA_DIR": "x/../y"}):
        for name in ("XDG_DATA_HOME", "MEMORY_DATA_DIR"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        resolved = environment_of.resolved(environment_of.current())["MEMORY_DATA_DIR"]
        assert Path(resolved).resolve() == Settings.read().data_dir.resolve()


@pytest.mark.parametrize("home", ["", "x", "."])
def test_a_home_that_is_not_an_absolute_path_is_refused(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    """Otherwise the account's own home would be used instead of the intended one."""
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    assert "MEMORY_DATA_DIR" not in environment_of.resolved(environment_of.current())
    with pytest.raises(InvalidInputError, match="HOME is no absolute path"):
        Settings.read()
    assert Settings.read(data_dir="/data", model_dir="/models").data_dir == Path("/data")


def test_the_connector_imports_only_itself() -> None:
    """Every client waits for its start, and every prompt for a hook's."""
    code = "import memoryd.__main__, json, sys; print(json.dumps(sorted(sys.modules)))"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True
    ).stdout
    allowed = {"memoryd", "extras", "environment", "connect", "__main__"}
    loaded = set(json.loads(shown))
    assert {name.split(".")[1] for name in loaded if name.startswith("memoryd.")} <= allowed
    slow = {"asyncio", "hashlib", "pathlib", "platformdirs", "pydantic", "subprocess", "tempfile", "typing", "uuid"}
    assert loaded & slow == set()


def test_a_service_ends_some_time_after_its_last_client(tmp_path: Path) -> None:
    home = tmp_path / "home"
    begun(home)
    with connected(home) as wire:
        assert str(pid(home)) in run(home, "service", "status", MEMORY_SERVICE="on").stdout
        assert f"process {pid(home)}" in run(home, "doctor", MEMORY_SERVICE="on").stdout
        stored(wire, "Before the end.")
        assert "is stopping" in run(home, "service", "stop", MEMORY_SERVICE="on").stdout
        gone(home)
        assert "Before the end" in json.dumps(wire.call("memory_recall", query="end")), "the next call starts another"
    gone(home)
    assert [path.name for path in (home / "data" / "service").iterdir() if path.suffix != ".log"] == []
    assert "No service is running" in run(home, "service", "stop", MEMORY_SERVICE="on").stdout


@pytest.mark.parametrize("reason", ["off", "no directory", "a link", "in the foreground"])
def test_a_client_without_a_service_has_its_own_server(tmp_path: Path, reason: str) -> None:
    home = tmp_path / "home"
    (home / "data").mkdir(parents=True)
    if reason == "no directory":
        (home / "data" / "service").write_text("Something else.")
    if reason == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        (home / "data" / "service").symlink_to(tmp_path / "elsewhere")
    arguments = ["serve"] if reason == "in the foreground" else []
    service = {"MEMORY_SERVICE": "off" if reason == "off" else "on"}
    with ProcessWire(environment(home) | ON | service, *arguments) as wire:
        wire.handshake()
        stored(wire, "All the same.")
        assert not list(tmp_path.rglob("*.sock"))


def test_a_path_that_is_too_long_for_a_socket(tmp_path: Path) -> None:
    home = tmp_path / ("long" * 30) / "home"
    with connected(home) as wire:
        stored(wire, "Deep down.")
        assert not place(home).socket.startswith(str(home))
        assert pid(home)
        assert (Path(place(home).directory).stat().st_mode & 0o777) == 0o700
    gone(home)


def test_invalid_settings_are_reported_to_the_client(home: Path) -> None:
    with connector(home, MEMORY_TOOLSETS="recal") as wire:
        assert wire.wait() == 2
        assert "MEMORY_TOOLSETS='recal'" in wire.stderr()


def test_an_empty_option_does_not_mean_the_default(home: Path) -> None:
    with connector(home, "--workspace", "") as wire:
        assert wire.wait() == 2
        assert "--workspace is empty" in wire.stderr()


def test_an_agent_of_the_sdk(spawn: Start) -> None:
    agents = [spawn(mode=mode, MEMORY_SERVICE="on", MEMORY_SERVICE_IDLE="1") for mode in ("auto", "legacy", MODERN)]
    for number, agent in enumerate(agents):
        agent.store(f"Fact number {number} of the agents.")
    for agent in agents:
        assert len(agent.found("agents")) == 3
