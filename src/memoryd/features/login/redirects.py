"""Rules for redirect URIs: which a client may register, and which of them a request refers to."""

import re
from collections.abc import Iterable
from urllib.parse import SplitResult, urlsplit

from memoryd.loopback import is_loopback

LENGTH = 2_000
EDITORS = frozenset(
    "antigravity cursor jetbrains kiro trae vscode vscode-insiders vscodium warp windsurf windsurf-next zed".split()
)
"""The schemes of applications that log in and whose scheme is no domain name. Any other could start a program that does
not expect it, or mount a share: `smb:` sends a person's password hash."""
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")
"""The characters of RFC 3986 without `#`: none that a parser and a browser could read differently."""
_REVERSED_DOMAIN = re.compile(r"[a-z]{2,}(?:\.[a-z0-9-]+)+")
"""RFC 8252, 7.1: an application that has the domain example.com has the scheme `com.example` or `com.example.app`."""
_OF_SYSTEMS = ("ms.", "com.apple.", "com.microsoft.")  # e.g. `ms.search:`, though the first is a domain as well


def acceptable(uri: str) -> bool:
    """Return whether a client may use a redirect URI: https, this machine, or the scheme of an application."""
    parts = _parts(uri)
    if parts is None or "@" in parts.netloc:
        return False
    if parts.scheme == "https":
        return bool(parts.hostname)
    if parts.scheme == "http":
        return is_loopback(parts.hostname or "")
    if parts.scheme in EDITORS:
        return bool(parts.netloc)
    return bool(_REVERSED_DOMAIN.fullmatch(parts.scheme)) and not parts.scheme.startswith(_OF_SYSTEMS)


def matching(registered: Iterable[str], given: str) -> bool:
    """Return whether an address is registered: an equal one, or one on any port of the same loopback host."""
    return acceptable(given) and any(one == given or _same_but_port(one, given) for one in registered)


def host_of(uri: str) -> str:
    """Return the target of a redirect for people to read: the host, or the scheme of an application."""
    parts = urlsplit(uri)
    if parts.scheme in ("http", "https"):
        return parts.netloc
    return f"{parts.scheme}: (an application on your machine)"


def is_this_machine(uri: str) -> bool:
    """Return whether a redirect goes to a server on the machine of the browser, and not to an application."""
    parts = urlsplit(uri)
    return parts.scheme in ("http", "https") and is_loopback(parts.hostname or "")


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
