"""The newest timeline of each database system known on this machine: a server with a lower one was replaced."""

import json
import logging
import threading
from dataclasses import dataclass
from pathlib import Path

from memoryd import disk

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Lineage:
    """The history of the database that a server continues: each promotion of a standby begins a timeline."""

    system: str
    timeline: int


class Timelines:
    """The newest timelines, in memory and, if there is a `path`, in a file for processes that start later.

    A file that cannot be read or written is logged once, and treated as empty.
    """

    def __init__(self, path: Path | None, *, read_only: bool) -> None:
        self._path = path
        self._read_only = read_only
        self._newest: dict[str, int] = {}
        self._lock = threading.Lock()
        self._logged = False

    @property
    def remedy(self) -> str:
        """The remedy for a refused server."""
        forgetting = f"delete {self._path} and restart" if self._path else "restart"
        return (
            "Start the server that has taken over. If the older timeline is the right one, as after restoring an old "
            f"backup, {forgetting} every memoryd process on this machine."
        )

    def newest(self, system: str) -> int:
        """Return the newest known timeline of a system, or 0."""
        return self._newest.get(system, 0)

    def meet(self, met: Lineage) -> int:
        """Remember a timeline if it is the newest of its system; return the newest."""
        with self._lock:
            kept = self._kept()
            known = kept.get(met.system, 0)
            newest = self._newest[met.system] = max(met.timeline, known, self.newest(met.system))
            if known < met.timeline == newest and not self._read_only:
                self._keep(kept | {met.system: newest})
            return newest

    def _kept(self) -> dict[str, int]:
        try:
            text = self._path.read_text(encoding="utf-8") if self._path else "{}"
            return {str(system): int(timeline) for system, timeline in dict(json.loads(text)).items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, OverflowError, RecursionError) as error:
            self._log(f"{self._path} cannot be read", error)
            return {}

    def _keep(self, timelines: dict[str, int]) -> None:
        if self._path is None:
            return
        try:
            with disk.appearing(self._path) as path:
                path.write_text(json.dumps(timelines, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            self._log(f"{self._path} cannot be written", error)

    def _log(self, what: str, error: Exception) -> None:
        if not self._logged:
            self._logged = True
            log.warning("%s (%s): a later process may mistake a replaced server for the newest", what, error)
