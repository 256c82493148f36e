"""Shared fixtures: the bundled models, servers to talk to, and the store that the servers use."""

import gc
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, suppress
from functools import cache, partial
from importlib import import_module  # Windows has no managed server
from pathlib import Path
from threading import Event
from typing import Any, Literal, TypeVar

import apsw
import psycopg
import pytest
from jsonschema import Draft202012Validator
from typer import testing

from memoryd import disk
from memoryd import environment as environ
from memoryd.models import helpers, weights
from memoryd.models.onnx import BundledEmbedder, BundledReranker
from memoryd.models.providers import Spec
from memoryd.models.pull import pull
from memoryd.settings import Settings
from memoryd.store.sql import migrations
from memoryd.store.sqlite import file as sqlite_file
from memoryd.store.sqlite import scratch
from memoryd.store.sqlite.connection import equipped
from memoryd.store.sqlite.file import SqliteFile
from tests import places
from tests.clients import POSTGRES, SERVICE, Agent, agent, environment, made, process_agent, until
from tests.wires import ProcessWire, StreamWire, Wire

T = TypeVar("T")
Start = Callable[..., Agent]
"""Starts a server with settings; `mode` names the client's era, `arguments` go to the command line."""
Open = Callable[..., Wire]
Pipe = Callable[..., ProcessWire]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--backend",
        choices=("sqlite", "postgres", "both"),
        default="sqlite",
        help="The store under test; both: run the tests that depend on the store on each.",
    )
    parser.addoption("--service", choices=("on", "off"), default="off", help="Whether processes share a service.")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the tests' files in memory if there is room.

    Each run has its own directory: pytest makes the common one private, which would lock out the account of a
    Postgres that another run has started.
    """
    if "PYTEST_DEBUG_TEMPROOT" not in os.environ:  # a worker inherits that of its run
        root = tempfile.mkdtemp(prefix="tests-", dir=places.for_files())
        os.environ["PYTEST_DEBUG_TEMPROOT"] = root
        config.add_cleanup(partial(shutil.rmtree, root, ignore_errors=True))
        config.add_cleanup(partial(os.environ.__delitem__, "PYTEST_DEBUG_TEMPROOT"))
    os.environ.setdefault("TZ", "UTC")  # the dates in answers are of the machine
    if hasattr(time, "tzset"):
        time.tzset()
    environ.limit_threads()  # applies to the workers too, which start after this
    gc.disable()  # during collection, which makes no garbage


def pytest_collection_finish() -> None:
    """Let the garbage collector look at what the tests create, but not at the tests themselves."""
    gc.freeze()
    gc.set_threshold(20_000)  # new objects; a call makes some thousands
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Collect garbage once: pytest does so five more times, which then have nothing to look at."""
    gc.collect()
    gc.freeze()


NEEDS = {
    "pipe": "process", "spawn": "process", "model_dir": "models", "postgres": "servers", "chroma": "servers",
    "browser": "browser", "wheelhouse": "index", "open_machine": "slow",
}  # fmt: skip
"""The marker that a fixture gives to its tests."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return the number for `-n auto`: more than processors, because a test of processes waits a part of the time.

    Each worker collects all tests, and loads the models and starts servers of its own.
    """
    count = os.cpu_count() or 2
    return count if "not process" in config.option.markexpr else count + count // 2


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests by what they need, deselect those that differ with no store, and begin with the longest."""
    for item in items:
        for fixture in NEEDS.keys() & {*getattr(item, "fixturenames", ()), *_servers(item)}:
            item.add_marker(NEEDS[fixture])
    once = "files" if config.getoption("backend") == "postgres" else "storeless"
    left_out = {id(item) for item in items if _on_postgres(item) and any(map(item.get_closest_marker, ("files", once)))}
    config.hook.pytest_deselected(items=[item for item in items if id(item) in left_out])
    items[:] = [item for item in items if id(item) not in left_out]
    # else a worker runs them alone at the end
    items.sort(key=lambda item: not any(map(item.get_closest_marker, ("copies", "long"))))


def _on_postgres(item: pytest.Item) -> bool:
    """Return whether a test uses Postgres."""
    return bool(_parameters(item).get("backend", item.config.getoption("backend")) == "postgres")


def _servers(item: pytest.Item) -> list[object]:
    """Return the servers among the parameters of a test, which starts them by name."""
    return [one for one in _parameters(item).values() if isinstance(one, str) and NEEDS.get(one) == "servers"]


def _parameters(item: pytest.Item) -> dict[str, object]:
    return item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With `--backend both`, run the tests that depend on the store on each."""
    if metafunc.config.getoption("backend") == "both" and metafunc.definition.get_closest_marker("stores"):
        metafunc.parametrize("backend", ["sqlite", "postgres"], indirect=True, scope="session")


