"""The rules of the house: every function `check_...` takes a source tree and gives one sentence for each break.

test_house.py runs them on this repository, test_house_breaks.py shows that each of them bites. The tables come first:
they are what one edits when the house grows a room.
"""

import ast
import graphlib
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import apsw

PACKAGE = "src/memoryd"
SQL = f"{PACKAGE}/store/sql"
MIGRATIONS = f"{SQL}/sqlite/migrations"

_PLAIN = {"errors", "hidden", "model", "text", "suspicion", "ranking", "prompts", "extras", "disk", "private"}
_GROUND = _PLAIN | {"settings"}
_CORE = _GROUND | {"store", "models", "core"}

MAY_IMPORT = {
    **dict.fromkeys(_PLAIN | {"settings"}, _PLAIN),
    "errors": {"model"},
    "model": {"errors"},
    **dict.fromkeys(("memoryd", "store", "models"), _GROUND),  # memoryd: the package's own face
    **dict.fromkeys(("core", "toolsets"), _CORE),
    "server": _CORE | {"toolsets"},
    "cli": _CORE | {"toolsets", "server"},
    "__main__": _CORE | {"toolsets", "server", "cli"},
}
"""Which layers a layer may import besides itself. Anyone may ask `memoryd` itself for its version."""

POSTGRES = tuple(f"store/postgres{part}.py" for part in ("", "_connection", "_schema", "_search"))

HOMES = {
    **dict.fromkeys(("mcp", "mcp_types"), ("toolsets/", "server/")),
    **dict.fromkeys(("psycopg", "psycopg_pool", "pgvector"), POSTGRES),
    "httpx2": ("store/chroma.py", "models/"),
    "apsw": ("store/sqlite.py", "store/sqlite_file.py", "store/sqlite_connection.py"),
    **dict.fromkeys(("onnxruntime", "tokenizers", "fastembed", "openai"), ("models/",)),
    **dict.fromkeys(("typer", "rich", "tomlkit"), ("cli.py", "cli/")),
    "numpy": ("store/", "models/", "core/", "ranking.py"),
}
"""Where a library may be imported; one that is not here may be imported anywhere."""

BROAD_EXCEPTS = {
    # The server's boundary: an unexpected error is logged with its traceback and answered without internals.
    "server/": 1,
    # The writer thread serves many callers: whatever breaks one job goes back to its caller, the thread lives on.
    "store/sqlite_file.py": 1,
}
"""How many handlers of everything a place may have. Each must hand the error on: raise it, pass it, or log it whole."""

SHARED_TABLES = {
    "projects": "id name description db_path status created_at updated_at",
    "sessions": "principal id active_project",
    "session_holders": "principal id holder expires_at",
    "leases": "name holder expires_at",
    "records": "workspace_id id kind name type body tags scope session_id client tool created_at updated_at deleted_at",
    "memory_details": "workspace_id id importance access_count accessed_at consolidated superseded_by fingerprint "
    "ending reason gist",
    "entity_details": "workspace_id id summary_updated_at next_ordinal",
    "observation_details": "workspace_id entity_id ordinal id",
    "interaction_details": "workspace_id id thought_at response_at",
    "summary_details": "workspace_id id memory_count quality productivity impact complexity technologies",
    "versions": "workspace_id id until body tags importance",
    "relations": "workspace_id id from_entity to_entity relation_type created_at deleted_at",
    "perspectives": "workspace_id name template",
    "events": "workspace_id seq at operation subject",
}
"""The columns that a table has on every dialect."""

OWN_COLUMNS = {"sqlite": {"records": {"rid"}}}
"""The columns that a shared table has on one dialect alone."""

MAX_FILE, MAX_FUNCTION = 500, 50
NOUN_VERB = r"[a-z_]+\.[a-z_]+"  # no digits: the loader's header has none, and would take such a header for SQL

