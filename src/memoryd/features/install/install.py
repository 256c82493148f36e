"""`memoryd install` and `memoryd uninstall`: one entry in a client's own configuration."""

import re
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from memoryd.cli import show
from memoryd.cli.frame import command, note
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.features.install import editing, hooks, projects, starting
from memoryd.features.install.catalog import (
    BEARER,
    CLIENTS,
    Client,
    ClientName,
    ServerEntry,
    entry_with_command,
    entry_with_url,
    is_of_memoryd,
    needs_prompt,
    renewed,
    token_prompt,
    workspace_of,
)
from memoryd.features.install.editing import RefusedError
from memoryd.features.install.safe_replace import FileChanges, FileEdit, clear_away, text_of
from memoryd.posting import TOKEN_VARIABLE, NotPostedError, endpoint, is_here
from memoryd.settings import AUTO, DEFAULT_WORKSPACE, Settings, demand_home

NAME = r"[A-Za-z0-9_-]{1,64}"  # accepted by Codex and Claude Code
VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"

OF_HOOKS = ("data_dir", "db_path", "workspace")
"""The settings that hooks get as arguments."""
EMPTY = ("", "{}", '{"version":1}')
"""What is left of a file that only had what `install` wrote."""
LOADING = "Let {client} wait for the tools at its start? (yes: {cost}; no: the agent may begin without a memory)"
ALLOWING = (
    "Let the agent use the memory without asking you? (no: {client} asks at each call, and without a window refuses)"
)

Which = Annotated[ClientName, typer.Argument(help="The client.", show_default=False)]
ServerName = Annotated[str, typer.Option(metavar="NAME", help="The client's name for the server.")]
File = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Another configuration file of that client, such as a project's.")
]
AlwaysLoad = Annotated[
    bool | None,
    typer.Option(help="Make the tools available at the agent's first step (Claude Code, Codex)."),
]
AllowTools = Annotated[
    bool | None,
    typer.Option(help="Let the agent call the tools without asking (Claude Code, Gemini CLI, Qwen Code)."),
]
RunHooks = Annotated[bool, typer.Option("--hooks", help="Also set up hooks (Claude Code, Codex, Gemini CLI, Cursor).")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]


