"""Recognize the formats of a source, and read what it contains in each."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from memoryd.core.base.progress import StepProgress
from memoryd.core.engine import Engine
from memoryd.core.transfer.jsonl import is_ours
from memoryd.errors import InvalidInputError
from memoryd.features.imports import intake
from memoryd.features.imports.formats.json_lines import SIMPLE
from memoryd.features.imports.formats.source import Source, opened
from memoryd.features.imports.formats.table import FORMATS
from memoryd.features.imports.intake import Intake, Recognized
from memoryd.store.sqlite.file import schema_version

LISTED = ", ".join(FORMATS)


@contextmanager
def recognized(path: Path, form: str | None) -> Iterator[tuple[Source, Recognized]]:
    """Open a source in a given or recognized format. Raise InvalidInputError if it is in none."""
    if schema_version(path) is not None:
        raise InvalidInputError(
            f"{path.name} is a memoryd database, such as a backup. Nothing was imported: `memoryd --db FILE` uses it "
            "as it is, `memoryd --db FILE export` writes a file to import, `memoryd migrate` copies all of it."
        )
    with opened(path) as source:
        found = intake.named(source, FORMATS[form]) if form else intake.recognize(source, FORMATS.values())
        if not found.kinds:
            raise _unknown(source, form)
        yield source, found


def staged(
    stack: ExitStack,
    engine: Engine,
    found: Recognized,
    report: StepProgress,
    *,
    include: frozenset[str] = frozenset(),
    by_project: bool = False,
    into: str = "",
) -> tuple[list[Intake], list[InvalidInputError]]:
    """Return what each format contains, open in `stack`, and why others contain nothing.

    `into` names the workspace; '' means that of the engine. Raise InvalidInputError if no format contains anything.
    """
    every: list[Intake] = []
    failures: list[InvalidInputError] = []
    more = {name for form, _ in found.kinds for name in form.more}
    for form, part in found.kinds:
        own = include & form.more.keys() if include <= more else include
        left_out = found.beside() if part is found.kinds[-1][1] else Counter[str]()
        try:
            read = intake.staged(engine, part, form, own, report, by_project=by_project, left_out=left_out, into=into)
            every.append(stack.enter_context(read))
        except InvalidInputError as error:
            failures.append(error)
    if not every:
        raise failures[0]
    return every, failures


def _unknown(source: Source, form: str | None) -> InvalidInputError:
    """Return the refusal of a source without anything in a known, or the named, format."""
    name = source.path.name
    if own := [one.name for one in source.named("*.jsonl") if is_ours(one.head())]:
        return InvalidInputError(
            f"{name} contains memoryd exports: {', '.join(own[:5])}. Nothing was imported; import each of them "
            "separately."
        )
    what = "is neither a memoryd export nor in another recognized format"
    what = what if source.only else "contains nothing in a recognized format"
    what = "is empty" if source.only and not source.only.size else what
    what = f"cannot be read ({source.unreadable[0]})" if source.unreadable else what
    there = ", ".join(f"{number} {files}" for files, number in Recognized((), rest=source.files).beside().items())
    return InvalidInputError(
        f"{name} {what}{f': {there}' if there and not source.only else ''}. Nothing was imported. Tried: "
        f"{form or LISTED}. If you know its format, name it with --from. Else write a line for each memory or turn, "
        f"such as `{SIMPLE[0]}` or `{SIMPLE[1]}`, and import that file."
    )
