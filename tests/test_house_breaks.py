"""Each rule of house.py catches its violation: a small valid tree breaks no rule, each planted fault exactly one."""

import subprocess
from pathlib import Path

import pytest

from tests import house, house_sql, house_tree
from tests.test_house import commands

SRC = house_tree.PACKAGE
SQL = house_sql.SQL

TABLES = "".join(
    f"CREATE TABLE {name} ({', '.join(['rid'] * (name == 'records') + columns.split())});\n"
    for name, columns in house_sql.SHARED_TABLES.items()
)

SOUND = {
    f"{SRC}/__init__.py": '__version__ = "1"\n',
    f"{SRC}/errors.py": "class MemorydError(Exception): ...\n",
    f"{SRC}/model.py": "from memoryd.errors import MemorydError\n",
    f"{SRC}/text.py": "from memoryd.model import MemorydError\n",
    f"{SRC}/core/search/ranking.py": "import numpy\n",
    f"{SRC}/environment.py": "import os\n\nHERE = dict(os.environ)\n",
    f"{SRC}/connect/__init__.py": "from memoryd.environment import HERE\n",
    f"{SRC}/settings.py": "from memoryd import errors\nfrom memoryd.environment import HERE\n",
    f"{SRC}/store/__init__.py": "",
    f"{SRC}/store/base.py": "import numpy as np\n",
    f"{SRC}/store/sqlite/file.py": """
import apsw
from ..base import np
from memoryd.settings import HERE

def work(job, queries, deep):
    try:
        queries.one("things.get" if deep else "things.find", id="SELECT 1")
    except BaseException as error:
        job.set_exception(error)
""",
    f"{SRC}/models/__init__.py": "",
    f"{SRC}/extras.py": """
from importlib import import_module

def load(name):
    return import_module(name)
""",
    f"{SRC}/core/memories/b.py": "from memoryd.core.engine import work\n",
    f"{SRC}/core/maintenance/b.py": "from memoryd.core.memories import b\n",
    f"{SRC}/core/engine.py": '''
from typing import TYPE_CHECKING
from memoryd.extras import load
from memoryd.store.sqlite.file import work
import memoryd.text

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from memoryd.model import MemorydError

def spare(environ):
    try:
        """Selected WITH care; things.nowhere is no query here."""
        return environ.run("not a query"), "CREATED AT", "SELECT"
    except (KeyError, ValueError):
        return None
''',
    f"{SRC}/toolsets/__init__.py": "from memoryd.toolsets import recall, vault\n",
    f"{SRC}/toolsets/registry.py": "import mcp_types\n",
    f"{SRC}/toolsets/recall.py": "from memoryd.toolsets.registry import mcp_types\n",
    f"{SRC}/toolsets/vault.py": "from memoryd.core.engine import work\nfrom . import registry\n",
    f"{SRC}/server/app.py": """
from mcp.server import Server
from memoryd import __version__
from memoryd.toolsets import recall

def boundary(log, call):
    try:
        call()
    except Exception:
        log.exception("unexpected")
""",
    f"{SRC}/cli/__init__.py": """
import typer
from memoryd import extras
from memoryd.server.app import Server

def command(table, name):
    return extras.load("psycopg:connect", "postgres", ValueError) or extras.named(table[name])
""",
    f"{SRC}/__main__.py": "from memoryd.cli import typer\n",
    f"{SRC}/features/__init__.py": """
from memoryd.features.base import Feature

FEATURES = {"page": "memoryd.features.page:FEATURE", "charts": "memoryd.features.charts:FEATURE"}
""",
    f"{SRC}/features/base.py": "class Feature: ...\n",
    f"{SRC}/features/page/__init__.py": "FEATURE = Feature(journal='memoryd.features.page.views:f')\n",
    f"{SRC}/features/page/views.py": "from memoryd.server.app import Server\n\ndef f(q):\n    q.one('pages.get')\n",
    f"{SRC}/features/page/sql/pages.sql": "-- name: pages.get\n-- A page.\nSELECT 1\n",
    f"{SRC}/features/charts/__init__.py": "FEATURE = Feature(needs='page')\n",
    f"{SRC}/features/charts/drawing.py": "from memoryd.features.page.views import f\n",
    f"{SRC}/core/scope.py": "from memoryd import features\n",
    f"{SQL}/__init__.py": "",
    f"{SQL}/things.sql": """-- Things in general; it's fine to say what they are.
-- name: things.get
-- What has this id; why not?
SELECT 'a;b', "at" FROM (SELECT 1 AS "at") WHERE :id = '?' -- a ; in a remark
-- name: things.find
-- Dialects that differ have their own statement.
SELECT 1 WHERE :id <> '$.path';
""",
    f"{SQL}/sqlite/things.sql": """-- name: things.find
-- SQLite's own way.
SELECT rid FROM records WHERE id = :id
""",
    house_sql.MIGRATIONS + "/0001_initial.sql": TABLES,
    "tests/test_app.py": "import os\n\ndef test_it():\n    import apsw\n    os.environ\n",
    "README.md": "See `https://example.com/work/` and ../root/x. `memoryd workspace create|list` makes one.\n",
    "docs/recall.md": "| memory_store | stores |\n",
}