# One letter of each stands in brackets, so that this file does not contain what it looks for.
_BEFORE_PATH = r"(?<![\w.~})>\]-])"
LEFTOVERS = {
    rf"{_BEFORE_PATH}/(?:wor[k]|roo[t]|hom[e]/[\w.-]+)/|{_BEFORE_PATH}/tmp/tr[y]\b": "a path of one machine",
    r"\bpyp[i]\.(?:org|python\.org)|pythonhoste[d]\.org|index-ur[l]\W+https?:": "the host of a package index",
    r"\b(?:TOD[O]|FIXM[E]|XX[X]|NotImplementedErro[r])\b": "work left undone",
}


# reading the tree ----------------------------------------------------------------------------------------------------

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

    def lives_in(self, homes: Iterable[str]) -> bool:
        """Whether it is one of these files, or in one of these folders (`models/`)."""
        home = self.path.removeprefix(f"{PACKAGE}/")
        return any(home.startswith(h) if h.endswith("/") else home == h for h in homes)


_parse = cache(ast.parse)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _package(root: Path) -> Iterator[Module]:
    for path in sorted((root / PACKAGE).rglob("*.py")):
        dotted = ".".join(path.relative_to(root / "src").with_suffix("").parts).removesuffix(".__init__")
        yield Module(path.relative_to(root).as_posix(), dotted, _parse(_read(path)))


def _nodes(root: Path) -> Iterator[tuple[Module, Located, str]]:
    """Every node of the package with its module and its place, `path:line`."""
    for module in _package(root):
        located = (node for node in ast.walk(module.tree) if isinstance(node, Located))
        for node in sorted(located, key=lambda node: node.lineno):
            yield module, node, f"{module.path}:{node.lineno}"


