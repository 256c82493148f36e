"""A person's browser, in place of `xdg-open`: opens ADDRESS, logs in, allows the client, and follows the redirect.

Usage: browser.py PASSWORD WORKSPACE ADDRESS.
"""

import re
import sys
from urllib.parse import urljoin

import httpx2


def main(password: str, workspace: str, address: str) -> None:
    with httpx2.Client(follow_redirects=True, timeout=60) as browser:

        def submit(page: httpx2.Response, path: str, **fields: str) -> httpx2.Response:
            hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.text))
            return browser.post(urljoin(address, path), data=hidden | fields)

        consent = submit(browser.get(address), "/oauth/login", password=password)
        chosen = re.search(rf'<option value="([^"]*)"[^>]*>{workspace}<', consent.text)
        assert chosen, consent.text
        landed = submit(consent, "/oauth/consent", workspace=chosen[1], level="write", answer="allow")
        landed.raise_for_status()


main(*sys.argv[1:])
