"""A Postgres server: its address, or the addresses of those that take each other's place."""

import random
from dataclasses import dataclass
from typing import Any, Protocol

import psycopg
from psycopg import conninfo, pq

from memoryd.errors import InvalidInputError
from memoryd.store.journal import ForeignServer, State

EXAMPLE = "postgresql://user:password@host:5432/database"
PARAMETERS: dict[str, Any] = {  # of each connection; a machine that vanished is noticed after some 10 s
    "application_name": "memoryd",
    "connect_timeout": 10,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,  # milliseconds
}
OF_SEVERAL: dict[str, Any] = {"connect_timeout": 3, "target_session_attrs": "read-write"}
LISTS = ("host", "hostaddr", "port")
PLACES = (*LISTS, "dbname", "user")


class Server(Protocol):
    """A Postgres server to connect to."""

    place: str
    """Its address for people; never a password."""

    def exists(self) -> bool:
        """Return whether something may be stored there; False if using it would create a new one."""

    def url(self) -> str:
        """Return its URL; start memoryd's own server if it does not run."""

    def state(self) -> State:
        """See `store.journal.Database`."""

    def start(self) -> bool:
        """Start it; return whether it was not running."""

    def stop(self) -> bool:
        """Stop it; return whether it was running. `url` raises StoreAwayError until it is started again."""

    def close(self) -> None:
        """Stop using it."""


class GivenServer(ForeignServer):
    """The server that MEMORY_DATABASE_URL names, or several. Raise InvalidInputError if that is no URL."""

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        parts = _parts(url)
        if parts is None:
            raise InvalidInputError(
                f"MEMORY_DATABASE_URL cannot be read. Write {EXAMPLE}, or postgresql:managed; of what stands for "
                "user and password every @ : / ? # % and blank as %40 %3A %2F %3F %23 %25 %20."
            )
        if not parts.get("service"):  # the entry of one comes before the environment, and libpq alone reads it
            parts = _defaults() | parts
            parts.setdefault("dbname", parts.get("user"))
        defaults = PARAMETERS
        if any("," in str(parts.get(key, "")) for key in LISTS):
            several = OF_SEVERAL if not read_only else OF_SEVERAL | {"target_session_attrs": "any"}
            defaults = PARAMETERS | several
        self._url = conninfo.make_conninfo("", **(defaults | parts))
        where = ",".join(host.place for host in hosts(self._url))
        self.place = "/".join(filter(None, (where, parts.get("dbname"))))

    def exists(self) -> bool:
        """Return True: only a connection could find out."""
        return True

    def url(self) -> str:
        """Return the URL as it was given."""
        return self._url


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """One of the servers that a URL names."""

    place: str
    """Its address for people."""
    url: str


def _parts(url: str) -> dict[str, Any] | None:
    """Return what a URL says; None if it is none, or if host, port or database has a piece of a password.

    These are shown to people, and get one where an @ or / in it is not encoded.
    """
    try:
        parts: dict[str, Any] = dict(conninfo.conninfo_to_dict(url))
    except psycopg.ProgrammingError:  # its text repeats the URL, and with it the password
        return None
    shown = f"{str(parts.get('host', ''))[1:]}{parts.get('dbname', '')}"  # an abstract socket begins with @
    ports = str(parts.get("port") or "0").replace(",", "0")
    return parts if "@" not in shown and ports.isdecimal() else None


def _defaults() -> dict[str, Any]:
    """Return where libpq looks for what a URL leaves open: PGHOST and its like, or what PGSERVICE names."""
    options = ((option.keyword.decode(), option.val) for option in pq.Conninfo.get_defaults())
    return {name: value.decode() for name, value in options if value and name in PLACES}


def hosts(url: str) -> list[ServerAddress]:
    """Return the servers of a URL, in the order in which they are tried. Raise InvalidInputError."""
    parts: dict[str, Any] = dict(conninfo.conninfo_to_dict(url))
    lists = {key: str(parts[key]).split(",") for key in LISTS if parts.get(key)}
    number = max(map(len, lists.values()), default=1)
    if any(len(values) not in {1, number} for values in lists.values()):
        found = " and ".join(f"{len(values)} {key}s" for key, values in lists.items())
        raise InvalidInputError(f"MEMORY_DATABASE_URL names {found}. Write a port after each host, or one for all.")
    servers = [
        _host(parts | {key: values[index % len(values)] for key, values in lists.items()}) for index in range(number)
    ]
    if parts.get("load_balance_hosts") == "random":
        random.shuffle(servers)
    return servers


def _host(parts: dict[str, Any]) -> ServerAddress:
    service = f"service {parts['service']}" if parts.get("service") else ""
    address = parts.get("host") or parts.get("hostaddr") or service or "local"
    port = parts.get("port") or ("" if service else 5432)
    return ServerAddress(f"{address}:{port}" if port else address, conninfo.make_conninfo("", **parts))
