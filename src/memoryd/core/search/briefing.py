"""Lays hits out as a text within a token budget: the best ones first, skipping what does not fit.

Stored text cannot imitate the structure: it follows a bullet, and its further lines are indented.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memoryd.core.base.results import compact
from memoryd.core.records.records import full_text, text_of
from memoryd.core.search import related
from memoryd.core.search.hits import whole
from memoryd.core.security.prompt_injection import MARK, reads_like_instructions
from memoryd.model import Hit
from memoryd.text import CHARACTERS_PER_TOKEN, content_words, estimate_tokens, extract, size

Format = Literal["summary", "list", "raw", "answer"]

BUDGET, CONTEXT_BUDGET = 50_000, 800  # tokens: the maximum of an answer; the default of a briefing at a start
LONGEST = 80  # tokens of one memory in a summary; a longer one is reduced to the sentences that bear on the query;
FIRST, LATER = 12, 35  # after the first FIRST hits to LATER tokens,
PARTS, PART = 3, 25  # and after the very first one to 1/PARTS of what the budget leaves, or to PART tokens
SHORTEST = 15  # tokens below which an extract says too little
OTHERS = "Also"
INDENT = "\n  "
STRUCTURE = "#-*+>|=[ "
"""The characters with which no heading begins, so that no tag looks like a heading of another level."""
TOO_LITTLE = "{} found; none fits."
NOTED = 4  # a note on what the search could not do may take 1/NOTED of a budget


@dataclass(frozen=True, slots=True)
class Briefing:
    """A text, the hits in it, its tokens, and the number of hits left out."""

    text: str
    hits: tuple[Hit, ...]
    tokens_used: int
    omitted: int
    degraded: str = ""
    """What the search could not do, in one sentence; '' if it was complete."""
    noted: bool = False
    """Whether the text contains `degraded`, because it fits into the budget."""


@dataclass(frozen=True, slots=True)
class Line:
    """The line of one hit in a text."""

    hit: Hit
    text: str


class BriefingLayout(ABC):
    """A format: how a hit becomes a line, and lines become a text."""

    empty = "No relevant memories found."
    shows_ids = False

    def __init__(self, query: str, short_ids: Mapping[str, str] | None = None) -> None:
        """`short_ids` has the short form of each record's id, if the layout shows ids."""
        self.about = content_words(query)
        self._short_ids = short_ids or {}

    def named(self, hit: Hit) -> str:
        """Return the short id of a record; that of a summary contains the name of a session, which may be any text."""
        return indented(self._short_ids.get(hit.record.id, hit.record.id))

    @abstractmethod
    def around(self, hit: Hit) -> tuple[str, str]:
        """Return the text before and after the content of a hit in its line."""

    def mark(self, hit: Hit) -> str:
        """Return the mark of a hit whose text reads like instructions; '' for any other."""
        return f"{MARK} " if reads_like_instructions(full_text(hit.record)) else ""

    def line(self, hit: Hit, tokens: int | None = None, sentence: int = 0, mark: str = "") -> Line:
        """Return the line of a hit; with `tokens`, an extract of about that many, or a sentence of up to `sentence`."""
        before, after = self.around(hit)
        return Line(hit, f"{before}{_content(hit, self.about, tokens, sentence, mark)}{after}")

    def allowance(self, rank: int, left: int) -> int | None:  # noqa: ARG002
        """Return the maximum tokens of a hit's text, from its rank and the remaining budget; None: no maximum."""
        return None

    def least(self, hit: Hit, tokens: int | None) -> int:
        """Return a lower bound for the tokens of a hit's line: laying a line out is the most expensive step.

        A text longer than `tokens` is reduced, possibly to SHORTEST.
        """
        body = size(hit.record.body.rstrip())
        if tokens is not None and body > tokens * CHARACTERS_PER_TOKEN:
            return SHORTEST
        return (body + sum(map(size, self.around(hit)))) // CHARACTERS_PER_TOKEN

    def text(self, lines: Sequence[Line]) -> str:
        """Return the text that consists of some lines."""
        return "\n".join(line.text for line in lines)

    def with_note(self, text: str, note: str) -> str:
        """Return a text with a note added."""
        return f"{text}\n\n{note}"


