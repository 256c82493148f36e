"""The cost of many clients, with one service for all and with one server for each, side by side.

    python -m bench.service                                    # spawn, memory, hook, prompt, calls, flood
    python -m bench.service spawn memory
    python -m bench.service spawn memory --official mcp-server-memory    # of @modelcontextprotocol/server-memory

CPU is that of all processes that serve the clients, memory the proportional set size (PSS, Linux). The kinds alternate,
so that other load on the machine affects both. The bundled models are loaded for `memory`, `prompt` and `flood`.
"""

import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from bench.tables import show
from memoryd.connect import channel
from memoryd.connect.address import services_of
from memoryd.environment import current, resolved
from memoryd.settings import Settings

MEMORYD = [sys.executable, "-m", "memoryd"]
BOTH = ("off", "on")
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
TICKS = os.sysconf("SC_CLK_TCK")
ROUNDS = 15
CROWDS = 3
"""The number of times that ten clients start at once."""
CALLS = 1600
FACTS = 1_000
PROMPTS = {
    "alike": "When does ferry 7 to island 7 leave?",
    "of everyday": "How many stollen can be preordered?",
}
"""A prompt that a memory answers among each kind of facts."""
BESIDE = {
    "Run the tests of the parser and fix what fails in them.": "answered by no memory",
    "Yes, go on.": "an approval",
}
HERE = Path(__file__).parents[1]


class Client:
    """A client over the pipes of the process that it starts."""

    def __init__(self, environ: dict[str, str], command: Sequence[str] = MEMORYD) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ
        )
        self._number = 0

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}})
        assert self.process.stdout
        for line in self.process.stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._number:
                return answer
        raise ConnectionError(method)

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def begin(self) -> Self:
        self.ask("initialize", HELLO)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.ask("tools/list")
        return self

    def call(self, tool: str, **arguments: object) -> Any:
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert not answer["result"].get("isError"), answer
        return answer["result"].get("structuredContent")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()


@contextmanager
def home(service: str, *, models: bool = False) -> Iterator[dict[str, str]]:
    """Yield the environment of clients with their own memory, and stop their service at the end."""
    none = {} if models else {"MEMORY_EMBEDDER": "none", "MEMORY_RERANKER": "none"}
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(HERE / "tests" / "hooks" / "session.jsonl", directory)
        yield (
            current()
            | none
            | {
                "HOME": directory,
                "MEMORY_DATA_DIR": f"{directory}/data",
                "MEMORY_MODEL_DIR": str(Settings.read().models),
                "MEMORY_SERVICE": service,
                "MEMORY_SERVICE_IDLE": "2",
                "MEMORY_FILE_PATH": f"{directory}/official.jsonl",
            }
        )
        if service == "on":
            subprocess.run(
                [*MEMORYD, "--data-dir", f"{directory}/data", "service", "stop"], capture_output=True, check=False
            )


def processes(environ: dict[str, str], clients: Sequence[Client] = ()) -> list[int]:
    """Return the processes that serve these clients: their own, and a service."""
    shared = []
    for path in services_of(resolved(environ)) if environ.get("MEMORY_SERVICE") == "on" else ():
        with suppress(OSError):
            state = channel.state(path)
            if state["place"].startswith(environ["MEMORY_DATA_DIR"]):
                shared.append(state["pid"])
    return [*shared, *(client.process.pid for client in clients)]


