"""Lays hits out as a text within a token budget: the best ones first, skipping what does not fit.

Stored text cannot imitate the structure: it follows a bullet, and its further lines are indented.
"""

import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memoryd.core.base.clock import day, minute
from memoryd.core.base.results import compact
from memoryd.core.records.records import full_text, labels, text_of
from memoryd.core.search import related
from memoryd.core.search.hits import whole
from memoryd.core.search.ranking import RECALL
from memoryd.core.security.prompt_injection import MARK, reads_like_instructions
from memoryd.excerpts import GAP, excerpt
from memoryd.languages import is_english, is_foreign
from memoryd.model import Hit, Kind
from memoryd.text import CHARACTERS_PER_TOKEN, content_words, estimate_tokens, size

Format = Literal["summary", "list", "raw", "answer"]

BUDGET, CONTEXT_BUDGET = 50_000, 800  # tokens: the maximum of an answer; the default of a briefing at a start
LONGEST = 80  # tokens to which a text is cut so that others fit;
FIRST, LATER = 12, 35  # after the first FIRST hits to LATER tokens,
SAVED = 20  # tokens that cutting must save: so many tell how to read the rest
PARTS, PART = 3, 25  # and after the very first one to 1/PARTS of what the budget leaves, or to PART tokens
SHORTEST = 15  # tokens below which an extract says too little
NEAREST = 3  # hits that are named where none bears on the question, ...
NEARBY = 3  # the first of them is cut to 1/NEARBY of the budget, or to LONGEST
NEAREST_OTHERS = 5  # ... and if that or one of these is not English: their order is less sure
UNSURE = "Nothing surely bears on this; nearest:"
RELATED = "Perhaps related:"
OTHERS = "Also"
INDENT = "\n  "
ENDS = "?!\N{FULLWIDTH QUESTION MARK}\N{FULLWIDTH EXCLAMATION MARK}\N{HORIZONTAL ELLIPSIS}"
"""The marks at the end of a title after which no colon is needed."""
_BLANK_LINES = re.compile(r"\n\s*\n")
STRUCTURE = "#-*+>|=[ "
"""The characters with which no heading begins, so that no tag looks like a heading of another level."""
TOO_LITTLE = "{} found; none fits."
NOTHING = "No memory bears on this."
OLDER = "older"
MORE = "… {} more tokens"
WHOLE = "Whole texts: memory_inspect ids={}"
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
    left_out: int = 0
    """The tokens of the hit's text that are not in the line."""


class BriefingLayout(ABC):
    """A format: how a hit becomes a line, and lines become a text."""

    def __init__(self, query: str, short_ids: Mapping[str, str] | None = None) -> None:
        """`short_ids` has the short form of each record's id."""
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

    def line(self, hit: Hit, tokens: int | None = None, mark: str = "") -> Line:
        """Return the line of a hit; with `tokens`, an excerpt of at most about that many."""
        before, after = self.around(hit)
        content, left_out = _content(hit, self.about, tokens, mark)
        return Line(hit, f"{before}{content}{after}", left_out)

    def allowance(self, rank: int, left: int) -> int:
        """Return the tokens of a text that must make room for others, from its rank and the remaining budget."""
        return shortened(rank, left)

    def least(self, hit: Hit, tokens: int | None) -> int:
        """Return a lower bound for the tokens of a hit's line: laying a line out is the most expensive step.

        A text longer than `tokens` is cut, possibly to SHORTEST.
        """
        body = size(hit.record.body.rstrip())
        if tokens is not None and body > tokens * CHARACTERS_PER_TOKEN:
            return SHORTEST
        return (body + sum(map(size, self.around(hit)))) // CHARACTERS_PER_TOKEN

    def text(self, lines: Sequence[Line]) -> str:
        """Return the text that consists of some lines: what bears on the question, then what is only related."""
        bearing = [line for line in lines if line.hit.bears]
        others = [line for line in lines if not line.hit.bears]
        parts = [self.body(bearing)] if bearing else []
        if others:
            parts.append("\n".join([RELATED if bearing else UNSURE, *(line.text for line in others)]))
        return "\n\n".join(filter(None, (*parts, self.cut_texts(lines))))

    def cut_texts(self, lines: Sequence[Line]) -> str:
        """Return how to read the whole of the texts that were cut; '' if none was."""
        cut = [self.named(line.hit) for line in lines if line.left_out]
        return WHOLE.format(compact(cut)) if cut else ""

    def body(self, lines: Sequence[Line]) -> str:
        """Return the text of the lines that bear on the question."""
        return "\n".join(line.text for line in lines)

    def with_note(self, text: str, note: str) -> str:
        """Return a text with a note added."""
        return f"{text}\n\n{note}"


