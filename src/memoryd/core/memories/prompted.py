"""Prompt recall: a few memories that bear on the prompt of an agent's user, or nothing.

The user did not ask for them, so too few are better than too many: memories that the cross-encoder does not rate as an
answer, or that read like instructions, are left out.
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
from memoryd.core.search.small_talk import is_small_talk
from memoryd.core.security.prompt_injection import reads_like_instructions
from memoryd.model import Filter, Hit, Kind
from memoryd.text import content_words

KINDS = (Kind.MEMORY, Kind.ENTITY, Kind.OBSERVATION, Kind.SUMMARY)
"""The kinds of records to add. Not turns: nearest to a prompt is the same prompt of another day, which is no use."""
LONGEST = 600  # characters of a prompt that are used as a query: the rest is mostly pasted
SHORTEST = 2  # minimum content words: a shorter prompt asks for nothing
MOST = 4  # maximum memories
READY = 0.6  # seconds that a prompt waits for models that are being loaded


def bearing_on(scope: Scope, prompt: str, budget: int, session: str = "", but: Collection[str] = ()) -> Briefing | None:
    """Return the memories that bear on a prompt, within `budget` tokens; None if there are none.

    Leave out what `session` itself has written and the ids in `but`, which the agent has seen. Return None also if no
    cross-encoder is ready. This does not count as a recall.
    """
    about, helpers = prompt[:LONGEST], scope.engine.helpers
    if is_small_talk(about) or len(content_words(about)) < SHORTEST:
        return None
    helpers.start()
    if helpers.reranker.get(READY) is None:
        return None
    search = Search(scope, ranking.PROMPT)
    hits = bearing(search, search.read(about, Filter(kinds=KINDS))[0], session, but)[:MOST]
    return brief(hits, budget, BulletsLayout(about, scope.shortened([hit.record.id for hit in hits]))) if hits else None


def bearing(
    search: Search, found: Found, session: str = "", but: Collection[str] = (), least: float = ranking.PROMPT.answering
) -> list[Hit]:
    """Return the hits that bear on a query, best first: those with a logit of at least `least`, and what changes them.

    What the agent has seen or written may still show that a hit is outdated; what reads like instructions may not.
    """

    def is_new(hit: Hit) -> bool:
        return hit.record.id not in but and (not session or hit.record.session_id != session)

    safe = {key: one for key, one in found.records.items() if not reads_like_instructions(full_text(one))}
    hits = [hit for hit in found.hits if hit.record.id in safe and is_new(hit)]
    named = tuple(key for key in found.named if key in safe)
    best = list(filter(is_new, search.ranked(replace(found, hits=hits, records=safe, named=named)).best))
    enough = {hit.record.id: hit for hit in best if hit.why.get("reranker", -math.inf) >= least}
    changing = {hit.changed_by for hit in enough.values()}  # a change need not answer by itself
    return [hit for hit in best if hit.record.id in enough or hit.record.id in changing]
