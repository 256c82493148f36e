"""The journal when processes are killed, write concurrently, or read a file that is being written."""

import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from memoryd.core.base.progress import ignore_progress
from memoryd.core.engine import Engine
from memoryd.core.journal.journal import Journal
from memoryd.core.scope import Scope
from memoryd.core.security.secrets import Secrets
from memoryd.core.transfer import journal_file, jsonl
from memoryd.core.transfer.jsonl import ImportMode
from memoryd.errors import InvalidInputError
from memoryd.model import Interaction
from memoryd.settings import Settings
from tests.clients import environment, problems, until
from tests.wires import ProcessWire

pytestmark = [pytest.mark.process, pytest.mark.slow]

MANY = 1_200  # the turns of a killed import


class Adder:
    """A client of its own server that adds numbered turns without pause."""

    def __init__(self, name: str, environ: dict[str, str]) -> None:
        self.name = name
        self.wire = ProcessWire(environ, "--toolsets", "journal")
        self.wire.handshake()
        self.added: dict[str, str] = {}
        """The acknowledged turns: prompt by id."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(AssertionError, OSError):  # the process was killed, as planned
            for number in range(100_000):
                prompt = f"{self.name} {number}"
                answer = self.wire.call("add_memory", prompt=prompt, thought="t", response="r", sessionId="crowd")
                self.added[answer["structuredContent"]["id"]] = prompt

    def kill(self) -> None:
        killed(self.wire)
        self._thread.join()


def killed(wire: ProcessWire) -> None:
    """Kill a server, and close its pipes."""
    wire.signal(signal.SIGKILL)
    assert wire.wait() == -signal.SIGKILL
    with wire._changed:  # wakes threads that wait for an answer
        wire._changed.notify_all()
    wire.close_stdin()
    for pipe in (wire.process.stdout, wire.process.stderr):
        assert pipe
        pipe.close()


@pytest.fixture
def opened(home: Path) -> Iterator[Journal]:
    """Yield the journal, opened in this process."""
    with Engine(Settings.read(environment(home)), fetch=False) as engine:
        yield Journal(Scope(engine, engine.workspaces.ensure("default")))


def test_killed_servers_lose_no_turn_that_was_acknowledged(home: Path) -> None:
    dice, environ, added = random.Random(7), environment(home), dict[str, str]()
    for turn in range(2):
        adders = [Adder(f"turn {turn} of {number}", environ) for number in range(3)]
        for adder in adders:
            until(lambda: len(adder.added) > dice.randint(5, 30), "turns")  # noqa: B023
            time.sleep(dice.random() / 50)  # at a random moment of a write
            adder.kill()
            added |= adder.added
    assert problems(home) == []
    with Engine(Settings.read(environ), fetch=False) as engine:
        kept = Journal(Scope(engine, engine.workspace(make=False))).kept.of_session("crowd", 100_000, 0)
    there = {one.id: one.prompt for one in kept.page}
    assert added.items() <= there.items()
    assert len(there) <= len(added) + 6  # one per adder may be written but not acknowledged
    assert [one.created_at for one in kept.page] == sorted(one.created_at for one in kept.page)


def test_two_processes_that_summarize_leave_one_summary_per_session(home: Path, opened: Journal) -> None:
    opened.kept.put([turn(number, f"s{number % 40}") for number in range(200)])
    servers = [ProcessWire(environment(home), "--toolsets", "journal") for _ in range(2)]
    for server in servers:
        server.handshake()
    posted = [server.ask("summarize_sessions") for server in servers]
    for server, number in zip(servers, posted, strict=True):
        assert not server.answer(number)["result"].get("isError")
        server.close_stdin()
        with server:
            pass
    page, total = opened.kept.summaries(1_000, 0, "")
    assert total == len({one.session_id for one in page}) == 40


# files ---------------------------------------------------------------------------------------------------------------


def turn(number: int, session: str = "new") -> Interaction:
    return Interaction(
        id=f"mem_{number:06}",
        session_id=session,
        created_at="2026-01-01T00:00:00.000Z",
        prompt=f"turn {number}",
        thought="t",
        response="r",
    )


@pytest.fixture
def exported(opened: Journal, home: Path) -> Path:
    """Return an export of many turns, in a home whose journal has only one other turn."""
    opened.kept.replace((turn(number) for number in range(MANY)), None)
    file = home / "data" / "exports" / "many.jsonl"
    journal_file.export(opened.kept, file, ["memories", "summaries"], ignore_progress)
    opened.kept.replace([turn(0, "old")], None)
    return file


@pytest.mark.parametrize("part", [0.1, 0.8])
def test_a_killed_replace_is_all_or_nothing(opened: Journal, exported: Path, home: Path, part: float) -> None:
    importing(home, exported, "replace", part)
    old, new = (opened.kept.of_session(session, 1, 0).total for session in ("old", "new"))
    assert (old, new) in ((1, 0), (0, MANY))
    assert problems(home) == []


def test_a_killed_merge_can_be_run_again(opened: Journal, exported: Path, home: Path) -> None:
    importing(home, exported, "merge", 0.5)
    with jsonl.opened(exported) as source:
        done = journal_file.load(opened.kept, source, "merge", ignore_progress, Secrets("mask"))
    assert done.read["memories"] == MANY
    assert opened.kept.numbers() == {"memories": MANY + 1, "summaries": 0}
    assert problems(home) == []


def importing(home: Path, file: Path, mode: ImportMode, part: float) -> None:
    """Let a server import a file, and kill it once it reports this progress."""
    wire = ProcessWire(environment(home), "--toolsets", "journal")
    wire.handshake()
    wire.post(
        "tools/call",
        {
            "name": "import_database",
            "arguments": {"file": str(file), "mode": mode},
            "_meta": {"progressToken": 1},
        },
    )
    while wire.without_id()["params"]["progress"] < part:
        pass
    killed(wire)


@pytest.mark.parametrize("mode", ["merge", "replace"])
def test_a_file_that_grows_while_it_is_read_is_refused(opened: Journal, exported: Path, mode: ImportMode) -> None:
    before = opened.kept.numbers()

    def grow(_done: float) -> None:
        with exported.open("a") as file:
            file.write("\n")

    with jsonl.opened(exported) as source, pytest.raises(InvalidInputError, match="while it was read"):
        journal_file.load(opened.kept, source, mode, grow, Secrets("mask"))
    assert opened.kept.numbers() == before
