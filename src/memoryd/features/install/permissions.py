"""Add or remove the rule of Claude Code's that lets it call the tools of a server without asking."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from memoryd.errors import MemorydError
from memoryd.features.install import edit_json
from memoryd.features.install.edit_json import RefusedError
from memoryd.features.install.safe_replace import FileChange, change

RULES = ("permissions", "allow")


def allow(file: Path, name: str, *, dry_run: bool) -> FileChange | None:
    """Allow all tools of a server; return None if they already are. Raise MemorydError if the file was not changed."""
    return _changed(file, name, _with, dry_run=dry_run)


def disallow(file: Path, name: str, *, dry_run: bool) -> FileChange | None:
    """Remove the rule of `allow`; return None if there is none. Raise MemorydError if the file was not changed."""
    return _changed(file, name, _without, dry_run=dry_run)


def _changed(file: Path, name: str, edit: Callable[[str, str], str], *, dry_run: bool) -> FileChange | None:
    rule = f"mcp__{name}"
    try:
        return change(file, partial(edit, rule), dry_run=dry_run)
    except RefusedError as error:
        raise MemorydError(
            f"{file} was not changed: {error} Everything else is done; edit {rule} in permissions.allow there yourself."
        ) from error


def _with(rule: str, text: str) -> str:
    rules = edit_json.value_at(edit_json.parsed(text, toml=False), RULES) or []
    return text if rule in rules else edit_json.put(text, [*RULES, len(rules)], rule, toml=False)


def _without(rule: str, text: str) -> str:
    if rule not in text:  # then it does not even have to be JSON
        return text
    rules = edit_json.value_at(edit_json.parsed(text, toml=False), RULES)
    there = isinstance(rules, list) and rule in rules
    return edit_json.drop(text, [*RULES, rules.index(rule)], toml=False) if there else text
