"""The rules by which secrets are found: tokens, forms, labelled values, key phrases."""

from functools import cache

from memoryd.core.security import secret_forms, secret_labels, secret_tokens
from memoryd.core.security.secret_search import Rule


@cache
def rules() -> tuple[Rule, ...]:
    """Return all rules, the most specific kinds first."""
    return (
        *secret_tokens.rules(),
        *secret_forms.FORMS,
        *secret_labels.rules(),
        *secret_forms.commands(),
        secret_tokens.OF_ANY_VENDOR,
    )


KEY_PHRASE = "key phrase"


def kinds() -> frozenset[str]:
    """Return the kinds of secrets."""
    return frozenset(rule.kind for rule in rules()) | {KEY_PHRASE}
