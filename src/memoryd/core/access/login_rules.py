"""What people of an identity provider may grant: rules from a group or a mail address to a level and a workspace."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from memoryd.core.access.tokens import LEVELS, Level
from memoryd.errors import InvalidInputError

EXAMPLE = "mail:ann@example.org=admin; group:engineers=write@team; mail:*@example.org=read@team"


@dataclass(frozen=True, slots=True)
class LoginRule:
    """Whom it is about, and the most that they may grant."""

    about: Literal["mail", "group"]
    who: str
    level: Level
    workspace: str
    """The name of their only workspace; '' for all."""

    def fits(self, mail: str, groups: Collection[str]) -> bool:
        """Return whether it is about somebody. Mail addresses may be given as `*@example.org`."""
        if self.about == "mail":
            return bool(mail) and fnmatchcase(mail.lower(), self.who.lower())
        return self.who in groups


def parsed(text: str) -> tuple[LoginRule, ...]:
    """Return rules written as in EXAMPLE. Raise InvalidInputError."""
    return tuple(_parsed(part.strip()) for part in text.replace("\n", ";").split(";") if part.strip())


def _parsed(text: str) -> LoginRule:
    whom, _, what = text.rpartition("=")
    about, _, who = whom.partition(":")
    word, _, workspace = what.partition("@")
    level = next((one for one in LEVELS if one == word.strip()), None)
    match about.strip():
        case "mail" | "group" as kind if who.strip() and level:
            return LoginRule(kind, who.strip(), level, workspace.strip())
    raise InvalidInputError(f"MEMORY_LOGIN_RULES: {text[:100]!r} is no rule. Write them like `{EXAMPLE}`.")


def first_fitting(rules: Sequence[LoginRule], mail: str, groups: Collection[str]) -> LoginRule | None:
    """Return the first rule about somebody, or None."""
    return next((rule for rule in rules if rule.fits(mail, groups)), None)
