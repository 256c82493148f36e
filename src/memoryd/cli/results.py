"""How the results of the recall tools look at a terminal."""

import sys

from rich.console import Console

from memoryd.cli.frame import out
from memoryd.cli.show import SHOWN, cards, facts, numbers, verbatim
from memoryd.toolsets.recall import ForgetResult, InspectResult


def inspected(result: InspectResult) -> None:
    """A view of memory_inspect."""
    if result.stats is not None:
        skipped = ("embedder", "reranker")  # a command that only counts loads no models; doctor does
        facts([(name, value) for name, value in result.stats.items() if name not in skipped])
    elif result.tags is not None:
        numbers(("tag", "records"), result.tags.items())
    elif result.memories:
        cards(result.memories, {}, sys.maxsize if result.view == "ids" else SHOWN)
    elif result.view != "ids":
        verbatim("No memories yet.")


def forgotten(result: ForgetResult) -> None:
    """What memory_forget did, or would do."""
    if result.dry_run and result.ids:
        forgettable(result, len(result.ids))
    else:
        verbatim(result.message or f"Forgot {_memories(result.forgotten)}.")


def forgettable(result: ForgetResult, most: int, console: Console = out) -> None:
    """What would be forgotten, a line each."""
    verbatim(f"Would forget {_memories(len(result.ids))}:", console)
    for one, text in list(zip(result.ids, result.preview, strict=True))[:most]:
        verbatim(f"- {one}: {' '.join(text.split())}", console)
    if len(result.ids) > most:
        verbatim(f"... and {len(result.ids) - most} more", console)


def _memories(number: int) -> str:
    return f"{number} {'memory' if number == 1 else 'memories'}"
