"""The language rules: a type name means one thing, and the package is written in plain present-day English."""

import ast
import re
from pathlib import Path

from tests.house_tree import package, read, tracked

# One letter of each word is in brackets, so that this file does not match.
DIALECT = re.compile(r"(?<![a-z])(?:tol[d]|sai[d]|ane[w]|nobod[y])(?![a-z])", re.IGNORECASE)

WRITTEN = {".css", ".html", ".js", ".md", ".py", ".sql", ".toml", ".yaml"}
DATA = re.compile(r"/migrations/|/samples/|/originals/")
"""Files that keep their words: migrations are never edited, notes and exports are what others write."""

STORED = ('SHOWN = "tol' + 'd"', '    """no not never none ')
"""The beginnings of lines that are exempt because they hold data: a name in existing files, words to compare."""


PUBLIC_TWICE = {"MemorydStore"}
"""The store of two agent frameworks: each is imported from the module of its own."""


def check_type_names_are_unique(root: Path) -> list[str]:
    """Check that no two modules define a public class or type alias of the same name."""
    places: dict[str, str] = {}
    found = []
    for module in package(root):
        for name, line in _types(module.tree):
            place = f"{module.path}:{line}"
            if name in places and name not in PUBLIC_TWICE:
                found.append(f"{place} defines {name}, as {places[name]} does: name one of them after its subject.")
            places.setdefault(name, place)
    return found


def _types(tree: ast.Module) -> list[tuple[str, int]]:
    """Return the name and line of each public class and type alias of a module, without type variables."""
    found = []
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name):
                found.append((name, node.lineno))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() | ast.BinOp() | ast.Name()):
                found.append((name, node.lineno))
    return [(name, line) for name, line in found if re.fullmatch(r"[A-Z]\w*[a-z]\w*", name)]


def check_plain_english(root: Path) -> list[str]:
    """Check that no code, test or page contains a word of DIALECT, except where it is DATA."""
    paths = {path.relative_to(root).as_posix(): path for path in tracked(root) if path.suffix in WRITTEN}
    return [
        f"{name}:{number} says `{match[0]}`: use plain present-day English."
        for name, path in paths.items()
        if not DATA.search(name)
        for number, line in enumerate(read(path).split("\n"), 1)
        if not line.startswith(STORED)
        for match in DIALECT.finditer(line)
    ]
