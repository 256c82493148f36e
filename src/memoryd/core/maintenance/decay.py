"""Decay: how alive a memory is, by its age, its importance and how it was used."""

import math
from datetime import datetime

from memoryd.core.base.clock import hours_since
from memoryd.model import Record

HALF_LIFE = 180.0  # days, of a memory of importance 1; d: proportional to importance
LEAST = 0.05  # of importance counts for everything: even trivia has nine days
EACH, MOST = 0.03, 0.4  # what each recall adds, and all of them together
FADING = 60.0  # days in which what recalls add falls to 1 / e
DAY = 24.0


def vitality(memory: Record, now: datetime) -> float:
    """1 when it was just stored or said again, 1/2 after its half-life; a little more while it is recalled.

    The formula and its constants are those of the specification's own server: .5 ^ (age / half-life), plus at most .4.
    """
    age = hours_since(memory.updated_at, now) / DAY
    lasting: float = 0.5 ** (age / (HALF_LIFE * max(memory.importance, LEAST)))
    if not memory.accessed_at:
        return lasting
    since = hours_since(memory.accessed_at, now) / DAY
    used: float = min(EACH * memory.access_count, MOST) * math.exp(-since / FADING)
    return lasting + used
