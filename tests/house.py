"""The rules of the code base: each function `check_...` takes a source tree and returns one sentence per violation.

test_house.py runs them on this repository; test_house_breaks.py shows that each of them catches its violation. The
tables come first: edit them when you add a package.
"""

import ast
import graphlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests import house_language, house_secrets, house_sql
from tests.house_tree import (
    PACKAGE,
    Located,
    Module,
    imports,
    nodes,
    own_imports,
    package,
    parse,
    read,
    slice_of,
    statements,
    tracked,
)

_PLAIN = {
    "errors",
    "hidden",
    "model",
    "text",
    "sentences",
    "excerpts",
    "query_syntax",
    "prompts",
    "extras",
    "disk",
    "private",
    "loopback",
    "posting",
    "proxies",
    "environment",
    "daemon",
    "deadline",
    "origin",
    "languages",
}
_GROUND = _PLAIN | {"settings"}
_CORE = _GROUND | {"store", "models", "core"}
_SPINE = _CORE | {"toolsets", "connect", "server", "cli"}
_TABLE = {"features"}  # check_slices_stand_alone says what may be imported of it

_DOORS = {
    "adk",
    "anthropic",
    "langgraph",
    "pydantic_ai",
}  # of frameworks: public names, each of which alone imports its framework

MAY_IMPORT = {
    **dict.fromkeys(_PLAIN | {"settings"}, _PLAIN),
    "errors": {"model"},
    "model": {"errors"},
    **dict.fromkeys(("memoryd", "models"), _GROUND),  # memoryd: the package's public names
    "store": _GROUND | _TABLE,
    **dict.fromkeys(("core", "toolsets"), _CORE | _TABLE),
    "connect": {"environment", "posting"},
    "server": _CORE | {"toolsets", "connect"} | _TABLE,
    "api": _CORE | {"toolsets"} | _TABLE,
    **dict.fromkeys(_DOORS, _GROUND | {"core", "api"}),
    "cli": _SPINE | _TABLE,
    "features": _SPINE,
    "__main__": _SPINE,
}
"""The layers that a layer may import besides itself. Every layer may import `memoryd` itself, for its version."""

ORDER = (
    {"security"},
    {"base"},
    {"workspaces"},
    {"records"},
    {"access", "llm"},
    {"engine"},
    {"scope"},
    {"search"},
    {"memories", "graph", "journal"},
    {"transfer", "admin"},
    {"maintenance"},
)
"""The packages ("rooms") of core from the bottom up. A room imports only from rooms in earlier sets."""

HOMES = {
    **dict.fromkeys(("mcp", "mcp_types"), ("toolsets/", "server/", "features/")),
    **dict.fromkeys(("psycopg", "psycopg_pool", "pgvector"), ("store/postgres/",)),
    "httpx2": ("proxies.py", "features/chroma/", "models/", "features/login/"),
    "apsw": ("store/sqlite/", "features/imports/foreign_sqlite.py"),
    **dict.fromkeys(("onnxruntime", "tokenizers", "fastembed"), ("models/",)),
    **dict.fromkeys(("typer", "rich", "tomlkit"), ("cli/", "features/")),
    "numpy": ("store/", "models/", "core/", "features/chroma/", "features/page/"),
    "jinja2": ("server/html.py",),
    **dict.fromkeys(("langchain", "langchain_core", "langgraph"), ("langgraph.py",)),
    "anthropic": ("anthropic.py",),
    "google": ("adk.py",),
    "pydantic_ai_harness": ("pydantic_ai.py",),
}
"""Where a library may be imported; libraries not listed may be imported anywhere."""

CHOICES = (
    "__init__.py", "__main__.py", "cli/__init__.py", "cli/serve.py", "models/providers.py", "features/__init__.py",
    "features/page/command.py",
)  # fmt: skip
"""The files with a table that names a module for each choice: the public class, connector or command, commands,
transports, models, slices; and the page, which is a server."""

TABLE = "features/__init__.py"
"""The only file of the spine that names slices."""

BROAD_EXCEPTS = {
    # The server's boundary: an unexpected error is logged with its traceback, and the answer has no internals.
    "server/": 1,
    # The writer thread serves many callers: an error in a job goes back to its caller, and the thread continues.
    "store/sqlite/file.py": 1,
}
"""How many catch-all handlers a place may have. Each must raise the error, pass it on, or log it with traceback."""

