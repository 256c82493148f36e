"""`memoryd hook` through a running service, which is fast: an agent and its user wait for it at every turn."""

from __future__ import annotations

import os
import select
import time

from memoryd.connect.launch import say

TYPE_CHECKING = False
if TYPE_CHECKING:  # as in connect
    from collections.abc import Mapping
    from typing import Any

    from memoryd.connect.channel import Lines

INPUT = 16 << 20  # maximum bytes of a hook's JSON: it may repeat the agent's last message
TOO_LONG = f"The input of the hook on stdin is longer than {INPUT >> 20} MB."
READING = 30.0  # seconds after which a hook gives up on its JSON, or on a transcript
NOTHING = f"nothing came on stdin (given up after {READING:g} seconds)."
ANSWER = 35.0  # seconds that a service has to answer, whatever it waits for
OPTIONS = {"--client": "client", "--budget": "budget", "--http": "http", "--token-variable": "token_variable"}
DEFAULTS = {"client": "claude-code", "budget": "800", "http": "", "token_variable": ""}
PROMPT = "prompt-submit"
BUDGET = 50_000  # maximum tokens, as in the command
OF_PROMPT = {**DEFAULTS, "budget": "300"}
SHOWING = {"session-start", PROMPT}
"""The events at which a hook prints something for the agent."""
EVENTS = {*SHOWING, "stop", "subagent-stop", "pre-compact", "session-end"}
HURRY = 1.5  # maximum seconds that a prompt waits for the service
CLIENTS = {"claude-code", "codex", "cursor", "gemini", "opencode", "vscode"}


def request_of(arguments: list[str]) -> dict[str, Any] | None:
    """Return the request for the arguments after `hook`; None if the command itself has to check them."""
    given: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name in OPTIONS:
            given[OPTIONS[name]] = value if equals else next(rest, "")
        elif argument in EVENTS and "event" not in given:
            given["event"] = argument
        else:
            return None
    found = {**(OF_PROMPT if given.get("event") == PROMPT else DEFAULTS), **given}
    budget = int(found["budget"]) if found["budget"].isdecimal() and len(found["budget"]) <= len(str(BUDGET)) else 0
    usable = "event" in found and found["client"] in CLIENTS and 1 <= budget <= BUDGET
    return {**found, "budget": budget} if usable else None


def workspace(environ: Mapping[str, str]) -> str:
    """Return the name of the workspace that an environment names."""
    return environ.get("MEMORY_NAMESPACE") or environ.get("MEMORY_WORKSPACE") or "default"


def given() -> bytes:
    """Return what the client sends on stdin; if there is nothing, or too much, print a note and exit."""
    data = read()
    if data is None or len(data) > INPUT:
        say(NOTHING if data is None else TOO_LONG)
        os._exit(1)
    return data


def read() -> bytes | None:
    """Return what the client sends on stdin; None if that takes too long."""
    until, data = time.monotonic() + READING, bytearray()
    while len(data) <= INPUT:
        readable, _, _ = select.select([0], [], [], max(0.0, until - time.monotonic()))
        if not readable:
            return None
        part = os.read(0, 1 << 16)
        if not part:
            break
        data += part
    return bytes(data)


def run(service: Lines, request: Mapping[str, Any], data: bytes) -> str:
    """Ask the service and print its answer; return what went wrong, or ''. Raise OSError if it dies before."""
    service.socket.settimeout(HURRY if request["event"] == PROMPT else ANSWER)
    service.send({**request, "home": os.path.expanduser("~"), "input": data.decode("utf-8", "surrogateescape")})  # noqa: PTH111
    answer = service.receive()
    if text := answer.get("print", ""):
        os.write(1, text.encode())
        _delivered(service)
    return str(answer.get("failed", ""))


def _delivered(service: Lines) -> None:
    """Have the service note what was printed. On failure, print a note: an error would undo or repeat the output."""
    try:
        service.send({})
        failed = service.receive().get("failed")
    except OSError as error:
        failed = error
    if failed:
        say(f"the next briefing of this session may repeat this one: {failed}")
