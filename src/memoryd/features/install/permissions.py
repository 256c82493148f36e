"""Add or remove the rule of Claude Code's that lets it call the tools of a server without asking."""

from functools import partial
from pathlib import Path

from memoryd.features.install import edit_json
from memoryd.features.install.safe_replace import FileEdit

RULES = ("permissions", "allow")
OTHERWISE = "Everything else is done; edit {} in permissions.allow there yourself."


def calling(file: Path, name: str, *, allowed: bool) -> FileEdit:
    """Return the change that allows all tools of a server, or takes that back."""
    rule = f"mcp__{name}"
    return FileEdit(file, partial(_with if allowed else _without, rule), OTHERWISE.format(rule))


def _with(rule: str, text: str) -> str:
    rules = edit_json.value_at(edit_json.parsed(text, toml=False), RULES) or []
    return text if rule in rules else edit_json.put(text, [*RULES, len(rules)], rule, toml=False)


def _without(rule: str, text: str) -> str:
    if rule not in text:  # then it does not even have to be JSON
        return text
    rules = edit_json.value_at(edit_json.parsed(text, toml=False), RULES)
    there = isinstance(rules, list) and rule in rules
    return edit_json.drop(text, [*RULES, rules.index(rule)], toml=False) if there else text
