"""The result of the last sync in a file, for `doctor`, the page and `/health`."""

import json
from pathlib import Path
from typing import Any

from memoryd import disk
from memoryd.connect.channel import object_in
from memoryd.core.base.clock import Clock
from memoryd.features.base import SharedState, SliceState
from memoryd.features.sync.git import Git, without_secret
from memoryd.features.sync.sync import SyncReport, place, setup
from memoryd.settings import Settings

SHOWN = 20  # remarks, conflicts and refused files that are kept


def note(data_dir: Path, outcome: SyncReport | None, error: str = "") -> None:
    """Note how a sync ended. After an error the time of the last success stays; conflicts stay while they are few."""
    path, known = _path(data_dir), read(data_dir)
    if outcome:
        conflicts = [*reversed(outcome.conflicts), *known.get("conflicts", ())][:SHOWN]
        known = {"at": Clock().now(), "remarks": outcome.remarks[:SHOWN], "conflicts": conflicts}
        known["refused"] = dict(list(outcome.refused.items())[:SHOWN])
    with disk.appearing(path) as unfinished:
        unfinished.write_text(json.dumps(known | {"error": error}, ensure_ascii=False), encoding="utf-8")


def described(settings: Settings) -> SliceState | None:
    """Return when and with what the memory was last synced, and what is wrong; None if it is not set up."""
    git = Git(place(settings.data_dir))
    if not git.exists:
        return None
    known, made = read(settings.data_dir), setup(git)
    url, last = without_secret(made.url), known.get("at")
    summary = f"with {url}, branch {made.branch}, last {last or 'never'}"
    if remarks := known.get("remarks"):
        summary += f"; merged: {'; '.join(remarks)}"
    problem, remedy = str(known.get("error") or ""), "Run `memoryd sync`"
    if not problem and (refused := known.get("refused")):
        problem = "; ".join(f"{path} was not read: it {why}" for path, why in refused.items())
        remedy = "Correct the file in the repository"
    holds = f"{url} still has it in its history: run `memoryd sync --drop-history`." if last else ""
    shared = SharedState(
        where=f"{url}, branch {made.branch}",
        workspaces=made.workspaces,
        at=last or "",
        error=str(known.get("error") or ""),
        refused=known.get("refused") or {},
        conflicts=known.get("conflicts") or (),
    )
    return SliceState("sync", summary, problem.rstrip("."), remedy, holds, shared)


def _path(data_dir: Path) -> Path:
    return data_dir / "sync" / "status.json"


def read(data_dir: Path) -> dict[str, Any]:
    """Return what was noted: `at`, `remarks`, `conflicts` (the last first), `refused` by path, `error`."""
    try:
        return object_in(_path(data_dir).read_bytes()) or {}
    except OSError:
        return {}
