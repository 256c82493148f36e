"""Detection of databases that other machines share: in a synced folder, or on a network file system.

SQLite keeps a database in several files that belong together, and relies on locks and on memory that its processes
share. A sync program copies the files one by one, each at a different time, and replaces them while a process has them
open. A network file system does not reliably carry the locks or the memory to other machines.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

SYNCED = (
    "the folder of {by}, which copies its files one by one and replaces them with those of another machine: "
    "writes get lost, and the database can break"
)
NETWORK = (
    "the file system {by}, where locks and shared memory do not work between machines: if two machines write, "
    "writes get lost, and the database can break"
)
REMEDY = (
    "Move it to a local disk, and set MEMORY_DATA_DIR to its new directory; docs/two-machines.md shows how two "
    "machines share a memory."
)

NAMES: Mapping[str, str] = {
    "Dropbox": "Dropbox",
    "OneDrive": "OneDrive",
    "Google Drive": "Google Drive",
    "GoogleDrive": "Google Drive",
    "My Drive": "Google Drive",
    "iCloudDrive": "iCloud Drive",
    "Mobile Documents": "iCloud Drive",
    "Nextcloud": "Nextcloud",
    "ownCloud": "ownCloud",
}
"""The programs by the names of their folders, which an account may follow."""
APPENDED = re.compile(r"( - .*| \(.*\)|-.*)$")
"""An account after the name of a folder: `OneDrive - Acme`, `Dropbox (Acme)`, `GoogleDrive-ann@example.org`."""
CLOUD = "CloudStorage"
"""The folder in macOS's `Library` in which each sync program has its own folder."""
MARKS: Mapping[str, str] = {
    ".stfolder": "Syncthing",
    ".dropbox.cache": "Dropbox",
    ".849C9593-D756-4E56-8D6E-42412F2A707B": "OneDrive",
    ".tmp.drivedownload": "Google Drive",
    ".nextcloudsync.log": "Nextcloud",
    ".owncloudsync.log": "ownCloud",
}
"""The programs by what they leave in the folder that they sync."""
DATABASES = re.compile(r"\._?sync_.*\.db$")
"""The files in which Nextcloud and ownCloud keep the state of a synced folder, in that folder."""

MOUNTS = Path("/proc/self/mountinfo")
_FUSE = """sshfs rclone s3fs gcsfuse glusterfs ceph-fuse curlftpfs davfs2 onedriver google-drive-ocamlfuse vmhgfs-fuse
    juicefs goofys""".split()
REMOTE = {*"nfs nfs4 cifs smb3 smbfs 9p afs ceph lustre davfs vboxsf".split(), *(f"fuse.{name}" for name in _FUSE)}
"""The file systems of Linux that other machines share."""


@dataclass(frozen=True, slots=True)
class SharedFolder:
    """A folder whose files other machines share."""

    path: Path
    problem: str
    """The kind of folder, and why that loses data."""


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
    except OSError:  # a parent folder that this user may not list
        return ""
    marked = (by for mark, by in MARKS.items() if mark in names)
    kept = ("Nextcloud or ownCloud" for name in names if DATABASES.match(name))
    return next(chain(marked, kept), "")


def _mount(where: Path, mounts: Path) -> SharedFolder | None:
    """Return the network file system that a path is on; None if there is none, or if this system does not say."""
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
    """Yield mount points and the types of their file systems, those that hide others first."""
    for line in reversed(text.splitlines()):
        before, dash, after = line.partition(" - ")
        fields = before.split(" ")
        if dash and len(fields) > 4:  # proc(5): the fifth field is the mount point, and the type follows the dash
            yield Path(re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), fields[4])), after.split(" ")[0]
