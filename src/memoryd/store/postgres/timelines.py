"""What this machine knows of each database system: its newest timeline, and how far its log was acknowledged.

A server with an older timeline was replaced. One whose log ends before the last acknowledged commit has lost it, and
stays refused when its log has grown beyond that place by what a server writes without any client.
"""

import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from memoryd import disk

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Lineage:
    """The history of the database that a server continues: each promotion of a standby begins a timeline."""

    system: str
    timeline: int
    end: int | None = None
    """The place where its log ends, in bytes; None for a standby, which may be behind."""
    address: str = ""
    recovered: int | None = None
    """The place where its recovery ended, so where its timeline began if it took over; None if it began without one."""
    lost: str = ""
    """What was lost when it took over, as far as this machine knows."""


@dataclass(frozen=True, slots=True, order=True)
class KnownSystem:
    """What is known of a database system; the greater one is newer."""

    timeline: int = 0
    acknowledged: int = 0
    """The place in the log of the last acknowledged commit, in bytes; 0 if unknown."""
    replicated: bool = False
    """Whether a synchronous standby had it, too: then no failover may lose it."""
    refused: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What each refused server lacks, by its address and timeline. Its log grows meanwhile, what it lacks does not."""
    lost: str = field(default="", compare=False)
    """What the server of this timeline lacked when it took over, and was not bound to have."""


class Timelines:
    """What is known, in memory and, if there is a `path`, in a file for processes that start later.

    A file that cannot be read or written is logged once, and treated as empty.
    """

    def __init__(self, path: Path | None, *, read_only: bool) -> None:
        self._path = path
        self._read_only = read_only
        self._known: dict[str, KnownSystem] = {}
        self._lock = threading.Lock()
        self._logged = False

    @property
    def remedy(self) -> str:
        """The remedy for a refused server."""
        forgetting = f"delete {self._path} and restart" if self._path else "restart"
        return (
            "Start the server that has taken over, or has what is missing. If the one at this address is right now, or "
            f"was restored on purpose, {forgetting} every memoryd process on this machine."
        )

    def newest(self, system: str) -> int:
        """Return the newest known timeline of a system, or 0."""
        return self._known.get(system, KnownSystem()).timeline

    def lost(self, system: str) -> str:
        """Return what was lost when the newest known server of a system took over, or ''."""
        return self._known.get(system, KnownSystem()).lost

    def acknowledged(self, lineage: Lineage, place: int, *, replicated: bool) -> None:
        """Remember the place in its log up to which a server has made commits durable."""
        with self._lock:
            before = self._known.get(lineage.system, KnownSystem())
            now = replace(before, timeline=lineage.timeline, acknowledged=place, replicated=replicated)
            self._known[lineage.system] = max(now, before)

    def known(self) -> dict[str, KnownSystem]:
        """Return what is known of each system now: a server that is asked for its lineage after that has no less."""
        with self._lock:
            return self._joined(self._kept())

    def meet(self, met: Lineage, before: Mapping[str, KnownSystem]) -> str:
        """Remember a server; return why it must not be used, as part of a sentence, or '' if it may be.

        `before` is what was known before it was asked: since then others may have stored more.
        """
        with self._lock:
            kept = self._kept()
            known = self._joined(kept).get(met.system, KnownSystem())
            self._known[met.system] = known
            if met.timeline < known.timeline:
                numbers = f"{met.timeline} instead of {known.timeline}"
                return f"its timeline is older than that of a server that has taken over, {numbers}"
            name = f"{met.address}, timeline {met.timeline}"
            loss = known.refused.get(name, "") if met.end is not None else ""
            if loss:
                return loss
            loss = _loss(met, before.get(met.system, KnownSystem()))
            if loss and (known.replicated or met.timeline == known.timeline):
                self._known[met.system] = replace(known, refused={**known.refused, name: loss})
                self._keep(kept, met.system)
                return loss
            if loss:  # the standby that took over was not a synchronous one, so this was to be expected
                lost = f"the server of timeline {met.timeline} has taken over, but {loss}"
                log.warning("%s", lost[0].upper() + lost[1:])
                known = KnownSystem(refused=known.refused, lost=lost)
            self._known[met.system] = replace(known, timeline=met.timeline)
            self._keep(kept, met.system)
            return ""

    def close(self) -> None:
        """Keep what was acknowledged for later processes, unless the file was deleted."""
        with self._lock:
            kept = self._kept()
            for system in kept.keys() & self._known.keys():
                self._keep(kept, system)

    def _joined(self, kept: Mapping[str, KnownSystem]) -> dict[str, KnownSystem]:
        """Return the newer of what is kept and what this process knows."""
        joined = {**kept, **self._known}
        for system in kept.keys() & self._known.keys():
            both = kept[system], self._known[system]
            joined[system] = replace(max(both), refused={**both[0].refused, **both[1].refused})
        return joined

    def _kept(self) -> dict[str, KnownSystem]:
        try:
            text = self._path.read_text(encoding="utf-8") if self._path else "{}"
            return {
                str(system): KnownSystem(
                    int(of["timeline"]),
                    int(of["acknowledged"]),
                    bool(of["replicated"]),
                    dict(of.get("refused", {})),
                    str(of.get("lost", "")),
                )
                for system, of in dict(json.loads(text)).items()
            }
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            self._log(f"{self._path} cannot be read", error)
            return {}

    def _keep(self, kept: dict[str, KnownSystem], system: str) -> None:
        """Write what is known of a system, if it is newer than what is kept."""
        known, before = self._known[system], kept.get(system, KnownSystem())
        if self._path is None or self._read_only or (known <= before and known.refused == before.refused):
            return
        kept[system] = self._known[system]
        try:
            with disk.appearing(self._path) as path:
                text = json.dumps({name: asdict(known) for name, known in kept.items()}, indent=2)
                path.write_text(f"{text}\n", encoding="utf-8")
        except OSError as error:
            self._log(f"{self._path} cannot be written", error)

    def _log(self, what: str, error: Exception) -> None:
        if not self._logged:
            self._logged = True
            log.warning("%s (%s): a later process may mistake a replaced server for the newest", what, error)


def _loss(met: Lineage, known: KnownSystem) -> str:
    end = met.end
    if end is not None and met.recovered is not None and met.timeline > known.timeline:
        end = met.recovered  # since it took over, its log has grown
    if end is None or end >= known.acknowledged:
        return ""
    places = f"its log ends at {_place(end)}, that of acknowledged writes at {_place(known.acknowledged)}"
    return f"it has lost the last of what was stored: {places}"


def _place(number: int) -> str:
    """Return a place in the log as Postgres shows it."""
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"
