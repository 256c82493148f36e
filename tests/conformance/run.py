"""Holds the server to the protocol: the official conformance suite and the inspector. `make conformance` runs it.

1. The suite against the server of server.py beside this file: each scenario that a revision requires must pass.
2. The suite against the real tools: what they fail is written down, with the reason, in expected-REVISION.yml.
3. The suite's checks of authorization servers against the login.
4. The inspector against the real tools over stdio, /mcp in both eras, and /sse.

The suite and the inspector are npm packages; package.json beside this file names their versions. Their Node comes from
the extra `dev`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conformance import login
from tests.http import free_port
from tests.installers import BIN, BUILD, QUIET_NPM, ROOT, NotInstalledError, around, install

HERE = Path(__file__).resolve().parent
WORK = BUILD / "conformance"
MODULES = WORK / "node_modules" / "@modelcontextprotocol"
SUITE = MODULES / "conformance" / "dist" / "index.js"
INSPECTOR = MODULES / "inspector" / "clients" / "launcher" / "build" / "index.js"
NODE = str(BIN / "node")

REQUIRED = {"2025-11-25": 30, "2026-07-28": 37}
"""How many scenarios for servers each revision requires."""
RUN, ASK, STOP = 300, 60, 20  # seconds after which the suite, the inspector, the server are given up
REAL = ("--toolsets", "all", "--workspace", "default")
ERAS = ("legacy", "modern")

Checks = Sequence[Mapping[str, Any]]


def main() -> int:
    """Run everything; 1 if anything is not as it should be."""
    try:
        _prepare()
    except NotInstalledError as error:
        print(error, file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="memoryd-conformance-") as home:
        directory = Path(home)
        with _served(directory, "tests.conformance.server") as base:
            good = [_passes(base, revision, directory) for revision in REQUIRED]
        with _served(directory, "memoryd", "serve", "--transport", "http", "--port", "0", *REAL) as base:
            good += [_is_expected(base, revision) for revision in REQUIRED]
            good += [_inspected(directory, *target) for target in _targets(directory, base)]
        good += [_logs_in(directory / "logins")]
    print("Conformant." if all(good) else "Not conformant.")
    return 0 if all(good) else 1


# Node and what it runs -----------------------------------------------------------------------------------------------


def _environment() -> dict[str, str]:
    """This process's, without settings of memoryd."""
    return {name: value for name, value in around().items() if not name.startswith("MEMORY_")}


def _prepare() -> None:
    """Install what is run where it is not yet. Raise NotInstalledError."""
    wanted, done = (HERE / "package.json").read_text(encoding="utf-8"), WORK / "installed.json"
    if not (done.exists() and done.read_text(encoding="utf-8") == wanted):
        shutil.rmtree(WORK, ignore_errors=True)
        WORK.mkdir(parents=True)
        shutil.copy(HERE / "package.json", WORK)
        print("Installing the suite and the inspector ...", flush=True)
        install(["npm", "install", "--prefix", WORK, "--ignore-scripts", *QUIET_NPM], SUITE)
        done.write_text(wanted, encoding="utf-8")


def _run(command: Sequence[str], patience: float, **options: Any) -> subprocess.CompletedProcess[str]:
    environ = options.pop("env", _environment())
    return subprocess.run(command, env=environ, timeout=patience, text=True, check=False, **options)


