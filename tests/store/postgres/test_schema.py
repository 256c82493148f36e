"""Databases as administrators create them: what memoryd accepts, and what it refuses, with the remedy."""

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
from memoryd.store.postgres import schema
from memoryd.store.postgres.failures import TransientError, explained
from memoryd.store.postgres.store import PostgresStore
from memoryd.store.sql import migrations
from tests.clients import NO_MODELS
from tests.store.clusters import ask
from tests.store.kit import put, together, words, workspace

EXTENSIONS = ("vector", "btree_gin", "unaccent")


class Site:
    """An empty database, and the role that owns it, without other rights."""

    def __init__(self, server: str, name: str, making: str) -> None:
        self._server, self.role = server, name
        self.admin(f"CREATE ROLE {name} LOGIN", f"CREATE DATABASE {name} OWNER {name} {making}")
        self.inside_url = server.replace("/postgres?", f"/{name}?")
        self.url = self.inside_url.replace("postgres@", f"{name}@")

    def admin(self, *statements: str) -> None:
        for statement in statements:
            ask(self._server, statement)

    def inside(self, *statements: str) -> None:
        for statement in statements:
            ask(self.inside_url, statement)

    def extended(self, schema: str = "public") -> None:
        self.inside(*(f"CREATE EXTENSION {name} SCHEMA {schema}" for name in EXTENSIONS))

    def set(self, **settings: str) -> None:
        self.admin(*(f"ALTER ROLE {self.role} SET {name} = {value}" for name, value in settings.items()))

    def refusal(self) -> str:
        """Return the error of a store, which doctor reports too."""
        with (
            closing(PostgresStore(self.url)) as store,
            pytest.raises(StoreError, match="Nothing was changed") as caught,
        ):
            put(store, workspace(), "text")
        (remedy,) = self.remedies()
        assert remedy in str(caught.value)
        return str(caught.value)

    def remedies(self) -> list[str]:
        """Return the remedies that doctor proposes."""
        with Engine(Settings.read({**NO_MODELS, "MEMORY_DATABASE_URL": self.url}), fetch=False) as engine:
            return [finding.remedy.rstrip(".") for finding in Doctor(engine, ignore_progress).examine().findings]


