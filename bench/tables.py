"""The tables of figures that benches print."""

import sys

from rich.console import Console
from rich.table import Table

WIDTH = 200  # columns of a table in a file


def console() -> Console:
    """Return the console for tables, which cuts no figure off if the output goes to a file."""
    return Console(width=None if sys.stdout.isatty() else WIDTH)


def show(title: str, head: list[str], rows: list[list[str]]) -> None:
    """Print a table."""
    table = Table(*head, title=title, title_justify="left")
    for row in rows:
        table.add_row(*row)
    console().print(table)
