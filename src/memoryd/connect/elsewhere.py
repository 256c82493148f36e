"""A hook that asks a memoryd at a URL for what it prints. It is imported only for that: `urllib` takes 40 ms."""

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from memoryd.connect import hook
from memoryd.connect.launch import say
from memoryd.posting import HookServer, NotPostedError

BRIEFING = 3.0  # maximum seconds that a session's start waits for the server


def run(environ: Mapping[str, str], request: Mapping[str, Any]) -> None:
    """Print the answer and exit; a prompt without an answer goes without memory."""
    data = hook.given()
    is_prompt = request["event"] == hook.PROMPT
    seconds = hook.HURRY if is_prompt else BRIEFING
    watch = threading.Timer(seconds, _end, (is_prompt, f"{request['http']} does not answer."))
    watch.daemon = True  # a name may resolve for minutes
    watch.start()
    try:
        text = HookServer(request["http"], hook.workspace(environ), request["token_variable"], environ).shown(
            request["event"], request["client"], request["budget"], data, seconds
        )
    except NotPostedError as error:
        _end(is_prompt, str(error))
    with suppress(OSError):  # the client has given up
        os.write(1, text.encode())
    os._exit(0)


def _end(is_prompt: bool, why: str) -> None:
    if not is_prompt:
        say(f"{' '.join(why.split())} The session starts without a briefing.")
    os._exit(0 if is_prompt else 1)
