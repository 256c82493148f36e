"""The addresses of servers: the parts of a URL, their defaults, and how they are shown."""

from pathlib import Path

import pytest
from psycopg import conninfo

from memoryd.errors import InvalidInputError
from memoryd.store.postgres.server import GivenServer, hosts


def parameters(url: str, *, read_only: bool = False) -> dict[str, object]:
    return dict(conninfo.conninfo_to_dict(GivenServer(url, read_only=read_only).url()))


def test_a_vanished_machine_is_noticed_after_seconds_unless_the_url_says_otherwise() -> None:
    ours = parameters("postgresql://u@a/x")
    assert (ours["keepalives_idle"], ours["tcp_user_timeout"], ours["connect_timeout"]) == ("5", "10000", "10")
    theirs = parameters("postgresql://u@a/x?tcp_user_timeout=0&keepalives_idle=60&connect_timeout=7")
    assert (theirs["keepalives_idle"], theirs["tcp_user_timeout"], theirs["connect_timeout"]) == ("60", "0", "7")


def test_among_several_servers_the_writable_one_is_chosen() -> None:
    url = "postgresql://u@a,b/x"
    assert parameters(url)["target_session_attrs"] == "read-write"
    assert parameters(url, read_only=True)["target_session_attrs"] == "any"
    assert parameters(f"{url}?target_session_attrs=primary")["target_session_attrs"] == "primary"
    assert "target_session_attrs" not in parameters("postgresql://u@a/x")


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://u:geheim@a,b:5433/x", "a:5432,b:5433/x"),
        ("host=a,b port=6000 dbname=x password=geheim", "a:6000,b:6000/x"),
        ("postgresql://u@/x?hostaddr=10.0.0.1,10.0.0.2", "10.0.0.1:5432,10.0.0.2:5432/x"),
        ("postgresql:///x", "local:5432/x"),
    ],
)
def test_each_host_is_shown_with_its_port(url: str, place: str) -> None:
    server = GivenServer(url)
    assert server.place == place
    assert [host.place for host in hosts(server.url())] == place.partition("/")[0].split(",")


@pytest.mark.parametrize(
    ("environ", "url", "place"),
    [
        ({"PGHOST": "a", "PGPORT": "6000", "PGDATABASE": "x"}, "postgresql://", "a:6000/x"),
        ({"PGHOST": "a,b", "PGUSER": "u"}, "postgresql://", "a:5432,b:5432/u"),
        ({"PGHOST": "a", "PGPORT": "6000"}, "postgresql://b/x", "b:6000/x"),
        ({"PGSERVICE": "memory", "PGHOST": "a"}, "postgresql://u@/", "c:7000/y"),
        ({"PGHOST": "a"}, "postgresql://?service=memory", "service memory"),
        ({"PGUSER": "ann@corp"}, "postgresql://a", "a:5432/ann@corp"),
    ],
)
def test_defaults_of_a_url_are_shown_as_libpq_has_them(
    environ: dict[str, str], url: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "services").write_text("[memory]\nhost=c\nport=7000\ndbname=y\n")
    for name, value in {**environ, "PGSERVICEFILE": str(tmp_path / "services")}.items():
        monkeypatch.setenv(name, value)
    server = GivenServer(url)
    assert server.place == place
    assert len(hosts(server.url())) == 1 + place.count(",")


def test_mismatched_hosts_and_ports_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="names 3 hosts and 2 ports"):
        GivenServer("host=a,b,c port=1,2")


@pytest.mark.parametrize("password", ["ge@heim", "ge/heim", "12/heim", "ge:a@b,heim", "ge heim"])
def test_an_unencoded_password_is_not_shown(password: str) -> None:
    with pytest.raises(InvalidInputError, match="in user and password, write every @") as caught:
        GivenServer(f"postgresql://u:{password}@host:5432/x")
    assert "heim" not in str(caught.value)
    assert caught.value.__context__ is None


def test_an_abstract_socket_is_a_host() -> None:
    assert GivenServer("host=@memory dbname=x").place == "@memory:5432/x"
