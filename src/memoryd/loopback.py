"""Which names and addresses are this machine's own."""

import ipaddress
from contextlib import suppress

LOCAL_NAME = "memoryd.localhost"
"""The name of this machine that the page is opened by: cookies know no port, so it shares its with no other program."""


def is_loopback(host: str) -> bool:
    """Return whether a host, as a name or an address without port and brackets, can only be this machine."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")  # RFC 6761, 6.3: never another machine
