"""What fits into a budget: counted as the JSON that is sent."""

import json

from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.budget import Budget

Parts = st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=40)), max_size=20)


def test_zero_is_no_limit() -> None:
    assert Budget(0).take("x" * 1_000_000)
    assert not Budget(10).take("x" * 41)
    assert Budget(0).at_most("x") > 10**9


def test_what_is_taken_is_counted_as_the_json_that_is_sent() -> None:
    budget = Budget(1_000)
    assert budget.fill([{"ordinal": n, "content": "ü"} for n in range(3)])
    assert budget.used == -(-3 * (len('{"ordinal": 0, "content": "ü"}') + 2) // 4)


def test_what_must_be_spent_is_counted_and_leaves_room_for_nothing_else() -> None:
    budget = Budget(10)
    budget.spend("x" * 96)
    assert budget.used == 25
    assert not budget.take("")
    assert budget.at_most("") == 0


@given(Parts, st.integers(1, 200), st.sampled_from([0.25, 1.0]))
def test_a_list_that_is_filled_keeps_to_its_share_and_to_the_most_that_was_foretold(
    parts: list[dict[str, str]], tokens: int, share: float
) -> None:
    budget = Budget(tokens)
    most = budget.at_most({}, share)
    shown = budget.fill(parts, share)
    assert shown == parts[: len(shown)]
    assert len(shown) <= most
    assert len(json.dumps(shown, ensure_ascii=False)) <= max(share * tokens * 4, 2)
    assert budget.used <= tokens
