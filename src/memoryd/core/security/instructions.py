"""The forms of orders to an agent, of every language, as regular expressions over lower-case text: instructions.txt.

They are narrow on purpose: a team's rules, runbooks and notes about prompts use the same words. So a form needs what an
order to drop, hide or send something cannot do without: whose instructions, from whom, to which address.

In the file, a form follows the strings of which a text must contain one, in brackets, so that few forms run. Its lines
are joined; a name between `%` stands for one of the meanings that come first.
"""

import re
from collections.abc import Iterator
from importlib.resources import files

KINDS = {
    "drop": "an order to drop instructions",
    "role": "a new role",
    "prompt": "talk about the system prompt",
    "tag": "a tag of a role",
    "call": "a call of a tool",
    "address": "an order to an AI",
    "conceal": "an order to keep something from the user",
    "send": "an order to send data away",
    "authority": "a claim to stand above the user",
}
"""The descriptions of the kinds of orders, by their names in the file."""

_ENTRY = re.compile(r"^## (?P<kind>\w+)$|^\[(?P<needs>.+)\]\n(?P<form>(?:  .+\n)+)", re.MULTILINE)


def forms() -> Iterator[tuple[str, frozenset[str], str]]:
    """Yield the description of each form, the strings of which a matching text contains one, and its pattern."""
    text = files(__package__).joinpath("instructions.txt").read_text(encoding="utf-8")
    kind, meanings = "", dict[str, str]()
    for entry in _ENTRY.finditer(text):
        if entry["kind"]:
            kind = KINDS[entry["kind"]]
            continue
        form = "".join(line[2:] for line in entry["form"].split("\n"))
        if kind:
            meant = re.sub(r"%([A-Z]+)%", lambda name: meanings[name[1]], form)
            yield kind, frozenset(entry["needs"].split(", ")), meant
        else:
            meanings[entry["needs"]] = form
