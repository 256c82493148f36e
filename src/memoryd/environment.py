"""The environment variables, which this module alone reads, and the cut between an engine's and a connection's.

It needs the standard library alone, since the connector does.
"""

import os
import sys
from collections.abc import Mapping

CONNECTION = frozenset({
    "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR", "MEMORY_CALL_TIMEOUT", "MEMORY_DEFAULT_TOKEN_BUDGET",
    "MEMORY_MAX_WAIT", "MEMORY_MCP_EMBEDDING_DIM", "MEMORY_MCP_SESSION_ID", "MEMORY_MCP_SESSION_PERSIST",
    "MEMORY_NAMESPACE", "MEMORY_PROJECT_DIR", "MEMORY_READ_ONLY", "MEMORY_TOOLSETS", "MEMORY_WORKSPACE",
})  # fmt: skip
"""The variables that say what one client wants. Clients that differ in these alone share a service."""

TRANSPORT = frozenset({
    "MEMORY_ALLOWED_HOSTS", "MEMORY_HOST", "MEMORY_HTTP_SESSIONS", "MEMORY_LOGIN", "MEMORY_LOGIN_DOCUMENTS",
    "MEMORY_LOGIN_RULES", "MEMORY_OIDC_CLIENT_ID", "MEMORY_OIDC_CLIENT_SECRET", "MEMORY_OIDC_GROUPS",
    "MEMORY_OIDC_ISSUER", "MEMORY_PORT", "MEMORY_PUBLIC_URL", "MEMORY_RATE_LIMIT", "MEMORY_SERVICE",
    "MEMORY_SERVICE_IDLE", "MEMORY_TRANSPORT",
})  # fmt: skip
"""The variables that say how clients connect, on which no engine depends."""

BESIDE = ("HOME", "XDG_DATA_HOME", "OLLAMA_HOST", "OPENAI_API_KEY", "OPENAI_BASE_URL")
"""Variables without a prefix of memoryd's or Postgres's that an engine depends on."""

FILES = ("MEMORY_DATA_DIR", "MEMORY_DB_PATH", "MEMORY_MCP_DB_PATH", "MEMORY_MODEL_DIR", "MEMORY_PROJECT_DIR")
"""Paths, which a client may give relative to its own directory."""

SILENT = {"ORT_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
"""What keeps libraries from reporting to their makers: onnxruntime from 1.29 on, and what fastembed downloads with."""


def current() -> dict[str, str]:
    """Return a copy of the environment of this process."""
    return dict(os.environ)


def silence() -> None:
    """Keep the libraries of the models from reporting their use, unless the user asks for it; before they are loaded.

    onnxruntime would note each process and session below `~/.cache/Microsoft`, with an id of the machine, and send it.
    """
    for name, value in SILENT.items():
        os.environ.setdefault(name, value)


def limit_threads() -> None:
    """Keep NumPy's BLAS to one thread, unless the user asks for more; before it is loaded.

    The others would spin for a while after each product, and at the start, where that took 80 ms of a processor. A
    product takes a millisecond here.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def directory() -> str:
    """Return the directory of this process; the root if it was removed meanwhile."""
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return "/"


def resolved(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without blank variables, with absolute paths, and with the data directory.

    Without that where none is given and the user has no home.
    """
    found = {name: value for name, value in environ.items() if value}
    if data := user_data(environ):
        found.setdefault("MEMORY_DATA_DIR", data)
    for name in FILES:
        if name in found:
            found[name] = os.path.abspath(os.path.expanduser(found[name]))  # noqa: PTH100, PTH111 - pathlib is slow
    other = found.pop("MEMORY_MCP_DB_PATH", "")
    return {"MEMORY_DB_PATH": other, **found} if other else found


def at(data_dir: object, db_path: object) -> dict[str, str]:
    """Return the resolved environment of this process with these files in place of its own."""
    files = {"MEMORY_DATA_DIR": str(data_dir), "MEMORY_DB_PATH": str(db_path or ""), "MEMORY_MCP_DB_PATH": ""}
    return resolved({**current(), **files})


def user_data(environ: Mapping[str, str]) -> str:
    """Return the directory of this user's data; '' without a home that is an absolute path, and on Windows.

    By this one rule connector and server meet: platformdirs, which takes long to load, reads such variables otherwise
    from version to version.
    """
    if sys.platform == "win32":
        return ""
    if sys.platform != "darwin" and os.path.isabs(given := environ.get("XDG_DATA_HOME", "").strip()):  # noqa: PTH117
        return f"{given}/memoryd"
    below = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
    return f"{found}/{below}/memoryd" if (found := home(environ)) else ""


def home(environ: Mapping[str, str]) -> str:
    """Return the home of this user; '' without one that is an absolute path."""
    found = environ.get("HOME", os.path.expanduser("~"))  # noqa: PTH111
    return found if os.path.isabs(found) else ""  # noqa: PTH117


def of_connection(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a connection depends on."""
    return {name: value for name, value in environ.items() if name in CONNECTION}


def without_connection(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what the process of a service gets of the environment of the client that starts it."""
    kept = {"MEMORY_READ_ONLY"} if _opens_for_reading(environ) else set()
    dropped = (CONNECTION | {"MEMORY_SERVICE", "MEMORY_TRANSPORT"}) - kept
    return {name: value for name, value in environ.items() if name not in dropped}


def of_engine(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that an engine depends on."""
    return {
        name: value
        for name, value in without_connection(environ).items()
        if (name.startswith(("MEMORY_", "PG")) and name not in TRANSPORT) or name in BESIDE
    }


def _opens_for_reading(environ: Mapping[str, str]) -> bool:
    """Return whether a read-only client needs an engine that is: on Postgres, which may be a replica."""
    return "MEMORY_DATABASE_URL" in environ
