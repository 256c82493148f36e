"""A sync of many memories through a repository on this disk: the first one, one change, nothing to do, growth.

python -m bench.sync 10000
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from memoryd.core.engine import Engine
from memoryd.core.journal.journal import Journal
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.features.sync.git import Git
from memoryd.features.sync.sync import Sync, place
from memoryd.settings import Settings


def opened(home: Path, url: Path) -> Engine:
    """Return an engine on a home that is set up to sync."""
    plain = {"MEMORY_DATA_DIR": str(home), "MEMORY_EMBEDDER": "none", "MEMORY_RERANKER": "none"}
    engine = Engine(Settings.read(plain), fetch=False)
    Git(place(home)).init(str(url))
    return engine


def timed(name: str, engine: Engine) -> None:
    """Print how long a sync takes."""
    begun = time.perf_counter()
    done = Sync(engine).run()
    took = time.perf_counter() - begun
    print(f"{name:<34} {took:8.2f} s   sent {done.sent:,}, applied {done.received:,}", flush=True)


def size(folder: Path) -> str:
    """Return the size of a folder."""
    return f"{sum(path.stat().st_size for path in folder.rglob('*') if path.is_file()) / 2**20:.1f} MB"


def grow(engine: Engine, url: Path) -> None:
    """Print what a thousand turns in fifty sessions, synced at the start and at the end of each, add."""
    journal, text = Journal(Scope(engine, engine.workspaces.ensure("default"))), 0
    print(f"{'repositories before':<34} shared {size(url)}, here {size(place(engine.settings.data_dir))}")
    for at in range(1_000):
        words = [f"word{(at * 7 + n) % 5000}" for n in range(150)]
        text += len(" ".join(words))
        journal.add(" ".join(words[:30]), "", " ".join(words[30:]), f"session {at // 20}")
        if at % 20 in (0, 19):
            Sync(engine).run()
    print(f"{'after a thousand turns':<34} shared {size(url)}, here {size(place(engine.settings.data_dir))}", end="")
    print(f"   {text / 2**20:.1f} MB of text", flush=True)


def main(number: int) -> None:
    """Print the figures for a number of memories."""
    with tempfile.TemporaryDirectory() as folder:
        url = Path(folder) / "shared.git"
        subprocess.run(["git", "init", "--quiet", "--bare", str(url)], check=True)
        one, two = (opened(Path(folder) / name, url) for name in ("one", "two"))
        memories = Memories(Scope(one, one.workspaces.ensure("default")))
        for at in range(number):
            memories.store(f"Fact {at}: service {at % 97} of team {at % 13} listens on port {5000 + at}.")
        timed("first sync, which writes all", one)
        timed("first sync, which reads all", two)
        memories.store("One more fact.")
        timed("one change, sent", one)
        timed("one change, applied", two)
        timed("nothing to do", two)
        grow(one, url)
        two.close()
        one.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
