"""The names and addresses of this machine itself."""

import ipaddress
from contextlib import suppress

LOCAL_NAME = "memoryd.localhost"
"""The name of this machine in the page's address: cookies ignore ports, so other programs must not share the name."""


def is_loopback(host: str) -> bool:
    """Return whether a host, as a name or an address without port and brackets, can only be this machine."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")  # RFC 6761, 6.3: never another machine
