"""The address of a Postgres server, or of several that replace each other."""

import random
from dataclasses import dataclass
from typing import Any, Protocol

import psycopg
from psycopg import conninfo, pq

from memoryd.errors import InvalidInputError
from memoryd.store.journal import Database, Unmanaged

EXAMPLE = "postgresql://user:password@host:5432/database"
PARAMETERS: dict[str, Any] = {  # of each connection; a vanished machine is noticed after about 10 s
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


class Server(Database, Protocol):
    """A Postgres server to connect to. After `stop`, `url` raises StoreAwayError until it is started again."""

    def exists(self) -> bool:
        """Return whether something may be stored there; False if using it would create a new database."""

    def url(self) -> str:
        """Return the URL; start memoryd's own server if it is not running."""

    def close(self) -> None:
        """Stop using it."""


class GivenServer(Unmanaged):
    """The server or servers of MEMORY_DATABASE_URL. Raise InvalidInputError if that is not a valid URL."""

    product = "Postgres"

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        parts = _parts(url)
        if parts is None:
            raise InvalidInputError(
                f"MEMORY_DATABASE_URL is not a valid URL. Write {EXAMPLE}, or postgresql:managed; in user and "
                "password, write every @ : / ? # % and blank as %40 %3A %2F %3F %23 %25 %20."
            )
        if not parts.get("service"):  # a service takes precedence over the environment, and only libpq can read it
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
        """Return True: only a connection could tell."""
        return True

    def url(self) -> str:
        return self._url


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """One of the servers in a URL."""

    place: str
    """Its address for people."""
    url: str


def _parts(url: str) -> dict[str, Any] | None:
    """Return the parts of a URL; None if it is invalid, or if host, port or database contains a piece of a password.

    These are shown to people, and contain such a piece if an @ or / in the password is not encoded.
    """
    try:
        parts: dict[str, Any] = dict(conninfo.conninfo_to_dict(url))
    except psycopg.ProgrammingError:  # its text contains the URL, and so the password
        return None
    shown = f"{str(parts.get('host', ''))[1:]}{parts.get('dbname', '')}"  # an abstract socket begins with @
    ports = str(parts.get("port") or "0").replace(",", "0")
    return parts if "@" not in shown and ports.isdecimal() else None


def _defaults() -> dict[str, Any]:
    """Return libpq's defaults for what a URL leaves open: PGHOST and the like, or the service of PGSERVICE."""
    options = ((option.keyword.decode(), option.val) for option in pq.Conninfo.get_defaults())
    return {name: value.decode() for name, value in options if value and name in PLACES}


def hosts(url: str) -> list[ServerAddress]:
    """Return the servers of a URL, in the order in which they are tried. Raise InvalidInputError."""
    parts: dict[str, Any] = dict(conninfo.conninfo_to_dict(url))
    lists = {key: str(parts[key]).split(",") for key in LISTS if parts.get(key)}
    number = max(map(len, lists.values()), default=1)
    if any(len(values) not in {1, number} for values in lists.values()):
        found = " and ".join(f"{len(values)} {key}s" for key, values in lists.items())
        raise InvalidInputError(f"MEMORY_DATABASE_URL names {found}. Write one port for each host, or one for all.")
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
