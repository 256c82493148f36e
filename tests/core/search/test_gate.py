"""A search does not fetch what its gate drops, without any effect on the results."""

import random
from time import sleep

from memoryd.core.engine import Engine
from memoryd.core.scope import Scope
from memoryd.core.search.pipeline import Search
from memoryd.model import Filter
from tests.core.kit import memories

RARE = "ferry tide lamp fog bread rope anchor".split()


def test_only_records_that_pass_the_gate_are_fetched(engine: Engine) -> None:
    draw = random.Random(0)
    for number in range(60):
        memories(engine).store(f"Note {number} on the harbour: {' '.join(draw.choices(RARE, k=draw.randrange(3)))}.")
    sleep(0.1)  # quick stores get times ahead of the clock; records from the future have no age, and tie
    scope = Scope(engine, engine.workspaces.ensure("default"))
    search = Search(scope)
    for word in RARE:
        own, joined = (
            scope.ask(f"harbour {word}", lambda asked: search.find(asked, Filter(), joined=joined))  # noqa: B023
            for joined in (False, True)
        )
        ids, ids_of_joined = (
            [hit.record.id for hit in search.ranked(found, with_related=True).best] for found in (own, joined)
        )
        assert ids == ids_of_joined
        assert set(own.records) == set(ids)
        assert len(joined.records) == 60, "several workspaces are gated together"
