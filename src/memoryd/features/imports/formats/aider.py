"""The chat history of aider: Markdown in which `####` is what the user typed and `>` what the program printed."""

import re
from collections.abc import Iterator
from itertools import groupby

from memoryd.features.imports.formats.conversations import SourceMessage, turns
from memoryd.features.imports.formats.fields import digest, when
from memoryd.features.imports.formats.items import Yielded
from memoryd.features.imports.formats.source import ForeignFormat, SourceFile, each_file, that

_BEGUN = re.compile(r"^# aider chat started at (.*)$", re.MULTILINE)
_TYPED, _PRINTED = "####", ">"


def _is_history(file: SourceFile) -> bool:
    head = file.head()
    return b"# aider chat started at " in head or (file.base.startswith(".aider.chat") and b"\n#### " in head)


def _sessions(file: SourceFile) -> Iterator[Yielded]:
    before, *rest = _BEGUN.split(file.whole().replace("\r\n", "\n"))
    for begun, talk in [("", before), *zip(rest[::2], rest[1::2], strict=True)]:
        at = when(begun, local=True)
        messages = list(_messages(talk, at))
        place = at or digest(messages[0].text)[:16] if messages else ""
        yield from turns(messages, f"aider:{place}")


def _messages(talk: str, at: str) -> Iterator[SourceMessage]:
    for number, (role, lines) in enumerate(groupby(talk.split("\n"), _role)):
        words = "\n".join(line.removeprefix(_TYPED).strip() if role == "user" else line for line in lines).strip()
        if role and words:
            yield SourceMessage(role, words, digest(at, str(number), words), at)  # type: ignore[arg-type]


def _role(line: str) -> str:
    if line.startswith(f"{_TYPED} "):
        return "user"
    return "" if line.startswith(_PRINTED) else "assistant"


FORMAT = ForeignFormat("aider", "the chat history of aider", that(_is_history, "*.md"), each_file(_sessions))
