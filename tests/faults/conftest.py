"""A server of Postgres for a file of tests, and a database on it for each."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from memoryd.model import Workspace
from memoryd.store.postgres.store import PostgresStore
from tests.store.clusters import Cluster, cluster
from tests.store.kit import workspace


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    with cluster() as started:
        yield started


@pytest.fixture
def url(server: Cluster) -> str:
    return server.database()


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(url)) as store:
        yield store


@pytest.fixture
def here() -> Workspace:
    return workspace()