_IN_PROCESS = Event()
"""Set while a test runs that must not start a process."""


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event != "subprocess.Popen" or not _IN_PROCESS.is_set() or arguments[0] == "git":
        return
    if threading.current_thread() is threading.main_thread():  # a server's background work may outlive its test
        raise AssertionError("This test starts a process. Mark it with `process`, or avoid the process.")


sys.addaudithook(_watch)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fail a test that starts a process without the marker `process`."""
    if not item.get_closest_marker("process"):
        _IN_PROCESS.set()
    try:
        return (yield)
    finally:
        _IN_PROCESS.clear()


@pytest.fixture(scope="session")
def postgres(testrun_uid: str) -> Iterator[str]:
    """Yield the URL of a server that all workers of a run share; the last one to end stops it."""
    shared = places.for_databases() / f"memoryd-{testrun_uid[:12]}"
    managed = import_module("memoryd.store.postgres.managed_server")
    with closing(managed.ManagedServer(shared)) as server:
        url = server.url()
        with psycopg.connect(url, autocommit=True) as connection:
            for name in ("fsync", "full_page_writes", "autovacuum"):  # tests kill processes, not machines, and leave
                connection.execute(f"ALTER SYSTEM SET {name} = off")  # many databases that would be vacuumed
            connection.execute("SELECT pg_reload_conf()")
        yield url
    with (shared / "postgres.users").open("ab") as users:
        last = import_module("memoryd.store.shared_server").locked(users, import_module("fcntl").LOCK_EX)
    if last:
        until(lambda: server._running() is None, "the end of Postgres")
        shutil.rmtree(shared, ignore_errors=True)


@pytest.fixture(scope="session")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the URL of a ChromaDB server; each worker has one."""
    module = import_module("memoryd.features.chroma.server")
    with closing(module.ChromaServer(tmp_path_factory.mktemp("chroma"))) as server:
        yield server.url()


@pytest.fixture(scope="session", autouse=True)
def backend(request: pytest.FixtureRequest) -> Iterator[None]:
    """Select the store that servers use from now on."""
    asked = request.config.getoption("backend")
    if getattr(request, "param", asked) == "postgres":
        POSTGRES.append(request.getfixturevalue("postgres"))
    yield
    POSTGRES.clear()


@pytest.fixture(scope="session", autouse=True)
def _service(request: pytest.FixtureRequest) -> None:
    SERVICE.update(MEMORY_SERVICE=request.config.getoption("service"), MEMORY_SERVICE_IDLE="1")


@pytest.fixture(scope="session")
def model_dir() -> Path:
    """Return this user's directory of the bundled models; the first use fetches them."""
    directory = Settings.read().models
    pull(directory, lambda _stage, _fraction: None)  # safe with several workers at once
    return directory


