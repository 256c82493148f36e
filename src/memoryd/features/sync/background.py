"""A sync in a process of its own, for a hook that must not wait."""

import subprocess
import sys
import threading

from memoryd import environment
from memoryd.features.sync.git import Git
from memoryd.features.sync.sync import place
from memoryd.settings import Settings


def sync_later(settings: Settings) -> None:
    """Start `memoryd sync` in the background if it is set up; its result is in the state."""
    if settings.read_only or not Git(place(settings.data_dir)).exists:
        return
    started = subprocess.Popen(
        [sys.executable, "-m", "memoryd", "sync"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=environment.at(settings.data_dir, settings.db_path),
    )
    threading.Thread(target=started.wait, daemon=True).start()  # a service would keep it as a zombie
