"""Addresses of servers: the public origin, and addresses as shown in messages."""

from urllib.parse import urlsplit

from memoryd.loopback import is_loopback


def as_origin(url: str) -> str:
    """Return `scheme://host[:port]` in lower case. Raise ValueError for an address that cannot be a public one."""
    parts = urlsplit(url.strip().lower().rstrip("/"))
    host, named = parts.hostname or "", parts.netloc and "@" not in parts.netloc
    if not named or parts.path or parts.query or parts.fragment or any(sign.isspace() for sign in host):
        raise ValueError("is not an address such as https://memory.example.org, without a path")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise ValueError("must begin with https://; only for trials on this machine, http://127.0.0.1:PORT")
    port = "" if parts.port in (None, {"https": 443, "http": 80}[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def address(url: str) -> str:
    """Return the host and port of a URL, with or without a scheme, for messages and logs.

    User, password, path and query may each contain a secret. A text that is not a URL is not repeated either.
    """
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        port = parts.port
    except ValueError:
        return "(not a URL)"
    name = parts.hostname or ""
    name = f"[{name}]" if ":" in name else name
    return f"{name}:{port}" if port else name or "(not a URL)"