BEYOND_TOOLSETS = {
    **dict.fromkeys(("read", "write", "change"), "core begins transactions"),
    **dict.fromkeys(("model_validate", "validate_python"), "results are what core returns, as it is"),
}
"""The methods that a toolset must not call, and why; the registry validates arguments."""

MAX_FILE, MAX_FUNCTION = 500, 50

# One letter of each pattern is in brackets, so that this file does not match.
_BEFORE_PATH = r"(?<![\w.~})>\]-])"
LEFTOVERS = {
    rf"{_BEFORE_PATH}/(?:wor[k]|roo[t]|hom[e]/[\w.-]+)/|{_BEFORE_PATH}/tmp/tr[y]\b": "a path of one machine",
    r"\bpyp[i]\.(?:org|python\.org)|pythonhoste[d]\.org|index-ur[l]\W+https?:": "the host of a package index",
    r"\b(?:TOD[O]|FIXM[E]|XX[X]|NotImplementedErro[r])\b": "work left undone",
}


# who imports whom ----------------------------------------------------------------------------------------------------


def check_imports_point_down(root: Path) -> list[str]:
    """Check that imports follow MAY_IMPORT and that every module has a layer there."""
    return [
        f"{module.path}:1 has no layer: add `{module.layer}` to MAY_IMPORT."
        for module in package(root)
        if module.layer not in MAY_IMPORT
    ] + [
        f"{place} imports {target.name}: `{module.layer}` may not import `{target.layer}`."
        for module, place, target in own_imports(root)
        if target.layer not in {module.layer, "memoryd", *MAY_IMPORT.get(module.layer, ())}
    ]


def check_rooms_of_core_stand_in_order(root: Path) -> list[str]:
    """Check that every module of core is in a room of ORDER, and imports only from its own room and those below."""
    floors = {room: floor for floor, rooms in enumerate(ORDER) for room in rooms}
    return [
        f"{module.path}:1 is in no room of core: add `{module.room}` to ORDER."
        for module in package(root)
        if module.room and module.room not in floors
    ] + [
        f"{place} imports {target.name}: `{module.room}` may not import `{target.room}`."
        for module, place, target in own_imports(root)
        if module.room in floors
        and target.room in floors
        and module.room != target.room
        and floors[target.room] >= floors[module.room]
    ]


def check_toolsets_stand_alone(root: Path) -> list[str]:
    """Check that a toolset imports no other toolset, only the registry; `toolsets/__init__.py` collects them."""
    return [
        f"{place} imports {target.name}: a toolset may import no other toolset, only the registry."
        for module, place, target in own_imports(root)
        if module.layer == target.layer == "toolsets"
        and module.name.count(".") > 1
        and target.name.split(".")[2:3] not in (["registry"], module.name.split(".")[2:3])
    ]


def check_toolsets_have_no_logic(root: Path) -> list[str]:
    """Check that a toolset leaves the store, transactions, budgets and the shape of results to core."""
    return [
        f"{place} imports {target}: only core uses it."
        for module, place, target in imports(root)
        if module.layer == "toolsets" and target.startswith(("memoryd.store.", "memoryd.core.base.token_budget."))
    ] + [
        f"{place} calls {node.func.attr}: {BEYOND_TOOLSETS[node.func.attr]}."
        for module, node, place in nodes(root, ast.Call)
        if module.layer == "toolsets"
        and isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in BEYOND_TOOLSETS
        and not module.lives_in(["toolsets/registry/"])
    ]


def check_slices_stand_alone(root: Path) -> list[str]:
    """Check that only the table names slices, and that a slice uses the spine, itself and what it needs."""
    needs = {module.slice: _needs(module) for module in package(root) if module.slice and _is_package(module)}
    named = [(module, place, target) for module, place, target in imports(root)] + [
        (module, place, node.value.replace(":", "."))
        for module, node, place in nodes(root, ast.Constant)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not module.lives_in([TABLE])
    ]
    return [
        f"{place} names the slice {name}: only {TABLE} may do that, itself, and a slice that needs it."
        for module, place, target in named
        if (name := slice_of(target)) in needs and name not in {module.slice, needs.get(module.slice)}
    ]