@pytest.fixture(autouse=True)
def _no_traceback(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test if a server in this process logged a traceback, as it does for every unexpected error.

    Log records of the SDK's client do not count, e.g. about a stream whose reader has gone.
    """
    yield
    phases: tuple[Literal["setup", "call", "teardown"], ...] = ("setup", "call", "teardown")
    records = [record for phase in phases for record in caplog.get_records(phase) if record.exc_info]
    records = [record for record in records if not record.name.startswith("mcp.client")]
    assert not records, [(record.name, record.getMessage(), record.exc_info) for record in records]


def _cached(model: T) -> T:
    """Let a model process each text only once per worker: many tests use the same texts."""
    if isinstance(model, BundledReranker):
        score = cache(lambda query, text: BundledReranker.score(model, query, [text])[0])
        vars(model)["score"] = lambda query, texts: [score(query, text) for text in texts]
    elif isinstance(model, BundledEmbedder):
        vars(model).update(embed_query=cache(model.embed_query), embed_passage=cache(model.embed_passage))
    return model


@pytest.fixture(scope="session", autouse=True)
def _models_once() -> Iterator[None]:
    """Load the bundled models once per worker: the servers in this process share them, since they never change."""

    def once(load: Callable[[str, Settings], T]) -> Callable[[str, Settings], T]:
        made: dict[object, T] = {}

        def loaded(spec: str, settings: Settings) -> T:
            if not (Spec.parse(spec).bundled and weights.present(weights.place(settings))):
                return load(spec, settings)
            key = spec, settings.models
            return made.get(key) or made.setdefault(key, _cached(load(spec, settings)))

        return loaded

    with pytest.MonkeyPatch.context() as patched:
        for name in ("load_embedder", "load_reranker"):
            patched.setattr(helpers, name, once(getattr(helpers, name)))
        yield


@pytest.fixture(scope="session", autouse=True)
def _schema_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Create SQLite's schema once per worker: new databases in this process, temporary ones too, are copies of it.

    A test with other migrations creates its own.
    """
    template = tmp_path_factory.mktemp("schema") / "memory.db"
    with closing(SqliteFile(template, "full", at_rest=True)) as made:
        made.open(create=True)
    make_file = disk.make_file
    tables = apsw.Connection("")
    for script in migrations("sqlite").values():
        equipped(tables).execute(script)

    def copied(path: Path) -> None:
        if path.suffix == ".db" and not path.is_symlink() and vars(sqlite_file)["migrations"] is migrations:
            with disk.temporary(path) as copy, suppress(FileExistsError):
                shutil.copyfile(template, copy)
                os.link(copy, path)
        make_file(path)

    def with_tables(connection: apsw.Connection) -> apsw.Connection:
        with connection.backup("main", tables, "main") as copy:
            copy.step()
        return equipped(connection)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(disk, "make_file", copied)
        patched.setattr(scratch, "equipped", with_tables)
        patched.setattr(scratch, "migrations", lambda _: {})
        yield


@pytest.fixture(scope="session", autouse=True)
def _declared_once() -> Iterator[None]:
    """Check each tool's output schema once per worker: the SDK's client does so for every connection."""
    checked: set[str] = set()
    check = Draft202012Validator.check_schema

    def once(schema: Any, **options: Any) -> None:
        text = json.dumps(schema, sort_keys=True)
        if text not in checked:
            check(schema, **options)
            checked.add(text)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Draft202012Validator, "check_schema", once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _command_once() -> Iterator[None]:
    """Make the `memoryd` command once per worker: typer's runner does so for every run."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(testing, "_get_command", made)
        yield


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Yield a function that starts a server in this process; all share one home and end with the test."""
    with ExitStack() as ends:

        def begin(*arguments: str, mode: str = "auto", models: Path | None = None, **settings: str) -> Agent:
            environ = environment(home, models, **settings)
            return ends.enter_context(agent(environ, *arguments, mode=mode))

        yield begin


@pytest.fixture
def spawn(home: Path) -> Iterator[Start]:
    """Yield a function like `start` whose servers run in separate processes."""
    with ExitStack() as ends:

        def begin(*arguments: str, mode: str = "auto", models: Path | None = None, **settings: str) -> Agent:
            environ = environment(home, models, **settings)
            return ends.enter_context(process_agent(environ, *arguments, mode=mode, log=home / "stderr.log"))

        yield begin


@pytest.fixture
def wire(home: Path) -> Iterator[Open]:
    """Yield a function that opens a raw connection to a new server in this process; all share one home."""
    with ExitStack() as ends:

        def begin(*arguments: str, models: Path | None = None, **settings: str) -> Wire:
            return ends.enter_context(StreamWire(environment(home, models, **settings), *arguments))

        yield begin


@pytest.fixture
def pipe(home: Path) -> Iterator[Pipe]:
    """Yield a function like `wire` whose servers run in separate processes."""
    with ExitStack() as ends:

        def begin(*arguments: str, models: Path | None = None, **settings: str) -> ProcessWire:
            return ends.enter_context(ProcessWire(environment(home, models, **settings), *arguments))

        yield begin
