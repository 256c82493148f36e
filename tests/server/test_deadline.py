"""The remaining time of a call, as the code that runs for it sees it."""

import math
from pathlib import Path

import anyio

from memoryd.core.engine import Engine
from memoryd.deadline import time_left
from memoryd.server.calls import Calls
from memoryd.settings import Settings
from tests.clients import environment


def test_a_call_knows_its_remaining_time(home: Path) -> None:
    with Engine(Settings.read(environment(home, MEMORY_CALL_TIMEOUT="7")), fetch=False) as engine:
        calls = Calls(engine)

        async def seen() -> tuple[float, float]:
            return await calls.hop(time_left), await calls.hop(time_left, lasting=True)

        short, lasting = anyio.run(seen)
    assert 0 < short <= 7
    assert lasting == time_left() == math.inf
