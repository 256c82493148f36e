"""Tests real clients with memoryd and a scripted model: `make clients`, or `make clients CLIENTS="codex gemini"`;
`together` tests several at once, `synced` one in two homes with a repository between them.

Prints a line for each check. The exit code is 1 if a check failed or a client could not be installed. shown.json
keeps what the models were shown; `docs/tables.py` makes a table of it.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.installers import NotInstalledError
from tests.real_clients.agents import AGENTS, Agent
from tests.real_clients.callers import CALLERS, Caller
from tests.real_clients.checks import Outcome, called, synced, together, tried
from tests.real_clients.model import model
from tests.real_clients.place import BUILD, Place

SHOWN = Path(__file__).resolve().parent / "shown.json"
"""What each client's model was last shown, for the table in docs/clients.md."""
NOTED = ("tools", "store")

CLIENTS = {client.name: client for client in (*AGENTS, *CALLERS)}
TOGETHER, SYNCED = "together", "synced"
"""The names that select the test of several clients at once, and that of two homes that share a memory by git."""
AT_ONCE = ("claude-code", "codex", "gemini")


def main(names: Sequence[str]) -> int:
    """Test the named clients, or all; return 1 if anything failed, 2 if a name is unknown."""
    others = {TOGETHER: _together, SYNCED: _synced}
    known = [*CLIENTS, *others]
    if unknown := [name for name in names if name not in known]:
        print(f"There is no client {unknown[0]}. Name some of: {' '.join(known)}", file=sys.stderr)
        return 2
    good = [others[name]() if name in others else _good(CLIENTS[name]) for name in names or known]
    return 0 if all(good) else 1


def _good(client: Agent | Caller) -> bool:
    version = _installed(client)
    if not version:
        return False
    good, seen = True, {}
    for outcome in _outcomes(client):
        _report(f"{client.name} {version}", outcome)
        good = good and not outcome.problem
        seen[outcome.check] = outcome.seen
    if isinstance(client, Agent) and all(seen.get(check) for check in NOTED):
        _note(client.name, {"version": version, **{check: seen[check] for check in NOTED}})
    return good


def _together() -> bool:
    agents = [agent for agent in AGENTS if agent.name in AT_ONCE]
    if not all(map(_installed, agents)):
        return False
    good = True
    with ExitStack() as ends:
        models = [ends.enter_context(model(_log(f"{TOGETHER}.{agent.name}"))) for agent in agents]
        for outcome in together(agents, Place(BUILD / "work" / TOGETHER), models):
            _report(TOGETHER, outcome)
            good = good and not outcome.problem
    return good


def _synced() -> bool:
    agent = next(agent for agent in AGENTS if agent.name == AT_ONCE[0])
    if not _installed(agent):
        return False
    good = True
    with model(_log(f"{SYNCED}.{agent.name}")) as one:
        places = [Place(BUILD / "work" / SYNCED / home, variables=agent.variables(one.url)) for home in ("one", "two")]
        for outcome in synced(agent, places, one):
            _report(SYNCED, outcome)
            good = good and not outcome.problem
    return good


def _installed(client: Agent | Caller) -> str:
    """Install a client and return its version; if that fails, print the reason and return ''."""
    try:
        return client.package.install(client.name)
    except NotInstalledError as error:
        print(f"{client.name}: not installed: {error}", flush=True)
        return ""


def _report(name: str, outcome: Outcome) -> None:
    verdict = f"failed: {outcome.problem}" if outcome.problem else "ok"
    figure = f" ({outcome.seen})" if outcome.seen else ""
    print(f"{name}: {outcome.check}: {verdict}{figure}", flush=True)


def _log(name: str) -> Path:
    """Return the path of an empty log for the requests to a model."""
    log = BUILD / "work" / f"{name}.requests.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    return log


def _note(name: str, seen: Mapping[str, str]) -> None:
    known = json.loads(SHOWN.read_text(encoding="utf-8")) | {name: seen}
    ordered = {client.name: known[client.name] for client in AGENTS if client.name in known}
    SHOWN.write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")


def _outcomes(client: Agent | Caller) -> Iterator[Outcome]:
    root = BUILD / "work" / client.name
    try:
        if isinstance(client, Caller):
            yield from called(client, Place(root))
            return
        with model(_log(client.name)) as one:
            yield from tried(client, Place(root, client.variables(one.url)), one)
    except (AssertionError, RuntimeError) as error:
        yield Outcome("run", str(error))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
