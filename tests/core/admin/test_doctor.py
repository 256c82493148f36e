"""What doctor finds, fault by fault, and what remains after a repair."""

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from memoryd.core.admin import doctor
from memoryd.core.admin.doctor import Doctor, Finding, changed, slips
from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.core.transfer import migration
from memoryd.errors import InvalidInputError, StoreError
from memoryd.models import weights
from memoryd.settings import Settings
from memoryd.store.sqlite import upkeep
from memoryd.store.sqlite.connection import equipped
from tests.core.admin.conftest import Patient


class FilesPatient(Patient):
    """A data directory."""

    def __init__(self, home: Path, **settings: str) -> None:
        self.data = home / "data"
        super().__init__(MEMORY_DATA_DIR=str(self.data), **settings)

    def sql(self, statement: str, *values: Any, file: str = "memory.db") -> list[Any]:
        database = equipped(apsw.Connection(str(self.data / file)))
        try:
            return database.execute(statement, values).fetchall()
        finally:
            database.close()


@pytest.fixture
def patient(home: Path) -> FilesPatient:
    return FilesPatient(home)


@pytest.fixture
def embedded(home: Path, model_dir: Path) -> FilesPatient:
    """A patient with the bundled embedder and a few memories."""
    patient = FilesPatient(home, MEMORY_EMBEDDER="bundled", MEMORY_MODEL_DIR=str(model_dir))
    patient.store("The cat sleeps.", "The port is 5433.", "Tea at four.")
    return patient


# what is in force ----------------------------------------------------------------------------------------------------


def test_doctor_creates_nothing_if_nothing_was_stored(patient: FilesPatient) -> None:
    diagnosis = patient.examine()
    assert diagnosis.findings == []
    assert diagnosis.facts["files"] == {}
    assert "nothing is stored yet" in diagnosis.facts["store"]
    assert not patient.data.exists()


def test_an_empty_store_names_the_other_one_that_has_data(patient: FilesPatient) -> None:
    (patient.data / "postgres").mkdir(parents=True)
    assert f"but in {patient.data}/postgres, which MEMORY_DATABASE_URL=postg" in patient.examine().facts["store"]


def test_facts(patient: FilesPatient) -> None:
    patient.store("one", "two")
    patient.store("three", workspace="other")
    patient.sql("UPDATE records SET deleted_at = updated_at WHERE body = 'two'")
    patient.store("four")
    patient.sql("UPDATE records SET deleted_at = updated_at, kind = 'summary' WHERE body = 'four'")
    diagnosis = patient.examine()
    assert diagnosis.findings == []
    facts = diagnosis.facts
    assert {"memoryd", "python", "store", "durability", "models", "embedder", "reranker"} <= facts.keys()
    assert facts["workspaces"] == [
        {"name": "default", "records": {"memory": 1}, "deleted": 2, "embedded": {}},
        {"name": "other", "records": {"memory": 1}, "deleted": 0, "embedded": {}},
    ]
    assert [Path(path).name for path in facts["files"]] == ["_meta.db", "memory.db"]


def test_changed_settings_go_by_their_variables_and_keep_secrets() -> None:
    given = {"MEMORY_NAMESPACE": "work", "OPENAI_API_KEY": "sk-secret", "MEMORY_DURABILITY": "full"}
    settings = Settings.read({**given, "MEMORY_SERVICE": "off"})
    assert changed(settings) == {"MEMORY_NAMESPACE": "work", "OPENAI_API_KEY": "(set)", "MEMORY_SERVICE": "off"}


def test_a_misspelled_variable_is_reported_with_the_right_one() -> None:
    environ = {"MEMORY_NAMESPCE": "x", "MEMORY_NAMESPACE": "y", "MEMORY_LIMIT_OF_A_CONTAINER": "1", "OTHER": "z"}
    (finding,) = slips(environ)
    assert (finding.subject, finding.remedy) == ("MEMORY_NAMESPCE", "Did you mean MEMORY_NAMESPACE?")


def test_a_variable_that_begins_with_the_name_of_the_program_is_misspelled() -> None:
    (finding,) = slips({"MEMORYD_DATA_DIR": "x", "MEMORYD_TOKEN": "y"})  # a client's, see `memoryd install --http`
    assert (finding.subject, finding.remedy) == ("MEMORYD_DATA_DIR", "Did you mean MEMORY_DATA_DIR?")


