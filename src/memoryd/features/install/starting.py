"""How a client starts memoryd: a command that keeps existing, and its arguments."""

import json
import shutil
import sys
from importlib.metadata import distribution
from pathlib import Path

from memoryd import __version__
from memoryd.settings import Settings

CACHED = ("archive-v", "environments-v")
"""The prefixes of directories in which uv keeps what it fetched for one run, and which it may clear."""


def command(settings: Settings) -> list[str]:
    """Return the command that runs this memoryd, with an absolute path: clients often have another PATH."""
    if is_cached():
        return [shutil.which("uvx") or "uvx", "--from", _requirement(settings), "memoryd"]
    called = Path(sys.argv[0])
    beside = Path(sys.executable).parent / "memoryd"
    for one in (str(called) if called.stem == "memoryd" else "", str(beside)):
        if found := shutil.which(one):
            return [str(Path(found).absolute())]
    return [sys.executable, "-m", "memoryd"]


def is_cached() -> bool:
    """Return whether this memoryd was fetched for one run, as by uvx, and is installed nowhere."""
    return any(part.startswith(CACHED) for part in Path(sys.prefix).parts)


def _requirement(settings: Settings) -> str:
    """Return the requirement by which uv fetches this memoryd: its origin, or its version in the package index."""
    extra = "[postgres]" if settings.database_url else ""
    came = json.loads(distribution("memoryd").read_text("direct_url.json") or "{}").get("url")
    return f"memoryd{extra} @ {came}" if came else f"memoryd{extra}>={__version__}"


def arguments(settings: Settings, *fields: str) -> list[str]:
    """Return the settings in force as arguments, because a client does not see this shell's variables."""
    options = {
        "data_dir": ("--data-dir", str(settings.data_dir)),
        "db_path": ("--db", str(settings.db_path)),
        "workspace": ("--workspace", settings.workspace),
        "toolsets": ("--toolsets", ",".join(settings.toolsets)),
        "read_only": ("--read-only",) if settings.read_only else (),
    }
    given = settings.model_fields_set.intersection(fields or options)
    return [word for field, words in options.items() if field in given for word in words]
