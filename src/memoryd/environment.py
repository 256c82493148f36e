"""The environment variables, which only this module reads, divided into those of an engine and of a connection.

It imports only the standard library, because the connector does.
"""

import os
import sys
from collections.abc import Mapping

CONNECTION = frozenset(
    """CLAUDE_CODE_SESSION_ID CLAUDE_PROJECT_DIR MEMORY_CALL_TIMEOUT MEMORY_DEFAULT_TOKEN_BUDGET
    MEMORY_MCP_EMBEDDING_DIM MEMORY_MCP_SESSION_ID MEMORY_MCP_SESSION_PERSIST MEMORY_NAMESPACE MEMORY_PROJECT_DIR
    MEMORY_READ_ONLY MEMORY_TOOLSETS MEMORY_WORKSPACE""".split()
)
"""The variables that describe one client. Clients that differ only in these share a service."""

TRANSPORT = frozenset(
    """MEMORY_ALLOWED_HOSTS MEMORY_HOOKS MEMORY_HOST MEMORY_HTTP_SESSIONS MEMORY_LOGIN MEMORY_LOGIN_DOCUMENTS
    MEMORY_LOGIN_RULES MEMORY_OIDC_CLIENT_ID MEMORY_OIDC_CLIENT_SECRET MEMORY_OIDC_GROUPS MEMORY_OIDC_ISSUER
    MEMORY_PORT MEMORY_PUBLIC_URL MEMORY_RATE_LIMIT MEMORY_SERVICE MEMORY_SERVICE_IDLE MEMORY_TRANSPORT""".split()
)
"""The variables that describe how clients connect; no engine depends on them."""

BESIDE = ("HOME", "XDG_DATA_HOME", "OLLAMA_HOST", "OPENAI_API_KEY", "OPENAI_BASE_URL")
"""Variables without a prefix of memoryd or Postgres on which an engine depends."""

FILES = ("MEMORY_DATA_DIR", "MEMORY_DB_PATH", "MEMORY_MCP_DB_PATH", "MEMORY_MODEL_DIR", "MEMORY_PROJECT_DIR")
"""Variables with paths, which may be relative to the client's directory."""

SILENT = {"ORT_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
"""The variables that disable telemetry: of onnxruntime from 1.29 on, and of the library with fastembed's downloads."""


def current() -> dict[str, str]:
    """Return a copy of the environment of this process."""
    return dict(os.environ)


def silence() -> None:
    """Disable the telemetry of the models' libraries unless the user enables it. Call this before they are loaded.

    onnxruntime would record each process and session in `~/.cache/Microsoft`, with an id of the machine, and send it.
    """
    for name, value in SILENT.items():
        os.environ.setdefault(name, value)


def limit_threads() -> None:
    """Limit NumPy's BLAS to one thread unless the user sets another number. Call this before NumPy is loaded.

    Further threads would spin for a while after each product and at the start, where that took 80 ms of CPU. A product
    takes a millisecond here.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def directory() -> str:
    """Return the current directory of this process; the root if it was removed meanwhile."""
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return "/"


def resolved(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without blank variables, with absolute paths, and with the data directory.

    The data directory is missing if none is given and the user has no home.
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
    """Return the resolved environment of this process, with these files in place of its own."""
    files = {"MEMORY_DATA_DIR": str(data_dir), "MEMORY_DB_PATH": str(db_path or ""), "MEMORY_MCP_DB_PATH": ""}
    return resolved({**current(), **files})


def user_data(environ: Mapping[str, str]) -> str:
    """Return the directory of this user's data; '' without a home that is an absolute path, and on Windows.

    The connector and the server must agree on it, so both use this function: platformdirs is slow to load, and its
    versions read such variables differently.
    """
    if sys.platform == "win32":
        return ""
    if sys.platform != "darwin" and os.path.isabs(given := environ.get("XDG_DATA_HOME", "").strip()):  # noqa: PTH117
        return f"{given}/memoryd"
    below = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
    return f"{found}/{below}/memoryd" if (found := home(environ)) else ""


def home(environ: Mapping[str, str]) -> str:
    """Return this user's home; '' if it is not an absolute path."""
    found = environ.get("HOME", os.path.expanduser("~"))  # noqa: PTH111
    return found if os.path.isabs(found) else ""  # noqa: PTH117


def of_connection(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a connection depends on."""
    return {name: value for name, value in environ.items() if name in CONNECTION}


def without_connection(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a service's process gets from the environment of the client that starts it."""
    kept = {"MEMORY_READ_ONLY"} if "MEMORY_DATABASE_URL" in environ else set()  # Postgres may be a replica
    dropped = (CONNECTION | {"MEMORY_SERVICE", "MEMORY_TRANSPORT"}) - kept
    return {name: value for name, value in environ.items() if name not in dropped}


def of_engine(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that an engine depends on."""
    return {
        name: value
        for name, value in without_connection(environ).items()
        if (name.startswith(("MEMORY_", "PG")) and name not in TRANSPORT) or name in BESIDE
    }
