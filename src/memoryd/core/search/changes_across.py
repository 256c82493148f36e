"""Evidence that a text changes what one in another language states: a fact in German, its change in English.

The two hardly have a word in common but names and numbers. So besides words of change in the newer one it counts how
near the two are by the multilingual embedder, and whether the newer one is about what is asked: by its logit, if it is
in the language of the question, else by how near it is to that. Whom the newer text is about, and what stands in the
place of a word of the question, is seen only where the two write it alike.
"""

import re
from collections.abc import Iterator

from memoryd.core.search import foreign_changes
from memoryd.core.search.changes import Evidence
from memoryd.core.search.compared import COUNTERPARTS, compared
from memoryd.core.search.foreign_changes import ForeignText
from memoryd.languages import is_english, is_surely_english

_ANSWERS = ((1.0, 1.5), (0.0, 0.75), (-2.0, 0.25))
"""Logits of a newer text in the language of the question, and their points. Of 21 changes 18 have the first one, of 20
facts beside them 5, of which 4 are about a relative of whom is asked about."""
_CLOSE, _NEAR = 0.7, 0.5
"""How near a newer text in another language than the question is to the question and the older one, in all. Texts in
another language are raised by the usual gap before (see `ranking.gap`)."""
_RELATED, _LEAST = 0.3, 0.2
"""How near it is to the older one at least, and if it has a name or number that the older one states."""
_NAME = re.compile(r"[^\W\da-z_].+|[a-z].*\d|\d{3}")
"""A name, an identifier or a long number, which both texts write alike."""
_OWNER = re.compile(r"\b(\w+)['’]s\b")
"""Whose something is: of `Ivan's parents moved` not Ivan himself."""


def differ(one: str, other: str) -> bool:
    """Return whether one of two texts is surely English, and the other is not English."""
    return any(is_surely_english(text) and not is_english(of) for text, of in ((one, other), (other, one)))


def evidence(question: str, older: str, newer: str, near: float, asked: float, logit: float | None) -> Evidence:
    """Return the evidence that `newer` changes what `older`, in another language, says about a question.

    `near` is the rescaled cosine of the two, `asked` that of the newer one and the question. `logit` tells how well the
    newer one answers the question, if its language is that of the question.
    """
    read = map(foreign_changes.read, (question, older, newer))
    about = _answers(logit) if logit is not None else _about(near, asked)
    parts = dict(_parts(*read, near=near, alike=logit is not None))
    parts["answers"] = max(about, 0.0) if parts.get("old_value") else about
    return Evidence.of(parts.items())


def _answers(logit: float) -> float:
    return next((points for least, points in _ANSWERS if logit >= least), -2.0)


def _about(near: float, asked: float) -> float:
    total = near + asked if near >= _RELATED else 0.0
    return 1.5 if total >= _CLOSE else 0.75 if total >= _NEAR else -1.0


def _parts(
    asked: ForeignText, old: ForeignText, new: ForeignText, *, near: float, alike: bool
) -> Iterator[tuple[str, float]]:
    """Yield what the words say; `alike` says whether the question is in the language of the newer text."""
    text, before = compared(new.text), compared(old.text)
    changes, hints = bool(text.changes or new.signs["changes"]), bool(text.hints or new.signs["hints"])
    if not (changes or hints):
        return
    yield "change_words", 1.5 if changes else 0.75 if alike else 0.5
    stated = old.numbers - asked.numbers
    yield "asked_value", 0.75 if stated and new.numbers - old.numbers else 0.0
    stood = {unit for unit in old.content - asked.content if len(unit) > 2}
    named = any(map(_NAME.search, stood & new.content)) or foreign_changes.names_before(stood, new)
    yield "old_value", 1.3 if changes and named and near >= _LEAST else 0.0
    again = changes and (before.changes or old.signs["changes"]) and old.numbers == new.numbers
    yield "same_change", -2.0 if again else 0.0
    subject = asked.content & old.content
    yield "same_subject", 0.5 if subject & new.content else 0.0
    yield "other_subject", -1.5 if alike and subject - new.content else 0.0
    yield "counterpart", -4.0 if _counterpart(asked.content, new.content) else 0.0
    owners = {owner.lower() for owner in _OWNER.findall(new.text)} - set(map(str.lower, _OWNER.findall(asked.text)))
    of_another = owners & {unit.lower() for unit in asked.content} or new.signs["others"] - asked.signs["others"]
    yield "other_owner", -4.0 if of_another else 0.0
    yield "adds", -3.0 if not changes and new.signs["adds"] else 0.0


def _counterpart(asked: frozenset[str], new: frozenset[str]) -> bool:
    """Return whether the newer text has `production` where the question has `Staging-Server`."""
    # `contrasts.opposite` takes `Staging-Server` for one word, since an English text would
    one, other = ({unit.lower() for unit in units} for units in (asked, new))
    return any(one & words and other & words and not one & other & words for words in COUNTERPARTS)
