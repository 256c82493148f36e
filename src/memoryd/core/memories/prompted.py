"""What bears on the prompt of an agent's user: a few memories that go with it, or nothing.

They come unasked, so that too little is better than too much: what the cross-encoder does not see as an answer is left
out, and so is what reads like an order.
"""

import math
from collections.abc import Collection
from dataclasses import replace

from memoryd.core.records.records import full_text
from memoryd.core.scope import Scope
from memoryd.core.search import ranking
from memoryd.core.search.briefing import Briefing, BulletsLayout, brief
from memoryd.core.search.candidates import Found
from memoryd.core.search.pipeline import Search
from memoryd.core.security.prompt_injection import reads_like_instructions
from memoryd.model import Filter, Hit, Kind
from memoryd.text import content_words

KINDS = (Kind.MEMORY, Kind.ENTITY, Kind.OBSERVATION, Kind.SUMMARY)
"""What is known. Not turns: the same prompt of another day is nearest to a prompt, and says nothing."""
LONGEST = 600  # characters of a prompt that are searched for: what follows is mostly pasted
SHORTEST = 2  # content words below which a prompt, such as `yes, go on`, asks for nothing
MOST = 4  # memories
READY = 0.6  # seconds that a prompt waits for models that are being loaded
BEARS = 0.0
"""The logit of the cross-encoder from which on a memory bears on a prompt."""


def bearing_on(scope: Scope, prompt: str, budget: int, session: str = "", but: Collection[str] = ()) -> Briefing | None:
    """Return the memories that bear on a prompt, within `budget` tokens; None if there are none.

    Not what `session` itself has written, and no ids of `but`: the agent has seen that. None also without a
    cross-encoder that is ready. This does not count as a recall.
    """
    about, helpers = prompt[:LONGEST], scope.engine.helpers
    if len(content_words(about)) < SHORTEST:
        return None
    helpers.start()
    if helpers.reranker.get(READY) is None:
        return None
    search = Search(scope, ranking.PROMPT)
    found, named = search.read(about, Filter(kinds=KINDS), named=True)
    hits = bearing(search, found, session, but)
    return brief(hits[:MOST], budget, BulletsLayout(about, named)) if hits else None


def bearing(
    search: Search, found: Found, session: str = "", but: Collection[str] = (), least: float = BEARS
) -> list[Hit]:
    """Return the hits that bear on what was asked, best first: those with a logit of `least`."""
    new = [hit for hit in found.hits if hit.record.id not in but and (not session or hit.record.session_id != session)]
    calm = [hit for hit in new if not reads_like_instructions(full_text(hit.record))]
    return [hit for hit in search.ranked(replace(found, hits=calm)).best if hit.why.get("reranker", -math.inf) >= least]
