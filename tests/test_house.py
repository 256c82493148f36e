"""Every rule of house.py holds in this repository, and the docs name what the package offers.

Tests that need the package import it themselves, so that the rules also run when the package does not import.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import house, house_sql

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def _expect_none(breaks: list[str]) -> None:
    if breaks:
        pytest.fail("\n".join(breaks), pytrace=False)


def test_every_rule_holds() -> None:
    """In one test, since the rules share the parsed files, which several workers would each parse."""
    _expect_none([f"{rule}: {place}" for rule, places in house.broken(ROOT).items() for place in places])


def test_the_rules_read_the_same_statements_as_the_loader() -> None:
    from memoryd.store.sql import load

    def words(sql: str) -> list[str]:
        return re.sub(r"^--.*", "", sql, flags=re.MULTILINE).split()

    loaded = {name: words(sql) for name, sql in load("sqlite").items()}
    assert loaded == {name: words(query.sql) for name, query in house_sql.queries(ROOT, "sqlite").items()}


def test_the_docs_name_every_tool() -> None:
    from memoryd.toolsets import TOOLSETS

    names = [tool.name for tools in TOOLSETS.values() for tool in tools]
    _expect_none(house.undocumented(ROOT, "tool", {name: rf"\b{name}\b" for name in names}))


def test_the_docs_name_every_variable() -> None:
    from memoryd.settings import Settings, variables

    names = [name for field in Settings.model_fields for name in variables(field)]
    _expect_none(house.undocumented(ROOT, "variable", {name: rf"\b{name}\b" for name in names}))


def test_the_docs_name_every_command() -> None:
    from typer.main import get_command

    from memoryd.cli import app

    _expect_none(house.undocumented(ROOT, "command", dict(commands("memoryd", get_command(app)))))


def commands(path: str, group: Any) -> Iterator[tuple[str, str]]:
    """Yield each full command with the pattern of its mention: `memoryd workspace create|list` names two."""
    for name, command in group.commands.items():
        if getattr(command, "commands", None):
            yield from commands(f"{path} {name}", command)
        elif not command.hidden:
            yield f"{path} {name}", rf"\b{path} (?:[\w-]+ ?\\?\| ?)*{name}(?![\w-])"
