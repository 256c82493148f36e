"""Login rules: what people of an identity provider may grant, by group or mail address."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from memoryd.core.access.tokens import LEVELS, Level
from memoryd.errors import InvalidInputError

EXAMPLE = "mail:ann@example.org=admin; group:engineers=write@team; mail:*@example.org=read@team"


@dataclass(frozen=True, slots=True)
class LoginRule:
    """The people that a rule applies to, and the most that they may grant."""

    about: Literal["mail", "group"]
    who: str
    level: Level
    workspace: str
    """The name of the only allowed workspace; '' for all."""

    def fits(self, mail: str, groups: Collection[str]) -> bool:
        """Return whether the rule applies to a person. A rule may name mail addresses as `*@example.org`."""
        if self.about == "mail":
            return bool(mail) and fnmatchcase(mail.lower(), self.who.lower())
        return self.who in groups


def parsed(text: str) -> tuple[LoginRule, ...]:
    """Parse rules written like EXAMPLE. Raise InvalidInputError."""
    return tuple(_parsed(part.strip()) for part in text.replace("\n", ";").split(";") if part.strip())


def _parsed(text: str) -> LoginRule:
    whom, _, what = text.rpartition("=")
    about, _, who = whom.partition(":")
    word, _, workspace = what.partition("@")
    level = next((one for one in LEVELS if one == word.strip()), None)
    match about.strip():
        case "mail" | "group" as kind if who.strip() and level:
            return LoginRule(kind, who.strip(), level, workspace.strip())
    raise InvalidInputError(f"MEMORY_LOGIN_RULES: {text[:100]!r} is not a valid rule. Write rules like `{EXAMPLE}`.")


def first_fitting(rules: Sequence[LoginRule], mail: str, groups: Collection[str]) -> LoginRule | None:
    """Return the first rule that applies to a person, or None."""
    return next((rule for rule in rules if rule.fits(mail, groups)), None)