MANY_LINES = "\n" * 501
LONG_FUNCTION = "def long():\n" + "    x = 1\n" * 50
SHORT_ENOUGH = "@decorate(\n    1,\n)\ndef short():\n" + "    x = 1\n" * 49
THIS, THAT = "wo" + "rk", "ro" + "ot"
BANNED = "to" + "ld"

# rule, file, what is added at its end
ADDED = [
    ("imports_point_down", f"{SRC}/errors.py", "import memoryd.core.search.ranking\n"),
    ("imports_point_down", f"{SRC}/text.py", "import memoryd.settings\n"),
    ("imports_point_down", f"{SRC}/store/base.py", "from memoryd import models\n"),
    ("imports_point_down", f"{SRC}/models/llm.py", "from ..store.base import np\n"),
    ("imports_point_down", f"{SRC}/core/base/words.py", "from memoryd.toolsets.registry import mcp_types\n"),
    ("imports_point_down", f"{SRC}/toolsets/graph.py", "from memoryd.server.app import Server\n"),
    ("imports_point_down", f"{SRC}/server/stdio.py", "import memoryd.cli\n"),
    ("imports_point_down", f"{SRC}/connect/relay.py", "from memoryd import settings\n"),
    ("imports_point_down", f"{SRC}/core/memories/a.py", "import memoryd.connect\n"),
    ("imports_point_down", f"{SRC}/helpers.py", "x = 1\n"),
    ("rooms_of_core_stand_in_order", f"{SRC}/core/records/a.py", "import memoryd.core.engine\n"),
    ("rooms_of_core_stand_in_order", f"{SRC}/core/base/a.py", "from memoryd.core.search import ranking\n"),
    ("rooms_of_core_stand_in_order", f"{SRC}/core/graph/a.py", "\n\nfrom ..memories import b\n"),
    ("rooms_of_core_stand_in_order", f"{SRC}/core/search/a.py", "from memoryd.core.maintenance.b import x\n"),
    ("rooms_of_core_stand_in_order", f"{SRC}/core/helpers.py", "x = 1\n"),
    ("rooms_of_core_stand_in_order", f"{SRC}/core/helpers/a.py", "x = 1\n"),
    ("toolsets_stand_alone", f"{SRC}/toolsets/vault.py", "from memoryd.toolsets.recall import mcp_types\n"),
    ("toolsets_stand_alone", f"{SRC}/toolsets/resources.py", "from memoryd.toolsets import TOOLSETS\n"),
    ("toolsets_have_no_logic", f"{SRC}/toolsets/vault.py", "from memoryd.store import base\n"),
    ("toolsets_have_no_logic", f"{SRC}/toolsets/vault.py", "from memoryd.core.base.token_budget import Budget\n"),
    ("toolsets_have_no_logic", f"{SRC}/toolsets/vault.py", "def f(scope):\n    return scope.read(len)\n"),
    ("toolsets_have_no_logic", f"{SRC}/toolsets/graph.py", "def f(graph):\n    graph.change(len)\n"),
    ("toolsets_have_no_logic", f"{SRC}/toolsets/vault.py", "def f(body):\n    return Found.model_validate(body)\n"),
    ("slices_stand_alone", f"{SRC}/core/memories/a.py", "from memoryd.features.page.views import f\n"),
    ("slices_stand_alone", f"{SRC}/cli/page.py", "from memoryd.features import page\n"),
    ("slices_stand_alone", f"{SRC}/server/http.py", "x = extras.load('memoryd.features.page:x', 'http', ValueError)\n"),
    ("slices_stand_alone", f"{SRC}/features/base.py", "FIRST = 'memoryd.features.page:FEATURE'\n"),
    ("slices_stand_alone", f"{SRC}/features/page/views.py", "import memoryd.features.charts\n"),
    ("libraries_have_homes", f"{SRC}/core/base/a.py", "from mcp.types import Tool\n"),
    ("libraries_have_homes", f"{SRC}/store/vectors.py", "import numpy, apsw\n"),
    ("libraries_have_homes", f"{SRC}/store/sqlite/file.py", "import psycopg_pool.sync\n"),
    ("libraries_have_homes", f"{SRC}/core/base/a.py", "import onnxruntime\n"),
    ("libraries_have_homes", f"{SRC}/server/http.py", "from rich import print\n"),
    ("libraries_have_homes", f"{SRC}/toolsets/graph.py", "import numpy as np\n"),
    ("imports_stand_on_top", f"{SRC}/core/base/a.py", "def f():\n    if True:\n        import json\n"),
    ("imports_stand_on_top", f"{SRC}/core/base/a.py", "async def f():\n    from memoryd import text\n"),
    ("imports_stand_on_top", f"{SRC}/core/base/a.py", "class A:\n    import json\n"),
    ("one_dynamic_import", f"{SRC}/extras.py", "import_module('json')\n"),
    ("one_dynamic_import", f"{SRC}/core/base/a.py", "import importlib\n\nimportlib.import_module('json')\n"),
    ("one_dynamic_import", f"{SRC}/core/base/a.py", "__import__('json')\n"),
    ("imports_by_name_have_an_extra", f"{SRC}/core/base/a.py", "x = extras.load('json:loads', '', ValueError)\n"),
    ("imports_by_name_have_an_extra", f"{SRC}/core/base/a.py", "x = extras.load('json:loads', error=ValueError)\n"),
    ("imports_by_name_have_an_extra", f"{SRC}/core/base/a.py", "x = extras.load(TABLE['x'], 'http', ValueError)\n"),
    ("imports_by_name_have_an_extra", f"{SRC}/core/base/a.py", "x = extras.named(TABLE['x'])\n"),
    ("imports_by_name_have_an_extra", f"{SRC}/cli/__init__.py", "x = extras.named('json:loads')\n"),
    ("errors_are_named", f"{SRC}/core/base/a.py", "try:\n    x = 1\nexcept Exception:\n    raise\n"),
    ("errors_are_named", f"{SRC}/core/base/a.py", "try:\n    x = 1\nexcept (KeyError, BaseException):\n    raise\n"),
    ("errors_are_named", f"{SRC}/core/base/a.py", "try:\n    x = 1\nexcept:\n    raise\n"),
    ("errors_are_named", f"{SRC}/core/base/a.py", "with contextlib.suppress(Exception):\n    x = 1\n"),
    ("errors_are_named", f"{SRC}/server/http.py", "try:\n    x = 1\nexcept Exception as e:\n    raise\n"),
    ("files_and_functions_are_short", f"{SRC}/core/base/a.py", MANY_LINES),
    ("files_and_functions_are_short", f"{SQL}/more.sql", MANY_LINES),
    ("files_and_functions_are_short", f"{SRC}/core/base/a.py", LONG_FUNCTION),
    ("files_and_functions_are_short", "tests/test_app.py", "class A:\n    " + LONG_FUNCTION.replace("\n", "\n    ")),
    ("files_and_functions_are_short", "bench/speed.py", "async " + LONG_FUNCTION),
    ("one_module_reads_the_environment", f"{SRC}/core/base/a.py", "import os\nHOME = os.environ['HOME']\n"),
    ("one_module_reads_the_environment", f"{SRC}/core/base/a.py", "import os\nHOME = os.getenv('HOME')\n"),
    ("one_module_reads_the_environment", f"{SRC}/core/base/a.py", "from os import environ as env\n"),
    ("one_module_reads_the_environment", f"{SRC}/cli/__init__.py", "x = typer.Option(envvar='HOME')\n"),
    ("nothing_is_left_over", "docs/recall.md", f"It lies in /{THIS}/main.\n"),
    ("nothing_is_left_over", "docs/recall.md", f'"file:///{THAT}/notes"\n'),
    ("nothing_is_left_over", "bench/run.sh", "cd '/ho" + "me/someone/memoryd'\n"),
    ("nothing_is_left_over", "bench/run.sh", "ls /tmp/t" + "ry\n"),
    ("nothing_is_left_over", "uv.lock", "url = 'https://files.python" + "hosted.org/x'\n"),
    ("nothing_is_left_over", "docs/recall.md", "see https://py" + "pi.org/project/memoryd\n"),
    ("nothing_is_left_over", "pip.conf", "index-" + "url = https://a.mirror/simple\n"),
    ("nothing_is_left_over", f"{SRC}/core/base/a.py", "x = 1  # TO" + "DO: later\n"),
    ("nothing_is_left_over", f"{SRC}/core/base/a.py", "raise NotImplemented" + "Error\n"),
    ("nothing_is_left_over", ":memory:/_meta.db", "SQLite format 3\0"),
    ("type_names_are_unique", f"{SRC}/settings.py", "class MemorydError(ValueError): ...\n"),
    ("type_names_are_unique", f"{SRC}/settings.py", "MemorydError = dict[str, int]\n"),
    ("type_names_are_unique", f"{SRC}/settings.py", "MemorydError = int | str\n"),
    ("plain_english", f"{SRC}/core/base/a.py", f"# {BANNED} by hand\n"),
    ("plain_english", f"{SRC}/core/base/a.py", f'"""It is {BANNED}."""\n'),
    ("plain_english", f"{SRC}/core/base/a.py", f"print('{BANNED.title()}.')\n"),
    ("plain_english", f"{SRC}/core/base/a.py", f"un_{BANNED} = 1\n"),
    ("plain_english", "tests/test_app.py", f"def test_it_is_{BANNED}(): ...\n"),
    ("plain_english", "docs/recall.md", f"You are {BANNED} the number.\n"),
    ("queries_are_well_formed", f"{SQL}/things.sql", "-- name: things.get\n-- Once more.\nSELECT 1\n"),
    ("queries_are_well_formed", f"{SQL}/sqlite/more.sql", "SELECT 1;\n"),
    ("queries_are_well_formed", f"{SQL}/things.sql", "-- name: unexpected\n-- No noun.\nSELECT 1\n"),
    ("queries_are_used", f"{SQL}/things.sql", "-- name: things.unused\n-- For no one.\nSELECT 1\n"),
    ("queries_are_used", f"{SRC}/features/charts/sql/a.sql", "-- name: charts.get\n-- For no one.\nSELECT 1\n"),
    ("queries_are_used", f"{SQL}/postgres/a.sql", "-- name: things.elsewhere\n-- For no one.\nSELECT 1\n"),
    ("queries_exist", f"{SRC}/core/base/a.py", "def f(q):\n    q.all('things.lost', id=1)\n"),
    ("queries_exist", f"{SRC}/core/base/a.py", "def f(q):\n    q.value('things.get' if q else 'things.lost')\n"),
    ("migrations_apply", f"{house_sql.MIGRATIONS}/0003_gap.sql", "SELECT 1;\n"),
    ("migrations_apply", f"{house_sql.MIGRATIONS}/0002_wrong.sql", "CREATE TABLE events (again);\n"),
    ("shared_tables_agree", f"{house_sql.MIGRATIONS}/0002_more.sql", "ALTER TABLE events ADD COLUMN more TEXT;\n"),
    ("shared_tables_agree", f"{house_sql.MIGRATIONS}/0002_gone.sql", "DROP TABLE relations;\n"),
    ("sql_stays_in_the_store", f"{SRC}/core/base/a.py", "x = 'SELECT 1'\n"),
    ("sql_stays_in_the_store", f"{SRC}/toolsets/graph.py", 'x = f"""\n  WITH a AS ({x}) SELECT 1"""\n'),
    ("sql_stays_in_the_store", f"{SRC}/cli/__init__.py", "x = 'PRAGMA user_version'\n"),
    (
        "what_is_stored_is_cleaned",
        f"{SRC}/core/base/a.py",
        "def add(graph, text):\n    graph.change(lambda q: q.add(text))\n",
    ),
    (
        "what_is_stored_is_cleaned",
        f"{SRC}/core/base/a.py",
        "class A:\n    def add(self):\n        self._engine.write(1, 2)\n",
    ),
]

