"""What a language model writes of memories: answers and summaries, each statement with the memories that it rests on.

Memories go to the model as data, numbered. What it states without a number of one of them is left out.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from memoryd.core.records.records import said
from memoryd.errors import ModelError
from memoryd.model import Hit, Interaction, Record
from memoryd.models.llm import Writer
from memoryd.prompts import COMPACT_MEMORIES, DRAFT_REPORT, JUDGE_PAIRS, SUMMARIZE_SESSION
from memoryd.text import cut, estimate_tokens

SENT = 30  # memories at most
LONG = 300  # tokens of each
SPARE = 200  # tokens of an answer beyond what its reader wants: JSON has its price
TURN, TURNS = 200, 12_000  # tokens of each text of a turn, and of all that is sent at once
DRAFTED = 4_000  # tokens of the texts of a report
PAIRS, SAID = 60, 80  # pairs that are judged at once, and tokens of what is said of each
CONDENSED = 1_000  # tokens of a summary of memories


class Shape(BaseModel):
    """What a model is asked to fill. It is built when it is first asked for: a server starts without."""

    model_config = ConfigDict(defer_build=True)


class Statement(Shape):
    """One sentence or two, and the numbers of what they rest on."""

    text: str = Field(min_length=1)
    sources: list[int]


class Statements(Shape):
    """What is to be said; nothing where the memories do not say it."""

    statements: list[Statement]


class SessionNote(Shape):
    """What a session was about, and how it went."""

    title: str = Field(min_length=1, max_length=200)
    summary: str = Field(min_length=1, max_length=4_000)
    category: str = Field(min_length=1, max_length=50)
    quality: int = Field(ge=0, le=100)
    productivity: int = Field(ge=0, le=100)
    impact: int = Field(ge=0, le=100)
    complexity: int = Field(ge=0, le=100)
    technologies: list[str] = Field(max_length=30)


class Draft(Shape):
    """A text for the object of a number."""

    number: int
    text: str = Field(min_length=1, max_length=2_000)


class Drafts(Shape):
    """The texts of a report on a graph."""

    summaries: list[Draft]
    rationales: list[Draft]
    labels: list[Draft]


class Verdict(Shape):
    """What the pair of a number is, and why."""

    number: int
    verdict: Literal["duplicate", "contradiction", "distinct"]
    reason: str = Field(max_length=500)


class Verdicts(Shape):
    """One for each pair."""

    verdicts: list[Verdict]


@dataclass(frozen=True, slots=True)
class Written:
    """A text, and the hits that it rests on, in the order of their first mention."""

    text: str
    hits: tuple[Hit, ...]


def write(llm: Writer, system: str, query: str, hits: Sequence[Hit], budget: int) -> Written:
    """Have a model answer a question, or summarize, as `system` says, within so many tokens.

    An empty text where it states nothing. Raises ModelError, also where nothing that it states can be told.
    """
    sent = hits[:SENT]
    lines = [_line(number, hit.record) for number, hit in enumerate(sent, 1)]
    prompt = "\n".join(["Memories:", *lines, "", f"Question: {json.dumps(query, ensure_ascii=False)}",
                        f"Write {budget} tokens at most."])  # fmt: skip
    told = llm.fill(system, prompt, budget + SPARE, Statements)
    written = _fitting(told, sent, budget)
    if told.statements and not written.text:
        raise ModelError(f"{llm.name} stated nothing that rests on a memory and fits into {budget} tokens.")
    return written


def note(llm: Writer, turns: Sequence[Interaction]) -> SessionNote:
    """Have a model say what a session was about. Raises ModelError."""
    lines = [_turn(turn) for turn in turns]
    spent = sum(map(estimate_tokens, lines))
    while spent > TURNS and len(lines) > 1:
        spent -= estimate_tokens(lines.pop(len(lines) // 2))  # how it began and how it ended tells most
    return llm.fill(SUMMARIZE_SESSION, "\n".join(["Turns:", *lines]), 1_000, SessionNote)


def drafts(llm: Writer, asked: Mapping[str, Sequence[Mapping[str, object]]]) -> dict[str, dict[int, str]]:
    """Have a model write the texts of a report: for each list of Drafts what it should look at; by list and place.

    What it leaves out is missing. Raises ModelError.
    """
    lines = [
        json.dumps({"list": name, "number": number, **one}, ensure_ascii=False)
        for name, every in asked.items()
        for number, one in enumerate(every)
    ]
    spent = sum(map(estimate_tokens, lines))
    while spent > TURNS:
        spent -= estimate_tokens(lines.pop())
    told = llm.fill(DRAFT_REPORT, "\n".join(lines), DRAFTED, Drafts)
    return {name: {draft.number: draft.text for draft in getattr(told, name)} for name in asked}


def judge(llm: Writer, pairs: Sequence[tuple[Record, Record]]) -> list[Verdict | None]:
    """Have a model compare memories with others that were said later; None where it says nothing, or two things.

    Raises ModelError.
    """
    told: dict[int, Verdict | None] = {}
    for begin in range(0, len(pairs), PAIRS):
        part = pairs[begin : begin + PAIRS]
        lines = [_pair(number, *pair) for number, pair in enumerate(part, 1)]
        for verdict in llm.fill(JUDGE_PAIRS, "\n".join(["Pairs:", *lines]), PAIRS * SAID, Verdicts).verdicts:
            place = begin + verdict.number - 1
            before = told.get(place, verdict)
            told[place] = verdict if before and before.verdict == verdict.verdict else None
    return [told.get(place) for place in range(len(pairs))]


def is_seen_whole(memory: Record) -> bool:
    """Whether a model that is asked about it sees all of it."""
    return estimate_tokens(said(memory)) <= LONG


def _pair(number: int, older: Record, newer: Record) -> str:
    both = {
        name: {"date": one.updated_at[:10], "text": cut(said(one), LONG)}
        for name, one in (("older", older), ("newer", newer))
    }
    return json.dumps({"number": number, **both}, ensure_ascii=False)


def condense(llm: Writer, memories: Sequence[Record]) -> tuple[str, list[Record]]:
    """Have a model tell some memories in few statements; the text, and those of them that a statement rests on.

    Raises ModelError.
    """
    lines = [_line(number, memory) for number, memory in enumerate(memories, 1)]
    told = llm.fill(COMPACT_MEMORIES, "\n".join(["Memories:", *lines]), CONDENSED, Statements)
    known = range(1, len(memories) + 1)
    kept = [one for one in told.statements if line(one.text) and set(one.sources) & set(known)]
    rest_on = {number for one in kept for number in one.sources if number in known}
    text = "\n".join(line(one.text) for one in kept)
    if estimate_tokens(text) > 2 * CONDENSED:
        raise ModelError(f"{llm.name} wrote a summary of {estimate_tokens(text)} tokens, not {CONDENSED} at most.")
    return text, [memories[number - 1] for number in sorted(rest_on)]


def line(text: str) -> str:
    """What a model wrote, as one line."""
    return " ".join(text.split())


def _line(number: int, record: Record) -> str:
    return json.dumps(
        {"number": number, "date": record.created_at[:10], "kind": str(record.kind), "text": cut(said(record), LONG)},
        ensure_ascii=False,
    )


def _turn(turn: Interaction) -> str:
    texts = {"prompt": turn.prompt, "thought": turn.thought, "response": turn.response}
    return json.dumps({name: cut(text, TURN) for name, text in texts.items()}, ensure_ascii=False)


def _fitting(told: Statements, sent: Sequence[Hit], budget: int) -> Written:
    """The statements that rest on something, as many as fit, and where they come from."""
    lines: list[str] = []
    places: dict[int, int] = {}
    for statement in told.statements:
        sources = [number for number in dict.fromkeys(statement.sources) if 1 <= number <= len(sent)]
        if not sources:
            continue
        known = places | {number: len(places) + at for at, number in enumerate(_new(sources, places), 1)}
        line = f"{' '.join(statement.text.split())} {''.join(f'[{known[number]}]' for number in sources)}"
        if estimate_tokens(_text([*lines, line], known, sent)) > budget:
            continue
        lines, places = [*lines, line], known
    hits = tuple(sent[number - 1] for number in places)
    return Written(_text(lines, places, sent) if lines else "", hits)


def _new(sources: Sequence[int], places: dict[int, int]) -> list[int]:
    return [number for number in sources if number not in places]


def _text(lines: Sequence[str], places: dict[int, int], sent: Sequence[Hit]) -> str:
    """Statements, then what their numbers mean."""
    records = [(place, sent[number - 1].record) for number, place in places.items()]
    return "\n".join([*lines, "", *(f"[{place}] {record.id} ({record.created_at[:10]})" for place, record in records)])
