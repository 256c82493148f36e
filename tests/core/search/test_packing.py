"""Packing a briefing: whole texts while they fit, else of each what answers; then the first ones take the rest."""

import random
from dataclasses import replace

import pytest

from memoryd.core.search.briefing import (
    FIRST,
    LATER,
    LAYOUTS,
    LONGEST,
    NEARBY,
    NEAREST,
    NEAREST_OTHERS,
    PART,
    RELATED,
    SHORTEST,
    UNSURE,
    WHOLE,
    Briefing,
    BriefingLayout,
    BulletsLayout,
    Line,
    ListLayout,
    RawLayout,
    SectionsLayout,
    SummaryLayout,
    brief,
    chosen,
    pack,
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
        (0, 2_000, LONGEST),
        (0, 94, 64),
        (0, 40, SHORTEST),
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


def cut(briefing: Briefing) -> list[str]:
    """Return the lines of hits of which something is left out."""
    return [line for line in briefing.text.splitlines() if line.endswith(" more tokens (2026-03-04)")]


@pytest.mark.parametrize("layout", [SummaryLayout, BulletsLayout, ListLayout])
def test_shorter_lines_make_room_for_more_hits(layout: type[BriefingLayout]) -> None:
    briefing = brief(HITS, 300, layout(ASKED))
    assert briefing.tokens_used <= 300
    *lines, blank, named = briefing.text.splitlines()
    assert HITS[0].record.body in lines[0], "the first one is whole"
    assert len(lines) > 300 / estimate_tokens(lines[0])
    for number, line in enumerate(lines, 1):
        assert f"The harbour is closed on day {number}." in line
        assert "Anna: " in line
        assert "… …" not in line
    assert (blank, named.partition("[")[0]) == ("", WHOLE.partition("{")[0])
    assert [f'"{number:032x}"' in named for number in range(1, len(lines) + 1)] == ["more tokens" in x for x in lines]


@pytest.mark.parametrize("layout", [SummaryLayout, BulletsLayout, ListLayout])
def test_what_fits_is_whole(layout: type[BriefingLayout]) -> None:
    briefing = brief(HITS, 4_000, layout(ASKED))
    assert len(briefing.hits) == len(HITS)
    assert all(shown.record.body in briefing.text for shown in briefing.hits)
    assert "more tokens" not in briefing.text
    assert "memory_inspect" not in briefing.text


def test_texts_take_what_the_budget_leaves_from_the_top() -> None:
    whole = brief(HITS[:6], 3_000, BulletsLayout(ASKED))
    room = whole.tokens_used - 30
    briefing = brief(HITS[:6], room, BulletsLayout(ASKED))
    assert len(briefing.hits) == 6
    shown = [one.record.body in briefing.text for one in HITS[:6]]
    assert shown == sorted(shown, reverse=True), "the last ones are cut"
    assert 0 < len(cut(briefing)) < 6
    assert room - briefing.tokens_used < 30, "little is left"


def test_later_sections_of_a_briefing_are_not_shortened() -> None:
    labels = {one.record.id: "Recent" for one in HITS}
    briefing = brief(HITS, 2_000, SectionsLayout("", labels, {}))
    assert len(briefing.hits) > FIRST
    assert all(shown.record.body in briefing.text for shown in briefing.hits)


def test_a_fact_of_one_sentence_is_not_cut() -> None:
    fact = "The staging database listens on port 5433 of the machine in the cellar, and whoever restarts it has to wait"
    facts = [hit(number, f"{fact} for {number} minutes and to call the harbour master before and after.")
             for number in range(1, 20)]  # fmt: skip
    briefing = brief(facts, 1_200, SummaryLayout("staging database"))
    assert len(briefing.hits) > FIRST
    assert "…" not in briefing.text


def plain(hits: list[Hit], budget: int, layout: BriefingLayout) -> set[str]:
    """Return the hits that fit, laying each one out before its size is known."""
    lines: list[Line] = []
    for rank, one in enumerate(hits):
        spent = estimate_tokens(layout.text(lines)) if lines else 0
        line = layout.line(one, layout.allowance(rank, budget - spent))
        if estimate_tokens(layout.text([*lines, line])) <= budget:
            lines.append(line)
    return {line.hit.record.id for line in lines}


@pytest.mark.parametrize("layout", [SummaryLayout, BulletsLayout, ListLayout, RawLayout])
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
        briefing = brief(tagged, budget, layout(ASKED))
        assert {one.record.id for one in briefing.hits} == plain(tagged, budget, layout(ASKED))
        assert briefing.tokens_used <= budget


@pytest.mark.parametrize("budget", [1, SHORTEST, 2 * SHORTEST, 60, 100, 137, 500])
@pytest.mark.parametrize("layout", LAYOUTS.values())
def test_no_budget_is_exceeded(layout: type[BriefingLayout], budget: int) -> None:
    related = [replace(one, bears=False) for one in HITS[5:9]]
    changed = [replace(HITS[0], timed=True), replace(HITS[1], timed=True, changed_by=HITS[0].record.id)]
    for hits in (HITS, related, [*HITS[:2], *related], changed):
        briefing = brief(hits, budget, layout(ASKED))
        assert estimate_tokens(briefing.text) <= budget
        assert len(briefing.hits) + briefing.omitted == len(hits)


def test_hits_without_a_shared_tag_have_a_heading_only_below_others() -> None:
    tagged = [replace(one, record=replace(one.record, tags=("trips",))) for one in map(hit, (1, 2), ("Porto", "Faro"))]
    other = hit(3, "Lisbon")
    porto, faro, lisbon = (f"- [{n:032x}] {city} (2026-03-04)" for n, city in enumerate(("Porto", "Faro", "Lisbon"), 1))
    trips = f"trips:\n{porto}\n{faro}"
    assert brief([*tagged, other], 500, SummaryLayout("")).text == f"{trips}\nAlso:\n{lisbon}"
    assert brief([other, *tagged], 500, SummaryLayout("")).text == f"{lisbon}\n{trips}"


# what is chosen ------------------------------------------------------------------------------------------------------


def related_to(hits: list[Hit]) -> list[Hit]:
    return [replace(one, bears=False) for one in hits]


def test_what_bears_is_shown_and_related_hits_to_callers_who_ask_for_more() -> None:
    bearing, others = HITS[:2], related_to(HITS[2:9])
    assert chosen([*bearing, *others], 1) == bearing
    assert chosen([*bearing, *others], 2) == [*bearing, *others]
    assert chosen(bearing, 2) == bearing
    for more in (1, 2):
        assert chosen(others, more) == others[:NEAREST]
        assert chosen([], more) == []
        assert chosen(others, more, "¿Dónde está Lisboa?") == others[:NEAREST_OTHERS]


def test_related_hits_follow_a_line_of_their_own() -> None:
    bearing, other = hit(1, "Porto"), replace(hit(2, "Faro"), bears=False)
    porto, faro = (f"- [{n:032x}] {city} (2026-03-04)" for n, city in ((1, "Porto"), (2, "Faro")))
    assert brief([bearing], 500, SummaryLayout("")).text == porto
    more = [bearing, replace(bearing, record=hit(3, "Lisbon, where the trams go up the hill").record), other]
    assert brief(more, 500, SummaryLayout("")).text.endswith(f"\n\n{RELATED}\n{faro}")
    assert brief([bearing, other, other], 500, SummaryLayout("")).text == porto, "no more than what bears"
    assert brief([other], 500, SummaryLayout("")).text == f"{UNSURE}\n{faro}"


@pytest.mark.parametrize("budget", [200, 500, 2_000])
def test_a_long_text_that_may_not_answer_takes_no_more_than_a_part_of_the_budget(budget: int) -> None:
    unsure = replace(
        hit(1, "\n".join(f"Line {number} of a trace that somebody pasted." for number in range(900))), bears=False
    )
    lines = pack([unsure, replace(hit(2, "Faro"), bears=False)], budget, BulletsLayout(""))
    assert estimate_tokens(lines[0].text) <= max(LONGEST, budget // NEARBY) + SHORTEST
    assert [line.hit.record.body for line in lines[1:]] == ["Faro"]
    assert estimate_tokens(pack([replace(unsure, bears=True)], budget, BulletsLayout(""))[0].text) > budget // 2


@pytest.mark.parametrize(("tokens", "whole"), [(LATER + 15, True), (2 * LATER, False)])
def test_what_may_not_answer_is_cut_only_if_that_saves_more_than_it_costs(tokens: int, whole: bool) -> None:
    words = " ".join(f"w{number}." for number in range(tokens))
    others = related_to([hit(1, "Faro"), hit(2, words[: 4 * tokens])])
    assert ("more tokens" not in brief(others, 500, SummaryLayout("")).text) == whole


def test_an_older_hit_is_marked_and_both_have_their_times() -> None:
    newer = replace(hit(1, "The key hangs in the shed."), timed=True)
    older = replace(hit(2, "The key is under the mat."), timed=True, changed_by=f"{1:032x}")
    new, old, other = brief([newer, older, hit(3, "Faro")], 500, BulletsLayout("")).text.splitlines()
    assert new.endswith("The key hangs in the shed. (2026-03-04 00:00Z)")
    assert old.endswith("The key is under the mat. (older, 2026-03-04 00:00Z)")
    assert other.endswith("Faro (2026-03-04)")


def test_a_doubtful_answer_in_another_language_is_followed_by_the_next_nearest() -> None:
    doubtful = [replace(HITS[0], why={"lifted": -1.0})]
    surely = [replace(HITS[0], why={"lifted": 1.0})]
    others = related_to(HITS[1:9])
    german = replace(others[-1], record=replace(others[-1].record, body="Der Hafen ist zu."))
    assert chosen([*doubtful, *others], 1, "¿Dónde está Lisboa?") == [*doubtful, *others[: NEAREST - 1]]
    assert chosen([*surely, *others], 1, "¿Dónde está Lisboa?") == surely
    assert chosen([*doubtful, *others], 1, "Where is the harbour?") == doubtful
    assert chosen([*doubtful, *others, german], 1, "Where is the harbour?") == [*doubtful, german]


def of_session(number: int, kind: Kind, session: str, *, bears: bool = True) -> Hit:
    one = hit(number)
    return replace(one, record=replace(one.record, kind=kind, session_id=session), bears=bears)


def test_a_summary_makes_way_for_a_turn_of_its_session() -> None:
    summary, turn = of_session(1, Kind.SUMMARY, "one"), of_session(2, Kind.INTERACTION, "one")
    alone, memory = of_session(3, Kind.SUMMARY, "two"), of_session(4, Kind.MEMORY, "two")
    assert chosen([summary, alone, turn, memory], 1) == [turn, alone, memory]
    assert chosen([turn, alone, summary], 1) == [turn, alone]
    assert chosen([summary, alone], 1) == [summary, alone]


def test_a_summary_that_bears_does_not_make_way_for_a_turn_that_does_not() -> None:
    summary = of_session(1, Kind.SUMMARY, "one")
    turn, other = (of_session(number, Kind.INTERACTION, "one", bears=False) for number in (2, 3))
    assert chosen([turn, summary, other], 1) == [summary]
    assert chosen([turn, summary, other], 2) == [summary, turn, other]
    assert chosen([replace(summary, bears=False), turn, other], 1) == [turn, other]


def test_a_turn_without_a_thought_has_no_blank_lines() -> None:
    turn = of_session(1, Kind.INTERACTION, "one")
    turn = replace(turn, record=replace(turn.record, body="Where is the key?\n\n\n\nIn the shed."))
    memory = hit(2, "Keys:\n\n\nin the shed")
    first, second = brief([turn, memory], 500, BulletsLayout("")).text.split("\n- ")
    assert "Where is the key?\n  In the shed." in first
    assert "Keys:\n  \n  \n  in the shed" in second, "other texts keep theirs"
