"""Which names and addresses are this machine's own."""

import ipaddress
from contextlib import suppress


def is_loopback(host: str) -> bool:
    """Return whether a host, as a name or an address without port and brackets, can only be this machine."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
