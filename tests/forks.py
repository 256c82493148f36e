"""Python processes forked from one that has already imported memoryd.

Starting Python, the SDK and memoryd takes a second of processor time; the suite starts hundreds of processes, and few
of its tests are about the start. A forked process has its own memory, files and locks, and dies like any other.
"""

import atexit
import multiprocessing
import os
import runpy
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, AnyStr

IMPORTED = [
    "anyio._backends._asyncio",
    "memoryd.cli.memories",
    "memoryd.cli.serve",
    "memoryd.cli.transfer",
    "memoryd.cli.upkeep",
    "memoryd.features.agents.spool",
    "memoryd.features.app.app",
    "memoryd.features.imports.command",
    "memoryd.features.login.logins",
    "memoryd.features.sync.command",
    "memoryd.server.stdio",
    "memoryd.store.postgres.store",
    "memoryd.store.sqlite.store",
    "rich.markdown",
]
"""What servers and most commands import at their start: each process would take a twentieth of a second for it."""

STREAMS = ("r", "surrogateescape", -1), ("w", "surrogateescape", -1), ("w", "backslashreplace", 1)
"""How Python opens stdin, stdout and stderr: mode, error handler, buffering."""


class Fork(subprocess.Popen[AnyStr]):
    """A `Popen` of this Python with `-m module` or `-c code`; it supports only pipes, files, `cwd` and `env`."""

    _process: Any
    _asking = threading.RLock()
    """Held while multiprocessing checks which of its processes have ended: it can read each exit code only once.

    Reentrant, because the garbage collector may delete another `Fork` meanwhile, which checks too.
    """

    if sys.platform != "win32":  # Windows cannot fork: there it stays a plain Popen

        def _execute_child(  # replaces fork and exec; gets the ends of the pipes
            self,
            args: Sequence[str],
            _executable: object,
            _preexec: object,
            _close: object,
            _pass: object,
            cwd: str | Path | None,
            env: Mapping[str, str] | None,
            _info: object,
            _flags: object,
            _shell: object,
            theirs_in: int,
            ours_in: int,
            ours_out: int,
            theirs_out: int,
            ours_err: int,
            theirs_err: int,
            *_: object,
        ) -> None:
            assert args[0] == sys.executable
            sys.audit("subprocess.Popen", args[0], args, cwd, env)
            streams = [
                number if given == -1 else given for number, given in enumerate((theirs_in, theirs_out, theirs_err))
            ]
            with self._asking:
                self._process = forked(args, os.environ if env is None else env, cwd or Path.cwd(), streams)
            self.pid = self._process.pid
            self._child_created = True
            self._close_pipe_fds(  # type: ignore[attr-defined]
                theirs_in, ours_in, ours_out, theirs_out, ours_err, theirs_err
            )

        def _internal_poll(self, *_: object, **__: object) -> int | None:
            with self._asking:
                code: int | None = self._process.exitcode
            self.returncode = code
            return code

        def _wait(self, timeout: float | None) -> int:
            wait([self._process.sentinel], timeout)
            code = self.poll()
            if code is None:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            return code


def forked(
    command: Sequence[str], environ: Mapping[str, str], cwd: str | Path, streams: Sequence[int]
) -> multiprocessing.process.BaseProcess:
    """Start a process with these descriptors as stdin, stdout and stderr; it ends with this process at the latest."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    pipes = [
        Connection(os.dup(stream), writable=bool(number), readable=not number) for number, stream in enumerate(streams)
    ]
    process = context.Process(target=_run, args=(list(command[1:]), dict(environ), str(cwd), pipes), daemon=True)
    process.start()
    for pipe in pipes:
        pipe.close()
    return process


def _run(command: list[str], environ: Mapping[str, str], cwd: str, pipes: Sequence[Connection]) -> None:
    """In the new process, run the command."""
    for number, pipe in enumerate(pipes):
        os.dup2(pipe.fileno(), number)
        pipe.close()
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, encoding="utf-8", errors=errors, buffering=buffering, closefd=False)
        for number, (mode, errors, buffering) in enumerate(STREAMS)
    )
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(cwd)
    option, what, *arguments = command
    try:
        if option == "-m":
            sys.argv = ["", *arguments]
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            sys.argv = ["-c", *arguments]
            exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})  # as `python -c` does
    except Exception:  # noqa: BLE001 - reported as by Python itself
        sys.excepthook(*sys.exc_info())
        sys.exit(1)
    finally:
        threading._shutdown()  # type: ignore[attr-defined] # threads first, as when Python exits
        atexit._run_exitfuncs()


def run(
    command: Sequence[str],
    *,
    input: AnyStr | None = None,  # noqa: A002
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[AnyStr]:
    """Do what `subprocess.run` does, with a `Fork`."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Fork[AnyStr](command, **options) as process:
        try:
            out, errors = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, out, errors)
    if check:
        done.check_returncode()
    return done
