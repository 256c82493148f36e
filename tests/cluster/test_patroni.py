"""Two faults of a cluster under Patroni; `make cluster` tries all."""

from collections.abc import Iterator

import pytest

from tests.cluster.nodes import PATRONI, Cluster, running
from tests.cluster.run import UNKNOWN, kept, servers, tried
from tests.http import HttpProcess

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.servers,
    pytest.mark.skipif(not PATRONI.exists(), reason="Patroni is not installed: run make cluster"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[Cluster, dict[str, HttpProcess]]]:
    with running() as made, servers(made) as used:
        yield made, used


@pytest.mark.parametrize("fault", ["switchover", "postgres"])
def test_no_store_is_lost_and_none_fails_while_the_leader_changes(
    cluster: tuple[Cluster, dict[str, HttpProcess]], fault: str
) -> None:
    made, used = cluster
    load, renewed = tried(fault, made, used)
    found = kept(made)
    assert not renewed
    for way in used:
        stored = load.acknowledged(way)
        assert stored
        assert [call.stored for call in stored if found[call.stored] != 1] == []
        assert [call.problem for call in load.failed(way) if UNKNOWN not in call.problem] == []
