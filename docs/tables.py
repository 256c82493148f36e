#!/usr/bin/env python3
"""Fill the tables in the documentation from the code that they describe.

    python docs/tables.py            rewrite stale pages
    python docs/tables.py --check    change nothing; fail if a page is stale

A table is between `<!-- table: NAME -->` and `<!-- /table -->` in README.md or docs/*.md; TABLES holds the names.
"""

import ast
import base64
import inspect
import itertools
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from typer.main import get_command

from memoryd.cli import app
from memoryd.core.base.results import compact
from memoryd.core.journal.summarizer import CATEGORIES, TECHNOLOGIES
from memoryd.core.search.ranking import RECALL, Profile
from memoryd.models import weights
from memoryd.server.app import declaration
from memoryd.settings import Settings, variables
from memoryd.store import columns as columns_of
from memoryd.text import estimate_tokens
from memoryd.toolsets import TOOLSETS
from memoryd.toolsets.registry import Tool, Toolset

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"(<!-- table: (?P<name>[\w.-]+) -->\n).*?(<!-- /table -->)", re.DOTALL)

DEFAULTS = {"data_dir": "the platform's data directory", "model_dir": "`models` in the platform's data directory"}
"""The defaults of settings that depend on the machine or on another setting."""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


# tools ---------------------------------------------------------------------------------------------------------------


def _tools() -> dict[str, Tool]:
    return {tool.name: tool for tools in TOOLSETS.values() for tool in tools}


def tools() -> str:
    """Return every tool with the description that a model sees."""
    return table(
        ("tool", "what it does", "capability"),
        [(f"`{tool.name}`", tool.description, tool.capability) for tool in _tools().values()],
    )


def toolsets() -> str:
    """Return the number of tools of each toolset, and what a client's context holds of them."""
    sizes = {name: (len(tools), _tokens(tools)) for name, tools in TOOLSETS.items()}
    linked = [(f"[{name}](docs/{name}.md)", count, tokens) for name, (count, tokens) in sizes.items()]
    together = ("all", sum(count for count, _ in sizes.values()), sum(tokens for _, tokens in sizes.values()))
    return table(
        ("toolset", "tools", "about so many tokens"),
        [(name, str(count), f"{round(tokens, -2):,}") for name, count, tokens in [*linked, together]],
    )


def _tokens(tools: Toolset) -> int:
    """Return the estimated tokens of the answer to `tools/list`."""
    listed = [declaration(tool, app=False).model_dump(by_alias=True, exclude_none=True) for tool in tools]
    return estimate_tokens(compact(listed))


def arguments(tool: Tool) -> str:
    """Return the arguments of a tool."""
    schema = tool.arguments.model_json_schema()
    if not schema.get("properties"):
        return "It takes no arguments.\n"
    rows = []
    for name, field in schema["properties"].items():
        value = "required" if name in schema.get("required", ()) else _default(field.get("default"))
        rows.append((f"`{name}`", _shape(field, schema.get("$defs", {})), value, field.get("description", "")))
    return table(("argument", "type", "default", "meaning"), rows)


def _default(value: object) -> str:
    return "none" if value in (None, [], "") else f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _shape(field: dict[str, Any], named: dict[str, Any]) -> str:
    """Return the type of a value of a JSON schema, in words."""
    match field:
        case {"$ref": reference}:
            words = _shape(named[reference.rpartition("/")[2]], named)
        case {"anyOf": choices}:
            words = _shape(next(one for one in choices if one.get("type") != "null"), named)
        case {"enum": values}:
            words = ", ".join(f"`{value}`" for value in values)
        case {"type": "array", "items": items}:
            most = f" of at most {field['maxItems']:,}" if "maxItems" in field else ""
            words = f"list{most}, each: {_shape(items, named)}"
        case {"type": "string"}:
            words = f"text, {field['maxLength']:,} characters at most" if "maxLength" in field else "text"
        case {"type": kind, "minimum": least, "maximum": most}:
            words = f"{kind}, {least:,} to {most:,}"
        case {"type": kind, "exclusiveMinimum": least, "maximum": most}:
            words = f"{kind}, more than {least:,}, to {most:,}"
        case {"type": "object", "properties": parts}:
            marked = (f"`{name}`" + ("" if name in field.get("required", ()) else "?") for name in parts)
            words = "{" + ", ".join(marked) + "}"
        case _:
            words = str(field["type"])
    return words


# settings, constants, files, commands --------------------------------------------------------------------------------


def settings() -> str:
    """Return every environment variable."""
    return table(
        ("variable", "default", "what it does"),
        [
            (" or ".join(f"`{variable}`" for variable in variables(name)), _setting(name), " ".join(described.split()))
            for name, described in _described(Settings)
        ],
    )


def _described(owner: type) -> Iterator[tuple[str, str]]:
    """Yield each field of a class that has a docstring, in the order of the code."""
    (body,) = ast.parse(inspect.getsource(owner)).body
    assert isinstance(body, ast.ClassDef)
    for pair in itertools.pairwise(body.body):
        match pair:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, text


def _setting(name: str) -> str:
    value = Settings.model_fields[name].default
    if name in DEFAULTS:
        return DEFAULTS[name]
    return f"`{' '.join(value)}`" if isinstance(value, tuple) else _default(value).replace("none", "not set")


def profile() -> str:
    """Return the constants of search, in the order of the code; a docstring covers the fields since the last one."""
    (owner,) = ast.parse(inspect.getsource(Profile)).body
    assert isinstance(owner, ast.ClassDef)
    rows: list[tuple[str, str, str]] = []
    for node in owner.body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)):
                rows.append((f"`{name}`", f"`{getattr(RECALL, name)}`", ""))
            case ast.Expr(value=ast.Constant(value=str(text))) if rows:
                rows[-1] = (*rows[-1][:2], " ".join(text.split()))
    return table(("constant", "value", "why (a text closes the group of constants above it)"), rows)


