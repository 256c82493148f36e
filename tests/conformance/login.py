"""The suite's checks of authorization servers: an HTTP client plays the person who logs in and consents."""

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx2

from tests.http import free_port

PASSWORD = "a password for the suite"
PATIENCE = 120  # the time limit of the suite in seconds


def settings(port: int) -> dict[str, str]:
    """Return additional settings of the server."""
    return {"MEMORY_PUBLIC_URL": f"http://127.0.0.1:{port}", "MEMORY_PORT": str(port)}


def add_person(environ: Mapping[str, str]) -> None:
    """Set the password of the only person."""
    command = [sys.executable, "-m", "memoryd", "login", "set"]
    subprocess.run(command, env=dict(environ), input=f"{PASSWORD}\n", text=True, check=True, capture_output=True)


def passes(base: str, node: Sequence[str], environ: Mapping[str, str], directory: Path) -> bool:
    """Return whether every check passes. `node` is the command that runs the suite."""
    port = free_port()
    body = {
        "client_name": "suite",
        "redirect_uris": [f"http://127.0.0.1:{port}/callback"],
        "token_endpoint_auth_method": "none",
    }
    client = httpx2.post(f"{base}/oauth/register", json=body).json()["client_id"]
    command = [*node, "authorization", "--url", base, "--client-id", client, "--port", str(port)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(command, env=dict(environ), text=True, cwd=directory, **pipes) as suite:  # type: ignore[call-overload]
        lines = []
        try:
            for line in suite.stdout:
                lines.append(line)
                if address := re.search(rf"{re.escape(base)}/oauth/authorize\S+", line):
                    _log_in(address[0])
            suite.wait(PATIENCE)
        finally:
            suite.kill()
    text = "".join(lines)
    passed, failed = re.search(r"Total: (\d+) passed", text), re.search(r"Total:.*?(\d+) failed", text)
    good = suite.returncode == 0 and passed is not None and failed is not None and failed[1] == "0"
    print(f"Authorization server: {passed[1]} checks pass" if good and passed else text, flush=True)
    return good


def _log_in(address: str) -> None:
    """Do what a person does in a browser."""
    with httpx2.Client(follow_redirects=True) as browser:
        page = browser.get(address)
        page = browser.post(str(page.url.join("/oauth/login")), data=_hidden(page.text) | {"password": PASSWORD})
        workspace = re.findall(r'<option value="([^"]+)">', page.text)[0]
        choice = {"answer": "allow", "level": "write", "workspace": workspace}
        browser.post(str(page.url.join("/oauth/consent")), data=_hidden(page.text) | choice)


def _hidden(page: str) -> dict[str, str]:
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
