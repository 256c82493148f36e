"""The proxies that the environment names for requests to other machines."""

from urllib.parse import urlsplit

import httpx2

from memoryd.certificates import trusted
from memoryd.errors import InvalidInputError
from memoryd.loopback import is_loopback


def uses_proxies(url: str | None) -> bool:
    """Return whether requests to an address go through the proxies of the environment: none to this machine does.

    Raise InvalidInputError if what the environment names is no proxy.
    """
    if is_loopback(urlsplit(url or "").hostname or ""):
        return False
    try:
        httpx2.Client(verify=trusted()).close()
    except (ValueError, httpx2.InvalidURL) as error:
        raise InvalidInputError(
            f"The environment names a proxy that is none: {error}. Check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, in "
            "small letters too."
        ) from error
    return True
