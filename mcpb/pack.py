"""Packs the bundle: python mcpb/pack.py FILE. The same files give the same bytes, whose SHA-256 is in server.json."""

import hashlib
import sys
import zipfile
from pathlib import Path

MEMBERS = ("manifest.json", "icon.png", "pyproject.toml", "server.py")
SAME = (1980, 1, 1, 0, 0, 0)  # the time of every member: the earliest that an archive can tell


def pack(target: Path) -> str:
    """Write the archive, uncompressed as compressors differ; return its SHA-256."""
    with zipfile.ZipFile(target, "w") as archive:
        for name in MEMBERS:
            archive.writestr(zipfile.ZipInfo(name, SAME), Path(__file__).with_name(name).read_bytes())
    return hashlib.sha256(target.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.stdout.write(f"{pack(Path(sys.argv[1]))}\n")
