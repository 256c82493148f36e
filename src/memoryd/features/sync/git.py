"""The system's git as a process, on a repository without a work tree in the data directory."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, NamedTuple, cast

from memoryd import disk, environment
from memoryd.errors import InvalidInputError, MemorydError, StoreError

QUIET = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
OURS = {
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE"),
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
}
"""Variables of another repository, which a hook of git sets for what it starts."""
OWN = {
    "core.autocrlf": "false",
    "core.hooksPath": "hooks",
    "core.logAllRefUpdates": "false",
    "gc.autoDetach": "false",
}
"""Settings in place of the user's: hooks of projects have nothing to do with the repository here."""
NAMELESS = ("-c", "user.name=memoryd", "-c", "user.email=memoryd@localhost")
"""The name to sign commits with where git's settings say none."""
NO_BRANCH = "find remote ref"
"""What git says where the remote has no such branch."""
NETWORK = 300.0  # seconds after which a fetch or a push is given up
QUOTED = 1_000  # characters of git's own words that are shown
LONGEST = 64 << 20  # bytes of a file that is read: a few kilobytes of a repository can be as many
WHOLE = 2 << 30  # bytes of all files that are read at once: they are in memory together
_SECRET = re.compile(r"(://)[^/@\s]*@")
ABOUT, CONTENTS = "--batch-check", "--batch"
FORM = "%(objecttype) %(objectname) %(objectsize)"
"""What `git cat-file` prints of an object, and before its contents."""
PIPE = 4_096  # bytes that every pipe takes at once
TREES = 4  # commits of which the list of files is kept: those of a merge
WRITER = "Written-By"
"""The trailer of commits that memoryd writes: what they change was changed by no hand."""

Files = Mapping[str, bytes | None]
"""The contents of files by path; None for one that is removed."""


class OfflineError(MemorydError):
    """The repository cannot be reached now."""


class QuickerError(MemorydError):
    """Another machine has pushed meanwhile."""


class _Object(NamedTuple):
    """What git says of an object; of one that is not here, nothing."""

    kind: str = ""
    key: str = ""
    size: int = 0
    data: bytes = b""


