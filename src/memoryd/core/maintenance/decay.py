"""Decay: the vitality of a memory, from its age, its importance and its recalls."""

import math
from datetime import datetime

from memoryd.core.base.clock import hours_since
from memoryd.model import Record

HALF_LIFE = 180.0  # days, for importance 1; d: proportional to importance
LEAST = 0.05  # the minimum importance in this formula: a half-life of nine days
EACH, MOST = 0.03, 0.4  # the bonus of each recall, and of all recalls together
FADING = 60.0  # days in which the bonus falls to 1 / e
DAY = 24.0


def vitality(memory: Record, now: datetime) -> float:
    """Return 1 for a memory just stored or updated, .5 after its half-life, and up to .4 more if it is recalled.

    The formula, .5 ^ (age / half-life) plus the bonus, and its constants are those of d's reference server.
    """
    age = hours_since(memory.updated_at, now) / DAY
    lasting: float = 0.5 ** (age / (HALF_LIFE * max(memory.importance, LEAST)))
    if not memory.accessed_at:
        return lasting
    since = hours_since(memory.accessed_at, now) / DAY
    used: float = min(EACH * memory.access_count, MOST) * math.exp(-since / FADING)
    return lasting + used
