"""Which stored memories a new text may replace: a suggestion for the agent that stores it."""

from dataclasses import dataclass

from memoryd.core.records import records, short_ids
from memoryd.core.records.records import Embedded
from memoryd.core.records.spaces import Route, routes
from memoryd.core.scope import Scope
from memoryd.core.search import changes, ranking
from memoryd.core.search.current import common_stems, is_statement, may_replace
from memoryd.excerpts import cut
from memoryd.model import GENERAL, Filter, Kind, VectorSet
from memoryd.store.base import Queries

NEAR = 20  # memories nearest to a text that are compared with it
NAMED = 3
COMMON = 5  # of these memories, which are about one subject: what more of them have is shared by chance
ROOM = 42  # tokens for all that is shown of them: with what to do they cost less than 60 ...
ID = 4  # ... and for the id of each


@dataclass(frozen=True, slots=True)
class Replaceable:
    """A memory that may be replaced: the short form of its id, and its text, or the beginning of a long one."""

    id: str
    text: str


def by(scope: Scope, content: str, embedded: Embedded | None) -> tuple[Replaceable, ...]:
    """Return what a text that is about to be stored may replace, the likeliest first; nothing without its vector.

    Memories with a key are left out: they are replaced under their key.
    """
    embedder = scope.engine.helpers.embedder.get()
    if embedded is None or embedder is None or not is_statement(content):
        return ()
    route = next((route for route in routes(embedder) if route.own == embedded.model), None)
    return scope.read(lambda queries: _by(scope, queries, content, embedded, route)) if route else ()


def _by(scope: Scope, queries: Queries, content: str, embedded: Embedded, route: Route) -> tuple[Replaceable, ...]:
    own = ranking.whole(embedded.vectors)
    allowed = Filter(kinds=(Kind.MEMORY,), session=scope.session)
    sets = [VectorSet(GENERAL, model) for model in route.others]
    near = [one for part in scope.index.nearest(queries, sets, own, allowed, NEAR) for one in part]
    found = records.fetch(queries, [key for key, _ in near], scope.session)
    texts = {key: one.body for key, one in found.items() if not one.name and is_statement(one.body)}
    common = common_stems(list(texts.values()), COMMON)
    evidence = {
        key: may_replace(texts[key], content, ranking.rescale(cosine, route.unrelated), common).total
        for key, cosine in near
        if key in texts
    }
    enough = [key for key in evidence if evidence[key] >= changes.SUGGESTED]
    likely = sorted(enough, key=lambda key: -evidence[key])[:NAMED]
    short = short_ids.shorten(queries, likely)
    room = ROOM // max(1, len(likely)) - ID
    return tuple(Replaceable(short[key], cut(" ".join(texts[key].split()), room)) for key in likely)
