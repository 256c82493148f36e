"""The time of the rules is bounded for any text: a statement about the parsed patterns, not about a clock."""

import math
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from memoryd.core.security import secret_values as values
from memoryd.core.security import secrets

WAYS = 50_000
"""The ways in which a pattern may match from one place: two ranges of about 200 characters before a third part."""
NARROW = 4  # repeats of so few, as `\s{0,3}`, are not counted: what follows them differs from what they repeat


def ways(pattern: Any) -> float:
    """Return in how many ways a pattern may match from one place; infinity if that depends on the text's length.

    A repeat without a limit is allowed where nothing after it can fail: what it consumes is not searched again.
    """
    parts, number = list(pattern), 1.0
    for place, (kind, value) in enumerate(parts):
        endless = kind in REPEATS and value[1] is op.MAXREPEAT
        if endless and (len(value[2]) > 1 or value[2][0][0] not in ONE or not _cannot_fail(parts[place + 1 :])):
            return math.inf
        number *= 1 if endless else _ways_of(kind, value)
    return number


ONE = {op.IN, op.ANY, op.LITERAL, op.NOT_LITERAL}  # a character
REPEATS = {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}


def _ways_of(kind: Any, value: Any) -> float:
    if kind is op.SUBPATTERN:
        return ways(value[-1])
    if kind is op.BRANCH:
        return max(ways(one) for one in value[1])  # alternatives begin differently
    if kind is op.ATOMIC_GROUP or kind in {op.ASSERT, op.ASSERT_NOT}:
        return _once(ways(value if kind is op.ATOMIC_GROUP else value[1]))
    if kind in REPEATS:
        least, most, repeated = value
        inner = ways(repeated)
        if kind is op.POSSESSIVE_REPEAT:
            return _once(inner)
        return float((most - least + 1 if most - least >= NARROW else 1) * inner**most)
    return 1


def _once(inner: float) -> float:
    """Return the ways of a part that is never matched in a second way."""
    return inner if inner is math.inf else 1


def _cannot_fail(rest: list[Any]) -> bool:
    """Return whether the rest of a pattern is optional, or ends at the end of the text at the latest."""
    return all(
        (kind in REPEATS and value[0] == 0)
        or (kind is op.BRANCH and any(list(one) == [(op.AT, op.AT_END_STRING)] for one in value[1]))
        for kind, value in rest
    )


@pytest.mark.parametrize(
    ("pattern", "allowed"),
    [
        (r"sk-\w{20,}+", True),
        (r"sk-\w{20,}+(?:\.\w{2,9})?", True),
        (r"begin[\s\S]*?(?:end|\Z)", True),
        (r"pass\s{0,3}[:=]\s{0,3}(\w{4,400}+)", True),
        (r"a{1,200}b{1,200}c", True),
        (r"(?:\d{1,3},){31,63}", True),
        (r"sk-\w{20,}+!", False),
        (r"sk-\w{20,}(?!-)", False),
        (r"a.*b", False),
        (r"(?=\w*a)b", False),
        (r"(?:a+)*", False),
        (r"(?:a{1,9}){1,9}b", False),
        (r"a{1,200}b{1,200}c{1,200}d", False),
        (r"a|b.*?c", False),
    ],
)
def test_a_pattern_that_may_take_long_is_noticed(pattern: str, *, allowed: bool) -> None:
    assert (ways(_parser.parse(pattern)) <= WAYS) == allowed


def test_every_pattern_takes_bounded_steps_from_any_place() -> None:
    """The time for a text is then linear in its length, whoever crafted it."""
    many = {rule.pattern: ways(_parser.parse(rule.pattern)) for rule in secrets.rules()}
    assert {pattern: number for pattern, number in many.items() if number > WAYS} == {}


def test_what_has_no_limit_is_not_searched_again_if_it_is_no_secret() -> None:
    endless = [rule for rule in secrets.rules() if _is_endless(_parser.parse(rule.pattern))]
    assert [rule for rule in endless if not rule.is_token and rule.is_secret is not values.always] == []
    assert len(endless) > 10


def _is_endless(pattern: Any) -> bool:
    return any(
        (kind in REPEATS and value[1] is op.MAXREPEAT)
        or (kind is op.BRANCH and any(map(_is_endless, value[1])))
        or (kind is op.SUBPATTERN and _is_endless(value[-1]))
        for kind, value in pattern
    )