def _is_package(module: Module) -> bool:
    return module.path == f"{PACKAGE}/features/{module.slice}/__init__.py"


def _needs(module: Module) -> str:
    """Return the slice that a slice declares to need; '' for none."""
    return next(
        (
            str(node.value.value)
            for node in ast.walk(module.tree)
            if isinstance(node, ast.keyword) and node.arg == "needs" and isinstance(node.value, ast.Constant)
        ),
        "",
    )


def check_no_cycles(root: Path) -> list[str]:
    """Check that no module imports itself through others; imports for type checkers count too."""
    places = {(module.name, target.name): place for module, place, target in own_imports(root)}
    found: list[str] = []
    while True:
        graph: graphlib.TopologicalSorter[str] = graphlib.TopologicalSorter()
        for module, target in places:
            graph.add(module, target)
        try:
            graph.prepare()
        except graphlib.CycleError as error:
            first, second, *more = reversed(error.args[1])
            found.append(f"{places.pop((first, second))} closes a cycle: {' -> '.join([first, second, *more])}.")
        else:
            return found


def check_libraries_have_homes(root: Path) -> list[str]:
    """Check that a library of HOMES is imported only there."""
    return sorted(
        {
            f"{place} imports {library}, which may be imported only in {' and '.join(HOMES[library])}."
            for module, place, target in imports(root)
            if (library := target.split(".")[0]) in HOMES and not module.lives_in(HOMES[library])
        }
    )