# rule, file, text, its replacement
CHANGED = [
    ("errors_are_named", f"{SRC}/server/app.py", "except Exception:", "except ValueError:"),
    ("errors_are_named", f"{SRC}/server/app.py", 'log.exception("unexpected")', "pass"),
    ("errors_are_named", f"{SRC}/store/sqlite/file.py", "job.set_exception(error)", "job.cancel()"),
    ("queries_are_well_formed", f"{SQL}/things.sql", "-- What has this id; why not?\n", ""),
    ("queries_are_well_formed", f"{SQL}/things.sql", ":id <> '$.path'", "?"),
    ("queries_are_well_formed", f"{SQL}/things.sql", ":id <> '$.path'", "@id"),
    ("queries_are_well_formed", f"{SQL}/things.sql", "SELECT 1 WHERE :id <> '$.path';", ""),
    ("queries_are_well_formed", f"{SQL}/things.sql", ";\n", "; SELECT 2\n"),
    ("queries_are_well_formed", f"{SQL}/things.sql", "SELECT 1 WHERE", "INSERT OR REPLACE INTO events SELECT"),
    ("queries_prepare", f"{SRC}/features/page/sql/pages.sql", "SELECT", "SELEKT"),
    ("queries_prepare", f"{SQL}/sqlite/things.sql", "rid FROM", "rid, nothing FROM"),
    ("queries_prepare", f"{SQL}/sqlite/things.sql", "SELECT", "SELEKT"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in SOUND.items():
        _write(tmp_path / path, text)
    return tmp_path


def test_a_valid_tree_breaks_no_rule(root: Path) -> None:
    _write(root / SRC / "core/base/short.py", SHORT_ENOUGH)
    _write(root / SRC / "core/base/full.py", "\n" * 500)
    assert house.broken(root) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "path", "text"), ADDED)
