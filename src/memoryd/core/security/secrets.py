"""Finds secrets in texts to be stored, and masks or refuses them before anything else sees the text."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, wraps
from inspect import signature
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar

from memoryd.core.security import key_phrases, secret_forms, secret_labels, secret_search, secret_tokens
from memoryd.errors import InvalidInputError
from memoryd.hidden import seen

SecretsMode = Literal["mask", "refuse", "allow"]
IDENTITY = frozenset({"id", "ids", "session_id", "supersedes", "created_at"})
"""Fields and arguments that identify something: masking could make two of them equal, and ids may look random."""
AGAIN = 6  # maximum times that the text around a secret is searched; only a text crafted against this needs more
KEY_PHRASE = "key phrase"
SHORTEST = 6  # minimum characters of a text with a secret: even a PIN needs a word for it
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in a text: its kind and its span."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A value without its secrets, and their kinds in order of occurrence."""

    value: Any
    found: tuple[str, ...] = ()


class SecretRefusedError(InvalidInputError):
    """The text contains a secret."""


class Secrets:
    """The treatment of secrets in texts to be stored."""

    def __init__(self, mode: SecretsMode) -> None:
        self.mode = mode

    def clean(self, value: Any) -> Cleaned:
        """Return a JSON-like value with its secrets masked; the names of its fields stay.

        If secrets are refused, raise SecretRefusedError with the kind and the place of one, but not the secret.
        """
        found: list[str] = []
        return Cleaned(self.part(value, "", found), tuple(found))

    def masked(self, value: T) -> T:
        """Return a value without its secrets, even if they are refused: for writing what was stored before."""
        return value if self.mode == "allow" else _MASKING.clean(value).value

    def part(self, value: Any, place: str, found: list[str]) -> Any:
        """Return the value at a place without its secrets, and add their kinds to `found`. Raise SecretRefusedError."""
        return value if self.mode == "allow" else self._clean(value, place, found)

    def _clean(self, value: Any, place: str, found: list[str]) -> Any:
        if isinstance(value, str):
            return self._text(value, place, found)
        if isinstance(value, dict):
            return {
                name: self._clean(part, f"{place}.{name}" if place else str(name), found)
                for name, part in value.items()
            }
        if isinstance(value, list | tuple):
            parts = (self._clean(part, f"{place}[{number}]", found) for number, part in enumerate(value))
            return type(value)(parts)
        if isinstance(value, Iterator):
            return (self._clean(part, place, found) for part in value)
        if is_dataclass(value) and not isinstance(value, type):
            given = {one.name: getattr(value, one.name) for one in fields(value) if one.name not in IDENTITY}
            return replace(value, **self._clean(given, place, found))
        return value

    def _text(self, text: str, place: str, found: list[str]) -> str:
        if self.mode == "refuse":
            if (first := next(find(text), None)) is None:
                return text
            raise SecretRefusedError(
                f"{place or 'The text'} contains what looks like a secret ({first.kind}) at character "
                f"{first.start + 1}, which MEMORY_SECRETS=refuse forbids. Leave it out, or say where it is kept."
            )
        masked, kinds = mask(text)
        found += kinds
        return masked


_MASKING = Secrets("mask")


class Holder(Protocol):
    """An object with a treatment of secrets."""

    @property
    def secrets(self) -> Secrets:
        """The treatment of secrets."""
        ...


H = TypeVar("H", bound=Holder)
_NOTED: ContextVar[list[str] | None] = ContextVar("masked", default=None)


@contextmanager
def noted() -> Iterator[list[str]]:
    """Yield a list that collects the kinds of the secrets that verbs mask during the block."""
    found: list[str] = []
    token = _NOTED.set(found)
    try:
        yield found
    finally:
        _NOTED.reset(token)


def cleaned(verb: Callable[Concatenate[H, P], T]) -> Callable[Concatenate[H, P], T]:
    """Mask the arguments of a service's verb before it compares, embeds or stores them, and note what was masked.

    If secrets are refused, raise SecretRefusedError, which names the argument, before the verb begins.
    """
    return _with_arguments(verb, lambda secrets, name, value, found: secrets.part(value, name, found))


def matched(verb: Callable[Concatenate[H, P], T]) -> Callable[Concatenate[H, P], T]:
    """Mask the arguments of a service's deleting verb, so that they match what was stored.

    Nothing is noted or refused, because nothing is stored: callers may name the secret that they delete.
    """
    return _with_arguments(verb, lambda secrets, _name, value, _found: secrets.masked(value))