def _node(script: Path, *arguments: str, patience: float, **options: Any) -> subprocess.CompletedProcess[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return _run([NODE, str(script), *arguments], patience, stdin=subprocess.DEVNULL, **pipes, **options)


# the server ----------------------------------------------------------------------------------------------------------


def _settings(home: Path) -> dict[str, str]:
    """A memory of its own, without models."""
    return {
        "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
        "MEMORY_DATA_DIR": str(home / "data"),
        "MEMORY_EMBEDDER": "none",
        "MEMORY_RERANKER": "none",
    }


@contextmanager
def _served(home: Path, module: str, *options: str, **more: str) -> Iterator[str]:
    """Run a module that serves on a free port, and yield its address. A signal must end it well."""
    command = [sys.executable, "-m", module, *options]
    log = home / "server.log"
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(
            command, env=_environment() | _settings(home) | more, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as server,
    ):
        try:
            assert server.stdout is not None
            address = re.search(r"http://\S+(?=/mcp)", server.stdout.readline())
            if address is None:
                sys.exit(f"The server did not start:\n{log.read_text(encoding='utf-8')}")
            yield address[0]
            server.terminate()
            if server.wait(STOP):
                sys.exit(f"The server ended with {server.returncode}:\n{log.read_text(encoding='utf-8')}")
        finally:
            server.kill()


# the suite -----------------------------------------------------------------------------------------------------------


def _passes(base: str, revision: str, home: Path) -> bool:
    """Whether every required scenario passes; here a warning counts as a failure."""
    results = home / revision
    said = _suite(base, revision, "--output-dir", str(results))
    checks = _checks(results)
    scenarios = _scored(said.stdout)
    passed = [name for name in scenarios if _good(checks.get(name, ()))]
    for name in scenarios:
        for check in checks.get(name, ()) if name not in passed else ():
            if check["status"] in ("FAILURE", "WARNING"):
                print(f"  {name}: {check['id']}: {check.get('errorMessage', '')}")
    print(f"{revision}, fixtures: {len(passed)} of {REQUIRED[revision]} scenarios pass", flush=True)
    return len(passed) == len(scenarios) == REQUIRED[revision] and said.returncode == 0


def _is_expected(base: str, revision: str) -> bool:
    """Whether the real tools fail what is written down, and nothing else."""
    written = HERE / f"expected-{revision}.yml"
    said = _suite(base, revision, "--expected-failures", str(written))
    if said.returncode:
        print(said.stdout[said.stdout.rfind("=== SUMMARY ===") :])
    entries = sum(line.lstrip().startswith("- ") for line in written.read_text(encoding="utf-8").splitlines())
    print(f"{revision}, real tools: {entries} expected failures, {'no other' if not said.returncode else 'and others'}")
    return said.returncode == 0


def _suite(base: str, revision: str, *options: str) -> subprocess.CompletedProcess[str]:
    url = f"{base}/mcp"
    return _node(SUITE, "server", "--url", url, "--requirements", revision, *options, patience=RUN, cwd=WORK)


def _scored(said: str) -> list[str]:
    """The scenarios of a run that count: what the suite runs besides is told after them."""
    _, _, summary = said.partition("=== SUMMARY ===")
    counted, _, besides = summary.partition("Not scored for")
    left_out = set(re.findall(r"^ +\S ([\w-]+) \(", besides, flags=re.MULTILINE))
    return [
        name for name in re.findall(r"^\S ([\w-]+): \d+ passed", counted, flags=re.MULTILINE) if name not in left_out
    ]


def _checks(results: Path) -> dict[str, Checks]:
    """The checks of each scenario; each has a folder, `server-NAME-TIME`."""
    found = {}
    for path in results.glob("*/checks.json"):
        name = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", path.parent.name).removeprefix("server-")
        found[name] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _good(checks: Checks) -> bool:
    statuses = {check["status"] for check in checks}
    return "SUCCESS" in statuses and not statuses & {"FAILURE", "WARNING"}


def _logs_in(home: Path) -> bool:
    """Whether the suite logs in."""
    home.mkdir()
    more = login.settings(free_port())
    login.add_person(_environment() | _settings(home))
    with _served(home, "memoryd", "serve", "--transport", "http", **more) as base:
        return login.passes(base, [NODE, str(SUITE)], _environment(), WORK)


# the inspector -------------------------------------------------------------------------------------------------------


def _targets(home: Path, base: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each way to the real tools: what it is called, the options, and the target, which comes last."""
    given = [f"-e{name}={value}" for name, value in _settings(home / "stdio").items()]
    for era in ERAS:
        chosen = ["--protocol-era", era]
        yield f"stdio, {era}", [*chosen, *given], [sys.executable, "-m", "memoryd", *REAL]
        yield f"/mcp, {era}", [*chosen, "--transport", "http", "--server-url", f"{base}/mcp"], []
    yield "/sse", ["--transport", "sse", "--server-url", f"{base}/sse"], []


def _inspected(home: Path, name: str, options: list[str], target: list[str]) -> bool:
    """Whether the inspector finds nothing wrong with the schemas of the tools, and can call one."""
    call = [
        "--tool-name",
        "memory_store",
        "--tool-args-json",
        json.dumps({"content": f"The inspector was here: {name}"}),
    ]
    good = True
    for method, more in (("tools/list", ["--strict"]), ("tools/call", call)):
        said = _node(
            INSPECTOR, "--cli", *options, "--method", method, *more, "--format", "json", *target,
            patience=ASK, cwd=home, env=_environment() | {"HOME": str(home)},
        )  # fmt: skip
        if said.returncode:
            print(said.stdout)
            good = False
    print(f"Inspector, {name}: {'fine' if good else 'not fine'}", flush=True)
    return good


if __name__ == "__main__":
    sys.exit(main())
