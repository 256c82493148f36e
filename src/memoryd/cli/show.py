"""The layout of results: cards for memories, tables for numbers, JSON for programs."""

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from memoryd.cli.frame import delivered, out, printable
from memoryd.core.base.clock import day
from memoryd.core.search.briefing import indented, line_of
from memoryd.model import Workspace

SHOWN = 400  # characters of a memory in a list
WHOLE = len("2026-03-04 05:06Z")  # characters of a cell that is not folded if there is room
FOLDED = 12  # characters that a longer one gets at least, if that is to be so
GAP = 2  # characters between two columns
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d\.\d{3}Z")


def as_json(value: object) -> None:
    """Print a value as JSON, with non-ASCII characters only if the stream can carry them."""
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    with delivered():
        out.file.write(json.dumps(value, ensure_ascii=not unicode, indent=1) + "\n")
        out.file.flush()


def verbatim(text: str, console: Console = out, style: str = "") -> None:
    """Print a text unchanged and unfolded, but with control characters made visible."""
    if text:
        console.print(Text(printable(text), style=style), soft_wrap=True)


def cards(
    memories: Sequence[Mapping[str, Any]], named: Mapping[str, str], scores: Mapping[str, float], shown: int = SHOWN
) -> None:
    """Print each memory with its text and relations, and a dim line with its id, date, importance, tags and score.

    `named` has the short form of each id.

    Further lines of a text are indented: none looks like the beginning of another memory.
    """
    for memory in memories:
        content = memory["content"] if len(memory["content"]) <= shown else memory["content"][:shown] + " ..."
        ties = f" [{'; '.join(memory['relations'])}]" if memory.get("relations") else ""
        text = line_of(memory["kind"], memory["key"], memory["type"], content)
        verbatim(f"- {indented(text + ties)}")
        verbatim(f"  {_details(memory, named, scores)}", style="dim")


def _details(memory: Mapping[str, Any], named: Mapping[str, str], scores: Mapping[str, float]) -> str:
    parts = [
        named[memory["id"]],
        memory["kind"] if memory["kind"] != "memory" else "",
        day(memory["created_at"]),
        f"importance {memory['importance']:g}",
        f"recalled {memory['access_count']}x" if memory["access_count"] else "",
        f"score {scores[memory['id']]:.2f}" if memory["id"] in scores else "",
        f"changed by {named[memory['changed_by']]}" if memory.get("changed_by") else "",
        " ".join(f"#{tag}" for tag in memory["tags"]),
    ]
    return "  ".join(part for part in parts if part)


def facts(rows: Iterable[tuple[str, object]]) -> None:
    """Print names and values side by side."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(printable(name), Text(printable(_plain(value))))
    out.print(table)


def numbers(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table with a header. What is short stays on one line, times to the minute, however narrow it is."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    cells = [[printable(_TIME.sub(r"\1 \2Z", _plain(value))) for value in row] for row in rows]
    columns = list(zip(heads, *cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    fits = sum((width if width <= WHOLE else FOLDED) + GAP for width in widths) <= out.width + GAP
    for (head, *_), width in zip(columns, widths, strict=True):
        table.add_column(head, overflow="fold", no_wrap=fits and width <= WHOLE)
    for row in cells:
        table.add_row(*map(Text, row))
    out.print(table)


def listed(noun: str, heads: Sequence[str], found: Sequence[Mapping[str, Any]], nothing: str, *, raw: bool) -> None:
    """Print what a command lists: as a table, as JSON if `raw`, or the sentence `nothing` if there is none."""
    if raw:
        as_json({noun: found})
    elif found:
        numbers(heads, [[each[head] for head in heads] for each in found])
    else:
        verbatim(nothing)


def size(count: int) -> str:
    """Return a number of bytes in readable form."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 999.5:  # rounds to less than 1000
            return f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} TB"


def _plain(value: object) -> str:
    """Return a value as text without braces and quotes."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_plain(part)}" for name, part in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value)) or "none"
    return "none" if value is None else str(value)


def workspace_names(workspaces: Iterable[Workspace]) -> dict[str, str]:
    """Return the names of workspaces by id, and what to show for a credential that is bound to none."""
    return {"": "any", **{workspace.id: workspace.name for workspace in workspaces}}
