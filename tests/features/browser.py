"""The Chromium for browser tests: the one of CHROMIUM, else one on PATH, else one from npm."""

import base64
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.clients import until
from tests.installers import BIN, BUILD, PATIENCE, NotInstalledError, install

PICTURES = os.environ.get("MEMORYD_PICTURES")
"""Where to put the pictures of the documentation; unset: nowhere."""
FLAGS = (
    "--no-sandbox",  # it is also run as root
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)
PACKAGE, VERSION = "@sparticuz/chromium", "153.0.0"
SHA512 = "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
"""The integrity of the package, as in the registry."""
FITS = ("linux", "x86_64")
"""The only system that the package has a browser for."""
UNPACK = "process.stdin.pipe(require('zlib').createBrotliDecompress()).pipe(process.stdout)"
FONTS = """<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir prefix="relative">fonts</dir>
</fontconfig>
"""


@dataclass(frozen=True, slots=True)
class Chromium:
    """A browser, and the environment that it needs."""

    program: str
    environment: Mapping[str, str] = field(default_factory=dict)


def chromium() -> Chromium:
    """Return a browser of this machine, or one from npm if there is none; raise NotInstalledError."""
    if there := os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome"):
        return Chromium(there)
    if (sys.platform, platform.machine()) != FITS:
        raise NotInstalledError("name one in CHROMIUM, or put one on PATH; npm has none for this system")
    from memoryd.connect import locks  # not available on Windows

    folder = BUILD / f"chromium-{VERSION}"
    BUILD.mkdir(exist_ok=True)
    with until(lambda: locks.taken(f"{folder}.lock"), "the browser that another process gets", PATIENCE):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=BUILD) as place:
                _fetch(Path(place)).rename(folder)
    environment = {"LD_LIBRARY_PATH": str(folder / "lib"), "FONTCONFIG_FILE": str(folder / "fonts.conf")}
    return Chromium(str(folder / "chromium"), environment)


@contextmanager
def browser() -> Iterator[Any]:
    """Run a Chromium without a window, for Playwright. Raise NotInstalledError."""
    from playwright.sync_api import sync_playwright  # slow to import, and rarely needed

    found = chromium()
    with sync_playwright() as running:
        environ: dict[str, str | float | bool] = {**os.environ, **found.environment}
        started = running.chromium.launch(executable_path=found.program, args=FLAGS, env=environ)
        yield started
        started.close()


def _fetch(place: Path) -> Path:
    """Return a folder in `place` with the browser, its libraries and its fonts. Raise NotInstalledError."""
    package = place / f"sparticuz-chromium-{VERSION}.tgz"
    once = ("--fetch-retries=1", "--loglevel=error")
    install(["npm", "pack", f"{PACKAGE}@{VERSION}", "--pack-destination", place, *once], package)
    if base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode() != SHA512:
        raise NotInstalledError(f"npm gave a {PACKAGE} {VERSION} with other bytes than it had")
    with tarfile.open(package) as files:
        files.extractall(place, filter="data")
    parts, made = place / "package" / "bin", place / "made"
    made.mkdir()
    for name in ("al2023", "fonts"):
        with _unpacked(parts / f"{name}.tar.br") as stream, tarfile.open(fileobj=stream, mode="r|") as files:
            files.extractall(made, filter="data")
    with _unpacked(parts / "chromium.br") as stream, (made / "chromium").open("wb") as program:
        shutil.copyfileobj(stream, program)
    (made / "chromium").chmod(0o755)
    (made / "fonts.conf").write_text(FONTS, encoding="utf-8")
    return made


@contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Return the bytes of a Brotli-compressed file, through Node, since Python has no Brotli."""
    with (
        path.open("rb") as packed,
        subprocess.Popen([BIN / "node", "-e", UNPACK], stdin=packed, stdout=subprocess.PIPE) as node,
    ):
        assert node.stdout is not None
        yield node.stdout
    if node.returncode:
        raise NotInstalledError(f"{path.name} can not be unpacked")
