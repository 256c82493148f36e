"""From `provider:model` to a loaded object. The one place where a module is imported by its name."""

import importlib
from collections.abc import Mapping
from typing import Any

from memoryd.errors import InvalidInputError, ModelError
from memoryd.settings import Settings

NONE = "none"
_HUB = "fastembed"
"""Who loads a model that is named as on a hub, `owner/name`."""

_INSTALL = {"fastembed": "memoryd[fastembed]", "openai": "memoryd[openai]"}


def parse(spec: str, known: Mapping[str, str]) -> tuple[str, str]:
    """The provider and the model of `provider:model`, `provider` or `owner/name`; the model may be ''.

    Raises InvalidInputError that lists the `known` providers.
    """
    provider, _, model = spec.strip().partition(":")
    if provider.lower() in {*known, NONE}:
        return provider.lower(), model.strip()
    if "/" in provider:
        return _HUB, spec.strip()
    names = ", ".join(sorted({*known, NONE}))
    raise InvalidInputError(
        f"Unknown model provider {provider!r} in {spec!r}. Use one of {names}, as in `provider:model`, "
        f"or a model's name on a hub, as in `owner/name`."
    )


def load(spec: str, known: Mapping[str, str], settings: Settings) -> Any:
    """The object that `spec` names, or None for `none`; `known` maps providers to `module:Class`.

    Raises InvalidInputError for a spec that names nothing, ModelError for what cannot be loaded.
    """
    provider, model = parse(spec, known)
    if provider == NONE:
        return None
    module, _, cls = known[provider].partition(":")
    return getattr(_import(provider, module), cls)(model, settings)


def _import(provider: str, module: str) -> Any:
    install = f"Install it with: pip install '{_INSTALL.get(provider, 'memoryd')}'"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ModelError(f"{error.name} is not installed. {install}") from error
    except ImportError as error:
        raise ModelError(f"What {provider!r} needs is installed but does not load: {error}. {install}") from error