# models and disk -----------------------------------------------------------------------------------------------------


def test_missing_and_corrupt_model_files_are_named_once(home: Path, model_dir: Path) -> None:
    patient = FilesPatient(
        home, MEMORY_EMBEDDER="bundled", MEMORY_RERANKER="bundled", MEMORY_MODEL_DIR=str(home / "models")
    )
    shutil.copytree(model_dir, home / "models")
    corrupt, missing = home / "models" / weights.EMBEDDER / "model.onnx", home / "models" / weights.RERANKER
    with corrupt.open("r+b") as file:
        file.write(b"#")
    shutil.rmtree(missing)
    problems = {finding.subject: finding.problem for finding in patient.examine().findings}
    assert problems == {
        str(corrupt): "the model file is corrupt",
        str(missing / "model.onnx"): "the model file is missing",
        str(missing / "tokenizer.json"): "the model file is missing",
    }


def test_a_corrupt_file_of_the_model_for_other_languages(home: Path, model_dir: Path) -> None:
    shutil.copytree(model_dir, home / "models")
    patient = FilesPatient(home, MEMORY_EMBEDDER="bundled", MEMORY_MODEL_DIR=str(home / "models"))
    assert patient.examine().findings == []
    corrupt = home / "models" / weights.MULTILINGUAL / "weights.bin"
    with corrupt.open("r+b") as file:
        file.write(b"#")
    finding = patient.finding()
    assert (finding.subject, finding.problem) == (str(corrupt), "the model file is corrupt")
    assert finding.remedy == "Run `memoryd models pull --all`."


def test_a_model_that_does_not_load(home: Path) -> None:
    finding = FilesPatient(home, MEMORY_EMBEDDER="unknown:nothing").finding()
    assert finding.subject == "model unknown:nothing"
    assert "Unknown model provider" in finding.problem
    assert finding.remedy


def test_a_wrong_setting_is_corrected_not_restored(home: Path) -> None:
    finding = FilesPatient(home, MEMORY_EMBEDDER="ollama:one", OLLAMA_HOST="file:///etc/passwd").finding()
    assert "OLLAMA_HOST is not an address of http or https" in finding.problem
    assert finding.remedy == "Correct that, then run `memoryd doctor` again."


def test_a_disk_that_is_nearly_full(patient: FilesPatient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(100, 99, 1))
    assert "the disk has 0 MiB left" in patient.finding().problem


def test_a_file_in_place_of_the_directory(patient: FilesPatient) -> None:
    patient.data.parent.mkdir(exist_ok=True)
    patient.data.write_text("in the way")
    assert "it is a file" in patient.finding().problem
    with pytest.raises(StoreError, match="is not a directory"):
        patient.store("nowhere")


# database files ------------------------------------------------------------------------------------------------------


def test_words_that_do_not_match_are_indexed_again(patient: FilesPatient) -> None:
    patient.store("findable")
    patient.sql("INSERT INTO records_fts(records_fts) VALUES ('delete-all')")
    finding = patient.finding()
    assert finding.subject == str(patient.data / "memory.db")
    assert "words do not match" in finding.problem
    assert "--repair" in finding.remedy
    assert patient.repair() == []


def test_damaged_pages_do_not_hide_the_rest(patient: FilesPatient) -> None:
    patient.store(*(f"memory number {number} " * 40 for number in range(60)))
    patient.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    with (patient.data / "memory.db").open("r+b") as file:
        file.seek(4096 * 60)
        file.write(b"\xff" * 4096 * 3)
    findings = patient.examine().findings
    assert {finding.subject for finding in findings} <= {str(patient.data / "memory.db"), "workspace default"}
    assert any("damaged" in finding.problem for finding in findings)
    assert all(finding.remedy for finding in findings)
    assert not any("memoryd doctor`, or" in finding.remedy for finding in findings), "it is running"


@pytest.mark.parametrize("file", ["_meta.db", "memory.db"])
def test_a_file_that_is_not_a_database(patient: FilesPatient, file: str) -> None:
    patient.store("x")
    (patient.data / file).write_bytes(b"something else" * 500)
    finding = patient.examine().findings[0]
    assert (finding.subject, finding.problem) == (str(patient.data / file), "is not a SQLite database")


