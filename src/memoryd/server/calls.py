"""Tool calls over any protocol: their workspace, thread and errors."""

import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from memoryd import features
from memoryd.core.access.tokens import Grant
from memoryd.core.base.progress import CountProgress, ignore_progress
from memoryd.core.engine import Engine
from memoryd.core.records.records import written_by
from memoryd.core.workspaces.registry import usable
from memoryd.daemon import REFUSED
from memoryd.deadline import time_limit
from memoryd.errors import (
    InvalidInputError,
    MemorydError,
    NotFoundError,
    NoThreadError,
    OverloadedError,
    StoreError,
    TimedOutError,
    UnexpectedError,
)
from memoryd.model import Workspace
from memoryd.server.apps import of_app
from memoryd.server.connection import Caller
from memoryd.server.threads import LASTING, THREADS, Lane, ThreadPools, ThreadShare
from memoryd.toolsets import PROJECT_TOOLS, chosen
from memoryd.toolsets.registry import Answer, Call, Needs, Tool

log = logging.getLogger(__name__)

WAITING = 1_000  # calls that may wait for a thread
WAIT = 30.0  # seconds for which one may wait; many clients give up a call after a minute
RETRY, LATEST = 5, 60  # seconds after which a call that was refused may be tried again, at the earliest and latest
SWITCH = "switch_project"

T = TypeVar("T")
CallObserver = Callable[[str, str, float], None]
"""A callback for the tool, the outcome and the seconds of each call."""