def check_imports_stand_on_top(root: Path) -> list[str]:
    """Check that no import is inside a function or a class; `if TYPE_CHECKING` and `try` at the top are fine."""
    return sorted(
        {
            f"{module.path}:{node.lineno} imports inside a function or class."
            for module, scope, _ in nodes(root, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
            for node in statements(scope)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
    )


def check_one_dynamic_import(root: Path) -> list[str]:
    """Check that modules are imported by name in only one place, in extras.py."""
    places = [
        (not module.lives_in(["extras.py"]), place)
        for module, node, place in nodes(root, ast.Name, ast.Attribute)
        if getattr(node, "id", getattr(node, "attr", "")) in {"__import__", "import_module", "resolve_name"}
    ]
    return [
        f"{place} loads a module by name: only one place in extras.py may do that."
        for number, (elsewhere, place) in enumerate(sorted(places))
        if number or elsewhere
    ]


def check_imports_by_name_have_an_extra(root: Path) -> list[str]:
    """Check that `extras.load` names its module and an extra, and that only CHOICES have tables of modules."""
    return [
        f"{place} imports by name what no extra installs: import it at the top of a module that is cheap to import."
        for module, node, place in nodes(root, ast.Call)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "extras"
        and not (_names_an_extra(node) or (module.lives_in(CHOICES) and not isinstance(node.args[0], ast.Constant)))
    ]


def _names_an_extra(call: ast.Call) -> bool:
    match call:
        case ast.Call(func=ast.Attribute(attr="load"), args=[ast.Constant(), ast.Constant(value=str(extra)), *_]):
            return bool(extra)
    return False


# how code is written -------------------------------------------------------------------------------------------------


def check_errors_are_named(root: Path) -> list[str]:
    """Check that only BROAD_EXCEPTS catch everything, and that they pass the error on."""
    broad: dict[str, list[str]] = {entry: [] for entry in ("", *BROAD_EXCEPTS)}
    found = []
    for module, node, place in nodes(root, ast.ExceptHandler, ast.Call):
        if _is_broad(node):
            broad[next((entry for entry in BROAD_EXCEPTS if module.lives_in([entry])), "")].append(place)
            if not _hands_on(node):
                found.append(f"{place} swallows every error: name the errors, or pass this one on.")
    for entry, places in broad.items():
        allowed = BROAD_EXCEPTS.get(entry, 0)
        if len(places) > allowed:
            found += [f"{place} catches everything; BROAD_EXCEPTS allows {allowed} here." for place in places]
        elif len(places) < allowed:
            found.append(f"{PACKAGE}/{entry}:1 has {len(places)} broad handlers: lower its entry in BROAD_EXCEPTS.")
    return found


def _is_broad(node: Located) -> bool:
    """Return whether this is `except:`, `except Exception`, the same in a tuple, or `suppress(Exception)`."""
    match node:
        case ast.ExceptHandler(type=None):
            return True
        case ast.ExceptHandler(type=ast.expr() as caught):
            names = list(ast.walk(caught))
        case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress"), args=arguments):
            names = [*arguments]
        case _:
            return False
    return any(getattr(n, "attr", getattr(n, "id", "")) in {"Exception", "BaseException"} for n in names)


def _hands_on(handler: Located) -> bool:
    """Return whether the handler raises, uses the error that it caught, or logs it with its traceback."""
    return isinstance(handler, ast.ExceptHandler) and any(
        isinstance(node, ast.Raise)
        or (isinstance(node, ast.Name) and node.id == handler.name)
        or (isinstance(node, ast.Attribute) and node.attr == "exception")
        for statement in handler.body
        for node in ast.walk(statement)
    )


def check_files_and_functions_are_short(root: Path) -> list[str]:
    """Check that files have at most 500 lines and functions 50, also in tests and bench; decorators do not count."""
    found = []
    for path in sorted(p for folder in ("src", "tests", "bench") for p in (root / folder).rglob("*")):
        if path.suffix in {".py", ".sql"}:
            place, text = path.relative_to(root).as_posix(), read(path)
            if (lines := text.count("\n")) > MAX_FILE:
                found.append(f"{place}:1 has {lines} lines; {MAX_FILE} is the limit.")
            found += [
                f"{place}:{node.lineno} {node.name} has {length} lines; {MAX_FUNCTION} is the limit."
                for node in (statements(parse(text)) if path.suffix == ".py" and _may_be_long(text) else ())
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION
            ]
    return found


def _may_be_long(text: str) -> bool:
    """Return whether a function may be too long, by the next definition that is indented no more; it saves parsing."""
    begun: list[tuple[int, int]] = []
    for number, line in enumerate([*text.split("\n"), "@"]):
        if (found := re.match(r" *(?=(?:async )?def |class |@)", line)) is not None:
            while begun and begun[-1][0] >= found.end():
                if number - begun.pop()[1] > MAX_FUNCTION:
                    return True
            begun.append((found.end(), number))
    return False


def check_one_module_reads_the_environment(root: Path) -> list[str]:
    """Check that only environment.py reads the environment, also through typer (`envvar=`) or `expandvars`."""
    readers = {"environ", "environb", "getenv", "getenvb", "expandvars"}
    return [
        f"{place} reads the environment: only environment.py may do that."
        for module, node, place in nodes(root, ast.Attribute, ast.alias, ast.keyword)
        if (getattr(node, "attr", getattr(node, "name", "")) in readers or getattr(node, "arg", "") == "envvar")
        and not module.lives_in(["environment.py"])
    ]


def check_nothing_is_left_over(root: Path) -> list[str]:
    """Check that no tracked text matches LEFTOVERS, and that all binary files are pictures."""
    found = []
    for path in tracked(root):
        name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8", errors="replace")
        if "\0" in text:
            if path.suffix != ".png":
                found.append(f"{name}:1 is neither text nor a picture: delete it.")
            continue
        found += [
            f"{name}:{_line(text, match.start())} contains {what}: {match[0]}"
            for pattern, what in LEFTOVERS.items()
            for match in re.finditer(pattern, text)
        ]
    return found


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def undocumented(root: Path, what: str, patterns: Mapping[str, str]) -> list[str]:
    """Return a sentence for each name whose pattern occurs neither in docs/*.md nor in README.md."""
    text = "\n".join(read(page) for page in (*root.glob("README.md"), *(root / "docs").glob("*.md")))
    return [
        f"docs:1 neither a page nor README.md names the {what} {name}."
        for name, pattern in patterns.items()
        if not re.search(pattern, text)
    ]


CHECKS = {
    name.removeprefix("check_"): check
    for rules in (globals(), vars(house_language), vars(house_secrets), vars(house_sql))
    for name, check in list(rules.items())
    if name.startswith("check_")
}


def broken(root: Path, rules: Iterable[str] = CHECKS) -> dict[str, list[str]]:
    """Return the rules that a tree breaks as it is now, each with a sentence for each place."""
    package.cache_clear()
    imports.cache_clear()
    return {rule: places for rule in rules if (places := CHECKS[rule](root))}