def test_a_database_from_the_future(patient: FilesPatient) -> None:
    patient.store("x")
    patient.sql("PRAGMA user_version = 9999", file="_meta.db")
    finding = patient.finding()
    assert "schema version 9999" in finding.problem
    assert "Upgrade memoryd" in finding.remedy


@pytest.mark.parametrize("state", ["missing", "empty", "damaged"])
def test_a_workspace_whose_file_is_gone_emptied_or_cut(patient: FilesPatient, state: str) -> None:
    patient.store("x")
    file = patient.data / "memory.db"
    if state == "missing":
        file.unlink()
    else:
        os.truncate(file, 0 if state == "empty" else 40_960)
    first = patient.examine().findings[0]
    assert f"memory.db is {state}" in f"{first.subject} {first.problem}"
    assert "backup" in first.remedy
    with pytest.raises(StoreError, match=rf"memory\.db is {state}"):
        patient.store("new")
    assert file.exists() == (state != "missing")
    assert state != "empty" or not file.stat().st_size


def test_rows_whose_registry_is_lost(patient: FilesPatient) -> None:
    patient.store("one", "two")
    patient.sql("DELETE FROM projects", file="_meta.db")
    patient.store("three")
    finding = patient.finding()
    assert finding.problem == "2 records belong to a workspace that is not in the registry"
    assert "_meta.db" in finding.remedy


@pytest.mark.parametrize("state", ["missing", "empty"])
def test_a_lost_registry_is_reported_and_not_recreated(patient: FilesPatient, state: str) -> None:
    patient.store("one")
    registry = patient.data / "_meta.db"
    registry.unlink()
    if state == "empty":
        registry.touch()
    diagnosis = patient.examine()
    (finding,) = diagnosis.findings
    assert (finding.subject, f"is {state}" in finding.problem) == (str(registry), True)
    assert "Put the file back" in finding.remedy
    assert "nothing is stored yet" not in diagnosis.facts["store"]
    with pytest.raises(StoreError, match=rf"_meta\.db is {state}"):
        patient.store("two")
    assert not (registry.exists() and registry.stat().st_size)