class Calls:
    """The tools that a server offers, and how to call them.

    `pools`: the threads that it shares with other servers of this process; its calls get at most a quarter of them.
    """

    def __init__(self, engine: Engine, pools: ThreadPools | None = None) -> None:
        settings = engine.settings
        self.engine = engine
        self.tools = chosen(settings.toolsets, read_only=settings.read_only)
        self.app_tools = of_app(self.tools, read_only=settings.read_only)
        self.observers: list[CallObserver] = []
        self.ending: list[Callable[[], None]] = []
        """Callbacks that end endless streams, called before the server waits for running calls."""
        self._named = "workspace" in settings.model_fields_set
        self._timeout, self._max_wait = settings.call_timeout, min(WAIT, settings.call_timeout)
        most = THREADS // 4 if pools else THREADS  # more would not be faster, but would slow down the calls of others
        pools = pools or ThreadPools()
        self._share, self._lasting = ThreadShare(pools.calls, most), ThreadShare(pools.lasting, LASTING)
        self._unlimited = CapacityLimiter(math.inf)

    @property
    def binding(self) -> bool:
        """Whether a request over HTTP must name its workspace: neither a setting nor the session's project does."""
        return not self._named and SWITCH not in self.tools

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a thread."""
        return self._share.waiting + self._lasting.waiting

    def offered(self, grant: Grant, *, app: bool = False) -> dict[str, Tool]:
        """Return the tools that a caller may use; a caller bound to a workspace gets no project tools.

        With `app`, include those of the app, for a client that shows it.
        """
        names = self.tools | self.app_tools if app else self.tools
        return {name: tool for name in names if (tool := self.tool(name, grant, app=app))}

    def tool(self, name: str, grant: Grant, *, app: bool = False) -> Tool | None:
        """Return a tool that a caller may call, else None: one that is offered, or one that no list shows."""
        tool = self.tools.get(name) or (self.app_tools.get(name) if app else None) or _unlisted(name)
        if tool is None or (grant.workspace and name in PROJECT_TOOLS):
            return None
        return tool if grant.allows(tool.right or name, tool.capability) else None

    def call(self, caller: Caller, needs: Needs = "workspace", progress: CountProgress = ignore_progress) -> Call:
        """Return the context of a call. Raise NotFoundError if it needs a workspace and there is none."""
        place = self._place(caller, needs)
        return Call(self.engine, place, caller.session_id, caller.grant.principal, progress, caller.grant)

    def session(self, caller: Caller) -> str:
        """Return the session of a caller, separate for each principal; '' if there is none."""
        return Call(self.engine, None, caller.session_id, caller.grant.principal).session

    def _place(self, caller: Caller, needs: Needs) -> Workspace | None:
        """Return the workspace of the request, else the session's active project, else that of the settings."""
        if needs == "nothing":
            return None
        if caller.workspace:
            if not caller.opened:
                return caller.workspace
            return _found(self.engine.workspaces.by_id(caller.workspace.id), caller.workspace.name)
        if needs == "given" and not caller.remote:
            return None
        if SWITCH in self.tools and not caller.grant.workspace:
            if active := self.engine.sessions.active(self.session(caller)):
                return active
            if needs == "project" or (caller.remote and not self._named):
                raise NotFoundError(f"No active project. Use {SWITCH} to select one.")
        return self.engine.workspace(make=not self.engine.settings.read_only)

    def watched(self, caller: Caller) -> Workspace | None:
        """Return the workspace of a caller's resources, or None; also None once its token is revoked."""
        if caller.remote and not self.engine.credentials.admits(caller.grant):
            return None
        if caller.workspace:
            return self.engine.workspaces.by_id(caller.workspace.id)
        active = self.engine.sessions.active(self.session(caller)) if SWITCH in self.tools else None
        if active or (caller.remote and not self._named):
            return active
        return self.engine.choice().known(self.engine.workspaces)

    def named(self, name: str) -> Workspace:
        """Return the workspace with a name; raise NotFoundError, or InvalidInputError if it is archived."""
        return _found(self.engine.workspaces.get(name) if name else None, name)

    async def run(
        self,
        caller: Caller,
        tool: Tool,
        arguments: Mapping[str, Any],
        progress: CountProgress = ignore_progress,
    ) -> tuple[Answer[Any], Call]:
        """Run a tool in a thread. Raise MemorydError; log an unexpected error, and raise it without internals."""
        began, outcome = time.perf_counter(), "failed"

        def work() -> tuple[Answer[Any], Call]:
            call = self.call(caller, tool.needs, progress)
            with written_by(caller.client, tool.name):
                return tool.run(call, arguments), call

        try:
            done = await self.hop(
                lambda: self._guarded(tool.name, work), writing=tool.capability != "read", lasting=tool.lasting
            )
            outcome = "ok"
        except InvalidInputError:
            outcome = "invalid"
            raise
        except OverloadedError:
            outcome = "refused"
            raise
        finally:
            for observe in self.observers:
                observe(tool.name, outcome, time.perf_counter() - began)
        return done

    def _guarded(self, name: str, work: Callable[[], T]) -> T:
        try:
            return work()
        except MemorydError as error:
            if isinstance(error, StoreError):
                log.warning("%s: %s", name, error)
            raise
        except Exception as error:  # the only boundary for unexpected errors
            log.exception("%s failed", name)
            raise UnexpectedError(
                f"{name} failed unexpectedly; the server's log has the details. Check whether it took effect."
            ) from error

    async def hop(self, work: Callable[[], T], *, writing: bool = False, lasting: bool = False) -> T:
        """Run work in one of the threads; lasting work has its own threads and no time limit.

        Raise OverloadedError if too many calls are waiting for it to begin, NoThreadError, or TimedOutError.
        """
        share = self._lasting if lasting else self._share
        timeout, patience = (math.inf, math.inf) if lasting else (self._timeout, self._max_wait)
        until = time.monotonic() + timeout
        async with _thread(share.writes if writing else share.reads, patience):
            left = until - time.monotonic()
            try:
                with anyio.fail_after(left), time_limit(left):
                    return await to_thread.run_sync(work, limiter=self._unlimited, abandon_on_cancel=True)
            except TimeoutError:
                raise TimedOutError(
                    f"The call took longer than {timeout:g} s and continues without an answer. Check whether it took "
                    "effect, and ask for less."
                ) from None
            except RuntimeError as error:
                if str(error) == REFUSED:
                    raise NoThreadError from error
                raise


def _unlisted(name: str) -> Tool | None:
    tool: Tool | None = features.load("unlisted", name) if name in features.names("unlisted") else None
    return tool


def _found(workspace: Workspace | None, name: str) -> Workspace:
    if workspace is None:
        raise NotFoundError(f"Workspace not found: {name[:100]}")
    return usable(workspace)


@asynccontextmanager
async def _thread(lane: Lane, patience: float) -> AsyncIterator[None]:
    """Hold a thread, or raise OverloadedError: at once if the wait is expected to exceed `patience` seconds."""
    delay = lane.delay
    if lane.waiting >= WAITING or delay > patience:
        raise _overloaded(delay)
    async with AsyncExitStack() as having:
        with anyio.move_on_after(patience) as waiting:
            await having.enter_async_context(lane)
        if waiting.cancelled_caught:
            raise _overloaded(lane.delay)
        yield


def _overloaded(delay: float) -> OverloadedError:
    return OverloadedError(math.ceil(min(max(delay, RETRY), LATEST)))