def _imports(root: Path) -> Iterator[tuple[Module, str, str]]:
    """Each import as module, place, imported name in full."""
    for module, node, place in _nodes(root):
        if isinstance(node, ast.Import):
            yield from ((module, place, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = module.name.split(".")
            parents = parts[: len(parts) - node.level + module.path.endswith("/__init__.py")] if node.level else []
            base = ".".join([*parents, *filter(None, [node.module])])
            yield from ((module, place, f"{base}.{alias.name}") for alias in node.names)


def _own_imports(root: Path) -> Iterator[tuple[Module, str, Module]]:
    """The imports within the package as module, place, imported module."""
    known = {module.name: module for module in _package(root)}
    for module, place, target in _imports(root):
        while target and target not in known:
            target = target.rpartition(".")[0]  # noqa: PLW2901  # from a name in a module to the module
        if target and target != module.name:
            yield module, place, known[target]


# who imports whom ----------------------------------------------------------------------------------------------------


def check_imports_point_down(root: Path) -> list[str]:
    """Imports follow MAY_IMPORT, and every module has a layer there."""
    return [
        f"{module.path}:1 has no layer: place `{module.layer}` in MAY_IMPORT."
        for module in _package(root)
        if module.layer not in MAY_IMPORT
    ] + [
        f"{place} imports {target.name}: `{module.layer}` may not import `{target.layer}`."
        for module, place, target in _own_imports(root)
        if target.layer not in {module.layer, "memoryd", *MAY_IMPORT.get(module.layer, ())}
    ]


def check_toolsets_stand_alone(root: Path) -> list[str]:
    """A toolset imports no other toolset, only the registry; `toolsets/__init__.py` gathers them."""
    return [
        f"{place} imports {target.name}: a toolset knows no other toolset but the registry."
        for module, place, target in _own_imports(root)
        if module.layer == target.layer == "toolsets" and module.name.count(".") > 1
        and target.name.split(".")[2:3] not in (["registry"], module.name.split(".")[2:3])
    ]  # fmt: skip


def check_no_cycles(root: Path) -> list[str]:
    """No module imports itself by way of others; imports for type checkers count too."""
    places = {(module.name, target.name): place for module, place, target in _own_imports(root)}
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
    """A library of HOMES is imported only where it lives."""
    return sorted({
        f"{place} imports {library}, whose home is {' and '.join(HOMES[library])}."
        for module, place, target in _imports(root)
        if (library := target.split(".")[0]) in HOMES and not module.lives_in(HOMES[library])
    })  # fmt: skip


def check_imports_stand_on_top(root: Path) -> list[str]:
    """No import inside a function or a class; `if TYPE_CHECKING` and `try` at the top of a module are fine."""
    return sorted({
        f"{module.path}:{node.lineno} imports inside a function or class."
        for module, scope, _ in _nodes(root)
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for node in ast.walk(scope)
        if isinstance(node, ast.Import | ast.ImportFrom)
    })  # fmt: skip


def check_one_dynamic_import(root: Path) -> list[str]:
    """Modules are loaded by name in one place: extras.py."""
    places = [
        (not module.lives_in(["extras.py"]), place)
        for module, node, place in _nodes(root)
        if getattr(node, "id", getattr(node, "attr", "")) in {"__import__", "import_module", "resolve_name"}
    ]
    return [
        f"{place} loads a module by name: only one place of extras.py does that."
        for number, (elsewhere, place) in enumerate(sorted(places))
        if number or elsewhere
    ]


# how code is written -------------------------------------------------------------------------------------------------


def check_errors_are_named(root: Path) -> list[str]:
    """Nothing catches everything, except where BROAD_EXCEPTS says so; there the error is handed on, not swallowed."""
    broad: dict[str, list[str]] = {entry: [] for entry in ("", *BROAD_EXCEPTS)}
    found = []
    for module, node, place in _nodes(root):
        if _is_broad(node):
            broad[next((entry for entry in BROAD_EXCEPTS if module.lives_in([entry])), "")].append(place)
            if not _hands_on(node):
                found.append(f"{place} swallows whatever goes wrong: name the errors, or hand this one on.")
    for entry, places in broad.items():
        allowed = BROAD_EXCEPTS.get(entry, 0)
        if len(places) > allowed:
            found += [f"{place} catches everything; BROAD_EXCEPTS allows {allowed} such here." for place in places]
        elif len(places) < allowed:
            found.append(f"{PACKAGE}/{entry}:1 has {len(places)} broad handlers: lower its entry in BROAD_EXCEPTS.")
    return found


def _is_broad(node: Located) -> bool:
    """`except:`, `except Exception`, the same in a tuple, and its disguise `suppress(Exception)`."""
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
    """Whether the handler raises, names the error that it caught, or logs it with its traceback."""
    return isinstance(handler, ast.ExceptHandler) and any(
        isinstance(node, ast.Raise)
        or (isinstance(node, ast.Name) and node.id == handler.name)
        or (isinstance(node, ast.Attribute) and node.attr == "exception")
        for statement in handler.body
        for node in ast.walk(statement)
    )


def check_files_and_functions_are_short(root: Path) -> list[str]:
    """At most 500 lines a file and 50 a function, tests and benches included; decorators do not count."""
    found = []
    for path in sorted(p for folder in ("src", "tests", "bench") for p in (root / folder).rglob("*")):
        if path.suffix in {".py", ".sql"}:
            place, text = path.relative_to(root).as_posix(), _read(path)
            if (lines := text.count("\n")) > MAX_FILE:
                found.append(f"{place}:1 has {lines} lines; {MAX_FILE} is the limit.")
            found += [
                f"{place}:{node.lineno} {node.name} has {length} lines; {MAX_FUNCTION} is the limit."
                for node in (ast.walk(_parse(text)) if path.suffix == ".py" else ())
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION
            ]
    return found


def check_settings_alone_read_the_environment(root: Path) -> list[str]:
    """Only settings.py reads the environment; letting typer (`envvar=`) or a path (`expandvars`) do it counts."""
    readers = {"environ", "environb", "getenv", "getenvb", "expandvars"}
    return [
        f"{place} reads the environment: settings.py does that."
        for module, node, place in _nodes(root)
        if (getattr(node, "attr", getattr(node, "name", "")) in readers or getattr(node, "arg", "") == "envvar")
        and not module.lives_in(["settings.py"])
    ]


def check_nothing_is_left_over(root: Path) -> list[str]:
    """No tracked text names a path of one machine, a package index, or work left undone."""
    found = []
    for path in _tracked(root):
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        found += [
            f"{path.relative_to(root).as_posix()}:{number} holds {what}: {match[0]}"
            for number, line in enumerate(lines, 1)
            for pattern, what in LEFTOVERS.items()
            if (match := re.search(pattern, line))
        ]
    return found


def _tracked(root: Path) -> list[Path]:
    """What git tracks or would track; without git, every file outside of hidden folders."""
    # A hook hands its own repository down in GIT_*, which must not answer for another tree.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout
    paths = [root / name for name in listed.split("\0") if name] or [
        path for path in root.rglob("*") if not any(part[0] in "._" for part in path.relative_to(root).parts[:-1])
    ]
    return sorted(path for path in paths if path.is_file())


# SQL -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Query:
    """A statement under its `-- name:` header; `notes` are the comment lines that follow it."""

    folder: str
    place: str
    name: str
    notes: str
    sql: str


def _statements(root: Path) -> Iterator[Query]:
    """The named statements, shared ones first. What stands before the first name of a file comes with the name ''."""
    base = root / SQL
    for path in [*sorted(base.glob("*.sql")), *sorted(base.glob("*/*.sql"))]:
        head, *parts = re.split(r"^(-- name:.*\n)", _read(path), flags=re.MULTILINE)
        folder, place, line = path.parent.relative_to(base).as_posix(), path.relative_to(root).as_posix(), 1
        for header, body in [("", head), *zip(parts[::2], parts[1::2], strict=True)]:
            name = header.removeprefix("-- name:").strip()
            sql = re.sub(r"\A(--.*\n|\s)*", "", body)
            yield Query(folder, f"{place}:{line}", name, body.removesuffix(sql).strip(), sql.strip())
            line += (header + body).count("\n")


def queries(root: Path, dialect: str) -> dict[str, Query]:
    """The named statements of a dialect: the shared ones, then its own."""
    return {query.name: query for query in _statements(root) if query.name and query.folder in {".", dialect}}


def _bare(sql: str) -> str:
    """A statement without its comments, its strings emptied."""
    quoted = r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"[^"]*\""""
    return re.sub(quoted, lambda found: " " if found[0][0] in "-/" else "''", sql, flags=re.DOTALL)


def check_queries_are_well_formed(root: Path) -> list[str]:
    """A query is one statement under `-- name: noun.verb` and a line that says what it does; parameters are `:name`."""
    found = []
    seen = set()
    for query in _statements(root):
        key = (query.folder, query.name)  # a dialect may replace a shared statement
        faults = _faults(query) + (["is there twice"] if query.name and key in seen else [])
        found += [f"{query.place} {query.name or 'the head of the file'} {fault}." for fault in faults]
        seen.add(key)
    return found


def _faults(query: Query) -> list[str]:
    sql = _bare(query.sql).strip().removesuffix(";")
    if not query.name:
        return ["holds a statement without a name"] if sql else []
    faults = {
        "is not named noun.verb": not re.fullmatch(NOUN_VERB, query.name),
        "has no comment line that says what it does": not query.notes,
        "is empty": not sql,
        "is more than one statement": ";" in sql,
        "has a parameter that is not written :name": re.search(r"\?|[@$]\w", sql),
        # External-content FTS5 is silently corrupted by it, and PRAGMA integrity_check still says ok.
        "replaces rows: use ON CONFLICT DO UPDATE": re.search(r"(?i)\bOR\s+REPLACE\b|\bREPLACE\s+INTO\b", sql),
    }
    return [fault for fault, is_so in faults.items() if is_so]


def check_queries_are_used(root: Path) -> list[str]:
    """Every named query occurs in the package as a string."""
    literals = {node.value for _, node, _ in _nodes(root) if isinstance(node, ast.Constant)}
    return [
        f"{query.place} {query.name} is used by nobody."
        for query in _statements(root)
        if query.name and query.name not in literals
    ]


def check_queries_exist(root: Path) -> list[str]:
    """Every `noun.verb` that is handed to a verb of Queries is a named query of SQLite."""
    known = queries(root, "sqlite")
    return [
        f"{place} asks for {name}, which is no named query."
        for module, node, place in _nodes(root)
        if not module.lives_in(POSTGRES)
        for name in _asked(node)
        if re.fullmatch(NOUN_VERB, name) and name not in known
    ]


def _asked(node: Located) -> list[str]:
    """The string or strings (`a if so else b`) that a call of one, all, run, many or value begins with."""
    match node:
        case ast.Call(func=ast.Attribute(attr="one" | "all" | "run" | "many" | "value"), args=[first, *_]):
            choices = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
            return [c.value for c in choices if isinstance(c, ast.Constant) and isinstance(c.value, str)]
    return []


def check_migrations_apply(root: Path, database: apsw.Connection | None = None) -> list[str]:
    """Migrations are numbered 0001, 0002, ... without a gap, and apply to an empty database."""
    database = database or apsw.Connection(":memory:")
    paths = sorted((root / MIGRATIONS).glob("*.sql"))
    found = [] if paths else [f"{MIGRATIONS}:1 holds no migration."]
    for number, path in enumerate(paths, 1):
        place = f"{path.relative_to(root).as_posix()}:1"
        if not re.fullmatch(rf"{number:04}_[a-z0-9_]+\.sql", path.name):
            found.append(f"{place} should be named {number:04}_something.sql.")
        try:
            database.execute(_read(path))
        except apsw.Error as error:
            found.append(f"{place} does not apply: {error}.")
    return found


def check_queries_prepare(root: Path) -> list[str]:
    """Every query of SQLite compiles on a database with all migrations."""
    database = apsw.Connection(":memory:")
    check_migrations_apply(root, database)
    found = []
    for query in queries(root, "sqlite").values():
        nothing = dict.fromkeys(re.findall(r"(?<![:\w]):([A-Za-z_]\w*)", _bare(query.sql)))
        try:
            database.execute(f"EXPLAIN {query.sql}", nothing)
        except apsw.Error as error:
            found.append(f"{query.place} {query.name} does not prepare on SQLite: {error}.")
    return found


def check_shared_tables_agree(root: Path) -> list[str]:
    """Each table of SHARED_TABLES has these columns and no others."""
    database = apsw.Connection(":memory:")
    check_migrations_apply(root, database)
    found = []
    for table, columns in SHARED_TABLES.items():
        rows = database.execute("SELECT name FROM pragma_table_info(?)", (table,))
        there = {str(name) for (name,) in rows} - OWN_COLUMNS["sqlite"].get(table, set())
        lacks, more = sorted(set(columns.split()) - there), sorted(there - set(columns.split()))
        if lacks or more:
            found.append(f"{MIGRATIONS}:1 table {table} lacks {lacks} and has {more} against SHARED_TABLES.")
    return found


def check_sql_stays_in_the_store(root: Path) -> list[str]:
    """No string outside store/ is a statement."""
    statement = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|CREATE|ALTER|DROP|PRAGMA|WITH)\s")
    return [
        f"{place} writes SQL, which belongs in store/sql/."
        for module, node, place in _nodes(root)
        if not module.lives_in(["store/"]) and isinstance(node, ast.Constant) and statement.match(str(node.value))
    ]


def undocumented(root: Path, what: str, patterns: Mapping[str, str]) -> list[str]:
    """Which names are in no docs/*.md nor README.md; a pattern says how a page would name one."""
    text = "\n".join(_read(page) for page in (*root.glob("README.md"), *(root / "docs").glob("*.md")))
    return [
        f"docs:1 no page (nor README.md) names the {what} {name}."
        for name, pattern in patterns.items()
        if not re.search(pattern, text)
    ]


CHECKS = {name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")}
