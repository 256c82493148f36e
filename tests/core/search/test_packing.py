"""Packing a briefing: the first hits in full, as many more as fit, and of each the sentences that answer."""

import random
from dataclasses import replace

import pytest

from memoryd.core.search.briefing import (
    FIRST,
    LATER,
    LONGEST,
    PART,
    BriefingLayout,
    BulletsLayout,
    Line,
    ListLayout,
    QuotesLayout,
    RawLayout,
    SectionsLayout,
    SummaryLayout,
    brief,
    shortened,
)
from memoryd.model import Hit, Kind, Record
from memoryd.text import estimate_tokens

ASKED = "When is the harbour closed?"
FILLER = "Something else was talked about at length, and somebody laughed."


def hit(number: int, text: str = "") -> Hit:
    body = text or f"Anna: Good morning! {FILLER} The harbour is closed on day {number}. {FILLER} {FILLER}"
    record = Record(id=f"{number:032x}", kind=Kind.MEMORY, body=body, created_at="2026-03-04T00:00:00Z")
    return Hit(record=record, score=1 / number)


HITS = [hit(number) for number in range(1, 40)]


@pytest.mark.parametrize(
    ("rank", "left", "tokens"),
    [
        (0, 40, LONGEST),
        (1, 2_000, LONGEST),
        (1, 150, 50),
        (1, 30, PART),
        (FIRST - 1, 2_000, LONGEST),
        (FIRST, 2_000, LATER),
        (FIRST, 90, 30),
    ],
)
def test_later_hits_take_less(rank: int, left: int, tokens: int) -> None:
    assert shortened(rank, left) == tokens


@pytest.mark.parametrize("layout", [SummaryLayout, BulletsLayout, QuotesLayout])
def test_shorter_lines_make_room_for_more_hits(layout: type[SummaryLayout]) -> None:
    briefing = brief(HITS, 300, layout(ASKED))
    lines = briefing.text.splitlines()
    assert briefing.tokens_used <= 300
    assert HITS[0].record.body in lines[0], "the first one is complete"
    assert len(lines) > 300 / estimate_tokens(lines[0]) + 1
    for number, line in enumerate(lines, 1):
        assert f"The harbour is closed on day {number}." in line
        assert "Anna: " in line


def test_a_list_has_complete_texts() -> None:
    briefing = brief(HITS, 2_000, ListLayout(ASKED))
    assert all(shown.record.body in briefing.text for shown in briefing.hits)


def test_later_sections_of_a_briefing_are_not_shortened() -> None:
    labels = {one.record.id: "Recent" for one in HITS}
    briefing = brief(HITS, 2_000, SectionsLayout("", labels, {}))
    assert len(briefing.hits) > FIRST
    assert all(shown.record.body in briefing.text for shown in briefing.hits)


def test_a_fact_of_one_sentence_is_not_cut() -> None:
    fact = "The staging database listens on port 5433 of the machine in the cellar, and whoever restarts it has to wait"
    facts = [hit(number, f"{fact} for {number} minutes and to call the harbour master before and after.")
             for number in range(1, 20)]  # fmt: skip
    briefing = brief(facts, 800, SummaryLayout("staging database"))
    assert len(briefing.hits) > FIRST
    assert "…" not in briefing.text


def plain(hits: list[Hit], budget: int, layout: BriefingLayout) -> str:
    """Return the text of the hits that fit, laying each one out before its size is known."""
    lines: list[Line] = []
    for rank, one in enumerate(hits):
        spent = estimate_tokens(layout.text(lines)) if lines else 0
        line = layout.line(one, layout.allowance(rank, budget - spent), LONGEST)
        if estimate_tokens(layout.text([*lines, line])) <= budget:
            lines.append(line)
    return layout.text(lines)


@pytest.mark.parametrize("layout", [SummaryLayout, BulletsLayout, ListLayout, QuotesLayout, RawLayout])
@pytest.mark.parametrize("seed", range(2))
def test_hits_that_are_not_laid_out_would_not_have_fitted(layout: type[BriefingLayout], seed: int) -> None:
    draw = random.Random(seed)
    words = [*ASKED.split(), *FILLER.split(), "port.", "tide?", "\n", "潮。"]
    hits = [
        hit(number, " ".join(draw.choices(words, k=draw.randrange(16, 60))) + draw.choice(["", "\n", " "]))
        for number in range(1, 40)
    ]
    tagged = [replace(one, record=replace(one.record, tags=tuple(draw.sample("abc", 2)))) for one in hits]
    for budget in (200, 900):
        assert brief(tagged, budget, layout(ASKED)).text == plain(tagged, budget, layout(ASKED))


def test_hits_without_a_shared_tag_have_a_heading_only_below_others() -> None:
    tagged = [replace(one, record=replace(one.record, tags=("trips",))) for one in map(hit, (1, 2), ("Porto", "Faro"))]
    other = hit(3, "Lisbon")
    date = "(2026-03-04)"
    trips = f"trips:\n- Porto {date}\n- Faro {date}"
    assert brief([*tagged, other], 500, SummaryLayout("")).text == f"{trips}\nAlso:\n- Lisbon {date}"
    assert brief([other, *tagged], 500, SummaryLayout("")).text == f"- Lisbon {date}\n{trips}"
