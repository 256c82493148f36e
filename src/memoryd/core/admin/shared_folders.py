"""Whether a database lies where other machines have its files too: in a synced folder, or on a network file system.

SQLite keeps a database in several files that belong together, and counts on locks and on memory that its processes
share. A program that syncs copies the files one by one, each at another moment, and replaces them under a process that
has them open. A network file system carries neither the locks nor the memory to other machines reliably.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

SYNCED = (
    "the folder of {by}, which copies its files one by one and puts those of another machine in their place: "
    "writes get lost, and the database can break"
)
NETWORK = (
    "the file system {by}, where locks and shared memory do not hold between machines: two that write lose "
    "writes, and can break the database"
)
REMEDY = (
    "Move it to a disk of this machine, and name that with MEMORY_DATA_DIR; docs/two-machines.md shows how two "
    "machines share a memory."
)

NAMES: Mapping[str, str] = {
    "Dropbox": "Dropbox", "OneDrive": "OneDrive", "Google Drive": "Google Drive", "GoogleDrive": "Google Drive",
    "My Drive": "Google Drive", "iCloudDrive": "iCloud Drive", "Mobile Documents": "iCloud Drive",
    "Nextcloud": "Nextcloud", "ownCloud": "ownCloud",
}  # fmt: skip
"""Folders by the names that programs give them, which may be followed by an account."""
APPENDED = re.compile(r"( - .*| \(.*\)|-.*)$")
"""An account after such a name: `OneDrive - Acme`, `Dropbox (Acme)`, `GoogleDrive-ann@example.org`."""
CLOUD = "CloudStorage"
"""The folder of macOS, in `Library`, in which each program has its own."""
MARKS: Mapping[str, str] = {
    ".stfolder": "Syncthing", ".dropbox.cache": "Dropbox",
    ".849C9593-D756-4E56-8D6E-42412F2A707B": "OneDrive", ".tmp.drivedownload": "Google Drive",
    ".nextcloudsync.log": "Nextcloud", ".owncloudsync.log": "ownCloud",
}  # fmt: skip
"""What programs leave in the folder that they sync."""
DATABASES = re.compile(r"\._?sync_.*\.db$")
"""The files in which Nextcloud and ownCloud keep what they have synced, in that folder."""

MOUNTS = Path("/proc/self/mountinfo")
REMOTE = frozenset({
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "davfs", "vboxsf",
    *(f"fuse.{name}" for name in (
        "sshfs", "rclone", "s3fs", "gcsfuse", "glusterfs", "ceph-fuse", "curlftpfs", "davfs2", "onedriver",
        "google-drive-ocamlfuse", "vmhgfs-fuse", "juicefs", "goofys",
    )),
})  # fmt: skip
"""File systems of Linux whose files other machines have too."""


@dataclass(frozen=True, slots=True)
class SharedFolder:
    """A folder whose files other machines have too."""

    path: Path
    problem: str
    """What it is, and why that loses data."""


def shared_folder(file: Path, mounts: Path = MOUNTS) -> SharedFolder | None:
    """Return the synced folder or the network mount that a file is in; None if neither is known."""
    where = file.resolve()
    if where.drive.startswith("\\\\"):
        return SharedFolder(Path(where.anchor), NETWORK.format(by="of another machine"))
    for folder in where.parents:
        if by := _syncs(folder):
            return SharedFolder(folder, SYNCED.format(by=by))
    return _mount(where, mounts)


def _syncs(folder: Path) -> str:
    """Return the program that syncs a folder; '' if none is known."""
    if folder.parent.name == CLOUD and folder.parent.parent.name == "Library":
        return NAMES.get(APPENDED.sub("", folder.name), folder.name)
    if by := NAMES.get(APPENDED.sub("", folder.name)):
        return by
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError:  # a folder above that this user may not look into
        return ""
    marked = (by for mark, by in MARKS.items() if mark in names)
    kept = ("Nextcloud or ownCloud" for name in names if DATABASES.match(name))
    return next(chain(marked, kept), "")


def _mount(where: Path, mounts: Path) -> SharedFolder | None:
    """Return the network file system that a path is on; None if it is on none, or if this system does not say."""
    try:
        text = mounts.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    last = max(
        ((point, kind) for point, kind in _mounted(text) if where.is_relative_to(point)),
        key=lambda one: len(one[0].parts),
        default=None,
    )
    if last is None or last[1] not in REMOTE:
        return None
    return SharedFolder(last[0], NETWORK.format(by=last[1]))


def _mounted(text: str) -> Iterator[tuple[Path, str]]:
    """Yield mount points and the kinds of their file systems, those that hide others first."""
    for line in reversed(text.splitlines()):
        before, dash, after = line.partition(" - ")
        fields = before.split(" ")
        if dash and len(fields) > 4:  # proc(5): the fifth field is the mount point, and the type follows the dash
            yield Path(re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), fields[4])), after.split(" ")[0]
