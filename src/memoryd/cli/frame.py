"""The frame of all commands: the options for settings, the consoles, and how errors are printed."""

import difflib
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from memoryd.core.records.records import written_by
from memoryd.errors import InvalidInputError, MemorydError, UncertainError
from memoryd.hidden import shown
from memoryd.settings import Settings

FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130
"""Exit codes: an error or findings of doctor; invalid input or settings; Ctrl-C."""

PANEL = "Where and what"
DataDir = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="The directory of the databases (MEMORY_DATA_DIR).", rich_help_panel=PANEL),
]
Db = Annotated[
    str | None,
    typer.Option("--db", metavar="FILE", help="One file for everything (MEMORY_DB_PATH).", rich_help_panel=PANEL),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def _option(metavar: str, text: str, kind: type = str) -> tuple[Any, None]:
    return Annotated[kind | None, typer.Option(metavar=metavar, help=text, rich_help_panel=PANEL)], None


OPTIONS: Mapping[str, tuple[Any, Any]] = {
    "data_dir": (DataDir, None),
    "db_path": (Db, None),
    "workspace": _option("NAME", "The workspace (MEMORY_NAMESPACE)."),
    "toolsets": _option("LIST", "The toolsets to offer, or `all` (MEMORY_TOOLSETS)."),
    "read_only": (
        Annotated[
            bool,
            typer.Option(
                "--read-only", help="Offer only tools that change nothing (MEMORY_READ_ONLY).", rich_help_panel=PANEL
            ),
        ],
        False,
    ),
    "transport": _option("stdio|http", "How clients connect (MEMORY_TRANSPORT)."),
    "host": _option("HOST", "The address to serve HTTP on (MEMORY_HOST)."),
    "port": _option("PORT", "The port of HTTP (MEMORY_PORT).", int),
}
"""The options that override a field of Settings, by field name: the declaration and the default of each."""

FILES = ("data_dir", "db_path")
PLACE = (*FILES, "workspace")

SILENCE = 15.0  # seconds between two lines of progress if stderr is not a terminal
UNFOLDED = 1_000  # columns if stdout is not a terminal: programs that read tables need whole lines


@contextmanager
def delivered() -> Iterator[None]:
    """Raise UncertainError if stdout fails: otherwise the caller would repeat what the command has already done."""
    try:
        yield
    except BrokenPipeError:  # the reader has seen enough, as with `head`
        out.on_broken_pipe()
    except OSError as error:
        raise UncertainError(
            f"The output could not be written ({error.strerror}). The command may already have taken effect: "
            "check before you repeat it."
        ) from None


class _Output(Console):
    """Stdout."""

    def print(self, *objects: Any, **how: Any) -> None:
        with delivered():
            super().print(*objects, **how)


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream and stream.isatty() else UNFOLDED
    kind = Console if stderr else _Output
    return kind(markup=False, emoji=False, highlight=False, stderr=stderr, width=width)


out, err = _console(stderr=False), _console(stderr=True)


# commands ------------------------------------------------------------------------------------------------------------


def command(*fields: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that turns a function whose first argument is the Settings into a command.

    The settings come from the environment, the options before the command, and its own options: `fields` of OPTIONS.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def run(ctx: typer.Context, **given: Any) -> None:
            options = {**(ctx.obj or {}), **overrides(**{name: given.pop(name) for name in fields})}
            with errors_reported(), written_by("", ctx.command_path):
                _demand_text(given.values())
                if empty := [name for name, value in options.items() if value == ""]:
                    option = empty[0].removesuffix("_path").replace("_", "-")
                    raise InvalidInputError(f"--{option} is empty. Name one, or omit the option.")
                if before := sorted(given.keys() & options.keys()):  # there it would mean nothing: no token is bound
                    raise InvalidInputError(f"Write --{before[0]} after `{ctx.command_path}`, whose own option it is.")
                if given.get("every") and "workspace" in options:
                    raise InvalidInputError("--all means every workspace, --workspace only one. Omit one of them.")
                function(Settings.read(**options), **given)

        _, *own = signature(function).parameters.values()
        context = Parameter("ctx", Parameter.KEYWORD_ONLY, annotation=typer.Context)
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        return _with_parameters(run, [*own, *_options(fields), context])

    return decorate


def root_command(function: Callable[..., None]) -> Callable[..., None]:
    """Give a function all OPTIONS besides its own parameters; it gets them as keywords."""
    own = [one for one in signature(function).parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
    return _with_parameters(function, [*_options(OPTIONS), *own])


def _options(fields: Iterable[str]) -> list[Parameter]:
    options = ((name, *OPTIONS[name]) for name in fields)
    return [Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=value) for name, kind, value in options]


def _with_parameters(function: Callable[..., None], parameters: Iterable[Parameter]) -> Callable[..., None]:
    function.__signature__ = Signature([one.replace(kind=Parameter.KEYWORD_ONLY) for one in parameters])  # type: ignore[attr-defined]
    return function


def demand_writable(settings: Settings, what: str) -> None:
    """Raise InvalidInputError if the memory is read-only; `what` is e.g. `restore changes the memory`."""
    if settings.read_only:
        raise InvalidInputError(f"{what}, which --read-only (MEMORY_READ_ONLY) forbids.")


def confirm(question: str, alone: str, show: Callable[[], None] = lambda: None) -> None:
    """Show what a question is about, and ask it; end the command unless the answer is yes.

    Raise InvalidInputError with the sentence `alone` without a terminal.
    """
    if not sys.stdin.isatty():
        raise InvalidInputError(alone)
    show()
    typer.confirm(question, abort=True, err=True)


def bound(workspace: str | None) -> str:
    """Return the workspace to bind a credential to, '' for none. Raise InvalidInputError for an empty name."""
    if workspace is not None and not workspace.strip():
        raise InvalidInputError("--workspace is empty. Name one, or omit the option.")
    return workspace or ""


def _demand_text(given: Iterable[object]) -> None:
    """Raise InvalidInputError for bytes that are not text, except in a path, since file names may contain them."""
    for one in given:
        if isinstance(one, list):
            _demand_text(one)
        elif isinstance(one, str) and any("\ud800" <= letter <= "\udfff" for letter in one):
            raise InvalidInputError(f"{one[:100]!r} has bytes that are not UTF-8. Nothing was done; use plain text.")


def overrides(**given: Any) -> dict[str, Any]:
    """Return only the options that were given, since the others do not change a setting."""
    return {name: value for name, value in given.items() if value is not None and value is not False}


@contextmanager
def errors_reported() -> Iterator[None]:
    """Turn expected errors into one line on stderr and an exit code."""
    try:
        yield
    except InvalidInputError as error:
        raise fail(str(error), WRONG_INPUT) from None
    except MemorydError as error:
        raise fail(str(error), FAILED) from None
    except OSError as error:
        step = "Check that it exists and that this user may use it."
        cannot = f"{error.filename} cannot be used: {error.strerror}. {step}"
        raise fail(cannot if error.filename else str(error), FAILED) from None
    except KeyboardInterrupt as error:
        if str(error):
            note(str(error))
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def stopping(message: str) -> Iterator[None]:
    """Let Ctrl-C print what was done, unless something within already says it."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(str(error) or message) from None


def with_suggestion(message: str) -> str:
    """Return typer's message about a word that is none of several, with the one that was probably meant."""
    message = message.replace("Value error, ", "")
    if not (found := re.search(r"'([^']*)' is not one of ('.*')\.", message)):
        return message
    given, names = found[1].casefold(), re.findall(r"'([^']*)'", found[2])
    meant = [name for name in names if given and name.startswith(given)] or difflib.get_close_matches(given, names)
    return f"{message} Did you mean {meant[0]}?" if meant else message


def fail(message: str, code: int) -> typer.Exit:
    """Print a red line and return the exit to raise."""
    err.print(Text(printable(" ".join(message.split())), style="red"), soft_wrap=True)
    return typer.Exit(code)


def note(message: str) -> None:
    """Print a note on stderr."""
    err.print(Text(printable(message), style="yellow"), soft_wrap=True)


def named(given: str) -> Path:
    """Return an argument as a path. Raise BadParameter for an empty one, which pathlib would take for `.`."""
    if not given:
        raise typer.BadParameter("it is empty. Name a file; use `.` for this directory.")
    return Path(given)


def new_file(given: Path) -> Path:
    """Return the absolute path of a file to write.

    Raise InvalidInputError for `-`, which would mean stdout, and for a missing directory: a typing error, or a disk
    that is not mounted.
    """
    if str(given) == "-":
        raise InvalidInputError("The output is written whole or not at all, so it cannot go to stdout. Name a file.")
    path = given.expanduser().absolute()
    if not path.parent.is_dir():
        raise InvalidInputError(
            f"There is no directory {path.parent}. Nothing was written; create it, or choose another."
        )
    return path


# terminal output -----------------------------------------------------------------------------------------------------

_HIDDEN = [*range(32), *range(127, 160), *range(0xD800, 0xE000)]
_VISIBLE = {code: "\N{REPLACEMENT CHARACTER}" for code in _HIDDEN if chr(code) not in "\n\t"}


def printable(text: str) -> str:
    """Return `text` without control characters and with invisible ones spelled out: memories may come from anyone."""
    return shown(text).translate(_VISIBLE)


def tolerate_streams() -> None:
    """Replace closed streams with empty ones; print `?` for characters that the terminal's encoding lacks."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # in the order of their numbers
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - open until exit
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="replace")


@contextmanager
def reported() -> Iterator[Callable[[str, float], None]]:
    """Show a progress bar, or lines without a terminal; yield a function that sets its step and progress, 0 to 1."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("", total=None)
        shown_at = time.monotonic()

        def report(what: str, done: float) -> None:
            nonlocal shown_at
            bar.update(task, description=what, completed=done, total=1.0 if done else None)
            if not err.is_terminal and time.monotonic() - shown_at > SILENCE:
                shown_at = time.monotonic()
                note(f"{what}: {done:.0%}")

        yield report
