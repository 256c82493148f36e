"""The server's log: one JSON object per line on stderr, since stdout belongs to the protocol, or in a file."""

import json
import logging
import os
import sys
import threading
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from types import TracebackType

from pydantic import ValidationError

log = logging.getLogger(__name__)

FILE = 1 << 20


class JsonLines(logging.Formatter):
    """Formats a record as `{"time", "level", "logger", "message"}`, with `"exception"` if there is a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, in ASCII, so that every terminal can show it."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "request", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


class BoundedFile(RotatingFileHandler):
    """A log file of at most twice FILE bytes, to which stderr goes as well."""

    def __init__(self, path: str) -> None:
        super().__init__(path, maxBytes=FILE, backupCount=1, encoding="ascii")

    def _open(self) -> TextIOWrapper:
        stream = super()._open()
        os.dup2(stream.fileno(), sys.stderr.fileno())
        return stream


def set_up(level: str, handler: logging.Handler | None = None) -> None:
    """Log to stderr, or to a handler, from `level` on, including Python's warnings and uncaught errors."""
    handler = handler or logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(_discreet)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for verbose in ("mcp", "sse_starlette"):  # at debug they log whole messages
        logging.getLogger(verbose).setLevel("INFO" if level == "debug" else "NOTSET")
    logging.getLogger("httpx2").setLevel("WARNING")  # it logs whole URLs, which may contain a password
    logging.getLogger("psycopg").setLevel("ERROR")  # it warns of consequences of an error that a call already reports
    logging.captureWarnings(True)
    sys.excepthook = _uncaught
    threading.excepthook = _uncaught_in_thread


def _discreet(record: logging.LogRecord) -> bool:
    """Drop the SDK's error for a message that it cannot parse, since it repeats the message."""
    if record.exc_info and isinstance(record.exc_info[1], ValidationError):
        record.exc_info = None
    return True


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    log.critical("memoryd ends: %s", error or kind.__name__, exc_info=(kind, error, trace))


def _uncaught_in_thread(failed: threading.ExceptHookArgs) -> None:
    if failed.exc_value is not None and failed.exc_type is not SystemExit:
        name = failed.thread.name if failed.thread else "a thread"
        trace = (failed.exc_type, failed.exc_value, failed.exc_traceback)
        log.error("%s ended: %s", name, failed.exc_value, exc_info=trace)
