"""The results of the recall tools at a terminal."""

import sys

from rich.console import Console

from memoryd.cli.frame import out
from memoryd.cli.show import SHOWN, cards, facts, numbers, verbatim
from memoryd.core.memories.view import ForgottenMemories, InspectedMemories
from memoryd.text import counted


def inspected(result: InspectedMemories) -> None:
    """Print a view of memory_inspect."""
    if "stats" in result:
        skipped = ("embedder", "reranker")  # a command that only counts loads no models; doctor does
        facts([(name, value) for name, value in result["stats"].items() if name not in skipped])
    elif "tags" in result:
        numbers(("tag", "records"), result["tags"].items())
    elif result["memories"]:
        cards(result["memories"], {}, sys.maxsize if result["view"] == "ids" else SHOWN)
    elif result["view"] != "ids":
        verbatim("No memories yet.")


def forgotten(result: ForgottenMemories) -> None:
    """Print what memory_forget did, or would do."""
    if result["dry_run"] and result["ids"]:
        forgettable(result, len(result["ids"]))
    else:
        number = result["forgotten"]
        verbatim(f"Forgot {counted(number, 'memory', 'memories')}." if number else result["message"])


def forgettable(result: ForgottenMemories, most: int, console: Console = out) -> None:
    """Print what would be forgotten, one line each, at most `most` lines."""
    ids, previews = result["ids"], result["preview"]
    verbatim(f"Would forget {counted(len(ids), 'memory', 'memories')}:", console)
    for one, text in list(zip(ids, previews, strict=True))[:most]:
        verbatim(f"- {one}: {' '.join(text.split())}", console)
    if len(ids) > most:
        verbatim(f"... and {len(ids) - most} more", console)
