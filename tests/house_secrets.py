"""A rule of the house: what is stored passes `cleaned`, whoever calls. See house.py."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests import house

WRITES_NO_TEXT = {
    "graph": "`change`, which the functions of the graph begin with",
    "engine": "the write path itself, and counts of recalls",
    "leases": "names of work, and who does it",
    "sessions": "ids of sessions, which are compared",
    "upkeep": "deletes",
    "embedding": "vectors; templates are cleaned where they come in",
    "workspaces": "`tell` and `_make` clean; marks and places",
    "maintenance": "reasons are masked in `_do`, summaries in compaction",
    "history": "brings back what was stored",
    "imports": "rows that export_checks has cleaned", "merging": "rows that export_checks has cleaned",
    "transfer": "what `_clean` has cleaned, line by line",
}  # fmt: skip
"""The modules of core that begin a transaction in a function without `cleaned`, and what these write."""

NO_TEXT_IN = {
    "journal_rows": {"delete_summaries", "try_out"}, "tokens": {"revoke"},
}  # fmt: skip
"""Functions of other modules that write nothing that somebody has said."""


def check_what_is_stored_is_cleaned(root: Path) -> list[str]:
    """In core, a function that begins a transaction is `cleaned`, or stands in a table above."""
    folder = root / house.PACKAGE / "core"
    return [
        f"{path.relative_to(root).as_posix()}:{function.lineno}: {function.name} writes and is not @cleaned."
        for path in sorted(folder.glob("*.py"))
        if path.stem not in WRITES_NO_TEXT
        for function in _outermost(ast.parse(path.read_text(encoding="utf-8")))
        if function.name not in NO_TEXT_IN.get(path.stem, ()) and _writes(function) and not _is_cleaned(function)
    ]


def _outermost(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield node
        else:
            yield from _outermost(node)


def _writes(function: ast.FunctionDef) -> bool:
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(
        isinstance(call, ast.Attribute)
        and (call.attr, ast.unparse(call.value).rpartition(".")[2].lstrip("_")) in BEGINNINGS
        for call in calls
    )


BEGINNINGS = {
    ("write", "engine"), ("write", "store"), ("change", "graph"), ("_change", "self"), ("replacing", "database"),
}  # fmt: skip
"""How a transaction begins: the method, and the last name of what it is called on."""


def _is_cleaned(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(decorator) in {"cleaned", "matched"} for decorator in function.decorator_list)