class ListLayout(BriefingLayout):
    """Bullets with ids, dates and importance (d)."""

    shows_ids = True

    def around(self, hit: Hit) -> tuple[str, str]:
        """Return the parts of `- [1d353029, 2026-03-04, importance 0.8] content`."""
        date, importance = hit.record.created_at[:10], hit.record.importance
        return f"- [{self.named(hit)}, {_place(hit)}{date}, importance {importance:g}] ", ""


class QuotesLayout(ListLayout):
    """A list in which long texts are reduced to the sentences that bear on the query."""

    def allowance(self, rank: int, left: int) -> int | None:
        """See shortened."""
        return shortened(rank, left)


class SummaryLayout(BriefingLayout):
    """Extractive clusters (d): bullets under a tag that several of them share, with long texts reduced."""

    def around(self, hit: Hit) -> tuple[str, str]:
        """Return the parts of `- content (2026-03-04)`."""
        return "- ", f" ({_place(hit)}{hit.record.created_at[:10]})"

    def allowance(self, rank: int, left: int) -> int | None:
        """See shortened."""
        return shortened(rank, left)

    def text(self, lines: Sequence[Line]) -> str:
        """Return the clusters in the order of their best hits; OTHERS has no heading if it comes first."""
        clusters = _clusters([line.hit for line in lines])
        if len(set(clusters)) < 2:  # one cluster needs no heading
            return super().text(lines)
        parts: list[str] = []
        for label in dict.fromkeys(clusters):
            if parts or label != OTHERS:
                parts.append(f"{_heading(label)}:")
            parts += [line.text for line, own in zip(lines, clusters, strict=True) if own == label]
        return "\n".join(parts)


class BulletsLayout(SummaryLayout):
    """A summary with ids and without headings."""

    shows_ids = True

    def around(self, hit: Hit) -> tuple[str, str]:
        """Return the parts of `- [1d353029] content (2026-03-04)`."""
        return f"- [{self.named(hit)}] ", super().around(hit)[1]

    def text(self, lines: Sequence[Line]) -> str:
        """Return the bullets in order."""
        return BriefingLayout.text(self, lines)


class SectionsLayout(BulletsLayout):
    """Bullets under given headings; `labels` has the heading of each record."""

    empty = "No memories found. This appears to be a fresh session."

    def __init__(self, query: str, labels: Mapping[str, str], short_ids: Mapping[str, str]) -> None:
        super().__init__(query, short_ids)
        self._labels = labels

    def allowance(self, rank: int, left: int) -> int | None:  # noqa: ARG002
        """Return LONGEST: later sections are as important as the first."""
        return LONGEST

    def text(self, lines: Sequence[Line]) -> str:
        """Return the sections in the order of their first lines."""
        parts: dict[str, list[str]] = {}
        for line in lines:
            parts.setdefault(self._labels[line.hit.record.id], []).append(line.text)
        return "\n\n".join("\n".join([f"## {label}", *bullets]) for label, bullets in parts.items())


class RawLayout(BriefingLayout):
    """JSON with every field and the parts of each score. The text is not shown; it only measures the answer."""

    def around(self, hit: Hit) -> tuple[str, str]:  # noqa: ARG002
        """Return nothing: the fields around the content are not counted before the layout."""
        return "", ""

    def mark(self, hit: Hit) -> str:  # noqa: ARG002
        """Return nothing: a separate field says what a text reads like."""
        return ""

    def line(self, hit: Hit, tokens: int | None = None, sentence: int = 0, mark: str = "") -> Line:  # noqa: ARG002
        """Return a complete memory as a JSON object, never an extract."""
        return Line(hit, compact(whole(hit)))

    def text(self, lines: Sequence[Line]) -> str:
        """Return the memories inside the JSON that surrounds them."""
        memories = ",".join(line.text for line in lines)
        return f'{{"format":"raw","memories":[{memories}],"tokens_used":99999,"omitted":99999}}'

    def with_note(self, text: str, note: str) -> str:
        """Return the JSON with the note as a separate field."""
        return f'{text[:-1]},"degraded":{compact(note)}}}'


LAYOUTS: dict[Format, type[BriefingLayout]] = {
    "summary": SummaryLayout,
    "list": ListLayout,
    "raw": RawLayout,
    "answer": QuotesLayout,
}
"""The layout of each format. Without a language model `answer` falls back to a list (d)."""