def categories() -> str:
    """Return the categories of session summaries."""
    return table(("category", "words"), [(f"`{name}`", words) for name, words in CATEGORIES.items()])


def technologies() -> str:
    """Return the known technologies, as one row."""
    return table(("technologies",), [(" ".join(sorted(TECHNOLOGIES)),)])


def files() -> str:
    """Return the files of the bundled models."""
    return table(
        ("file in the models' directory", "bytes", "sha256"),
        [(f"`{weight.path}`", f"{weight.size:,}", f"`{weight.sha256}`") for weight in weights.WEIGHTS],
    )


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield each command in full, bare `memoryd` first; leave out groups that do nothing by themselves."""
    inner = getattr(command, "commands", {})
    if not inner or command.invoke_without_command:
        yield path, command
    for name, one in inner.items():
        if not one.hidden:
            yield from _commands(f"{path} {name}", one)


def commands() -> str:
    """Return every command, with the sentence of its help."""
    bare = "Serve MCP on stdin and stdout."
    return table(
        ("command", "what it does"),
        [
            (f"`{path}{_operands(one)}`", bare if path == "memoryd" else one.get_short_help_str(limit=200))
            for path, one in _commands("memoryd", get_command(app))
        ],
    )


def _operands(command: Any) -> str:
    names = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    return "".join(f" {one.name.upper()}" if one.required else f" [{one.name.upper()}]" for one in names)


def options() -> str:
    """Return every option, and the commands that take it."""
    takers: dict[tuple[str, str], list[str]] = {}
    for path, one in _commands("memoryd", get_command(app)):
        shown = [
            parameter for parameter in one.params if parameter.param_type_name == "option" and not parameter.hidden
        ]
        for option in shown:
            metavar = "" if option.is_flag else f" {option.metavar or option.name.upper()}"
            names = ", ".join(f"`{name}{metavar}`" for name in sorted(option.opts, key=len, reverse=True))
            takers.setdefault((names, option.help or ""), []).append(path.removeprefix("memoryd "))
    return table(
        ("option", "what it does", "taken by"),
        [(names, text, ", ".join(f"`{path}`" for path in paths)) for (names, text), paths in takers.items()],
    )


# the schema of the databases -----------------------------------------------------------------------------------------


def columns() -> str:
    """Return every table whose rows move between databases, with its columns."""
    rows = []
    for name, of in columns_of.MOVED.items():
        shown = (f"`{column}` {_held(what)}" for column, what in of.columns.items())
        taken = ["`migrate`, `backup`"] + ["`export`, `import`"] * of.exported
        rows.append((f"`{name}`", ", ".join(f"`{column}`" for column in of.order), ", ".join(shown), ", ".join(taken)))
    return table(("table", "key", "columns", "taken by"), rows)


def _held(column: columns_of.Column) -> str:
    return column.holds.name.lower() + "?" * column.optional + f" (since {column.since})" * (column.since > 1)


def values() -> str:
    """Return what a column may hold."""
    return table(("word", "value in an export"), [(one.name.lower(), one.value) for one in columns_of.Holds])


def clients() -> str:
    """Return what the model of each real client saw when `make clients` last ran."""
    shown = json.loads((ROOT / "tests" / "real_clients" / "shown.json").read_text(encoding="utf-8"))
    heads = ("client", "version", "its model is shown", "the tools of `recall`")
    rows = [(name, one["version"], f"`{one['store']}`", one["tools"]) for name, one in shown.items()]
    return table(heads, rows)


def links() -> str:
    """Return links by which a client adds memoryd, once its user agrees."""
    entry = {"command": "uvx", "args": ["memoryd"]}
    inner = base64.b64encode(json.dumps(entry).encode()).decode()
    cursor = f"cursor://anysphere.cursor-deeplink/mcp/install?{urlencode({'name': 'memory', 'config': inner})}"
    vscode = f"vscode:mcp/install?{quote(json.dumps({'name': 'memory', **entry}))}"
    return table(("client", "link"), [("Cursor", f"`{cursor}`"), ("VS Code", f"`{vscode}`")])


TABLES: dict[str, Callable[[], str]] = {
    "tools": tools,
    "toolsets": toolsets,
    "columns": columns,
    "values": values,
    "settings": settings,
    "profile": profile,
    "files": files,
    "commands": commands,
    "options": options,
    "clients": clients,
    "links": links,
    "categories": categories,
    "technologies": technologies,
    **{name: lambda tool=tool: arguments(tool) for name, tool in _tools().items()},  # type: ignore[misc]
}


# pages ---------------------------------------------------------------------------------------------------------------


def pages() -> list[Path]:
    """Return every page that may hold a table; extending.md shows how to write one."""
    return [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.stem != "extending")]


def filled(page: str) -> str:
    """Return a page with its tables up to date. Raise KeyError for an unknown table."""
    return BLOCK.sub(lambda found: f"{found[1]}{TABLES[found['name']]()}{found[3]}", page)


def main(*given: str) -> int:
    """Rewrite or check every page; return the exit code."""
    stale = 0
    for path in pages():
        page = path.read_text(encoding="utf-8")
        if (new := filled(page)) != page:
            stale += 1
            if "--check" not in given:
                path.write_text(new, encoding="utf-8")
            sys.stdout.write(f"{path.name} {'is stale' if '--check' in given else 'is rewritten'}\n")
    return 1 if stale and "--check" in given else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
