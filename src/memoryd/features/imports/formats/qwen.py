"""The sessions of Qwen Code: lines like those of Claude Code, around messages like those of Gemini."""

from collections.abc import Iterator

from memoryd.features.imports.formats import chat
from memoryd.features.imports.formats.claude_code import is_descendant_of_gemini
from memoryd.features.imports.formats.items import Yielded
from memoryd.features.imports.formats.source import ForeignFormat, Source, SourceFile, each_file


def _files(source: Source) -> Iterator[SourceFile]:
    for file in source.candidates("*.jsonl"):
        if b'"sessionId"' in file.head() and is_descendant_of_gemini(file.head()):
            yield file


def session(file: SourceFile) -> Iterator[Yielded]:
    """Yield the turns of a session."""
    return chat.session(file, FORMAT.name)


FORMAT = ForeignFormat("qwen", "sessions of Qwen Code", _files, each_file(session))
