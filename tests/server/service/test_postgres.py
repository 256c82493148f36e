"""A service on Postgres: one per database, as durable as a server, and it shows no passwords."""

import json
from pathlib import Path

import psycopg
import pytest

from tests.clients import database
from tests.server.service.kit import begun, connected, gone, kill, pid, place, state

pytestmark = pytest.mark.process


@pytest.fixture
def url(postgres: str, home: Path) -> str:
    return database(postgres, home)


def bodies(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [str(row[0]) for row in connection.execute("SELECT body FROM records").fetchall()]


def connections(url: str) -> int:
    with psycopg.connect(url) as connection:
        query = "SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database()"
        (number,) = connection.execute(query).fetchone() or (0,)
        return int(number)


def test_clients_of_a_database_share_a_service_and_its_writes_outlive_it(home: Path, url: str) -> None:
    here = {"MEMORY_DATABASE_URL": url}
    begun(home, **here)
    begun(home, MEMORY_DB_PATH=str(home / "own.db"))
    with connected(home, **here) as one, connected(home, **here) as other:
        assert state(home, **here)["clients"] == 2
        one.call("memory_store", content="The ferry leaves at seven.")
        assert "ferry" in json.dumps(other.call("memory_recall", query="ferry"))
        with connected(home, "--db", str(home / "own.db")) as elsewhere:
            assert "ferry" not in json.dumps(elsewhere.call("memory_recall", query="ferry"))
            assert pid(home, MEMORY_DB_PATH=str(home / "own.db")) != pid(home, **here)
        posted = [one.ask("memory_store", content=f"Boat {number}.") for number in range(60)]
        one.answer(posted[1])
        kill(pid(home, **here))
        answers = [one.answer(number) for number in posted]
        acknowledged = {f"Boat {number}." for number, answer in enumerate(answers) if "result" in answer}
        kept = bodies(url)
        assert acknowledged <= set(kept)
        assert len(kept) == len(set(kept))
        assert "ferry" in json.dumps(other.call("memory_recall", query="ferry"))
        assert not one.call("memory_store", content="And it goes on.")["isError"]
        assert state(home, **here)["clients"] == 2
        assert connections(url) <= 16, "as many as one process may have"
        assert {one.stderr(), other.stderr()} == {""}
    gone(home, **here)


def test_read_only_clients_have_a_read_only_service(home: Path, url: str) -> None:
    """A replica accepts no writes, not even those of background work."""
    here, reading = {"MEMORY_DATABASE_URL": url}, {"MEMORY_DATABASE_URL": url, "MEMORY_READ_ONLY": "true"}
    begun(home, **here)
    begun(home, **reading)
    with connected(home, **here) as one, connected(home, **reading) as two:
        one.call("memory_store", content="The ferry leaves at seven.")
        assert "ferry" in json.dumps(two.call("memory_recall", query="ferry"))
        assert pid(home, **here) != pid(home, **reading)


def test_a_password_is_shown_nowhere(home: Path, url: str) -> None:
    secret = "correct-horse-battery"
    here = {"MEMORY_DATABASE_URL": url, "PGPASSWORD": secret}
    with connected(home, **here) as wire:
        wire.call("memory_store", content="A text.")
        service = state(home, **here)
        assert secret not in json.dumps(service)
        assert secret not in Path(f"/proc/{service['pid']}/cmdline").read_text()
        assert url not in Path(f"/proc/{service['pid']}/cmdline").read_text()
    assert secret not in Path(place(home, **here).log).read_text()