class ListLayout(BriefingLayout):
    """Bullets with ids, dates and importance (d)."""

    def around(self, hit: Hit) -> tuple[str, str]:
        """Return the parts of `- [1d353029, 2026-03-04, importance 0.8] content`."""
        return f"- [{self.named(hit)}, {_place(hit)}{_date(hit)}, importance {hit.record.importance:g}] ", ""


class BulletsLayout(BriefingLayout):
    """Bullets with ids and dates."""

    def around(self, hit: Hit) -> tuple[str, str]:
        """Return the parts of `- [1d353029] content (2026-03-04)`."""
        return f"- [{self.named(hit)}] ", f" ({_place(hit)}{_date(hit)})"


class SummaryLayout(BulletsLayout):
    """Extractive clusters (d): bullets under a tag that several of them share."""

    def body(self, lines: Sequence[Line]) -> str:
        """Return the clusters in the order of their best hits; OTHERS has no heading if it comes first."""
        clusters = _clusters([line.hit for line in lines])
        if len(set(clusters)) < 2:  # one cluster needs no heading
            return super().body(lines)
        parts: list[str] = []
        for label in dict.fromkeys(clusters):
            if parts or label != OTHERS:
                parts.append(f"{_heading(label)}:")
            parts += [line.text for line, own in zip(lines, clusters, strict=True) if own == label]
        return "\n".join(parts)


class SectionsLayout(BulletsLayout):
    """Bullets under given headings; `labels` has the heading of each record."""

    def __init__(self, query: str, labels: Mapping[str, str], short_ids: Mapping[str, str]) -> None:
        super().__init__(query, short_ids)
        self._labels = labels

    def allowance(self, rank: int, left: int) -> int:  # noqa: ARG002
        """Return LONGEST: later sections are as important as the first."""
        return LONGEST

    def text(self, lines: Sequence[Line]) -> str:
        """Return the sections, and how to read what was cut: their labels say what bears on the task."""
        return "\n\n".join(filter(None, (self.body(lines), self.cut_texts(lines))))

    def body(self, lines: Sequence[Line]) -> str:
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

    def line(self, hit: Hit, tokens: int | None = None, mark: str = "") -> Line:  # noqa: ARG002
        """Return a complete memory as a JSON object, never an excerpt."""
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
    "answer": ListLayout,
}
"""The layout of each format. Without a language model `answer` falls back to a list (d)."""


def chosen(hits: Sequence[Hit], room: float = 1.0, query: str = "") -> list[Hit]:
    """Return the hits to show for a query: those that bear on it, or the NEAREST if none does.

    If these are all English, the first that surely is not is shown, too: how near it is says less.

    `room` is the budget as a multiple of the default one. A caller with more room gets related hits, too, and hits
    count as bearing on the question from farther behind the best: twice as far with twice the room. If none surely
    answers, the nearest in other languages than English are shown, too, up to NEAREST in all.
    """
    once = _once(hits)
    if not any(hit.bears for hit in once):
        if not all(map(is_english, [query, *(hit.record.body for hit in once[:NEAREST])])):
            return once[:NEAREST_OTHERS]
        return once[:NEAREST] + [hit for hit in once[NEAREST:] if is_foreign(hit.record.body)][:1]
    if room > 1:
        least = _least(once, room)
        once = [replace(hit, bears=hit.bears or hit.why.get("reranker", -math.inf) >= least) for hit in once]
    bearing = [hit for hit in once if hit.bears]
    others = [hit for hit in once if not hit.bears]
    if room > 1:
        return bearing + others
    if max(hit.why.get("lifted", math.inf) for hit in bearing) >= RECALL.doubtful:
        return bearing
    less_sure = [hit for hit in others if is_foreign(query) or is_foreign(hit.record.body)]
    return bearing + less_sure[: max(0, NEAREST - len(bearing))]


