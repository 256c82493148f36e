"""The bundled models at the command line: fetch, list, move; and counting what a language model would be asked."""

import json
import re
import shutil
from pathlib import Path

import pytest

from memoryd.models import helpers, pull, weights
from tests.cli.test_commands import Run, error_line, run, stored
from tests.core.kit import NOMIC, ollama

__all__ = ["run"]


def test_without_models_a_command_says_so_and_fetches_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(helpers, "fetch", lambda *_: pytest.fail("a command fetches"))
    empty = {"MEMORY_EMBEDDER": "bundled", "MEMORY_RERANKER": "bundled", "MEMORY_MODEL_DIR": str(tmp_path / "none")}
    for arguments in (("store", "words only"), ("recall", "words"), ("context", "words")):
        result = run(*arguments, **empty)
        assert result.stderr.count("\n") == 1
        assert "memoryd models pull" in result.stderr
    assert "words only" in run("recall", "words", **empty).stdout


def test_with_models_the_vector_is_written_at_once(run: Run, model_dir: Path) -> None:
    models = {"MEMORY_EMBEDDER": "bundled", "MEMORY_RERANKER": "bundled", "MEMORY_MODEL_DIR": str(model_dir)}
    run("store", "The cat sleeps on the sofa.", **models)
    stats = json.loads(run("inspect", "--json", **models).stdout)["stats"]
    assert list(stats["embedded"].values()) == [1]
    assert "The cat sleeps" in run("recall", "where does the kitten rest?", **models).stdout


def test_models_are_listed_with_their_state(run: Run, model_dir: Path, tmp_path: Path) -> None:
    models = {"MEMORY_EMBEDDER": "bundled", "MEMORY_MODEL_DIR": str(tmp_path / "copy")}
    shutil.copytree(model_dir / weights.EMBEDDER, tmp_path / "copy" / weights.EMBEDDER)
    with (tmp_path / "copy" / weights.EMBEDDER / "tokenizer.json").open("r+b") as file:
        file.write(b"#")
    listed = json.loads(run("models", "list", "--json", **models).stdout)
    assert [(model["state"], model["in_force"]) for model in listed["models"]] == [
        ("corrupt", True),
        ("missing", False),
        ("missing", True),
    ]
    assert listed["in_force"] == {
        "embedder": "bundled", "reranker": "none", "other languages": "multilingual:e5-small"
    }  # fmt: skip
    assert re.search(r"embedder +corrupt", run("models", "list", **models).stdout)
    assert "is corrupt. Run `memoryd models pull`" in run("store", "x", **models).stderr


def test_pulling_existing_models_only_verifies_them(run: Run, model_dir: Path) -> None:
    output = run("models", "pull", MEMORY_MODEL_DIR=str(model_dir), PIP_NO_INDEX="1").stdout
    assert output == f"The models in {model_dir} are verified.\n"


@pytest.mark.process
def test_a_pull_that_fails_says_why(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull, "SOURCES", pull.SOURCES[:1])
    nothing = {"MEMORY_MODEL_DIR": str(tmp_path / "none"), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    assert "pip could not download" in error_line(run("models", "pull", code=1, **nothing))


def test_models_go_from_one_machine_to_another(run: Run, model_dir: Path, tmp_path: Path) -> None:
    here, there = {"MEMORY_MODEL_DIR": str(model_dir)}, {"MEMORY_MODEL_DIR": str(tmp_path / "there")}
    file = str(tmp_path / "models.zip")
    assert run("models", "pull", "--all", **here).stdout.startswith(f"The models in {model_dir} are verified.")
    assert run("models", "export", file, **here).stdout == f"Wrote {file}: 151 MB.\n"
    assert run("models", "import", file, **there).stdout == f"The models in {tmp_path / 'there'} are verified.\n"
    listed = json.loads(run("models", "list", "--json", **there).stdout)
    assert [(model["state"], Path(model["path"]).parent) for model in listed["models"]] == [
        ("verified", tmp_path / "there")
    ] * 3
    (tmp_path / "foreign.zip").write_text("foreign")
    assert "is not an archive of the models" in error_line(
        run("models", "import", str(tmp_path / "foreign.zip"), code=2, **there)
    )
    assert "models are" not in error_line(run("models", "import", str(tmp_path / "none.zip"), code=1, **there))


def test_a_dry_run_counts_what_a_language_model_would_be_asked(run: Run, model_dir: Path) -> None:
    models = {"MEMORY_EMBEDDER": "bundled", "MEMORY_MODEL_DIR": str(model_dir)}
    for text in ("The user lives in Berlin.", "The user moved to Lisbon last week."):
        stored(run, text)
    run("maintain")  # by words only
    unreachable = {**models, "MEMORY_LLM_BASE_URL": "http://127.0.0.1:1/v1"}
    counted = json.loads(run("maintain", "--dry-run", "--json", **unreachable).stdout)
    assert counted["prompts"] == 1
    assert f"at most 1, with about {counted['tokens']:,} tokens" in run("maintain", "--dry-run", **unreachable).stderr


def test_a_dry_run_lists_pairs_that_may_contradict(run: Run, model_dir: Path) -> None:
    models = {"MEMORY_EMBEDDER": "bundled", "MEMORY_MODEL_DIR": str(model_dir)}
    older, newer, *_ = (
        stored(run, text)
        for text in (
            "The stand-up is at 09:45.",
            "The stand-up moved to 10:15.",
            *(f"The {door} door is red." for door in ("front", "back")),
        )
    )
    (pair,) = json.loads(run("maintain", "--dry-run", "--json", **models).stdout)["contradictions"]
    assert (pair["older"]["id"], pair["newer"]["id"], pair["why"][0]) == (older, newer, "speaks of a change")
    result = run("maintain", "--dry-run", **models)
    first, second, why = result.stdout.splitlines()
    day = pair["newer"]["created_at"][:10]
    assert first == f"- {newer[:8]} of {day} may replace: The stand-up moved to 10:15."
    assert second == f"  {older[:8]} of {day}: The stand-up is at 09:45."
    assert why.startswith("  speaks of a change, ")
    assert "1 pair may contradict" in result.stderr
    assert "contradictions" not in json.loads(run("maintain", "--json", **models).stdout)
    run("forget", older, "--yes")
    assert run("maintain", "--dry-run", **models).stdout == "There is nothing to do.\n"


def test_everything_stored_is_embedded_with_another_model(run: Run) -> None:
    run("store", "the cat sleeps")
    run("store", "el gato duerme", "--workspace", "casa")
    with ollama() as server:
        given = {"OLLAMA_HOST": server.url}
        output = run("models", "use", NOMIC, **given).stdout
        assert f"MEMORY_EMBEDDER={NOMIC}" in output
        for workspace in ("default", "casa"):
            stats = json.loads(run("inspect", "--json", "--workspace", workspace, **given).stdout)["stats"]
            assert stats["embedded"] == {NOMIC: 1}
        server.fails = lambda _text: True
        assert "out of memory" in run("models", "use", NOMIC, **given, code=1).stderr
    assert "Name one" in run("models", "use", "none", code=1).stderr
