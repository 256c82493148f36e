"""`memoryd service`: show the state and the log of the process that serves all clients of a memory, or stop it."""

import sys
import uuid
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from memoryd import environment
from memoryd.cli import show
from memoryd.cli.frame import FAILED, FILES, AsJson, command, fail, note
from memoryd.errors import InvalidInputError
from memoryd.settings import Settings
from memoryd.text import counted

if sys.platform != "win32":
    from memoryd.connect import channel
    from memoryd.connect.address import Address, address, services_of

services = typer.Typer(no_args_is_help=True, add_completion=False, help="The process that serves all clients.")

ANSWERING = 10.0  # seconds beyond the time limit of a call that a service has to answer
HEADS = ("pid", "version", "clients", "memory", "up", "memory of")


@services.command()
@command(*FILES)
def status(settings: Settings, *, as_json: AsJson = False) -> None:
    """Show the services of this user: version, clients, memory, uptime."""
    states, silent = found(settings)
    if as_json:
        show.as_json({"services": states, "silent": silent})
        return
    if states:
        fields = ("pid", "memoryd", "clients")
        rows = [(*map(state.get, fields), _memory(state), _up(state), state["place"]) for state in states]
        show.numbers(HEADS, rows)
    for path in silent:
        note(f"The service at {path} does not answer. Clients use their own servers; end its process to get a new one.")
    if not states and not silent:
        show.verbatim("No service is running: the next client starts one.")


@services.command()
@command(*FILES)
def stop(settings: Settings) -> None:
    """Stop the service of this memory; the next call of a client starts a new one."""
    try:
        place = _address(settings)
        state = channel.state(place.socket, "stop")
    except TimeoutError:
        raise fail(f"The service at {place.socket} does not answer. End its process.", FAILED) from None
    except OSError:
        show.verbatim("No service is running.")
    else:
        show.verbatim(f"The service {state['pid']} is stopping; it had {counted(state['clients'], 'client')}.")


@services.command()
@command(*FILES)
def logs(
    settings: Settings, *, lines: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum lines.")] = 50
) -> None:
    """Show the end of the log of the service of this memory."""
    try:
        log = Path(_address(settings).log)
    except FileNotFoundError:
        note("There is no log: no service was ever started for this memory.")
        return
    texts: list[str] = []
    for path in (log.with_suffix(".log.1"), log):
        with suppress(FileNotFoundError):
            texts += path.read_text(encoding="utf-8", errors="replace").splitlines()
    note(f"{log}:" if texts else f"{log} is empty.")
    show.verbatim("\n".join(texts[-lines:]))


def greeted(settings: Settings, want: str, **more: Any) -> "tuple[channel.Lines, dict[str, Any]] | None":
    """Return a connection to a running service of this memory, and its answer to the greeting; None without one."""
    if sys.platform == "win32" or not settings.service:
        return None
    environ = environment.at(settings.data_dir, settings.db_path)
    try:
        place = address({**environ, **settings.connection}, make=False)
        known = {"environ": settings.connection, "directory": environment.directory()}
        hello = {"want": want, **known, "id": str(uuid.uuid4()), **more}
        found = channel.greet(place.socket, hello) if place else None
    except OSError:  # none is running, or it is hung: this process does without it
        return None
    if found:
        found[0].socket.settimeout(settings.call_timeout + ANSWERING)
    return found


def found(settings: Settings) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the states of the services that answer, and the sockets of those that are hung."""
    states, silent = list[dict[str, Any]](), list[str]()
    if sys.platform == "win32":
        return states, silent
    for path in services_of(environment.at(settings.data_dir, settings.db_path)):
        try:
            states.append(channel.state(path))
        except TimeoutError:
            silent.append(path)
        except OSError:  # it has died: the next client replaces it
            continue
    return states, silent


def described(settings: Settings) -> str:
    """Return the state of the service of this memory in one line."""
    if not settings.service:
        return "off"
    try:
        state = channel.state(_address(settings).socket)
    except TimeoutError:
        return "does not answer"
    except (OSError, InvalidInputError):
        return "none"
    clients = counted(state["clients"], "client")
    return f"{state['memoryd']}, process {state['pid']}, {clients}, {_memory(state)}, up {_up(state)}"


def _memory(state: dict[str, Any]) -> str:
    return show.size(1024 * state["kilobytes"])


def _up(state: dict[str, Any]) -> timedelta:
    return timedelta(seconds=state["seconds"])


def _address(settings: Settings) -> "Address":
    """Return the address of this memory's service. Raise FileNotFoundError if there never was one."""
    if sys.platform == "win32":
        raise InvalidInputError("There is no service on Windows: each client has its own server.")
    place = address(environment.at(settings.data_dir, settings.db_path), make=False)
    if place:
        return place
    if (room := settings.data_dir / "service").exists():
        raise InvalidInputError(
            f"There is no service: {room} is accessible to other users. Correct its mode (chmod 700)."
        )
    raise FileNotFoundError(room)
