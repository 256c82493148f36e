"""From `provider:model` to a loaded object: the modules of a provider are imported when it is used."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoryd import extras
from memoryd.errors import InvalidInputError, ModelError
from memoryd.settings import Settings

NONE = "none"
_BUNDLED = "bundled"
_HUB = "fastembed"
"""Who loads a model that is named as on a hub, `owner/name`."""

_EXTRAS = {"fastembed": "fastembed", "openai": "openai"}
_FETCHERS = {_BUNDLED: "memoryd.models.pull:pull"}
"""The function that fetches the files of a provider's models."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What a setting names: a provider in lower case, and its model; '' is its usual one."""

    provider: str
    model: str = ""

    @classmethod
    def parse(cls, text: str) -> "Spec":
        """From `provider:model`, `provider` or `owner/name`. Whether there is such a provider shows when it loads."""
        provider, _, model = text.strip().partition(":")
        if "/" in provider:
            return cls(_HUB, text.strip())
        return cls(provider.strip().lower(), model.strip())

    @property
    def off(self) -> bool:
        """Whether it says that there shall be no model."""
        return self.provider == NONE

    @property
    def bundled(self) -> bool:
        """Whether it names a model whose files memoryd brings along."""
        return self.provider == _BUNDLED

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}" if self.model else self.provider


def load(spec: Spec, known: Mapping[str, str], settings: Settings) -> Any:
    """The object that `spec` names, or None for `none`; `known` maps providers to `module:Class`.

    Raises InvalidInputError for a spec that names nothing, ModelError for what cannot be loaded.
    """
    if spec.off:
        return None
    if spec.provider not in known:
        names = ", ".join(sorted({*known, NONE}))
        raise InvalidInputError(
            f"Unknown model provider {spec.provider!r} in '{spec}'. Use one of {names}, as in `provider:model`, "
            f"or a model's name on a hub, as in `owner/name`."
        )
    found = extras.load(known[spec.provider], _EXTRAS.get(spec.provider, ""), ModelError)
    return found(spec.model, settings)


def fetch(spec: Spec, directory: Path, report: Callable[[str, float], None]) -> None:
    """Fetch the missing files of a bundled model into `directory`; raise ModelError if no source has them."""
    extras.named(_FETCHERS[spec.provider])(directory, report)