def test_an_addition_breaks_one_rule(root: Path, rule: str, path: str, text: str) -> None:
    _write(root / path, SOUND.get(path, "") + text)
    _breaks(root, rule, path)


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "path", "old", "new"), CHANGED)
def test_a_change_breaks_one_rule(root: Path, rule: str, path: str, old: str, new: str) -> None:
    assert SOUND[path].count(old) == 1
    _write(root / path, SOUND[path].replace(old, new))
    _breaks(root, rule, path)


def test_a_violation_names_its_line(root: Path) -> None:
    _write(root / SRC / "core/base/a.py", "\n\ndef f():\n    import json\n")
    assert house.broken(root) == {
        "imports_stand_on_top": [f"{SRC}/core/base/a.py:4 imports inside a function or class."]
    }
    _write(root / SRC / "core/base/a.py", "")
    _write(root / SQL / "more.sql", "-- For later.\n\n-- name: things.unused\n-- For no one.\nSELECT 1\n")
    assert house.broken(root) == {"queries_are_used": [f"{SQL}/more.sql:3 things.unused is not used."]}


@pytest.mark.parametrize("text", ["import memoryd.model\n", "if TYPE_CHECKING:\n    from . import model\n"])
def test_two_modules_make_a_cycle(root: Path, text: str) -> None:
    _write(root / SRC / "errors.py", text)
    broken = house.broken(root)
    assert list(broken) == ["no_cycles"]
    assert "closes a cycle: memoryd." in broken["no_cycles"][0]