def cpu(process: int) -> float:
    """Return the seconds of CPU that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def megabytes(process: int) -> float:
    pss = Path(f"/proc/{process}/smaps_rollup").read_text().split("Pss:")[1].split()[0]
    return int(pss) / 1024


def ratio(part: float, whole: float) -> str:
    return f"{part / whole:.2f}"


# spawn ---------------------------------------------------------------------------------------------------------------

Times = dict[str, list[tuple[float, float]]]
"""Seconds and CPU seconds, by what was measured."""


def spawn(official: Sequence[str] = ()) -> None:
    """Measure seconds and CPU seconds from the start of a client's process to tools/list."""
    kinds = ["off", "on", *(["official"] if official else [])]
    found: dict[str, Times] = {kind: {"first": [], "second": [], "ten at once": []} for kind in kinds}
    for turn in range(ROUNDS):
        for kind in kinds:
            command = official if kind == "official" else MEMORYD
            with home("on" if kind == "on" else "off") as environ:
                found[kind]["first"].append(spawned(environ, 1, command))
                with Client(environ, command).begin():
                    found[kind]["second"].append(spawned(environ, 1, command))
                    if turn < CROWDS:
                        found[kind]["ten at once"].append(spawned(environ, 10, command))
    rows = []
    for name in found["off"]:
        seconds, used = ([median(found[kind][name], number) for kind in kinds] for number in (0, 1))
        rows.append([name, *_compared(seconds), *_compared(used)])
    heads = [f"{kind}, {unit}" for unit in ("s", "CPU s") for kind in (*kinds[:2], "on / off", *kinds[2:])]
    show(f"spawn to tools/list, medians of {ROUNDS}", ["client", *heads], rows)


def median(found: Sequence[tuple[float, float]], number: int) -> float:
    return statistics.median(one[number] for one in found)


def _compared(values: Sequence[float]) -> list[str]:
    """Return the values of `off` and `on`, their ratio, and the other values."""
    off, on, *others = values
    return [f"{off:.2f}", f"{on:.2f}", ratio(on, off), *(f"{other:.2f}" for other in others)]


