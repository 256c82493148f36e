"""Tests the server against the protocol with the official conformance suite and the inspector: `make conformance`.

1. The suite against the server of server.py: each scenario that a revision requires must pass.
2. The suite against the real tools: expected-REVISION.yml lists the checks that they fail, with the reasons.
3. The suite's checks of authorization servers against the login.
4. The inspector against the real tools over stdio, /mcp in both eras, and /sse.

The suite and the inspector are npm packages; package.json in this directory names their versions. Their Node comes
from the extra `dev`.
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
"""The number of scenarios for servers that each revision requires."""
RUN, ASK, STOP = 300, 60, 20  # the time limits of the suite, the inspector and the server's end in seconds
REAL = ("--toolsets", "all", "--workspace", "default")
ERAS = ("legacy", "modern")

Checks = Sequence[Mapping[str, Any]]


def main() -> int:
    """Run everything; return 1 if anything failed."""
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


# Node and the packages -----------------------------------------------------------------------------------------------


def _environment() -> dict[str, str]:
    """Return this process's environment without settings of memoryd."""
    return {name: value for name, value in around().items() if not name.startswith("MEMORY_")}


def _prepare() -> None:
    """Install the packages unless they are up to date; raise NotInstalledError."""
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
    """Return settings for a separate memory without models."""
    return {
        "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
        "MEMORY_DATA_DIR": str(home / "data"),
        "MEMORY_EMBEDDER": "none",
        "MEMORY_RERANKER": "none",
    }


@contextmanager
def _served(home: Path, module: str, *options: str, **more: str) -> Iterator[str]:
    """Run a module that serves on a free port, and yield its address; exit if a signal does not end it cleanly."""
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
    """Return whether every required scenario passes; a warning counts as a failure."""
    results = home / revision
    ended = _suite(base, revision, "--output-dir", str(results))
    checks = _checks(results)
    scenarios = _scored(ended.stdout)
    passed = [name for name in scenarios if _good(checks.get(name, ()))]
    for name in scenarios:
        for check in checks.get(name, ()) if name not in passed else ():
            if check["status"] in ("FAILURE", "WARNING"):
                print(f"  {name}: {check['id']}: {check.get('errorMessage', '')}")
    print(f"{revision}, fixtures: {len(passed)} of {REQUIRED[revision]} scenarios pass", flush=True)
    return len(passed) == len(scenarios) == REQUIRED[revision] and ended.returncode == 0


def _is_expected(base: str, revision: str) -> bool:
    """Return whether the real tools fail exactly the checks that are written down."""
    written = HERE / f"expected-{revision}.yml"
    ended = _suite(base, revision, "--expected-failures", str(written))
    if ended.returncode:
        print(ended.stdout[ended.stdout.rfind("=== SUMMARY ===") :])
    entries = sum(line.lstrip().startswith("- ") for line in written.read_text(encoding="utf-8").splitlines())
    others = "and others" if ended.returncode else "no others"
    print(f"{revision}, real tools: {entries} expected failures, {others}")
    return ended.returncode == 0


def _suite(base: str, revision: str, *options: str) -> subprocess.CompletedProcess[str]:
    url = f"{base}/mcp"
    return _node(SUITE, "server", "--url", url, "--requirements", revision, *options, patience=RUN, cwd=WORK)


def _scored(output: str) -> list[str]:
    """Return the scenarios of a run that count: the suite lists additional ones after them."""
    _, _, summary = output.partition("=== SUMMARY ===")
    counted, _, besides = summary.partition("Not scored for")
    left_out = set(re.findall(r"^ +\S ([\w-]+) \(", besides, flags=re.MULTILINE))
    return [
        name for name in re.findall(r"^\S ([\w-]+): \d+ passed", counted, flags=re.MULTILINE) if name not in left_out
    ]


def _checks(results: Path) -> dict[str, Checks]:
    """Return the checks of each scenario, from its folder `server-NAME-TIME`."""
    found = {}
    for path in results.glob("*/checks.json"):
        name = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", path.parent.name).removeprefix("server-")
        found[name] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _good(checks: Checks) -> bool:
    statuses = {check["status"] for check in checks}
    return "SUCCESS" in statuses and not statuses & {"FAILURE", "WARNING"}


def _logs_in(home: Path) -> bool:
    """Return whether the suite can log in."""
    home.mkdir()
    more = login.settings(free_port())
    login.add_person(_environment() | _settings(home))
    with _served(home, "memoryd", "serve", "--transport", "http", **more) as base:
        return login.passes(base, [NODE, str(SUITE)], _environment(), WORK)


# the inspector -------------------------------------------------------------------------------------------------------


def _targets(home: Path, base: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each way to the real tools: its name, the options, and the target, which comes last."""
    given = [f"-e{name}={value}" for name, value in _settings(home / "stdio").items()]
    for era in ERAS:
        chosen = ["--protocol-era", era]
        yield f"stdio, {era}", [*chosen, *given], [sys.executable, "-m", "memoryd", *REAL]
        yield f"/mcp, {era}", [*chosen, "--transport", "http", "--server-url", f"{base}/mcp"], []
    yield "/sse", ["--transport", "sse", "--server-url", f"{base}/sse"], []


def _inspected(home: Path, name: str, options: list[str], target: list[str]) -> bool:
    """Return whether the inspector finds no problem in the tools' schemas, and can call a tool."""
    call = [
        "--tool-name",
        "memory_store",
        "--tool-args-json",
        json.dumps({"content": f"The inspector was here: {name}"}),
    ]
    good = True
    for method, more in (("tools/list", ["--strict"]), ("tools/call", call)):
        ended = _node(
            INSPECTOR,
            "--cli",
            *options,
            "--method",
            method,
            *more,
            "--format",
            "json",
            *target,
            patience=ASK,
            cwd=home,
            env=_environment() | {"HOME": str(home)},
        )
        if ended.returncode:
            print(ended.stdout)
            good = False
    print(f"Inspector, {name}: {'fine' if good else 'not fine'}", flush=True)
    return good


if __name__ == "__main__":
    sys.exit(main())
