"""Requests to other machines: the certificate authorities that they trust, and the proxies from the environment."""

import ssl
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx2

from memoryd.errors import InvalidInputError
from memoryd.loopback import is_loopback


@cache
def trusted() -> ssl.SSLContext:
    """Return the context that all HTTPS connections share, because reading the authorities takes 30 ms of CPU."""
    return httpx2.create_ssl_context()


def reaching(url: str) -> dict[str, Any]:
    """Return httpx2's options for requests to an address, which go through no proxy if it is on this machine.

    Raise InvalidInputError if the environment has an invalid proxy.
    """
    if is_loopback(urlsplit(url).hostname or ""):
        return {"verify": trusted(), "trust_env": False}
    try:
        httpx2.Client(verify=trusted()).close()
    except (ValueError, httpx2.InvalidURL) as error:
        raise InvalidInputError(
            f"The environment has an invalid proxy: {error}. Check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, also in "
            "lower case."
        ) from error
    return {"verify": trusted(), "trust_env": True}
