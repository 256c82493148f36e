"""Rules for redirect URIs: which a client may register, and which of them a request refers to."""

import re
from collections.abc import Iterable
from urllib.parse import SplitResult, urlsplit

from memoryd.loopback import is_loopback

LENGTH = 2_000
UNSAFE = frozenset(
    "about blob chrome data file filesystem ftp intent jar javascript mailto resource search search-ms sms tel"
    " vbscript view-source ws wss".split()
)
"""Schemes with which an address runs code, opens files or starts programs."""

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")
"""The characters of RFC 3986 without `#`: none that a parser and a browser could read differently."""


def acceptable(uri: str) -> bool:
    """Return whether a client may use a redirect URI: https, this machine, or the scheme of an application."""
    parts = _parts(uri)
    if parts is None or "@" in parts.netloc:
        return False
    if parts.scheme == "https":
        return bool(parts.hostname)
    if parts.scheme == "http":
        return is_loopback(parts.hostname or "")
    own = bool(parts.netloc) or "." in parts.scheme  # RFC 8252, 7.1: a scheme is a reversed domain name
    return own and parts.scheme not in UNSAFE and not parts.scheme.startswith("ms-")


def matching(registered: Iterable[str], given: str) -> bool:
    """Return whether an address is registered: an equal one, or one on any port of the same loopback host."""
    return acceptable(given) and any(one == given or _same_but_port(one, given) for one in registered)


def host_of(uri: str) -> str:
    """Return the target of a redirect for people to read: the host, or the scheme of an application."""
    parts = urlsplit(uri)
    if parts.scheme in ("http", "https"):
        return parts.netloc
    return f"{parts.scheme}: (an application on your machine)"


def is_local(uri: str) -> bool:
    """Return whether a redirect stays on the machine of the browser."""
    parts = urlsplit(uri)
    return parts.scheme != "https" or is_loopback(parts.hostname or "")


def _same_but_port(registered: str, given: str) -> bool:
    """Compare loopback redirects without ports, since applications use any free port (RFC 8252, 7.3)."""
    one, other = _parts(registered), _parts(given)
    if one is None or other is None or not one.scheme == other.scheme == "http":
        return False
    host = one.hostname or ""
    return is_loopback(host) and host == other.hostname and _after_host(one) == _after_host(other)


def _after_host(parts: SplitResult) -> tuple[str, str]:
    return parts.path or "/", parts.query


def _parts(uri: str) -> SplitResult | None:
    if len(uri) > LENGTH or not _URI.fullmatch(uri):
        return None
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        return None
    return parts
