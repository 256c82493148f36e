"""Transcripts of Claude Code as a source of an import, to recognize and preview them. Hooks do not need this module."""

from collections.abc import Iterator

from memoryd.core.agents.claude_code import Reader
from memoryd.core.transfer.formats.items import Fault, SourceTurn, Yielded
from memoryd.core.transfer.formats.source import ForeignFormat, Source, SourceFile


def _recognizes(source: Source) -> bool:
    files = [] if source.is_archive else source.named("*.jsonl")
    return any(b'"sessionId"' in head and b'"uuid"' in head for head in (file.head() for file in files))


def _items(source: Source, _more: frozenset[str]) -> Iterator[Yielded]:
    """Yield the turns of all transcripts in the shape common to all formats, for a preview."""
    for file in source.named("*.jsonl"):
        yield from _turns_of(file)


def _turns_of(file: SourceFile) -> Iterator[Yielded]:
    faults: list[str] = []
    with file.opener() as lines:
        for turn in Reader(lines, file.stem, lambda number, text: faults.append(f"line {number} {text}")).turns():
            one = turn.interaction()
            yield SourceTurn(
                id=one.id, is_record=True, session_id=one.session_id, created_at=one.created_at, prompt=one.prompt,
                thought=one.thought, response=one.response,
            )  # fmt: skip
    yield from (Fault(f"{file.name}, {fault}") for fault in faults)


FORMAT = ForeignFormat("claude-code", "transcripts of Claude Code", _recognizes, _items)
"""Recognizes a transcript or a folder of them, and previews its content; transcript_import imports it."""
