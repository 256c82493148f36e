"""Which stored memories a new text may replace: a suggestion for the agent that stores it."""

from dataclasses import dataclass

from memoryd.core.records import records, short_ids
from memoryd.core.records.records import Embedded
from memoryd.core.records.spaces import Route, routes
from memoryd.core.scope import Scope
from memoryd.core.search import changes, cross_encoder, ranking
from memoryd.core.search.current import Couple, common_stems, is_statement
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

    The cross-encoder, if it is loaded, reads the likeliest few. Memories with a key are left out: they are replaced
    under their key.
    """
    embedder = scope.engine.helpers.embedder.get()
    if embedded is None or embedder is None or not is_statement(content):
        return ()
    route = next((route for route in routes(embedder) if route.own == embedded.model), None)
    if route is None:
        return ()
    likely, helpers = [], scope.engine.helpers
    reranker = helpers.reranker.get()
    for key, couple in scope.read(lambda queries: _likely(scope, queries, content, embedded, route)).items():
        total = couple.evidence(cross_encoder.matter(helpers, reranker, couple.older, content)).total
        if total >= changes.SUGGESTED:
            likely.append((total, key, couple.older))
    likely.sort(key=lambda one: -one[0])
    room = ROOM // max(1, len(likely)) - ID
    return tuple(Replaceable(key, cut(" ".join(text.split()), room)) for _, key, text in likely)


def _likely(scope: Scope, queries: Queries, content: str, embedded: Embedded, route: Route) -> dict[str, Couple]:
    """Return the few memories that the new text likeliest replaces by words, by the short forms of ids."""
    own = ranking.whole(embedded.vectors)
    allowed = Filter(kinds=(Kind.MEMORY,), session=scope.session)
    sets = [VectorSet(GENERAL, model) for model in route.others]
    found = [one for part in scope.index.nearest(queries, sets, own, allowed, NEAR) for one in part]
    memories = records.fetch(queries, [key for key, _ in found], scope.session)
    texts = {key: one.body for key, one in memories.items() if not one.name and is_statement(one.body)}
    common = common_stems(list(texts.values()), COMMON)
    couples = {
        key: Couple(texts[key], content, ranking.rescale(cosine, route.unrelated), common)
        for key, cosine in found
        if key in texts
    }
    totals = {key: couple.evidence().total for key, couple in couples.items()}
    likely = sorted((key for key in totals if totals[key] >= changes.LIKELY), key=lambda key: -totals[key])[:NAMED]
    short = short_ids.shorten(queries, likely)
    return {short[key]: couples[key] for key in likely}