def test_a_cycle_is_reported_completely_and_once(root: Path) -> None:
    _write(root / SRC / "core/base/a.py", "import memoryd.core.base.b\n")
    _write(root / SRC / "core/base/b.py", "\nfrom . import c\n")
    _write(root / SRC / "core/base/c.py", "from memoryd.core.base.a import x\n")
    [violation] = house.broken(root)["no_cycles"]
    place, _, way = violation.removesuffix(".").partition(" closes a cycle: ")
    modules = way.replace("memoryd.core.base.", "").split(" -> ")
    assert modules in (["a", "b", "c", "a"], ["b", "c", "a", "b"], ["c", "a", "b", "c"])
    assert place == f"{SRC}/core/base/{modules[0]}.py:{2 if modules[0] == 'b' else 1}"


def test_all_places_that_catch_everything_are_reported(root: Path) -> None:
    path = f"{SRC}/store/sqlite/file.py"
    _write(root / path, SOUND[path] + "try:\n    x = 1\nexcept BaseException:\n    raise\n")
    violations = house.broken(root)["errors_are_named"]
    assert [sentence.split()[0] for sentence in violations] == [f"{path}:9", f"{path}:13"]


@pytest.mark.process
def test_ignored_files_may_contain_anything(root: Path) -> None:
    _write(root / "notes/mine.txt", f"/{THIS}/main\n")
    assert list(house.broken(root)) == ["nothing_is_left_over"]
    subprocess.run(["git", "init", "-q", root], check=True)
    assert list(house.broken(root)) == ["nothing_is_left_over"]
    _write(root / ".gitignore", "notes/\n")
    assert house.broken(root) == {}