def brief(hits: Sequence[Hit], budget: int, layout: BriefingLayout) -> Briefing:
    """Return a briefing of the best hits that fit into a budget."""
    lines = pack(hits, budget, layout)
    text = layout.text(lines)
    if not isinstance(layout, RawLayout) and MARK not in text and reads_like_instructions(text):  # only together
        lines = pack(hits, budget - estimate_tokens(MARK) - 1, layout)
        text = f"{MARK}\n{layout.text(lines)}"
    text = text or (TOO_LITTLE.format(len(hits)) if hits else layout.empty)
    if estimate_tokens(text) > budget:
        text = ""
    return Briefing(text, tuple(line.hit for line in lines), estimate_tokens(text), len(hits) - len(lines))


def room(budget: int, degraded: str, layout: BriefingLayout) -> int:
    """Return what a budget leaves next to the note `degraded`; all of it if the note is too long to be shown."""
    cost = estimate_tokens(layout.with_note("", degraded)) if degraded else 0
    return budget - cost if cost * NOTED <= budget else budget


def annotated(briefing: Briefing, budget: int, degraded: str, layout: BriefingLayout) -> Briefing:
    """Return a briefing that was made for the `room` of a budget, with the note `degraded` added if it fits."""
    noted = room(budget, degraded, layout) < budget
    text = layout.with_note(briefing.text, degraded) if noted else briefing.text
    return replace(briefing, text=text, tokens_used=estimate_tokens(text), degraded=degraded, noted=noted)


def pack(hits: Sequence[Hit], budget: int, layout: BriefingLayout) -> list[Line]:
    """Return the lines of the hits that fit, best first; one that does not fit is skipped (d).

    If none fits, return an extract of the best one, so that a small budget still gets an answer.
    """
    lines: list[Line] = []
    spent = 0
    for rank, hit in enumerate(hits):
        allowance = layout.allowance(rank, budget - spent)
        if spent + layout.least(hit, allowance) > budget:
            continue
        line = layout.line(hit, allowance, LONGEST)
        if spent + size(line.text) // CHARACTERS_PER_TOKEN > budget:
            continue
        if mark := layout.mark(hit):
            line = layout.line(hit, allowance, LONGEST, mark)
        cost = estimate_tokens(layout.text([*lines, line]))
        if cost <= budget:
            lines.append(line)
            spent = cost
    if hits and not lines and budget >= 2 * SHORTEST:
        short = [layout.line(hits[0], budget - SHORTEST, mark=layout.mark(hits[0]))]
        lines = short if estimate_tokens(layout.text(short)) <= budget else []
    return lines


def shortened(rank: int, left: int) -> int:
    """Return the tokens to which a text is reduced: the first hits keep most, no later one takes most of the rest.

    So more hits fit with hardly a word of the answers lost (docs/benchmarks.md); equal shortening loses many.
    """
    return min(LONGEST if rank < FIRST else LATER, max(left // PARTS, PART)) if rank else LONGEST


def _place(hit: Hit) -> str:
    """Return the workspace of a hit, if several are read together."""
    return f"in {hit.workspace.name}, " if hit.workspace else ""


def _content(hit: Hit, about: Sequence[str], tokens: int | None, sentence: int, mark: str) -> str:
    record, body = hit.record, hit.record.body
    if tokens is not None:
        body = extract(body, about, max(tokens - estimate_tokens(mark), 1), sentence)
    text = text_of(record.kind, record.name, record.type, body)
    return indented(f"{mark}{text}{related.shown(record)}")


def indented(text: str) -> str:
    """Return a text with all lines after the first indented, so that none looks like a line of the layout."""
    return INDENT.join(text.splitlines())


def _heading(tag: str) -> str:
    """Return a tag as a heading: one line without any of STRUCTURE at its beginning."""
    return " ".join(tag.split()).lstrip(STRUCTURE) or OTHERS


def _clusters(hits: Sequence[Hit]) -> list[str]:
    """Return for each hit the most frequent tag that it shares with another hit, or OTHERS."""
    numbers = Counter(tag for hit in hits for tag in hit.record.tags)
    if not numbers:
        return [OTHERS] * len(hits)
    shared = [[tag for tag in hit.record.tags if numbers[tag] > 1] for hit in hits]
    return [max(tags, key=lambda tag: numbers[tag]) if tags else OTHERS for tags in shared]
