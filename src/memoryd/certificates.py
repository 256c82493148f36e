"""The certificate authorities that HTTPS connections trust."""

import ssl
from functools import cache

import httpx2


@cache
def trusted() -> ssl.SSLContext:
    """Return the context that all HTTPS connections share, because reading the authorities takes 30 ms of CPU."""
    return httpx2.create_ssl_context()