def test_an_undocumented_name_is_reported(root: Path) -> None:
    tools = {"memory_store": r"\bmemory_store\b", "memory": r"\bmemory\b"}
    assert house.undocumented(root, "tool", tools) == ["docs:1 neither a page nor README.md names the tool memory."]


def test_one_alternation_names_several_commands(root: Path) -> None:
    shown = Group(create=Group(), list=Group(), lis=Group(), secret=Group(hidden=True))
    patterns = dict(commands("memoryd", Group(workspace=shown)))
    assert list(patterns) == ["memoryd workspace create", "memoryd workspace list", "memoryd workspace lis"]
    [violation] = house.undocumented(root, "command", patterns)
    assert violation.endswith("names the command memoryd workspace lis.")


class Group:
    """The parts of a typer command that the rules look at."""

    def __init__(self, *, hidden: bool = False, **commands: "Group") -> None:
        self.commands = commands
        self.hidden = hidden


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _breaks(root: Path, rule: str, path: str) -> None:
    """Check that only this rule is broken, and that its violation names the place."""
    broken = house.broken(root)
    assert list(broken) == [rule]
    folder = house_sql.MIGRATIONS if rule == "shared_tables_agree" else path
    assert any(sentence.startswith((f"{folder}:", f"{SRC}/server/:")) for sentence in broken[rule])
