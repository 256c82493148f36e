"""The parts of a call that are searched for secrets: texts, but not identifiers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.core.journal.journal import Journal
from memoryd.core.memories.memories import Criteria
from memoryd.core.scope import Scope
from memoryd.core.security import secrets
from memoryd.toolsets import chosen
from memoryd.toolsets.registry import Call
from tests.core.kit import engine, memories

SECRET = "AKIA" + "QYLPMN5HHFIQR7XY"
CHANCE = "agent_V1StGXR8Z5jdHi6BmyTabcDEF123"


@pytest.fixture(params=["mask", "refuse"])
def here(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    with engine(tmp_path, MEMORY_SECRETS=request.param) as made:
        yield made


def test_a_session_id_that_looks_like_a_token_is_not_masked(here: Engine) -> None:
    assert list(secrets.find(CHANCE)), "the id looks like a token"
    journal = Journal(Scope(here, here.workspaces.ensure("default")))
    for session in (CHANCE, CHANCE + "4"):
        journal.add("What is open?", "I look.", f"Nothing, says {session[-1]}.", session)
        assert journal.summarize(session).id == f"summary_{session}"
    (turn,) = journal.kept.of_session(CHANCE, 10, 0)[0]
    assert (turn.session_id, turn.response) == (CHANCE, "Nothing, says 3.")


def test_a_deletion_may_name_the_secret(here: Engine) -> None:
    here.workspaces.ensure("default")
    tool = chosen(["recall"], read_only=False)["memory_forget"]
    call = Call(here, here.workspaces.get("default"), "")
    answer = tool.run(call, {"query": f"key {SECRET}", "confirm": True})
    assert answer.masked == (), "nothing was stored, so nothing was masked"


def test_a_masked_text_is_deleted_by_its_original_words(tmp_path: Path) -> None:
    with engine(tmp_path) as here:
        kept = memories(here)
        kept.store(f"The key of the mirror is {SECRET}.")
        gone = kept.forget(Criteria(query=f"mirror {SECRET}"), confirm=True)
        assert [record.body for record in gone.best] == ["The key of the mirror is [masked: AWS access key]."]