@command("data_dir", "db_path", "workspace", "toolsets", "read_only")
def install(
    settings: Settings,
    client: Which,
    *,
    http: Annotated[
        str | None, typer.Option(metavar="URL", help="Connect to a server instead of starting one.")
    ] = None,
    name: ServerName = "memory",
    token_variable: Annotated[
        str | None,
        typer.Option(metavar="VAR", help=f"Over HTTP: the variable with the token ({TOKEN_VARIABLE})."),
    ] = None,
    always_load: AlwaysLoad = None,
    allow_tools: AllowTools = None,
    run_hooks: RunHooks = False,
    file: File = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Also for a client never started, or instead of another server of that name."),
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Add memoryd to the configuration of a client; the rest of the file stays as it is."""
    wanted = CLIENTS[client]
    _check("name", name, NAME)
    place = _Place(wanted, name, file)
    if run_hooks:
        _check_hooks(client, file)
    if http is None:
        place.demand_client(force=force)
        settings = projects.decided(settings, wanted, place.workspace(), dry_run=dry_run)
    url, entry = _entry(wanted, name, http, settings, token_variable)
    place.demand_client(force=force)
    allowing = _add_extras(entry, place, always_load, allow_tools, dry_run=dry_run)
    changes = FileChanges(dry_run=dry_run)
    _enter(changes, place, entry, url, force=force)
    if allowing and place.rules:
        changes.make(_calling(place.rules, name, allowed=True))
    if run_hooks:
        words = _of_server(settings, url, token_variable) if url else starting.arguments(settings, *OF_HOOKS)
        changes.make(hooks.added(client, starting.command(settings), words, "" if url else name))
    if not any(changes):
        show.verbatim(f"{name} is already installed for {wanted.title}: {place.file}")
        return
    _print_changes(changes, f"Installed {name} for {wanted.title}")
    if not dry_run:
        _advise(settings, entry, name, url)
        _advise_on(wanted, run_hooks=run_hooks)
        if settings.workspace == AUTO:
            projects.prepare(settings)


def _add_extras(
    entry: ServerEntry, place: "_Place", always_load: bool | None, allow_tools: bool | None, *, dry_run: bool
) -> bool:
    """Add the extras that are wanted to an entry; return whether the tools are to be called without asking."""
    client = place.client
    if always_load is None and client.loading and not client.loading_costs:
        always_load = True
    question = LOADING.format(client=client.title, cost=client.loading_costs)
    if _wanted(always_load, client.loading, "--always-load", question, default=True, dry_run=dry_run):
        entry |= client.loading
    offered, question = client.allowing or place.rules, ALLOWING.format(client=client.title)
    allowing = _wanted(allow_tools, offered, "--allow-tools", question, default=False, dry_run=dry_run)
    if allowing:
        entry |= client.allowing
    return allowing


def _enter(changes: FileChanges, place: "_Place", entry: ServerEntry, url: str, *, force: bool) -> None:
    """Add the entry to the client's file; if that is not safe, print the entry and raise RefusedError."""
    try:
        changes.make(FileEdit(place.file, partial(place.put, entry=entry, url=url, force=force)))
    except RefusedError:
        show.verbatim(f"Not changed: {place.file}\nAdd this entry:\n\n{place.put('', entry)}")
        raise


@command()
def uninstall(
    _settings: Settings,
    client: Which,
    *,
    name: ServerName = "memory",
    file: File = None,
    force: Annotated[bool, typer.Option("--force", help="Also an entry that does not look like memoryd.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Remove memoryd from the configuration of a client; memories stay."""
    if not name:
        raise InvalidInputError("--name is empty. Name the server, or omit the option.")
    place = _Place(CLIENTS[client], name, file)
    changes = FileChanges(dry_run=dry_run)
    changes.make(FileEdit(place.file, partial(place.drop, force=force)))
    if place.rules:
        changes.make(_calling(place.rules, name, allowed=False))
    if client in hooks.HOOK_FILES and not file:
        changes.make(hooks.removed(client))
    if not any(changes):
        show.verbatim(f"{name} is not installed for {place.client.title}: {place.file}")
        return
    for one in () if dry_run else changes:
        clear_away(one.file, EMPTY)
    _print_changes(changes, f"Uninstalled {name} for {place.client.title}")


class _Place:
    """The place of a named entry in a client's configuration."""

    def __init__(self, client: Client, name: str, file: Path | None) -> None:
        if not file:
            demand_home()
        self.client = client
        self.file = file.expanduser().absolute() if file else client.file()
        self.rules = client.permissions() if client.permissions and not file else None
        """The file with the permission rules for `file`."""
        self._directory = self.file.parent if file else client.directory()
        self._keys = (client.table, name)
        self._name = name
        self._toml = self.file.name.endswith(".toml")

    def demand_client(self, *, force: bool) -> None:
        """Raise NotFoundError for a client that was never started, unless forced: it gets no files."""
        if not (force or self._directory.is_dir() or self.file.exists()):
            raise NotFoundError(
                f"{self.client.title} was never started here: there is no {self._directory}. Start it once, or add "
                "--force to create the file anyway."
            )

    def workspace(self) -> str | None:
        """Return the workspace that the entry names now; None if there is none, or the file cannot be read."""
        try:
            held = editing.parsed(text_of(self.file), toml=self._toml)
            return workspace_of(editing.value_at(held, self._keys))
        except RefusedError:
            return None

    def put(self, text: str, entry: ServerEntry, url: str = "", *, force: bool = False) -> str:
        """Return a text with the entry; what the user added to an older one stays."""
        held = editing.parsed(text, toml=self._toml)
        if (old := editing.value_at(held, self._keys)) is not None:
            if not (force or is_of_memoryd(old, url)):
                raise RefusedError(
                    f"{self._name} is another server there. Choose another --name, or add --force to replace it."
                )
            entry = renewed(old, entry) if isinstance(old, dict) else entry
        if old != entry:
            text = editing.put(text, self._keys, entry, toml=self._toml)
        inputs = editing.value_at(held, ["inputs"]) or []
        if needs_prompt(entry, self._name) and self._input(inputs) is None:
            text = editing.put(text, ["inputs", len(inputs)], token_prompt(self._name), toml=self._toml)
        return text

    def drop(self, text: str, *, force: bool) -> str:
        """Return a text without the entry and its question. Raise RefusedError.

        A text that does not name the entry stays as it is, even if it could not be edited.
        """
        if (self._name if self._toml else f'"{self._name}"') not in text:
            return text
        held = editing.parsed(text, toml=self._toml)
        if (old := editing.value_at(held, self._keys)) is None:
            return text
        if not (force or is_of_memoryd(old)):
            raise RefusedError(f"{self._name} does not look like memoryd there. Add --force to remove it.")
        text = editing.drop(text, self._keys, toml=self._toml)
        number = self._input(editing.value_at(held, ["inputs"]) or [])
        return text if number is None else editing.drop(text, ["inputs", number], toml=self._toml)

    def _input(self, inputs: Any) -> int | None:
        """Return the index of the entry's question, or None."""
        ids = [one.get("id") for one in inputs if isinstance(one, dict)] if isinstance(inputs, list) else []
        wanted = token_prompt(self._name)["id"]
        return ids.index(wanted) if wanted in ids and len(ids) == len(inputs) else None


def _entry(
    client: Client, name: str, http: str | None, settings: Settings, variable: str | None
) -> tuple[str, ServerEntry]:
    """Return the URL, '' if the client is to start memoryd, and the entry."""
    if http is not None:
        try:
            url = endpoint(http)
        except NotPostedError as error:
            raise InvalidInputError(str(error)) from None
        return url, _entry_with_url(client, name, url, settings, variable)
    if variable:
        raise InvalidInputError("--token-variable is for --http: a client that starts memoryd needs no token.")
    return "", entry_with_command(client, [*starting.command(settings), *starting.arguments(settings)])


def _check(what: str, given: str, pattern: str) -> None:
    if not re.fullmatch(pattern, given):
        raise InvalidInputError(f"{given!r} is not a valid {what}. Use one that matches {pattern}.")


def _check_hooks(client: ClientName, file: Path | None) -> None:
    """Raise InvalidInputError unless the client runs hooks."""
    if client not in hooks.HOOK_FILES:
        raise InvalidInputError(f"--hooks is not available for {client}. It is for {', '.join(hooks.HOOK_FILES)}.")
    if file:
        raise InvalidInputError("--hooks sets the user's hooks; for those of one project see docs/hooks.md.")


# extras --------------------------------------------------------------------------------------------------------------


def _wanted(given: bool | None, offered: object, option: str, question: str, *, default: bool, dry_run: bool) -> bool:
    """Return whether the user wants an extra; ask at a terminal, and otherwise do without.

    Raise InvalidInputError if it is wanted and not available.
    """
    if given is None:
        asked = bool(offered) and not dry_run and sys.stdin.isatty()
        return asked and typer.confirm(question, default=default, err=True)
    if given and not offered:
        raise InvalidInputError(f"{option} is not available here. docs/clients.md lists the clients that take it.")
    return given


RULES = ("permissions", "allow")
OTHERWISE = "Everything else is done; edit {} in permissions.allow there yourself."


def _calling(file: Path, name: str, *, allowed: bool) -> FileEdit:
    """Return the change of Claude Code's rules that lets it call a server's tools without asking, or takes it back."""
    rule = f"mcp__{name}"

    def edit(text: str) -> str:
        if not allowed and rule not in text:  # then it does not even have to be JSON
            return text
        rules = editing.value_at(editing.parsed(text, toml=False), RULES) or []
        if (isinstance(rules, list) and rule in rules) == allowed:
            return text
        if allowed:
            return editing.put(text, [*RULES, len(rules)], rule, toml=False)
        return editing.drop(text, [*RULES, rules.index(rule)], toml=False)

    return FileEdit(file, edit, OTHERWISE.format(rule))


# over HTTP -----------------------------------------------------------------------------------------------------------


def _entry_with_url(client: Client, name: str, url: str, settings: Settings, variable: str | None) -> ServerEntry:
    if not client.url:
        raise InvalidInputError(
            f"The file of {client.title} takes commands and no URLs. Omit --http: then it starts its own memoryd, "
            "which may share the server's database; docs/clients.md also shows a bridge."
        )
    if variable:
        _check("variable", variable, VARIABLE)
    if settings.workspace == AUTO:
        raise InvalidInputError(
            f"A server over HTTP does not see the project's directory, so --workspace {AUTO} means nothing to it. Name "
            "the workspace (`memoryd workspace which` says which one a directory has), with --file for one project."
        )
    if not settings.workspace.isascii():
        raise InvalidInputError("A workspace name that is not ASCII cannot be sent in a header. Name another one.")
    return entry_with_url(client, name, url, settings.workspace, variable or ("" if is_here(url) else TOKEN_VARIABLE))


def _of_server(settings: Settings, url: str, variable: str | None) -> list[str]:
    """Return the arguments of hooks on a server at a URL."""
    token = ["--token-variable", variable] if variable else []
    return [*starting.arguments(settings, "data_dir"), "--http", url, "--workspace", settings.workspace, *token]


# messages -------------------------------------------------------------------------------------------------------------


def _print_changes(changes: FileChanges, what: str) -> None:
    if changes.dry_run:
        show.verbatim("\n".join(one.diff for one in changes))
        note("Nothing was changed: --dry-run.")
        return
    show.verbatim(f"{what}: {', '.join(str(one.file) for one in changes)}")
    show.verbatim("\n".join(f"Backup: {one.backup}" for one in changes if one.backup and one.backup.exists()))
    note("Restart the client, or reload its servers.")


def _advise_on(client: Client, *, run_hooks: bool) -> None:
    """Print what the client asks before it runs hooks, and how to import the notes that it keeps by itself."""
    if run_hooks and client.trusting:
        note(f"{client.title} runs hooks once you have trusted them: start it once in a window, and agree.")
    pattern, importing = client.notes
    if pattern and next(Path.home().glob(pattern), None):
        note(f"{client.title} keeps notes of its own (docs/beside.md). To import them: {importing}")


def _advise(settings: Settings, entry: ServerEntry, name: str, url: str) -> None:
    """Print what else the user has to do; `url` is empty if the client starts memoryd."""
    given = settings.model_fields_set
    if needs_prompt(entry, name):
        note("The client asks for the token when it first connects, and keeps it in its own store of secrets.")
    elif variable := re.search(rf"Bearer \$?\{{(?:env:)?({VARIABLE})\}}|{BEARER}': '({VARIABLE})'", str(entry)):
        note(f"The client takes the token from its variable {variable[1] or variable[2]}.")
    if url.startswith("http://") and not is_here(url):
        note("http:// sends the token and the memories unencrypted: put TLS in front of the server.")
    if url and settings.workspace != DEFAULT_WORKSPACE:
        note(f"The workspace must exist on the server: memoryd workspace create {settings.workspace}")
    if url and "toolsets" in given:
        note("The server decides which tools it offers: --toolsets (MEMORY_TOOLSETS) was ignored.")
    if not url and "database_url" in given:
        note("The client does not see MEMORY_DATABASE_URL: set it in the `env` of the entry.")
    if not url and starting.is_cached():
        note(
            "uvx fetches memoryd again once its cache is cleared. `uv tool install memoryd` keeps a copy that it uses."
        )