def _with_arguments(
    verb: Callable[Concatenate[H, P], T], part: Callable[[Secrets, str, Any, list[str]], Any]
) -> Callable[Concatenate[H, P], T]:
    """Return a verb that gets a `part` of each argument that may contain texts; note what that adds to its list."""
    shape = signature(verb)

    @wraps(verb)
    def clean(holder: H, /, *args: P.args, **kwargs: P.kwargs) -> T:
        given, found = shape.bind(holder, *args, **kwargs), list[str]()
        for name in list(given.arguments)[1:]:  # the first one is the service itself
            if name not in IDENTITY:
                given.arguments[name] = part(holder.secrets, name, given.arguments[name], found)
        result = verb(*given.args, **given.kwargs)
        if (noted := _NOTED.get()) is not None:
            noted += found
        return result

    return clean


def find(text: str) -> Iterator[Secret]:
    """Yield the secrets in a text in order, without overlaps with each other or with existing masks."""
    at = 0
    for number, part in enumerate(_mask().split(text)):
        if not number % 2:
            for secret in _within(part):
                yield Secret(secret.kind, at + secret.start, at + secret.end)
        at += len(part)


def mask(text: str) -> tuple[str, list[str]]:
    """Return a text with its secrets masked, and their kinds. Masking the result again changes nothing."""
    found: list[str] = []
    parts = list(enumerate(_mask().split(text)))  # every second one is a mask
    done: list[str] = []
    waiting = [(part, AGAIN * (number % 2)) for number, part in reversed(parts)]
    while waiting:
        part, times = waiting.pop()
        secrets = _within(part) if times < AGAIN else []
        if not secrets:
            done.append(part)
            continue
        found += [secret.kind for secret in secrets]
        waiting += reversed(_parted(part, secrets, times + 1))  # the text next to a secret may now be one itself
    return "".join(done), found


def _parted(text: str, secrets: list[Secret], times: int) -> list[tuple[str, int]]:
    """Return the parts of a text, which were searched `times` times, and the masks between them, which never are."""
    parts, after = [], 0
    for secret in secrets:
        parts += [(text[after : secret.start], times), (f"[masked: {secret.kind}]", AGAIN)]
        after = secret.end
    return [*parts, (text[after:], times)]


def _within(text: str) -> list[Secret]:
    if len(text) < SHORTEST:
        return []
    plain, places = seen(text)
    folded = plain.replace("İ", "I").lower()  # the only letter whose lower case is longer
    both = secret_search.Text(plain, folded)
    spans = [(rule.kind, start, end) for rule in _rules_for(folded) for start, end in rule.spans(both)]
    spans += [(KEY_PHRASE, start, end) for start, end in key_phrases.spans(folded)]
    if places is not None:
        spans = [(kind, places[start], places[end - 1] + 1) for kind, start, end in spans]
    return _apart([Secret(*span) for span in spans])


@cache
def rules() -> tuple[secret_search.Rule, ...]:
    """Return all rules, the most specific kinds first."""
    return (
        *secret_tokens.rules(),
        *secret_forms.FORMS,
        *secret_labels.rules(),
        *secret_forms.commands(),
        secret_tokens.OF_ANY_VENDOR,
    )


def _rules_for(folded: str) -> list[secret_search.Rule]:
    """Return the rules that a lower-case text may match, in order; each need is searched for once."""
    places = {place for need, places in _places_by_need().items() if need in folded for place in places}
    return [rules()[place] for place in sorted(places)]


@cache
def _places_by_need() -> dict[str, list[int]]:
    """Return the indices of the rules by each string that they need, '' for rules without needs."""
    by_need: dict[str, list[int]] = {}
    for place, rule in enumerate(rules()):
        for need in rule.needs or ("",):
            by_need.setdefault(need, []).append(place)
    return by_need


def masked_notice(found: Iterable[str]) -> str:
    """Return a sentence about what was masked: `Masked: 1 AWS access key, 2 passwords.`."""
    counts = [f"{number} {kind}{'s' * (number > 1)}" for kind, number in Counter(found).items()]
    return f"Masked: {', '.join(counts)}."


def _apart(secrets: list[Secret]) -> list[Secret]:
    """Join overlapping secrets into one from the first's start to the last's end, with the kind of the first rule."""
    apart: list[tuple[Secret, int]] = []
    for place, one in sorted(enumerate(secrets), key=lambda pair: (pair[1].start, pair[0])):
        if apart and one.start < apart[-1][0].end:
            last, best = apart[-1]
            kind = one.kind if place < best else last.kind
            apart[-1] = Secret(kind, last.start, max(last.end, one.end)), min(best, place)
        else:
            apart.append((one, place))
    return [secret for secret, _ in apart]


@cache
def _mask() -> re.Pattern[str]:
    kinds = {rule.kind for rule in rules()} | {KEY_PHRASE}
    return re.compile(rf"(\[masked: (?:{'|'.join(sorted(map(re.escape, kinds)))})\])")