def _least(hits: Sequence[Hit], room: float) -> float:
    """Return the logit from which a hit bears on the question for a caller with more room."""
    best = max(hit.why.get("reranker", -math.inf) for hit in hits)
    return max(best - RECALL.behind * room, RECALL.least * room)


def _once(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits without the summaries of sessions of which a turn is among them, in the better place of the two.

    A turn is verbatim, and the summary quotes it. Only a turn that bears on the question replaces a summary that does.
    """
    turns = {
        (_session(hit), bears): hit
        for hit in reversed(hits)
        if hit.record.kind is Kind.INTERACTION
        for bears in {False, hit.bears}
    }
    better = (turns.get((_session(hit), hit.bears), hit) if hit.record.kind is Kind.SUMMARY else hit for hit in hits)
    return list({hit.record.id: hit for hit in better}.values())


def _session(hit: Hit) -> tuple[str, str]:
    return hit.workspace.id if hit.workspace else "", hit.record.session_id or ""


def brief(hits: Sequence[Hit], budget: int, layout: BriefingLayout, empty: str = NOTHING) -> Briefing:
    """Return a briefing of the best hits that fit into a budget; without hits `empty`, if that fits."""
    lines = pack(hits, budget, layout)
    raw = isinstance(layout, RawLayout)
    text = layout.text(lines) if lines or raw else ""
    if not raw and MARK not in text and _like_instructions(lines, layout, text):  # only together
        lines = pack(hits, budget - estimate_tokens(MARK) - 1, layout)
        text = f"{MARK}\n{layout.text(lines)}"
    text = text or (TOO_LITTLE.format(len(hits)) if hits else empty)
    if estimate_tokens(text) > budget:
        text = ""
    return Briefing(text, tuple(line.hit for line in lines), estimate_tokens(text), len(hits) - len(lines))


def _like_instructions(lines: Sequence[Line], layout: BriefingLayout, text: str) -> bool:
    """Return whether some lines together read like instructions, with or without the ids and dates between them."""
    around = (layout.around(line.hit) for line in lines)
    contents = (line.text[len(a) : len(line.text) - len(b)] for line, (a, b) in zip(lines, around, strict=True))
    return bool(reads_like_instructions(text) or reads_like_instructions("\n".join(contents)))


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

    What fits is shown whole. Otherwise each hit is first cut to an excerpt, so that no long text leaves out another hit
    that bears on the question; then, from the top, texts take what the budget leaves.
    """
    lines = _excerpts(hits, budget, layout)
    for place, line in enumerate(lines):
        if line.left_out and line.hit.bears:
            lines[place] = _widened(lines, place, budget, layout)
    return lines


def _excerpts(hits: Sequence[Hit], budget: int, layout: BriefingLayout) -> list[Line]:
    """Return the lines of the hits that fit if each text is cut to its allowance; of the first one what fits.

    What is only related takes no more tokens than what bears on the question, so that it does not outweigh that.
    """
    wanted = sum(layout.least(hit, None) for hit in hits if hit.bears)
    most, lines, spent = budget, list[Line](), 0
    for rank, hit in enumerate(hits):
        allowance = layout.allowance(rank, budget - spent) if wanted > budget else None
        if not hit.bears:  # what may not answer at all says what it is about, no more
            allowance = min(allowance or budget, LATER if lines else max(LONGEST, budget // NEARBY))
            if estimate_tokens(hit.record.body) <= allowance + SAVED:
                allowance = None
            if lines and lines[-1].hit.bears:
                most = min(budget, 2 * spent)
        if spent + layout.least(hit, allowance) > most:
            continue
        line = layout.line(hit, allowance, layout.mark(hit))
        cost = estimate_tokens(layout.text([*lines, line]))
        if cost <= most:
            lines.append(line)
            spent = cost
    if hits and not lines and budget >= 2 * SHORTEST:
        short = [layout.line(hits[0], budget - 2 * SHORTEST, layout.mark(hits[0]))]
        lines = short if estimate_tokens(layout.text(short)) <= budget else []
    return lines


def _widened(lines: Sequence[Line], place: int, budget: int, layout: BriefingLayout) -> Line:
    """Return one of the lines with as much more of its text as the budget leaves."""
    line = lines[place]
    left = budget - estimate_tokens(layout.text(lines))
    shown = estimate_tokens(line.hit.record.body) - line.left_out
    for tokens in (None, shown + left):  # whole, if the line about what was cut then makes room
        wider = layout.line(line.hit, tokens, layout.mark(line.hit))
        others = [*lines[:place], wider, *lines[place + 1 :]]
        if wider.left_out < line.left_out and estimate_tokens(layout.text(others)) <= budget:
            return wider
    return line


def shortened(rank: int, left: int) -> int:
    """Return the tokens to which a text is reduced: the first hits keep most, no later one takes most of the rest.

    So more hits fit with hardly a word of the answers lost (docs/benchmarks.md); equal shortening loses many. The first
    one leaves room for what is around it, so that a small budget shows it and not only shorter ones after it.
    """
    if not rank:
        return min(LONGEST, max(left - 2 * SHORTEST, SHORTEST))
    return min(LONGEST if rank < FIRST else LATER, max(left // PARTS, PART))


def _place(hit: Hit) -> str:
    """Return the workspace of a hit, if several are read together."""
    return f"in {hit.workspace.name}, " if hit.workspace else ""


def _date(hit: Hit) -> str:
    """Return the date of a hit, with its time of day if that matters, and a mark if a newer hit changes it."""
    if not hit.timed:
        return day(hit.record.created_at)
    time = minute(hit.record.created_at)
    return f"{OLDER}, {time}" if hit.changed_by else time


def _content(hit: Hit, about: Sequence[str], tokens: int | None, mark: str) -> tuple[str, int]:
    """Return the text of a hit, and how many of its tokens are left out to keep it within `tokens`."""
    record, body, left_out = hit.record, hit.record.body, 0
    if tokens is not None:
        part = excerpt(body, max(tokens - estimate_tokens(mark), 1), about, hit.answer)
        body, left_out = part.text, part.left_out_tokens
    shown = indented(mark + line_of(record.kind, record.name, record.type, body.rstrip()) + related.shown(record))
    if not left_out:
        return shown, 0
    shown = shown.removesuffix(GAP)  # MORE begins with a mark of its own
    return f"{shown}{'' if shown[-1:].isspace() else ' '}{MORE.format(left_out)}", left_out


def line_of(kind: str, name: str | None, type_: str, body: str) -> str:
    """Return the text of a record as answers show it.

    A turn without a thought has no blank lines in its place, and a summary has no colon after a question.
    """
    if kind == Kind.SUMMARY and name and name[-1] in ENDS:
        return f"{name} {body}"
    return text_of(kind, name, type_, _BLANK_LINES.sub("\n", body) if kind == Kind.INTERACTION else body)


def indented(text: str) -> str:
    """Return a text with all lines after the first indented, so that none looks like a line of the layout."""
    return INDENT.join(text.splitlines())


def _heading(tag: str) -> str:
    """Return a tag as a heading: one line without any of STRUCTURE at its beginning."""
    return " ".join(tag.split()).lstrip(STRUCTURE) or OTHERS


def _clusters(hits: Sequence[Hit]) -> list[str]:
    """Return for each hit the most frequent tag that it shares with another hit, or OTHERS.

    What a newer hit changes stays below that one, whatever its tags are.
    """
    numbers = Counter(tag for hit in hits for tag in labels(hit.record))
    headings: dict[str, str] = {}
    for hit in hits:
        shared = [tag for tag in labels(hit.record) if numbers[tag] > 1]
        own = max(shared, key=lambda tag: numbers[tag]) if shared else OTHERS
        headings[hit.record.id] = headings.get(hit.changed_by, own)
    return list(headings.values())
