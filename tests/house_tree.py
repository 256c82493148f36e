"""The package as the rules read it: modules, syntax trees, imports."""

import ast
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = "src/memoryd"
SLICES = "memoryd.features."

Located = ast.expr | ast.stmt | ast.ExceptHandler | ast.keyword | ast.alias


@dataclass(frozen=True)
class Module:
    """One module of the package: its path from the root, its dotted name, its syntax tree."""

    path: str
    name: str
    tree: ast.Module

    @property
    def layer(self) -> str:
        return self.name.split(".")[1] if "." in self.name else self.name

    @property
    def room(self) -> str:
        """The package or module directly in core that contains this module; '' outside core."""
        return self.name.split(".")[2] if self.name.startswith("memoryd.core.") else ""

    @property
    def slice(self) -> str:
        """The slice that contains this module; '' in the spine."""
        return slice_of(self.name) if self.path.startswith(f"{PACKAGE}/features/{slice_of(self.name)}/") else ""

    def lives_in(self, homes: Iterable[str]) -> bool:
        """Return whether it is one of these files, or in one of these folders (`models/`)."""
        home = self.path.removeprefix(f"{PACKAGE}/")
        return any(home.startswith(h) if h.endswith("/") else home == h for h in homes)


def slice_of(name: str) -> str:
    """Return the first part of a dotted name below `memoryd.features`; '' for any other name."""
    return name.removeprefix(SLICES).split(".")[0] if name.startswith(SLICES) else ""


parse = cache(ast.parse)


@cache
def _located(tree: ast.Module) -> list[Located]:
    """Return the nodes of a tree that have a line, from top to bottom; cached, because every rule reads them."""
    return sorted((node for node in ast.walk(tree) if isinstance(node, Located)), key=lambda node: node.lineno)


@cache
def _of_kinds(tree: ast.Module, kinds: tuple[type[ast.AST], ...]) -> list[Located]:
    return [node for node in _located(tree) if isinstance(node, kinds)]


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements in a tree, without a look at expressions, which are most of it."""
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        for node in getattr(tree, name, ()):
            yield node
            yield from statements(node)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def package(root: Path) -> list[Module]:
    """Return the modules of the package; cached, because every rule reads them: `broken` looks again."""
    made = []
    for path in sorted((root / PACKAGE).rglob("*.py")):
        dotted = ".".join(path.relative_to(root / "src").with_suffix("").parts).removesuffix(".__init__")
        made.append(Module(path.relative_to(root).as_posix(), dotted, parse(read(path))))
    return made


def nodes(root: Path, *kinds: type[ast.AST]) -> Iterator[tuple[Module, Located, str]]:
    """Yield every node of some kinds in the package with its module and its place, `path:line`."""
    for module in package(root):
        for node in _of_kinds(module.tree, kinds):
            yield module, node, f"{module.path}:{node.lineno}"


@cache
def imports(root: Path) -> list[tuple[Module, str, str]]:
    """Return each import as module, place, full imported name; cached as `package` is."""
    found = []
    for module, node, place in nodes(root, ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            found += [(module, place, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = module.name.split(".")
            parents = parts[: len(parts) - node.level + module.path.endswith("/__init__.py")] if node.level else []
            base = ".".join([*parents, *filter(None, [node.module])])
            found += [(module, place, f"{base}.{alias.name}") for alias in node.names]
    return found


def own_imports(root: Path) -> Iterator[tuple[Module, str, Module]]:
    """Yield the imports within the package as module, place, imported module."""
    known = {module.name: module for module in package(root)}
    for module, place, target in imports(root):
        while target and target not in known:
            target = target.rpartition(".")[0]  # noqa: PLW2901  # from a name in a module to the module
        if target and target != module.name:
            yield module, place, known[target]


def tracked(root: Path) -> list[Path]:
    """Return the files that git tracks or would track; without git, every file outside hidden folders."""
    # A git hook sets GIT_* for its own repository, which must not apply to another tree.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout
    paths = [root / name for name in listed.split("\0") if name] or [
        path for path in root.rglob("*") if not any(part[0] in "._" for part in path.relative_to(root).parts[:-1])
    ]
    return sorted(path for path in paths if path.is_file())


def copy(root: Path, target: Path, is_wanted: Callable[[Path], bool] = lambda _: True) -> None:
    """Copy the wanted files that git tracks, and what Python has compiled of them, as that takes it seconds."""
    for path in filter(lambda path: is_wanted(path.relative_to(root)), tracked(root)):
        compiled = (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc") if path.suffix == ".py" else ()
        for source in (path, *compiled):
            place = target / source.relative_to(root)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place)  # with its time, by which Python knows what it has compiled
