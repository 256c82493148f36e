"""The cost of commands that an agent or a person waits for: CPU seconds of whole processes, for one or more trees.

    python -m bench.commands            # this tree
    python -m bench.commands OLD NEW    # two clones, alternately

Each figure is the minimum of 5 runs, after a first one that creates the database. No model is loaded.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 5
HERE = Path(__file__).parents[1]
COMMANDS = ("--version", "hook session-start", "hook stop", "workspace list", "inspect", "recall port")


def spent(tree: Path, home: Path, command: str, stdin: str) -> float:
    """Return the CPU seconds of a command, user and system."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(tree / "src"),
        "MEMORY_DATA_DIR": str(home / tree.name),
        "MEMORY_EMBEDDER": "none",
        "MEMORY_RERANKER": "none",
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    called = [sys.executable, "-m", "memoryd", *command.split()]
    subprocess.run(called, input=stdin, env=environ, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main(*trees: Path) -> None:
    """Print a line per command: seconds in each tree, and the ratio of the last to the first."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        transcript = shutil.copy(HERE / "tests" / "hooks" / "session.jsonl", home)
        handed = json.dumps({"session_id": "bench", "transcript_path": str(transcript)})
        for tree in trees:
            spent(tree, home, "hook stop", handed)
        for command in COMMANDS:
            runs = [[spent(tree, home, command, handed) for tree in trees] for _ in range(RUNS)]
            least = [min(times) for times in zip(*runs, strict=True)]
            print(command, *(f"{time:.2f}" for time in least), f"{least[-1] / least[0]:.2f}", sep="\t")


if __name__ == "__main__":
    main(*([Path(given) for given in sys.argv[1:]] or [HERE]))
