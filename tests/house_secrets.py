"""A rule of the code base: everything stored passes `cleaned`, whoever calls. See house.py."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house_tree import PACKAGE, package

WRITES_NO_TEXT = {
    "graph/transaction": "`change`, which callers in the graph clean for",
    "engine": "the write path itself, and counts of recalls",
    "scope": "the write path itself",
    "base/leases": "names of jobs and their holders",
    "access/sessions": "session ids, which are only compared",
    "access/logins": "hashes and ids; values that go back to the client that sent them; clean names",
    "access/oauth_clients": "masks the name; an address is only compared and returned to the client",
    "access/accounts": "checked names, and a hashed password",
    "records/retention": "deletes",
    "records/embedding": "vectors; templates are cleaned on arrival",
    "workspaces/registry": "`tell` and `_make` clean; marks and places",
    "maintenance/scheduler": "reasons are masked in `do`, summaries in compaction",
    "maintenance/history": "restores stored texts",
    "maintenance/purging": "deletes",
    "maintenance/proposals": "marks",
    "maintenance/verdicts": "ids of memories, and a fixed reason",
    "transfer/restore": "rows that transfer/reader has cleaned",
    "transfer/merge": "rows that transfer/reader has cleaned",
}
"""The modules of core that begin a transaction in a function without `cleaned`, and what they write."""

NO_TEXT_IN = {
    "journal/in_records": {"delete_summaries", "try_out"},
    "access/tokens": {"revoke"},
}
"""Functions in other modules that write no text of a user."""


def check_what_is_stored_is_cleaned(root: Path) -> list[str]:
    """Check that each function of core that begins a transaction is `cleaned`, or is in a table above."""
    return [
        f"{module.path}:{function.lineno}: {function.name} writes and is not @cleaned."
        for module in package(root)
        if module.layer == "core"
        and (name := module.path.removeprefix(f"{PACKAGE}/core/").removesuffix(".py")) not in WRITES_NO_TEXT
        for function in _outermost(module.tree)
        if function.name not in NO_TEXT_IN.get(name, ()) and _writes(function) and not _is_cleaned(function)
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
    ("write", "engine"),
    ("write", "scope"),
    ("write", "store"),
    ("change", "graph"),
    ("_change", "self"),
    ("replacing", "database"),
}
"""The calls that begin a transaction: the method, and the last name of its object."""


def _is_cleaned(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(decorator) in {"cleaned", "matched"} for decorator in function.decorator_list)
