"""Databases as administrators make them: what memoryd takes as it is, and what it refuses, saying what to do."""

import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from psycopg import errors

from memoryd.core.admin.doctor import Doctor
from memoryd.core.base.progress import ignore_progress
from memoryd.core.engine import Engine
from memoryd.errors import StoreError
from memoryd.settings import Settings
from memoryd.store.postgres.failures import TransientError, explained
from memoryd.store.postgres.store import PostgresStore
from tests.clients import NO_MODELS
from tests.store.clusters import ask
from tests.store.kit import put, together, words, workspace

EXTENSIONS = ("vector", "btree_gin", "unaccent")


class Site:
    """An empty database, and the role that owns it, without other rights."""

    def __init__(self, server: str, name: str, making: str) -> None:
        self._server, self.role = server, name
        self.admin(f"CREATE ROLE {name} LOGIN", f"CREATE DATABASE {name} OWNER {name} {making}")
        self._inside = server.replace("/postgres?", f"/{name}?")
        self.url = self._inside.replace("postgres@", f"{name}@")

    def admin(self, *statements: str) -> None:
        for statement in statements:
            ask(self._server, statement)

    def inside(self, *statements: str) -> None:
        for statement in statements:
            ask(self._inside, statement)

    def extended(self, schema: str = "public") -> None:
        self.inside(*(f"CREATE EXTENSION {name} SCHEMA {schema}" for name in EXTENSIONS))

    def set(self, **settings: str) -> None:
        self.admin(*(f"ALTER ROLE {self.role} SET {name} = {value}" for name, value in settings.items()))

    def refusal(self) -> str:
        """What a store says, and doctor too."""
        with (
            closing(PostgresStore(self.url)) as store,
            pytest.raises(StoreError, match="Nothing was changed") as caught,
        ):
            put(store, workspace(), "text")
        told = self.told()
        assert len(told) == 1
        assert told[0] in str(caught.value)
        return str(caught.value)

    def told(self) -> list[str]:
        """What doctor would do about it."""
        with Engine(Settings.read({**NO_MODELS, "MEMORY_DATABASE_URL": self.url}), fetch=False) as engine:
            return [finding.remedy.rstrip(".") for finding in Doctor(engine, ignore_progress).examine().findings]


@pytest.fixture
def site(postgres: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    name = "site_" + hashlib.sha256(str(tmp_path).encode()).hexdigest()[:16]
    made = Site(postgres, name, getattr(request, "param", ""))
    yield made
    made.admin(f"DROP DATABASE {name} WITH (FORCE)", f"DROP ROLE {name}")


def test_doctor_tries_whether_the_schema_can_be_made_and_makes_none(site: Site) -> None:
    assert "Let an operator say there: CREATE EXTENSION" in site.refusal()
    site.extended()
    assert site.told() == []
    with closing(PostgresStore(site.url)) as store:
        assert not store.placement.exists()


def test_extensions_where_the_role_does_not_look_are_named_with_their_schema(site: Site) -> None:
    site.inside("CREATE SCHEMA extensions")
    site.extended("extensions")
    assert f'USAGE ON SCHEMA "extensions" TO "{site.role}"' in site.refusal()
    site.inside(f"GRANT USAGE ON SCHEMA extensions TO {site.role}")
    site.set(search_path='"$user", public, extensions')
    here = workspace()
    with closing(PostgresStore(site.url)) as store:
        put(store, here, "Überfahrt")
        assert words(store, here, "uberfahrt") == ["Überfahrt"]


@pytest.mark.parametrize("taken", ["schema_version (version TEXT, success BOOLEAN)", "sessions (id INTEGER)"])
def test_tables_of_another_program_are_left_alone_and_a_schema_of_its_own_helps(site: Site, taken: str) -> None:
    site.extended()
    site.inside(f"CREATE TABLE {taken}")
    commands = site.refusal().partition("give it a schema there: ")[2]
    site.inside(commands)
    here = workspace()
    with closing(PostgresStore(site.url)) as store:
        put(store, here, "red")
        assert words(store, here, "red") == ["red"]
        assert store.upkeep.problems(None) == []


def test_doctor_says_how_what_was_dropped_is_made_again(site: Site) -> None:
    site.extended()
    with closing(PostgresStore(site.url)) as store:
        store.placement.create(None)
        assert store.upkeep.problems(None) == []
        site.inside("DROP INDEX records_name, acts_operation", "DROP TRIGGER records_reworded ON records")
        said = store.upkeep.problems(None)
        assert [problem.partition(" was dropped")[0] for problem in said] == [
            "the index records_name",
            "the trigger records_reworded",
            "the index acts_operation",
        ]
        site.inside(*(problem.partition("say: ")[2] for problem in said))
        assert store.upkeep.problems(None) == []
        site.inside("DROP EXTENSION unaccent CASCADE")
        assert [problem.partition(" was dropped")[0] for problem in store.upkeep.problems(None)] == [
            "the extension unaccent",
            "the text search configuration memoryd",
        ]
        with pytest.raises(StoreError, match=r"cannot be used .*run `memoryd doctor`"):
            words(store, workspace(), "red")


PLAIN = "TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C' ENCODING"


@pytest.mark.parametrize("site", [f"{PLAIN} 'LATIN1'", f"{PLAIN} 'SQL_ASCII'"], indirect=True)
def test_an_encoding_that_does_not_hold_every_text_is_refused(site: Site) -> None:
    site.extended()
    assert "ENCODING 'UTF8'" in site.refusal()


def test_what_a_role_has_set_for_other_programs_changes_nothing(site: Site) -> None:
    site.extended()
    site.set(
        client_encoding="LATIN1", standard_conforming_strings="off", default_transaction_isolation="serializable",
        bytea_output="escape", datestyle="'SQL, DMY'", intervalstyle="sql_standard", quote_all_identifiers="on",
    )  # fmt: skip
    here = workspace()
    with closing(PostgresStore(site.url)) as one, closing(PostgresStore(site.url)) as other:
        stores = (one, other)
        assert together(lambda number: [put(stores[number % 2], here, f"日本 {number}\\'") for _ in range(10)], 8) == []
        assert len(words(one, here, "日本", limit=100)) == 80


def test_a_process_with_fewer_connections_than_it_takes_waits_for_its_own(site: Site) -> None:
    site.extended()
    here = workspace()
    with closing(PostgresStore(site.url)) as store:
        put(store, here, "text")
        site.admin(f"ALTER ROLE {site.role} CONNECTION LIMIT 2")
        assert together(lambda _: [put(store, here, "text") for _ in range(5)], 8) == []
    assert ask(site.url, "SELECT count(*) FROM records") == [41]


@pytest.mark.parametrize("error", [errors.IdleInTransactionSessionTimeout, errors.TransactionTimeout])
def test_a_transaction_that_the_server_ended_is_no_damage(error: type[errors.InternalError]) -> None:
    with pytest.raises(TransientError, match=r"ended this transaction .*Nothing was stored"), explained("here"):
        raise error("terminating connection")