def spawned(environ: dict[str, str], number: int, command: Sequence[str] = MEMORYD) -> tuple[float, float]:
    """Start clients; return the seconds until all are ready, and the CPU seconds of their processes and the service."""
    used = sum(map(cpu, processes(environ)))
    with ExitStack() as ends:
        before = time.perf_counter()
        clients = [ends.enter_context(Client(environ, command)) for _ in range(number)]
        threads = [threading.Thread(target=client.begin) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - before
        return seconds, sum(map(cpu, processes(environ, clients))) - used


# memory --------------------------------------------------------------------------------------------------------------


def memory(official: Sequence[str] = ()) -> None:
    """Measure the memory of clients that have recalled, with the bundled models."""
    rows = []
    for number in (1, 4, 10):
        off, on = (_recalled(service, number) for service in BOTH)
        others = [f"{_official(official, number):.0f}"] if official else []
        rows.append(
            [str(number), f"{sum(off):.0f}", f"{sum(on):.0f}", ratio(sum(on), sum(off)), f"{on[-1]:.1f}", *others]
        )
    heads = ["clients", *BOTH, "on / off", "the last connector", *(["official"] if official else [])]
    show("PSS of clients that have recalled, MB", heads, rows)


def _recalled(service: str, number: int) -> list[float]:
    with home(service, models=True) as environ, ExitStack() as ends:
        clients = [ends.enter_context(Client(environ)).begin() for _ in range(number)]
        clients[0].call("memory_store", content="The ferry to the island leaves at seven.")
        for client in clients:
            client.call("memory_recall", query="When does the ferry leave?")
        time.sleep(2)  # let background work finish
        return [megabytes(process) for process in processes(environ, clients)]


def _official(command: Sequence[str], number: int) -> float:
    with home("off") as environ, ExitStack() as ends:
        clients = [ends.enter_context(Client(environ, command)).begin() for _ in range(number)]
        for client in clients:
            client.call("search_nodes", query="ferry")
        return sum(megabytes(client.process.pid) for client in clients)


# hooks ---------------------------------------------------------------------------------------------------------------


def hook(_: Sequence[str] = ()) -> None:
    """Measure seconds and CPU seconds of hooks."""
    rows = []
    for event in ("session-start", "stop"):
        found: Times = {service: [] for service in BOTH}
        with ExitStack() as ends:
            environs = [ends.enter_context(home(service)) for service in BOTH]
            for environ in environs:
                client = ends.enter_context(Client(environ)).begin()
                client.call("memory_store", content="The ferry to the island leaves at seven.", importance=0.9)
            for _turn in range(ROUNDS):
                for environ in environs:
                    found[environ["MEMORY_SERVICE"]].append(hooked(environ, event)[:2])
        seconds, used = ([median(found[service], number) for service in BOTH] for number in (0, 1))
        rows.append([event, *_compared(seconds), *_compared(used)])
    heads = [f"{kind}, {unit}" for unit in ("s", "CPU s") for kind in (*BOTH, "on / off")]
    show(f"a hook while a client runs, medians of {ROUNDS}", ["hook", *heads], rows)


def prompt(_: Sequence[str] = ()) -> None:
    """Measure the hook of a prompt among some 1,000 facts, through a connection and as a process, with loaded models.

    Facts that are alike are the adverse case; those of everyday are what five persons' agents stored (bench.everyday).
    """
    for kind, bears in PROMPTS.items():
        rows = []
        with home("on", models=True) as environ, Client(environ).begin() as client:
            for fact in _facts(kind):
                client.call("memory_store", content=fact)
            while not hooked(environ, "prompt-submit", bears)[2]:  # until the models are loaded
                time.sleep(0.5)
            _rest(environ)
            for text, what in {bears: "answered by a memory", **BESIDE}.items():
                row = [what]
                found = [(connected(client, text), hooked(environ, "prompt-submit", text)) for _ in range(ROUNDS)]
                for way in zip(*found, strict=True):
                    seconds = statistics.median(one[0] for one in way)
                    row += [f"{seconds:.3f}", f"{sum(one[-1] for one in way)}"]
                rows.append(row)
        heads = ["prompt", *(f"{way}, {unit}" for way in ("connection", "process") for unit in ("s", "with memories"))]
        show(f"the hook prompt-submit among facts {kind}, {ROUNDS} times each", heads, rows)


def _facts(kind: str) -> list[str]:
    if kind == "alike":
        return [f"Ferry {number} goes to island {number} and leaves at {number % 24}." for number in range(FACTS)]
    files = sorted((HERE / "bench" / "everyday").rglob("memories.jsonl"))
    return [json.loads(line)["text"] for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def _rest(environ: dict[str, str]) -> None:
    """Return once the service is idle, with all vectors made."""
    before = -1.0
    while (used := _used(environ)) > before + 1 / TICKS:
        before = used
        time.sleep(2)


def hooked(environ: dict[str, str], event: str, prompt: str = "") -> tuple[float, float, bool]:
    """Return the seconds and the CPU seconds of a hook, and whether it printed something."""
    transcript = f"{environ['HOME']}/session.jsonl"
    session = os.urandom(8).hex()
    handed = json.dumps({"session_id": session, "transcript_path": transcript, "prompt": prompt}).encode()
    before, used = time.perf_counter(), _used(environ)
    done = subprocess.run([*MEMORYD, "hook", event], input=handed, env=environ, capture_output=True, check=False)
    return time.perf_counter() - before, _used(environ) - used, bool(done.stdout)


def connected(client: Client, prompt: str) -> tuple[float, bool]:
    """Return the seconds of a hook that calls its tool through a connection, and whether it adds something."""
    before = time.perf_counter()
    added = client.call("memory_prompt", prompt=prompt, session_id=os.urandom(8).hex())
    return time.perf_counter() - before, bool(added)


def _used(environ: dict[str, str]) -> float:
    """Return the CPU seconds of ended children and of a service."""
    times = os.times()
    return times.children_user + times.children_system + sum(map(cpu, processes(environ)))


# calls ---------------------------------------------------------------------------------------------------------------


def calls(_: Sequence[str] = ()) -> None:
    """Measure calls per second of concurrent clients, and the median of one call."""
    rows = []
    for number in (1, 4, 16):
        times: dict[str, list[float]] = {service: [] for service in BOTH}
        seconds = dict.fromkeys(BOTH, 0.0)
        with ExitStack() as ends:
            clients = {service: _clients(ends, service, number) for service in BOTH}
            for _turn in range(CALLS // 10 // number):
                for service in BOTH:
                    each, all_ = at_once(clients[service], lambda one: one.call("memory_inspect", view="recent"), 10)
                    times[service] += each
                    seconds[service] += all_
        rates = [len(times[service]) / seconds[service] for service in BOTH]
        medians = [1e3 * statistics.median(times[service]) for service in BOTH]
        rows.append([str(number), *_compared(rates), *_compared(medians)])
    heads = [f"{kind}, {unit}" for unit in ("calls/s", "median ms") for kind in (*BOTH, "on / off")]
    show("calls of memory_inspect", ["clients", *heads], rows)


def _clients(ends: ExitStack, service: str, number: int) -> list[Client]:
    environ = ends.enter_context(home(service))
    clients = [ends.enter_context(Client(environ)).begin() for _ in range(number)]
    clients[0].call("memory_store", content="The ferry to the island leaves at seven.")
    return clients


def at_once(clients: Sequence[Client], call: Callable[[Client], None], number: int) -> tuple[list[float], float]:
    """Run calls of all clients concurrently; return the seconds of each call, and of all together."""
    times: list[float] = []

    def run(client: Client) -> None:
        for _ in range(number):
            before = time.perf_counter()
            call(client)
            times.append(time.perf_counter() - before)

    threads = [threading.Thread(target=run, args=(client,)) for client in clients]
    before = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times, time.perf_counter() - before


# flood ---------------------------------------------------------------------------------------------------------------


def flood(_: Sequence[str] = ()) -> None:
    """Measure a recall alone, and while another client always has 50 unanswered recalls."""
    rows = []
    for service in BOTH:
        with home(service, models=True) as environ, Client(environ).begin() as one, Client(environ).begin() as other:
            for number in range(200):
                one.call("memory_store", content=f"Ferry {number} to island {number} leaves at {number % 24}.")
            time.sleep(3)  # until the models are loaded
            one.call("memory_recall", query="When does ferry 7 leave?")
            alone = at_once([one], _recall, 60)[0]
            with _flooding(other):
                flooded = at_once([one], _recall, 60)[0]
            rows.append([service, *_tails(alone), *_tails(flooded)])
    heads = ["service", "alone p50", "alone p99", "during a flood p50", "p99"]
    show("memory_recall with the bundled models, ms", heads, rows)


def _recall(client: Client) -> None:
    client.call("memory_recall", query="When does ferry 7 leave?")


@contextmanager
def _flooding(client: Client) -> Iterator[None]:
    """Keep 50 recalls of a client unanswered at any time."""
    over = threading.Event()
    asked = {"name": "memory_recall", "arguments": {"query": "Which ferry leaves at noon?"}}

    def run() -> None:
        assert client.process.stdout
        for number in range(50):
            client.send({"jsonrpc": "2.0", "id": 10_000 + number, "method": "tools/call", "params": asked})
        number = 10_050
        for _ in client.process.stdout:
            if over.is_set():
                return
            client.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": asked})
            number += 1

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.5)
    yield
    over.set()
    thread.join()


def _tails(times: Sequence[float]) -> list[str]:
    ordered = sorted(times)
    return [f"{1e3 * ordered[len(ordered) // 2]:.1f}", f"{1e3 * ordered[int(len(ordered) * 0.99)]:.1f}"]


BENCHES = {"spawn": spawn, "memory": memory, "hook": hook, "prompt": prompt, "calls": calls, "flood": flood}


def main(arguments: list[str]) -> None:
    official: list[str] = []
    if "--official" in arguments:
        place = arguments.index("--official")
        official = shlex.split(arguments[place + 1])
        del arguments[place : place + 2]
    for name in arguments or BENCHES:
        BENCHES[name](official)


if __name__ == "__main__":
    main(sys.argv[1:])
