"""Folders that other machines share are detected, and no others."""

import logging
from pathlib import Path

import pytest

from memoryd.core.admin import doctor, shared_folders
from memoryd.core.admin.doctor import Doctor
from memoryd.core.admin.shared_folders import shared_folder
from memoryd.core.engine import Engine
from memoryd.core.maintenance import scheduler
from memoryd.settings import Settings
from tests.clients import NO_MODELS

MOUNTS = """22 1 253:0 / / rw,relatime - ext4 /dev/vda rw
40 22 0:40 / /net rw shared:1 - nfs4 server:/export rw
41 22 0:41 / /mnt/my\\040share rw - cifs //server/share rw
42 22 0:42 / /mnt/c rw - 9p drvfs rw
43 22 0:43 / /far rw - fuse.sshfs ann@far: rw
44 22 0:44 / /near rw - fuse.gocryptfs /plain rw
45 40 0:45 / /net/local rw - tmpfs tmpfs rw
46 22 0:46 / /over rw - nfs server:/old rw
47 22 0:47 / /over rw - ext4 /dev/vdb rw
torn
"""


@pytest.mark.parametrize(
    ("folder", "mark", "by"),
    [
        ("Dropbox", "", "Dropbox"),
        ("Dropbox (Acme)", "", "Dropbox"),
        ("x", ".dropbox.cache/", "Dropbox"),
        ("OneDrive - Acme GmbH", "", "OneDrive"),
        ("Library/CloudStorage/OneDrive-Acme", "", "OneDrive"),
        ("Library/CloudStorage/Box-Box", "", "Box-Box"),
        ("Library/CloudStorage/GoogleDrive-ann@a.b", "", "Google"),
        ("Library/Mobile Documents/com~apple~CloudDocs", "", "iCloud Drive"),
        ("iCloudDrive", "", "iCloud Drive"),
        ("x", ".stfolder/", "Syncthing"),
        ("x", ".stfolder", "Syncthing"),
        ("Nextcloud", "", "Nextcloud"),
        ("x", ".sync_0a1b2c.db", "Nextcloud or ownCloud"),
        ("x", ".owncloudsync.log", "ownCloud"),
    ],
)
def test_synced_folders_are_known_by_their_name_or_their_marks(tmp_path: Path, folder: str, mark: str, by: str) -> None:
    root = tmp_path / folder
    (root / "a" / "b").mkdir(parents=True)
    if mark.endswith("/"):
        (root / mark).mkdir()
    elif mark:
        (root / mark).touch()
    link = tmp_path / "link"
    link.symlink_to(root / "a")
    for file in (root / "a" / "b" / "memory.db", link / "b" / "new" / "memory.db"):
        found = shared_folder(file, tmp_path / "none")
        assert found
        assert by in found.problem


@pytest.mark.parametrize(
    ("file", "by"),
    [
        ("/net/home/ann/memory.db", "nfs4"),
        ("/mnt/my share/memory.db", "cifs"),
        ("/mnt/c/memory.db", "9p"),
        ("/far/memory.db", "fuse.sshfs"),
        ("/near/memory.db", ""),
        ("/net/local/memory.db", ""),
        ("/over/memory.db", ""),
        ("/network/memory.db", ""),
        ("/memory.db", ""),
    ],
)
def test_network_file_systems_are_known_by_what_is_mounted(tmp_path: Path, file: str, by: str) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS, encoding="utf-8")
    found = shared_folder(Path(file), mounts)
    assert by in found.problem if found else not by


def test_a_usual_place_is_not_a_shared_folder(tmp_path: Path) -> None:
    for folder in ("Documents", "dropbox-clone", "Sync"):
        assert shared_folder(tmp_path / folder / "memory.db", tmp_path / "none") is None


@pytest.mark.files
def test_doctor_and_a_start_report_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "current", dict)
    data = tmp_path / "Dropbox" / "memoryd"
    with Engine(Settings.read({"MEMORY_DATA_DIR": str(data)} | NO_MODELS), fetch=False) as engine:
        with caplog.at_level(logging.WARNING):
            scheduler.begin(engine)
        (finding,) = Doctor(engine, lambda *_: None).examine().findings
    assert finding.subject == str(tmp_path / "Dropbox")
    assert "Dropbox" in finding.problem
    assert finding.remedy == shared_folders.REMEDY
    (message,) = [record.getMessage() for record in caplog.records if "Dropbox" in record.getMessage()]
    assert "doctor" in message