def test_a_journal_that_is_not_a_write_ahead_log(patient: FilesPatient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a drive that cannot share memory, where SQLite keeps a rollback journal."""
    monkeypatch.setattr("memoryd.store.sqlite.file._log_ahead", lambda _: None)
    patient.store("x")
    problems = {finding.problem for finding in patient.examine().findings}
    assert any("journal is delete instead of wal" in problem for problem in problems)


def test_a_large_write_ahead_log(patient: FilesPatient, monkeypatch: pytest.MonkeyPatch) -> None:
    patient.store("x")
    monkeypatch.setattr(upkeep, "LARGE_LOG", -1)
    findings = patient.examine().findings
    assert len(findings) == 2
    assert "write-ahead log has grown" in findings[0].problem


# vectors -------------------------------------------------------------------------------------------------------------


def _vector(value: float) -> bytes:
    return np.full(384, value, np.float16).tobytes()


def test_a_backup_knows_the_workspace_of_every_row_in_it(home: Path, tmp_path: Path) -> None:
    FilesPatient(home).store("before")

    def meanwhile(_what: str, done: float) -> None:
        if done < 0.5:
            FilesPatient(home).store("of another process", workspace="new")

    with Engine(FilesPatient(home).settings, fetch=False) as engine:
        migration.backup(engine, tmp_path / "backup.db", meanwhile)
    with Engine(FilesPatient(home, MEMORY_DB_PATH=str(tmp_path / "backup.db")).settings, fetch=False) as engine:
        assert Doctor(engine, lambda *_: None).examine().findings == []
        assert [one.name for one in engine.workspaces.all()] == ["default", "new"]


def test_a_damaged_archive_is_found_and_keeps_a_backup_from_being_made(patient: FilesPatient, tmp_path: Path) -> None:
    with Engine(patient.settings, fetch=False) as engine:
        place = engine.workspaces.create("old")
        memories = Memories(Scope(engine, place))
        for number in range(50):
            memories.store(f"{number} " + "text " * 100)
        engine.workspaces.archive("old")
    assert patient.examine().findings == []
    file = patient.data / "archive" / f"{place.id}.db"
    with closing(apsw.Connection(str(file))) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'records'").get
    with file.open("r+b") as pages:
        pages.seek((root - 1) * 4096)
        pages.write(b"\xff" * 4096)
    assert {finding.subject for finding in patient.examine().findings} == {str(file)}
    with Engine(patient.settings, fetch=False) as engine, pytest.raises(StoreError, match="is damaged") as raised:
        migration.backup(engine, tmp_path / "copy.db", lambda *_: None)
    assert str(file) in str(raised.value)


@pytest.mark.parametrize(
    "bad",
    [
        (b"\0" * 10, b"", _vector(0)),
        (_vector(1), _vector(float("nan")), np.ones(384, np.float32).tobytes()),
    ],
)
def test_damaged_vectors_are_recreated(embedded: FilesPatient, bad: tuple[bytes, ...]) -> None:
    assert embedded.examine().findings == []
    for seq, vector in enumerate(bad, 1):
        embedded.sql("UPDATE embeddings SET vector = ? WHERE seq = ?", vector, seq)
    finding = embedded.finding()
    assert (finding.subject, finding.problem) == ("workspace default", "3 vectors are damaged")
    assert embedded.repair() == []
    assert embedded.sql("SELECT count(*), min(length(vector)) FROM embeddings") == [(3, 768)]
    assert ("embedding", 1.0) in embedded.steps


def test_a_vector_of_another_dimension_is_damaged(embedded: FilesPatient) -> None:
    short = np.zeros(128, np.float16)
    short[0] = 1
    embedded.sql("UPDATE embeddings SET dim = 128, vector = ? WHERE seq = 1", short.tobytes())
    assert "1 vector is damaged" in embedded.finding().problem
    assert embedded.repair() == []


def test_vectors_supplied_by_callers_are_not_checked(embedded: FilesPatient) -> None:
    embedded.sql(
        "INSERT INTO embeddings (workspace_id, id, chunk, perspective, model, dim, vector)"
        " SELECT workspace_id, id, 0, 'client', 'client', 3, ? FROM embeddings LIMIT 1",
        np.array([3, 4, 5], np.float32).tobytes(),
    )
    assert embedded.repair() == []
    assert embedded.sql("SELECT count(*) FROM embeddings WHERE perspective = 'client'") == [(1,)]


def test_texts_in_other_languages_whose_model_is_missing(home: Path, model_dir: Path) -> None:
    some = home / "models"
    some.mkdir(parents=True)
    for model in (weights.EMBEDDER, weights.RERANKER):
        (some / model).symlink_to(model_dir / model)
    patient = FilesPatient(home, MEMORY_EMBEDDER="bundled", MEMORY_MODEL_DIR=str(some))
    patient.store("家賃は毎月三日に払っている。")
    assert "`memoryd models pull --all`" in patient.finding().remedy
    english = FilesPatient(home, MEMORY_EMBEDDER="bundled", MEMORY_MODEL_DIR=str(some), MEMORY_MODELS="english")
    assert "`memoryd models pull --all`" not in english.finding().remedy


def test_missing_vectors_and_those_of_another_model(embedded: FilesPatient) -> None:
    embedded.sql("UPDATE embeddings SET model = 'older:model' WHERE seq = 1")
    embedded.sql("DELETE FROM embeddings WHERE seq = 2")
    missing, older = embedded.examine().findings
    assert missing.problem == "2 records have no vector yet"
    assert older.problem == "1 record still has vectors of older:model"
    assert embedded.repair() == []
    assert embedded.sql("SELECT DISTINCT model FROM embeddings") == [("bundled:e5-small-v2",)]


def test_a_read_only_engine_repairs_nothing(home: Path) -> None:
    with (
        Engine(FilesPatient(home, MEMORY_READ_ONLY="1").settings, fetch=False) as engine,
        pytest.raises(InvalidInputError),
    ):
        Doctor(engine, lambda *_: None).repair()


def test_a_check_that_is_cut_short_keeps_what_it_found(patient: FilesPatient) -> None:
    def check() -> Iterator[Finding]:
        yield Finding("a", "b", "c")
        raise StoreError("the file is gone. Look for it.")

    assert doctor._guarded("s", check()) == [Finding("a", "b", "c"), Finding("s", "the file is gone", "Look for it.")]
