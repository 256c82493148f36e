"""The hooks of this machine on a memoryd at a URL: it briefs and recalls; turns are read here, and posted to it."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from memoryd import environment
from memoryd.core.security.secrets import Secrets
from memoryd.core.workspaces.project import WorkspaceChoice
from memoryd.errors import InvalidInputError, StoreError
from memoryd.features.agents.hooks import ASKING, Event, TurnKeeper
from memoryd.features.agents.spool import Spool, SpooledTurns
from memoryd.model import Interaction
from memoryd.posting import HookServer, NotPostedError
from memoryd.settings import AUTO, Settings

PIECE = 1 << 20  # bytes of turns in one request, unless one turn has more


def target(settings: Settings, url: str, variable: str) -> HookServer:
    """Return the server at a URL, with the workspace of the settings. Raise InvalidInputError."""
    if settings.workspace == AUTO:
        raise InvalidInputError(f"A server does not see the project's directory: name a --workspace, not {AUTO}.")
    try:
        return HookServer(url, settings.workspace, variable, environment.current())
    except NotPostedError as error:
        raise InvalidInputError(str(error)) from None


def keeper(settings: Settings, event: Event, server: HookServer) -> TurnKeeper:
    """Return what stores the turns of a session in the journal of a server."""
    spool = ServerSpool(server, settings.data_dir)
    return TurnKeeper(event, settings, Secrets(settings.secrets), spool, WorkspaceChoice(server.workspace))


class ServerSpool(Spool):
    """The files on their way to a workspace of a server."""

    def __init__(self, server: HookServer, data_dir: Path) -> None:
        name = hashlib.sha256(f"{server.workspace} at {server.url}".encode()).hexdigest()[:16]
        super().__init__(data_dir / "spool" / name, server.url)
        self._server = server

    def put(self, entry: SpooledTurns) -> None:
        """Store turns durably, in files that each fit into a request. Raise OSError if they cannot be written."""
        pieces = list(_pieces(entry.turns))
        for number, turns in enumerate(pieces, 1):
            ended = entry.ended if number == len(pieces) else ()
            super().put(replace(entry, turns=turns, ended=ended))

    def _store(self, entry: SpooledTurns, _path: Path) -> None:
        turns = [asdict(turn) for turn in entry.turns]
        message = {"event": "turns", "client": entry.client, "turns": turns, "ended": entry.ended}
        try:
            self._server.post(message, ASKING)
        except NotPostedError as error:
            raise StoreError(str(error)) from None


def _pieces(turns: tuple[Interaction, ...]) -> Iterator[tuple[Interaction, ...]]:
    piece, size = list[Interaction](), 0
    for turn in turns:
        length = len(json.dumps(asdict(turn)))
        if piece and size + length > PIECE:
            yield tuple(piece)
            piece, size = [], 0
        piece.append(turn)
        size += length
    if piece:
        yield tuple(piece)
