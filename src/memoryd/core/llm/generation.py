"""Texts that a language model writes from memories: answers and summaries whose statements cite their sources.

Memories are sent as numbered data. A statement that cites none of the numbers is left out.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from memoryd.core.records.records import full_text
from memoryd.errors import ModelError
from memoryd.excerpts import cut
from memoryd.model import Hit, Interaction, Record
from memoryd.models.llm import Writer
from memoryd.prompts import COMPACT_MEMORIES, DRAFT_REPORT, JUDGE_PAIRS, SUMMARIZE_SESSION
from memoryd.text import estimate_tokens

SENT = 30  # maximum memories in a prompt
LONG = 300  # maximum tokens of each memory
SPARE = 200  # tokens of an answer for the JSON around its text
TURN, TURNS = 200, 12_000  # maximum tokens of each text of a turn, and of a whole prompt
DRAFTED = 4_000  # tokens of the texts of a report
PAIRS, VERDICT = 60, 80  # maximum pairs judged at once, and tokens of each verdict
CONDENSED = 1_000  # maximum tokens of a summary of memories


class Shape(BaseModel):
    """An answer of a model. The schema is built on first use, which makes the server start faster."""

    model_config = ConfigDict(defer_build=True)


class Statement(Shape):
    """One or two sentences, and the numbers of their sources."""

    text: str = Field(min_length=1)
    sources: list[int]


class Statements(Shape):
    """The statements of an answer; empty if the memories do not answer the question."""

    statements: list[Statement]


class SessionNote(Shape):
    """A summary and a rating of a session."""

    title: str = Field(min_length=1, max_length=200)
    summary: str = Field(min_length=1, max_length=4_000)
    category: str = Field(min_length=1, max_length=50)
    quality: int = Field(ge=0, le=100)
    productivity: int = Field(ge=0, le=100)
    impact: int = Field(ge=0, le=100)
    complexity: int = Field(ge=0, le=100)
    technologies: list[str] = Field(max_length=30)


class Draft(Shape):
    """A text for the object with a number."""

    number: int
    text: str = Field(min_length=1, max_length=2_000)


class Drafts(Shape):
    """The texts of a report on a graph."""

    summaries: list[Draft]
    rationales: list[Draft]
    labels: list[Draft]


class Verdict(Shape):
    """The verdict on the pair with a number, and its reason."""

    number: int
    verdict: Literal["duplicate", "contradiction", "distinct"]
    reason: str = Field(max_length=500)


class Verdicts(Shape):
    """The verdicts, one for each pair."""

    verdicts: list[Verdict]


@dataclass(frozen=True, slots=True)
class CitedText:
    """A text and the hits that it cites, in the order of their first mention."""

    text: str
    hits: tuple[Hit, ...]


def write(llm: Writer, system: str, query: str, hits: Sequence[Hit], budget: int) -> CitedText:
    """Let a model answer a question or summarize, as `system` says; return the text, within `budget` tokens.

    Return an empty text if it makes no statement. Raise ModelError, also if no statement can be used.
    """
    sent = hits[:SENT]
    lines = [_line(number, hit.record) for number, hit in enumerate(sent, 1)]
    prompt = "\n".join(
        [
            "Memories:",
            *lines,
            "",
            f"Question: {json.dumps(query, ensure_ascii=False)}",
            f"Write {budget} tokens at most.",
        ]
    )
    answer = llm.fill(system, prompt, budget + SPARE, Statements)
    text = _fitting(answer, sent, budget)
    if answer.statements and not text.text:
        raise ModelError(f"{llm.name} gave no statement that cites a memory and fits into {budget} tokens.")
    return text


def note(llm: Writer, turns: Sequence[Interaction]) -> SessionNote:
    """Return a model's summary of a session. Raise ModelError."""
    lines = [_turn(turn) for turn in turns]
    spent = sum(map(estimate_tokens, lines))
    while spent > TURNS and len(lines) > 1:
        spent -= estimate_tokens(lines.pop(len(lines) // 2))  # the beginning and the end matter most
    return llm.fill(SUMMARIZE_SESSION, "\n".join(["Turns:", *lines]), 1_000, SessionNote)


def drafts(llm: Writer, asked: Mapping[str, Sequence[Mapping[str, object]]]) -> dict[str, dict[int, str]]:
    """Let a model write the texts of a report: `asked` has the objects for each list of Drafts.

    Return the texts by list and position, as far as the model has written them. Raise ModelError.
    """
    lines = [
        json.dumps({"list": name, "number": number, **one}, ensure_ascii=False)
        for name, every in asked.items()
        for number, one in enumerate(every)
    ]
    spent = sum(map(estimate_tokens, lines))
    while spent > TURNS:
        spent -= estimate_tokens(lines.pop())
    answer = llm.fill(DRAFT_REPORT, "\n".join(lines), DRAFTED, Drafts)
    return {name: {draft.number: draft.text for draft in getattr(answer, name)} for name in asked}


def judge(llm: Writer, pairs: Sequence[tuple[Record, Record]]) -> list[Verdict | None]:
    """Let a model compare pairs of an older and a newer memory; return the verdicts.

    A missing or ambiguous one is None. Raise ModelError.
    """
    verdicts: dict[int, Verdict | None] = {}
    for begin in range(0, len(pairs), PAIRS):
        part = pairs[begin : begin + PAIRS]
        lines = [_pair(number, *pair) for number, pair in enumerate(part, 1)]
        for verdict in llm.fill(JUDGE_PAIRS, "\n".join(["Pairs:", *lines]), PAIRS * VERDICT, Verdicts).verdicts:
            place = begin + verdict.number - 1
            before = verdicts.get(place, verdict)
            verdicts[place] = verdict if before and before.verdict == verdict.verdict else None
    return [verdicts.get(place) for place in range(len(pairs))]


def is_seen_whole(memory: Record) -> bool:
    """Return whether a prompt contains the complete text of a memory."""
    return estimate_tokens(full_text(memory)) <= LONG


def _pair(number: int, older: Record, newer: Record) -> str:
    both = {
        name: {"date": one.updated_at[:10], "text": cut(full_text(one), LONG)}
        for name, one in (("older", older), ("newer", newer))
    }
    return json.dumps({"number": number, **both}, ensure_ascii=False)


def condense(llm: Writer, memories: Sequence[Record]) -> tuple[str, list[Record]]:
    """Let a model condense memories into a few statements; return the text and the cited memories.

    Raise ModelError.
    """
    lines = [_line(number, memory) for number, memory in enumerate(memories, 1)]
    answer = llm.fill(COMPACT_MEMORIES, "\n".join(["Memories:", *lines]), CONDENSED, Statements)
    known = range(1, len(memories) + 1)
    kept = [one for one in answer.statements if line(one.text) and set(one.sources) & set(known)]
    cited = {number for one in kept for number in one.sources if number in known}
    text = "\n".join(line(one.text) for one in kept)
    if estimate_tokens(text) > 2 * CONDENSED:
        raise ModelError(f"{llm.name} wrote a summary of {estimate_tokens(text)} tokens; the limit is {CONDENSED}.")
    return text, [memories[number - 1] for number in sorted(cited)]


def line(text: str) -> str:
    """Return a text of a model as one line."""
    return " ".join(text.split())


def _line(number: int, record: Record) -> str:
    return json.dumps(
        {
            "number": number,
            "date": record.created_at[:10],
            "kind": str(record.kind),
            "text": cut(full_text(record), LONG),
        },
        ensure_ascii=False,
    )


def _turn(turn: Interaction) -> str:
    texts = {"prompt": turn.prompt, "thought": turn.thought, "response": turn.response}
    return json.dumps({name: cut(text, TURN) for name, text in texts.items()}, ensure_ascii=False)


def _fitting(answer: Statements, sent: Sequence[Hit], budget: int) -> CitedText:
    """Return the statements with a source, as many as fit, and the cited hits."""
    lines: list[str] = []
    places: dict[int, int] = {}
    for statement in answer.statements:
        sources = [number for number in dict.fromkeys(statement.sources) if 1 <= number <= len(sent)]
        if not sources:
            continue
        new = [number for number in sources if number not in places]
        known = places | {number: len(places) + at for at, number in enumerate(new, 1)}
        line = f"{' '.join(statement.text.split())} {''.join(f'[{known[number]}]' for number in sources)}"
        if estimate_tokens(_text([*lines, line], known, sent)) > budget:
            continue
        lines, places = [*lines, line], known
    hits = tuple(sent[number - 1] for number in places)
    return CitedText(_text(lines, places, sent) if lines else "", hits)


def _text(lines: Sequence[str], places: dict[int, int], sent: Sequence[Hit]) -> str:
    """Return the statements, followed by the ids and dates of the cited memories."""
    records = [(place, sent[number - 1].record) for number, place in places.items()]
    sources = [f"[{place}] {line(record.id)} ({record.created_at[:10]})" for place, record in records]
    return "\n".join([*lines, "", *sources])