@pytest.fixture
def site(postgres: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    name = "site_" + hashlib.sha256(str(tmp_path).encode()).hexdigest()[:16]
    made = Site(postgres, name, getattr(request, "param", ""))
    yield made
    made.admin(f"DROP DATABASE {name} WITH (FORCE)", f"DROP ROLE {name}")


def test_doctor_checks_whether_the_schema_can_be_created_but_creates_none(site: Site) -> None:
    assert "Let an operator run there: CREATE EXTENSION" in site.refusal()
    site.extended()
    assert site.remedies() == []
    with closing(PostgresStore(site.url)) as store:
        assert not store.placement.exists()


def test_extensions_in_a_schema_where_the_role_does_not_look_are_named(site: Site) -> None:
    site.inside("CREATE SCHEMA extensions")
    site.extended("extensions")
    assert f'USAGE ON SCHEMA "extensions" TO "{site.role}"' in site.refusal()
    site.inside(f"GRANT USAGE ON SCHEMA extensions TO {site.role}")
    site.set(search_path='"$user", public, extensions')
    here = workspace()
    with closing(PostgresStore(site.url)) as store:
        put(store, here, "Überfahrt")
        assert words(store, here, "uberfahrt") == ["Überfahrt"]


def test_a_failure_after_another_process_has_migrated_it_is_explained(site: Site) -> None:
    site.extended()
    newest = max(migrations("postgres")) + 1
    with closing(PostgresStore(site.url)) as store:
        put(store, workspace(), "kept")
        site.inside(f"INSERT INTO schema_version VALUES ({newest})", "ALTER TABLE records RENAME COLUMN body TO text")
        for access in (lambda: words(store, workspace(), "kept"), lambda: put(store, workspace(), "more")):
            with pytest.raises(StoreError, match=f"has schema version {newest}.*restart this process"):
                access()


@pytest.mark.parametrize("taken", ["schema_version (version TEXT, success BOOLEAN)", "sessions (id INTEGER)"])
def test_tables_of_another_program_are_left_alone_and_a_separate_schema_helps(site: Site, taken: str) -> None:
    site.extended()
    site.inside(f"CREATE TABLE {taken}")
    commands = site.refusal().partition("create a schema there: ")[2]
    site.inside(commands)
    here = workspace()
    with closing(PostgresStore(site.url)) as store:
        put(store, here, "red")
        assert words(store, here, "red") == ["red"]
        assert store.upkeep.problems(None) == []


def test_doctor_says_how_to_recreate_what_was_dropped(site: Site) -> None:
    site.extended()
    with closing(PostgresStore(site.url)) as store:
        store.placement.create(None)
        assert store.upkeep.problems(None) == []
        site.inside("DROP INDEX records_name, acts_operation", "DROP TRIGGER records_reworded ON records")
        problems = store.upkeep.problems(None)
        assert [problem.partition(" was dropped")[0] for problem in problems] == [
            "the index records_name",
            "the index acts_operation",
            "the trigger records_reworded",
        ]
        site.inside(*(problem.partition("run: ")[2] for problem in problems))
        assert store.upkeep.problems(None) == []
        site.inside("DROP EXTENSION unaccent CASCADE")
        assert [problem.partition(" was dropped")[0] for problem in store.upkeep.problems(None)] == [
            "the extension unaccent",
            "the text search configuration memoryd",
        ]
        with pytest.raises(StoreError, match=r"cannot be used .*run `memoryd doctor`"):
            words(store, workspace(), "red")


def remedies(problems: list[str]) -> list[str]:
    return [problem.partition("run: ")[2].partition(";")[0] for problem in problems]


def test_doctor_reports_keys_that_are_missing_or_not_validated(site: Site) -> None:
    site.extended()
    with closing(PostgresStore(site.url)) as store:
        store.placement.create(None)
        again = "workspace_id_id_fkey FOREIGN KEY (workspace_id, id) REFERENCES records ON DELETE CASCADE NOT VALID"
        site.inside(
            "ALTER TABLE records DROP CONSTRAINT records_pkey CASCADE",
            "ALTER TABLE projects DROP CONSTRAINT projects_name_key",
            "ALTER TABLE records ADD PRIMARY KEY (workspace_id, id)",
            f"ALTER TABLE memory_details ADD CONSTRAINT memory_details_{again}",
        )
        problems = store.upkeep.problems(None)
        assert "the key memory_details_workspace_id_id_fkey is not validated" in str(problems)
        assert "the key embeddings_workspace_id_id_fkey is missing" in str(problems)
        assert "the key projects_name_key is missing" in str(problems)
        assert len(problems) == 11
        assert all("restore the backup again" in problem for problem in problems)
        site.inside(*remedies(problems))
        assert store.upkeep.problems(None) == []


def test_doctor_reports_disabled_triggers(site: Site) -> None:
    site.extended()
    with closing(PostgresStore(site.url)) as store:
        store.placement.create(None)
        site.inside("ALTER TABLE records DISABLE TRIGGER records_gone", "ALTER TABLE embeddings DISABLE TRIGGER ALL")
        problems = store.upkeep.problems(None)
        assert remedies(problems) == [
            "ALTER TABLE embeddings ENABLE TRIGGER ALL",
            "ALTER TABLE records ENABLE TRIGGER USER",
        ]
        assert "start memoryd's processes again" in problems[0]
        site.inside(*remedies(problems))
        assert store.upkeep.problems(None) == []


def test_a_renamed_schema_is_reported_and_works_again(site: Site) -> None:
    site.extended()
    site.inside(f"CREATE SCHEMA AUTHORIZATION {site.role}")
    here = workspace()
    with closing(PostgresStore(site.url)) as store:
        put(store, here, "before")
    site.inside(f'ALTER SCHEMA {site.role} RENAME TO "New"')
    site.set(search_path='"New", public')
    with closing(PostgresStore(site.url)) as store:
        assert words(store, here, "before") == ["before"]
        with pytest.raises(StoreError, match="run `memoryd doctor`"):
            put(store, here, "red")
        problems = store.upkeep.problems(None)
        assert "the function words_of(text) does not look in its own schema" in problems[-1]
        site.inside(*(remedy.replace("FUNCTION ", 'FUNCTION "New".') for remedy in remedies(problems)))
        put(store, here, "red")
        assert store.upkeep.problems(None) == []


def test_a_role_that_does_not_own_the_tables_learns_what_it_lacks(site: Site) -> None:
    with closing(PostgresStore(site.inside_url)) as store:
        put(store, workspace(), "red")
    site.inside(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {site.role}")
    with closing(PostgresStore(site.url, read_only=True)) as store:
        assert store.upkeep.problems(None) == []
    with closing(PostgresStore(site.url)) as store:
        (problem,) = store.upkeep.problems(None)
        assert f"the role {site.role} may not use access_log, " in problem
        site.inside(*remedies([problem]), "ALTER TABLE records ENABLE ROW LEVEL SECURITY")
        (problem,) = store.upkeep.problems(None)
        assert f"hides rows of records from the role {site.role}" in problem
        site.inside(*remedies([problem]))
        assert store.upkeep.problems(None) == []
        put(store, workspace(), "green")


def test_a_later_script_is_for_the_owner_of_the_tables(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    here, last = workspace(), max(migrations("postgres"))
    with closing(PostgresStore(site.inside_url)) as store:
        put(store, here, "kept")
    grants = "GRANT ALL ON SCHEMA public", "GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public"
    site.inside(*(f"{each} TO {site.role}" for each in grants))
    later = {**migrations("postgres"), last + 1: "ALTER TABLE records ADD COLUMN more TEXT"}
    monkeypatch.setattr(schema, "migrations", lambda _dialect: later)
    assert "`memoryd doctor` once with their owner, postgres" in site.refusal()
    with closing(PostgresStore(site.inside_url, read_only=True)) as store, pytest.raises(StoreError, match="read-only"):
        words(store, here, "kept")
    with closing(PostgresStore(site.inside_url)) as store:
        assert words(store, here, "kept") == ["kept"]
    assert ask(site.inside_url, "SELECT max(version) FROM schema_version") == [last + 1]


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (
            15,
            "version 15; .* not touched. .* before the first release: .*`memoryd migrate --from URL --to former.db`",
        ),
        (99, r"database at .*:\d+/.* has schema version 99.* was not touched. Upgrade memoryd"),
    ],
)
def test_a_database_of_another_time_is_refused_untouched(site: Site, version: int, message: str) -> None:
    site.inside("CREATE TABLE schema_version (version INTEGER)", f"INSERT INTO schema_version VALUES ({version})")
    with closing(PostgresStore(site.inside_url)) as store, pytest.raises(StoreError, match=message):
        put(store, workspace(), "text")
    assert ask(site.inside_url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == ["schema_version"]


PLAIN = "TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C' ENCODING"


@pytest.mark.parametrize("site", [f"{PLAIN} 'LATIN1'", f"{PLAIN} 'SQL_ASCII'"], indirect=True)
def test_an_encoding_that_cannot_store_every_text_is_refused(site: Site) -> None:
    site.extended()
    assert "ENCODING 'UTF8'" in site.refusal()


def test_settings_of_a_role_for_other_programs_change_nothing(site: Site) -> None:
    site.extended()
    site.set(
        client_encoding="LATIN1",
        standard_conforming_strings="off",
        default_transaction_isolation="serializable",
        bytea_output="escape",
        datestyle="'SQL, DMY'",
        intervalstyle="sql_standard",
        quote_all_identifiers="on",
    )
    here = workspace()
    with closing(PostgresStore(site.url)) as one, closing(PostgresStore(site.url)) as other:
        stores = (one, other)
        assert together(lambda number: [put(stores[number % 2], here, f"日本 {number}\\'") for _ in range(10)], 8) == []
        assert len(words(one, here, "日本", limit=100)) == 80


def test_a_process_with_too_few_connections_waits_for_its_own(site: Site) -> None:
    site.extended()
    here = workspace()
    with closing(PostgresStore(site.url)) as store:
        put(store, here, "text")
        site.admin(f"ALTER ROLE {site.role} CONNECTION LIMIT 2")
        assert together(lambda _: [put(store, here, "text") for _ in range(5)], 8) == []
        # The server lets go of a closed connection later than who closed it, so the role could have none left to count.
        site.admin(f"ALTER ROLE {site.role} CONNECTION LIMIT -1")
    assert ask(site.url, "SELECT count(*) FROM records") == [41]


@pytest.mark.parametrize("error", [errors.IdleInTransactionSessionTimeout, errors.TransactionTimeout])
def test_a_transaction_that_the_server_ended_is_not_reported_as_damage(error: type[errors.InternalError]) -> None:
    with pytest.raises(TransientError, match=r"ended this transaction .*Nothing was stored"), explained("here"):
        raise error("terminating connection")