class Git:
    """A bare repository and its remote `origin`."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._settings: dict[str, list[str]] | None = None
        self._readers: dict[str, subprocess.Popen[bytes]] = {}
        self._modes = lru_cache(TREES)(self._listed)

    def close(self) -> None:
        """End the processes that have read; later reads start others."""
        for reader in self._readers.values():
            reader.kill()
            reader.communicate()  # closes the pipes, too
        self._readers.clear()

    @property
    def exists(self) -> bool:
        """Whether `init` has made it, as far as this user may see."""
        with suppress(PermissionError):
            return (self.place / "HEAD").is_file()
        return False

    def init(self, url: str) -> None:
        """Make the repository, with a remote. Raise StoreError."""
        disk.make_directory(self.place)
        self.run("init", "--bare", "--quiet", "--template=", ".")
        self.run("config", "remote.origin.url", url)
        self._settings = None

    def unlock(self) -> None:
        """Remove the locks that a killed git has left; no other process works on the repository."""
        for lock in [*self.place.glob("*.lock"), *self.place.glob("*.new"), *(self.place / "refs").rglob("*.lock")]:
            lock.unlink(missing_ok=True)

    def setting(self, name: str) -> str:
        """Return a setting, also one of the user or the system; '' if it is not set."""
        return next(reversed(self.settings(name)), "")

    def settings(self, name: str) -> list[str]:
        """Return all values of a setting."""
        if self._settings is None:
            self._settings = {}
            for line in _parts(self._done("config", "--list", "-z", may_fail=True)[0]):
                key, _, value = line.partition("\n")
                self._settings.setdefault(key, []).append(value)
        return self._settings.get(name, [])

    def configure(self, name: str, values: Iterable[str]) -> None:
        """Replace all values of a setting of this repository."""
        self._settings = None
        self._done("config", "--unset-all", name, may_fail=True)
        for value in values:
            self.run("config", "--add", name, value)

    # remote ----------------------------------------------------------------------------------------------------------

    def fetch(self, branch: str) -> str:
        """Fetch a branch; return its commit, '' if the remote has none. Raise OfflineError or StoreError."""
        ref = f"refs/remotes/origin/{branch}"
        alone = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc")
        arguments = ("fetch", *alone, "origin", f"+refs/heads/{branch}:{ref}")
        out, error, code = self._done(*arguments)
        if code and NO_BRANCH in error:
            return ""
        if code:
            raise _failure(arguments, out, error)
        return self.commit(ref)

    def push(self, commit: str, branch: str, known: str, *, force: bool = False) -> None:
        """Push a commit where the remote still is at `known`. Raise QuickerError, OfflineError or StoreError."""
        lease = [f"--force-with-lease=refs/heads/{branch}:{known}"] if force else []
        self.run("push", "--quiet", "--porcelain", *lease, "origin", f"{commit}:refs/heads/{branch}")
        self.run("update-ref", f"refs/remotes/origin/{branch}", commit)

    # reading ---------------------------------------------------------------------------------------------------------

    def commit(self, name: str) -> str:
        """Return the id of a commit that is here; '' if it is not."""
        return self.newest([name])

    def newest(self, commits: Iterable[str]) -> str:
        """Return the first of some commits that is here; '' if none is."""
        about = self._ask(ABOUT, [f"{name}^{{commit}}" for name in commits])
        return next((one.key for one in about if one.kind == "commit"), "")

    def base(self, one: str, other: str) -> str:
        """Return the last commit that two have in common; '' if there is none."""
        return self._done("merge-base", one, other, may_fail=True)[0].decode().split("\n")[0].strip()

    def changed(self, before: str, after: str, folder: str) -> set[str]:
        """Return the paths in a folder that differ between two commits; '' is an empty tree."""
        if not before or not after:
            return set(self.paths(before or after, folder))
        args = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after, "--", folder)
        return set(_parts(self.run(*args)))

    def deleted(self, before: str, after: str, folder: str) -> set[str]:
        """Return the paths in a folder that commits after one and up to another one have deleted."""
        span = [after, *([f"^{before}"] if before else [])]
        form = ("--no-show-signature", "--format=", "-z", "--name-only", "--no-renames", "--diff-filter=D")
        return set(_parts(self.run("log", *form, *span, "--", folder)))

    def paths(self, commit: str, folder: str) -> list[str]:
        """Return the paths of the files in a folder."""
        return list(self._modes(commit, folder))

    def _listed(self, commit: str, folder: str) -> dict[str, str]:
        """Return the modes of the files in a folder, by their paths."""
        listed = _parts(self.run("ls-tree", "-r", "-z", commit, "--", folder)) if commit else []
        return {path: about.split()[0] for about, _, path in (line.partition("\t") for line in listed)}

    def folders(self, commit: str) -> list[str]:
        """Return the names of the folders in the root."""
        return _parts(self.run("ls-tree", "-d", "-z", "--name-only", commit)) if commit else []

    def read(self, commit: str, paths: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of the files that a commit has, except those that are `unreadable`.

        Raise StoreError if they are more than WHOLE together.
        """
        sizes = {path: size for path, size in self._sizes(commit, paths).items() if size <= LONGEST}
        if (size := sum(sizes.values())) > WHOLE:
            raise StoreError(
                f"The repository unpacks to {size >> 20:,} MB, more than is read at once. Remove the files that are no "
                "memories from it, and repeat `memoryd sync`."
            )
        found = self._ask(CONTENTS, [f"{commit}:{path}" for path in sizes])
        return {path: one.data for path, one in zip(sizes, found, strict=True)}

    def _sizes(self, commit: str, paths: Iterable[str]) -> dict[str, int]:
        """Return the sizes of the files that a commit has."""
        named = [path for path in paths if "\n" not in path] if commit else []
        found = self._ask(ABOUT, [f"{commit}:{path}" for path in named])
        return {path: one.size for path, one in zip(named, found, strict=True) if one.kind == "blob"}

    def _ask(self, form: str, names: Iterable[str]) -> Iterator[_Object]:
        """Yield what git says of objects by their names; with CONTENTS, what they contain too.

        The process goes on, since to start one takes longer than to read; it gets few names at once, so that neither
        side waits for the other one with a full pipe.
        """
        for some in _chunks([f"{name}\n".encode() for name in names]):
            if not (reader := self._readers.get(form)):
                reader = self._readers[form] = self._started("cat-file", f"{form}={FORM}")
            try:
                answers = _answers(reader, some, whole=form == CONTENTS)
            except (OSError, EOFError):
                self.close()
                self.run("cat-file", form, given=b"".join(some))  # says why it fails
                raise StoreError("git ended while it read. Nothing was lost; repeat `memoryd sync`.") from None
            yield from answers

    def unreadable(self, commit: str, folder: str, paths: Iterable[str]) -> dict[str, str]:
        """Return why some of the files in a folder are not read, by their paths; of the large ones those of `paths`."""
        modes = self._modes(commit, folder)
        sizes = self._sizes(commit, paths)
        large = {path: f"has more than {LONGEST >> 20} MB" for path, size in sizes.items() if size > LONGEST}
        others = [path for path, mode in modes.items() if not mode.startswith("100")]
        return large | dict.fromkeys(others, "is a symbolic link or another repository")

    def holding(self, commit: str, text: str, folder: str) -> list[str]:
        """Return the paths of the files that contain a text."""
        args = ("grep", "--no-color", "-l", "-z", "-F", "-e", text, commit, "--", folder)
        found = _parts(self._done(*args, may_fail=True)[0]) if commit else []
        return [path.partition(":")[2] for path in found]

    def filtered(self, commit: str, paths: Iterable[str]) -> str:
        """Return the filter, such as git-crypt, which the attributes in a commit give to one of some paths, or ''."""
        if not self.holding(commit, "filter=", ":(glob)**/.gitattributes"):
            return ""
        self.run("read-tree", commit)
        try:
            listed = self.run("check-attr", "--cached", "-z", "filter", "--", *paths).decode().split("\0")
        finally:
            (self.place / "index").unlink(missing_ok=True)  # its files would outlive a dropped history
        return next((value for value in listed[2::3] if value not in ("unspecified", "unset", "set")), "")

    def author(self, since: str, until: str, path: str) -> tuple[str, str]:
        """Return the person who last changed a file, and when (ISO 8601); two times '' if memoryd did."""
        span = [until, *([f"^{since}"] if since else [])]
        form = f"--format=%an%x00%aI%x00%(trailers:key={WRITER},valueonly)"
        found = self.run("log", "-1", "--no-show-signature", "--encoding=UTF-8", form, *span, "--", path)
        name, _, rest = found.decode(errors="replace").strip().partition("\0")
        at, _, writer = rest.partition("\0")
        return ("", "") if writer else (name, at)

    # writing ---------------------------------------------------------------------------------------------------------

    def write(self, files: Files, start: str, parents: Iterable[str], message: str) -> str:
        """Return a new commit: the tree of `start` with some files changed. It has the parents that are not ''."""
        ref = "refs/memoryd/writing"
        parts = [f"commit {ref}\ncommitter memoryd <memoryd> 0 +0000\ndata 0\n".encode()]
        parts += [f"from {start}\n".encode()] if start else []
        for path, data in sorted(files.items()):
            name = '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
            if data is None:
                parts.append(f"D {name}\n".encode())
            else:
                parts.append(f"M 100644 inline {name}\ndata {len(data)}\n".encode() + data + b"\n")
        self.run("fast-import", "--quiet", "--force", given=b"".join(parts))
        given = [word for parent in dict.fromkeys(filter(None, parents)) for word in ("-p", parent)]
        written = self.commit_tree(ref, message, *given)
        self.run("update-ref", "refs/memoryd/last", written)
        return written

    def commit_tree(self, of: str, message: str, *options: str) -> str:
        """Return a new commit with the tree of another one, which says that memoryd wrote it."""
        words = ("-m", message, "-m", f"{WRITER}: memoryd")
        sign = ["-S"] if self.setting("commit.gpgsign") == "true" else []
        return self.run("commit-tree", f"{of}^{{tree}}", *options, *sign, *words).decode().strip()

    # the process -----------------------------------------------------------------------------------------------------

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        """Run git and return what it prints. Raise InvalidInputError without git, or as its message says."""
        out, error, code = self._done(*arguments, given=given)
        if code:
            raise _failure(arguments, out, error)
        return out

    def _done(self, *arguments: str, given: bytes = b"", may_fail: bool = False) -> tuple[bytes, str, int]:
        if arguments[0] == "gc":
            self.close()  # Windows removes no file that a process reads
        name = NAMELESS if arguments[0] == "commit-tree" and not self.setting("user.email") else ()
        try:
            done = subprocess.run(  # noqa: S603 - fixed arguments, and what the user has set up
                _command(*name, *arguments),
                cwd=self.place,
                input=given,
                capture_output=True,
                env=self._environment(),
                timeout=NETWORK,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise OfflineError(f"The repository did not answer within {NETWORK:g} seconds.") from None
        except OSError as error:
            raise StoreError(f"git cannot be run: {error.strerror or error}.") from error
        words = without_secret(done.stderr.decode(errors="replace").strip())[-QUOTED:]
        return (b"" if may_fail and done.returncode else done.stdout), words, done.returncode

    def _started(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - fixed arguments
            _command(*arguments),
            cwd=self.place,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._environment(),
        )

    def _environment(self) -> dict[str, str]:
        found = {name: value for name, value in environment.current().items() if name not in OURS}
        return {**found, **QUIET, "GIT_DIR": str(self.place)}


def _command(*arguments: str) -> list[str]:
    """Return a command of the user's git. Raise InvalidInputError without one."""
    if shutil.which("git") is None:
        raise InvalidInputError("`memoryd sync` needs git, which is not installed here. Install it, then repeat.")
    return ["git", *(word for name, value in OWN.items() for word in ("-c", f"{name}={value}")), *arguments]


def _chunks(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield lists of lines of at most PIPE bytes, or of one line."""
    some, size = list[bytes](), 0
    for line in lines:
        if some and size + len(line) > PIPE:
            yield some
            some, size = [], 0
        some.append(line)
        size += len(line)
    if some:
        yield some


def _answers(reader: subprocess.Popen[bytes], names: Sequence[bytes], *, whole: bool) -> list[_Object]:
    """Return what a process that reads says of some objects. Raise OSError or EOFError if it has ended."""
    into, out = cast(IO[bytes], reader.stdin), cast(IO[bytes], reader.stdout)
    into.write(b"".join(names))
    into.flush()
    found = list[_Object]()
    for _ in names:
        if not (line := out.readline().decode(errors="replace")):
            raise EOFError
        kind, *rest = line.split()
        if kind in ("blob", "commit", "tag", "tree"):
            size = int(rest[1])
            data = out.read(size + 1)[:-1] if whole else b""
            if whole and len(data) < size:
                raise EOFError
            found.append(_Object(kind, rest[0], size, data))
        else:  # it is missing
            found.append(_Object())
    return found


def _parts(listed: bytes) -> list[str]:
    """Return the parts of a list, each of which ends with NUL; of a name that is not UTF-8 one that no file has."""
    return [part for part in listed.decode(errors="replace").split("\0") if part]


def without_secret(url: str) -> str:
    """Return a URL, or a text with some, without passwords."""
    return _SECRET.sub(r"\1", url)


def _failure(arguments: Sequence[str], out: bytes, error: str) -> MemorydError:
    message = out.decode(errors="replace") + error
    for commands, pattern, kind, words in _FAILURES:
        if arguments[0] in commands and re.search(pattern, message, re.IGNORECASE):
            return kind(f"{words} git says: {message}")
    return StoreError(f"`git {arguments[0]}` failed. Nothing was lost; repeat `memoryd sync`. git says: {message}")


_PUSH, _REMOTE = {"push"}, {"fetch", "push"}
_FAILURES: Sequence[tuple[set[str], str, type[MemorydError], str]] = (
    (
        _PUSH,
        r"\[rejected\]|cannot lock ref|failed to update ref|incorrect old value",
        QuickerError,
        "Another machine has pushed meanwhile.",
    ),
    (
        _PUSH,
        "remote rejected",
        StoreError,
        (
            "The repository takes no such push: the branch may be protected, or checked out there. What is new here "
            "waits. Allow it, or push to a branch of this machine's own: `memoryd sync init URL --branch NAME`."
        ),
    ),
    (
        _REMOTE,
        "dubious ownership|safe.directory",
        StoreError,
        "The repository belongs to another user, so git does not read it.",
    ),
    (
        _REMOTE,
        r"could not read (Username|Password)|Authentication failed|Permission denied|error: 40[13]",
        StoreError,
        (
            "The repository does not know this user; what is new here waits. Set up a key or a credential helper, so "
            "that git asks nothing."
        ),
    ),
    (
        _REMOTE,
        (
            "resolve host|timed out|unreachable|refused|no route|connect to|reset by peer|not appear to be a git repo|"
            "Could not read from"
        ),
        OfflineError,
        "The repository cannot be reached; what is new here waits.",
    ),
    (
        {"commit-tree"},
        "sign",
        StoreError,
        "git cannot sign the commit, as `commit.gpgsign` demands. Set `user.signingkey` and `gpg.format`, or unset it.",
    ),
)
"""How commands of git fail: which, what they print, and what that means."""
