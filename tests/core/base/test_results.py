"""Results as JSON: their cost, absent fields, and whether a briefing's note had room."""

from typing import Any

import pytest

from memoryd.core.base.results import compact, counted, without_empty
from memoryd.core.memories import view
from memoryd.core.search.briefing import RawLayout, SummaryLayout, annotated, brief
from memoryd.model import Hit, Kind, Record
from memoryd.text import estimate_tokens

NOTE = "Meaning was not asked: the model is still being loaded."
HIT = Hit(record=Record(id="1", kind=Kind.MEMORY, body="Ann likes tea."), score=0.5)


def test_the_cost_of_a_result_includes_its_own_digits() -> None:
    for length in range(5_000):
        body: Any = {"text": "x" * length, "tokens_used": 0}
        assert counted(body)["tokens_used"] == estimate_tokens(compact(body))


def test_only_named_fields_are_absent_when_empty() -> None:
    body = {"a": "", "b": [], "c": "", "d": 0, "e": "x"}
    assert without_empty(body, "a", "b", "e") == {"c": "", "d": 0, "e": "x"}


@pytest.mark.parametrize("layout", [SummaryLayout("tea"), RawLayout("tea")])
def test_a_briefing_knows_whether_its_note_had_room(layout: SummaryLayout | RawLayout) -> None:
    for budget, noted in ((30, False), (1_000, True)):
        made = annotated(brief([HIT], budget, layout), budget, NOTE, layout)
        assert (made.noted, NOTE in made.text) == (noted, noted)
        assert made.degraded == NOTE, "programs get it in any case"
        assert view.raw(made).get("degraded") == (NOTE if noted else None)
        assert view.figures(made)["degraded"] == NOTE


def test_without_a_note_nothing_is_noted() -> None:
    made = annotated(brief([HIT], 100, SummaryLayout("tea")), 100, "", SummaryLayout("tea"))
    assert not made.noted
    assert "degraded" not in {**view.recalled(made, "summary"), **view.figures(made)}
