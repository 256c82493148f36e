"""Client ID Metadata Documents: a client's id is the URL of a document that describes the client.

That URL is untrusted, so the fetch is restricted: https, only public addresses, no redirects, few bytes.
"""

import ipaddress
import socket
import ssl
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import anyio
import httpx2
from anyio import CapacityLimiter, to_thread

from memoryd.connect.channel import object_in
from memoryd.errors import InvalidInputError
from memoryd.features.login.endpoints import name_in, redirects_in
from memoryd.features.login.forms import OAuthProblem
from memoryd.features.login.oauth_clients import OAuthClient, called
from memoryd.proxies import trusted

BYTES = 5 * 1024
SECONDS = 5.0
FRESH = 600.0  # seconds for which a document is not fetched again
MOST = 500  # documents that are kept
LENGTH = 500  # characters of an address
NAMES = 4  # concurrent name look-ups: slow name servers must not occupy all threads
TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052: IPv4 addresses, also private ones

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_public(address: IpAddress) -> bool:
    """Return whether an address is on the public internet, and not on a local or private network."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return is_public(address.ipv4_mapped)
        if address.sixtofour or address.teredo or address.is_site_local or address in TRANSLATED:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


class ClientDocuments:
    """The documents of clients. Only tests change `reaches` and `tls`."""

    def __init__(self, reaches: Callable[[IpAddress], bool] = is_public, tls: ssl.SSLContext | None = None) -> None:
        self._reaches = reaches
        self._tls = tls
        self._known: dict[str, tuple[float, OAuthClient]] = {}
        self._names = CapacityLimiter(NAMES)

    async def get(self, url: str) -> OAuthClient:
        """Return the client of a document. Raise InvalidInputError."""
        until, client = self._known.get(url, (0.0, None))
        if client is None or until < time.monotonic():
            client = _client(url, await self._fetched(url))
            self._known = dict(list(self._known.items())[-MOST + 1 :])
            self._known[url] = time.monotonic() + FRESH, client
        return client

    async def _fetched(self, url: str) -> bytes:
        host, port = _place(url)
        try:
            with anyio.fail_after(SECONDS):
                address = await to_thread.run_sync(
                    self._resolved, host, port, abandon_on_cancel=True, limiter=self._names
                )
                return await self._read(url, host, address)
        except (OSError, httpx2.HTTPError, TimeoutError) as error:
            failed = f"could not be fetched ({type(error).__name__})"
            raise _wrong(url, f"{failed}; if this server cannot reach it, set MEMORY_LOGIN_DOCUMENTS=off") from None

    def _resolved(self, host: str, port: int) -> str:
        """Return an address of a host. Raise OSError if any of them is not public."""
        found = {entry[4][0] for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
        if not all(self._reaches(ipaddress.ip_address(str(one).partition("%")[0])) for one in found):
            raise OSError("an address that is not public")
        return str(min(found, key=lambda one: ":" in str(one)))

    async def _read(self, url: str, host: str, address: str) -> bytes:
        """Fetch a document from the address that was checked, since the name could resolve to another one by now."""
        named = httpx2.URL(url)
        async with httpx2.AsyncClient(
            verify=self._tls or trusted(), follow_redirects=False, trust_env=False, timeout=SECONDS
        ) as http:
            request = http.build_request(
                "GET",
                named.copy_with(host=address),
                headers={"Host": named.netloc.decode(), "Accept": "application/json"},
                extensions={"sni_hostname": host},
            )
            answer = await http.send(request, stream=True)
            try:
                if answer.status_code != 200:
                    raise _wrong(url, f"was answered with {answer.status_code}")
                found = bytearray()
                async for part in answer.aiter_raw():
                    found += part
                    if len(found) > BYTES:
                        raise _wrong(url, f"is larger than {BYTES} bytes")
                return bytes(found)
            finally:
                await answer.aclose()


def _place(url: str) -> tuple[str, int]:
    """Return the host and the port of a document. Raise InvalidInputError for an address that cannot be one."""
    try:
        parts = urlsplit(url)
        port = parts.port or 443
        (parts.hostname or "").encode("idna")  # as in a look-up: no empty label, none over 63 characters
        httpx2.URL(url)
    except (ValueError, httpx2.InvalidURL):
        raise _wrong(url, "is not a valid URL") from None
    steps = parts.path.split("/")
    fine = parts.scheme == "https" and parts.hostname and parts.path not in ("", "/") and not parts.fragment
    if not fine or "@" in parts.netloc or {".", ".."} & set(steps) or len(url) > LENGTH or not url.isascii():
        raise _wrong(url, "is not a valid URL for a client's document")
    return parts.hostname or "", port


def _client(url: str, document: bytes) -> OAuthClient:
    found = object_in(document)
    if found is None or found.get("client_id") != url:
        raise _wrong(url, "does not describe this client")
    try:
        redirects = redirects_in(found)
    except OAuthProblem as problem:
        raise _wrong(url, problem.text) from None
    return OAuthClient(id=url, name=called(name_in(found)), redirect_uris=tuple(redirects))


def _wrong(url: str, why: str) -> InvalidInputError:
    return InvalidInputError(f"The client's document {url[:LENGTH]} {why}.")
