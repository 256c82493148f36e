"""What doctor finds on Postgres, and what remains after a repair."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.store.postgres import pool
from tests.core.admin.conftest import Patient
from tests.store.clusters import Cluster, ask, cluster


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster() as started:
        yield started


class ServerPatient(Patient):
    """A database."""

    def __init__(self, home: Path, url: str, **settings: str) -> None:
        self.url = url
        super().__init__(MEMORY_DATA_DIR=str(home), MEMORY_DATABASE_URL=url, **settings)


@pytest.fixture
def patient(home: Path, server: Cluster) -> ServerPatient:
    return ServerPatient(home, server.database())


@pytest.mark.process
def test_doctor_creates_nothing_if_nothing_was_stored(patient: ServerPatient) -> None:
    diagnosis = patient.examine()
    assert diagnosis.findings == []
    assert diagnosis.facts["files"] == {}
    assert "pgvector not in use, schema 0" in diagnosis.facts["store"]
    assert "nothing is stored yet" in diagnosis.facts["store"]
    assert ask(patient.url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []


@pytest.mark.process
def test_facts(patient: ServerPatient) -> None:
    patient.store("one", "two")
    diagnosis = patient.examine()
    assert diagnosis.findings == []
    assert diagnosis.facts["store"].startswith("PostgreSQL 1")
    assert "pgvector 0." in diagnosis.facts["store"]
    (size,) = diagnosis.facts["files"].values()
    assert size > 2**20
    assert diagnosis.facts["workspaces"] == [
        {"name": "default", "records": {"memory": 2}, "deleted": 0, "embedded": {}}
    ]


@pytest.mark.process
def test_an_unreachable_server(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "FAILOVER", 0)
    diagnosis = ServerPatient(home, "postgresql://user:geheim@127.0.0.1:1/memory").examine()
    (finding,) = diagnosis.findings
    assert finding.subject == "127.0.0.1:1/memory"
    assert "refused" in finding.problem
    assert finding.remedy.startswith("Start the server")
    assert diagnosis.facts["store"] == "127.0.0.1:1/memory (unreachable)"
    assert "geheim" not in str(diagnosis)


@pytest.mark.process
def test_a_changed_collation(home: Path, server: Cluster) -> None:
    server.ask("CREATE DATABASE ordered TEMPLATE template0 LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8'")
    patient = ServerPatient(home, server.to("ordered"))
    patient.store("text")
    server.ask("UPDATE pg_database SET datcollversion = '0' WHERE datname = 'ordered'")
    finding = patient.finding()
    assert "they may miss rows" in finding.problem
    for statement in finding.remedy.partition(": ")[2].split("; "):
        ask(patient.url, statement)
    assert patient.examine().findings == []


@pytest.mark.process
def test_an_invalid_index_is_rebuilt(patient: ServerPatient) -> None:
    patient.store("findable")
    ask(patient.url, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'records_words'::regclass")
    finding = patient.finding()
    assert "the index records_words is not valid" in finding.problem
    assert "--repair" in finding.remedy
    assert patient.repair() == []


@pytest.mark.process
def test_a_dropped_extension_is_reported(patient: ServerPatient) -> None:
    patient.store("x")
    ask(patient.url, "DROP EXTENSION unaccent CASCADE")
    assert any("unaccent was dropped" in finding.problem for finding in patient.examine().findings)


@pytest.mark.process
def test_rows_whose_registry_is_lost(patient: ServerPatient) -> None:
    patient.store("one", "two")
    ask(patient.url, "DELETE FROM projects")
    assert patient.finding().problem == "2 records belong to a workspace that is not in the registry"


@pytest.mark.process
def test_damaged_vectors_are_recreated(home: Path, server: Cluster, model_dir: Path) -> None:
    settings = {"MEMORY_EMBEDDER": "bundled", "MEMORY_MODEL_DIR": str(model_dir)}
    patient = ServerPatient(home, server.database(), **settings)
    patient.store("The cat sleeps.", "The port is 5433.", "Tea at four.")
    assert patient.examine().findings == []
    one = "id = (SELECT min(id) FROM embeddings)"
    for damage in ("vector = (vector::vector * 2::real)::halfvec", "dim = 3"):
        ask(patient.url, f"UPDATE embeddings SET {damage.replace('* 2::real', '+ vector::vector')} WHERE {one}")
        finding = patient.finding()
        assert (finding.subject, finding.problem) == ("workspace default", "1 vector is damaged")
        assert patient.repair() == []
    assert ask(patient.url, "SELECT count(*) FROM embeddings") == [3]
