"""Parses `provider:model` and loads the object that it names. A provider's modules are imported only for that."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoryd import extras
from memoryd.errors import InvalidInputError, ModelError
from memoryd.models.weights import LANGUAGES, WEIGHTS, Weight
from memoryd.settings import Settings

NONE = "none"
_BUNDLED = "bundled"
_HUB = "fastembed"
"""The provider of models with a name as on a hub, `owner/name`."""

_EXTRAS = {"fastembed": "fastembed"}
_FETCHERS = {_BUNDLED: "memoryd.models.pull:pull", "multilingual": "memoryd.models.pull:pull_languages"}
"""The function that fetches the files of a provider's models."""
_CHAT = "memoryd.models.chat:Chat"


@dataclass(frozen=True, slots=True)
class Spec:
    """A provider in lower case and its model; '' for the provider's default."""

    provider: str
    model: str = ""

    @classmethod
    def parse(cls, text: str) -> "Spec":
        """Parse `provider:model`, `provider` or `owner/name`. The provider is checked on loading."""
        provider, _, model = text.strip().partition(":")
        if "/" in provider:
            return cls(_HUB, text.strip())
        return cls(provider.strip().lower(), model.strip())

    @property
    def off(self) -> bool:
        """Whether it is `none`."""
        return self.provider == NONE

    @property
    def bundled(self) -> bool:
        """Whether it names a model whose files memoryd fetches itself."""
        return self.provider in _FETCHERS

    @property
    def files(self) -> Sequence[Weight]:
        """The files of a model that memoryd fetches itself."""
        return WEIGHTS if self.provider == _BUNDLED else LANGUAGES

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}" if self.model else self.provider


def load(spec: Spec, known: Mapping[str, str], settings: Settings) -> Any:
    """Return the object that `spec` names, or None for `none`; `known` maps providers to `module:Class`.

    Raise InvalidInputError for an unknown provider or model, ModelError if it cannot be loaded.
    """
    if spec.off:
        return None
    if spec.provider not in known:
        names = ", ".join(sorted({*known, NONE}))
        raise InvalidInputError(
            f"Unknown model provider {spec.provider!r} in '{spec}'. Use one of {names}, as in `provider:model`, "
            f"or a model's name on a hub, as in `owner/name`."
        )
    provider = extras.load(known[spec.provider], _EXTRAS.get(spec.provider, ""), ModelError)
    return provider(spec.model, settings)


def open_llm(settings: Settings) -> Any:
    """Return the language model of MEMORY_LLM_*."""
    return extras.named(_CHAT)(settings)


def fetch(spec: Spec, directory: Path, report: Callable[[str, float], None]) -> None:
    """Download the missing files of a bundled model into `directory`; raise ModelError if no source has them."""
    extras.named(_FETCHERS[spec.provider])(directory, report)
