"""The entry point of the process: the `memoryd` command, and `python -m memoryd`."""

import gc
import sys

from memoryd import environment, extras

if sys.platform != "win32":
    from memoryd import connect

COMMANDS = {"command": "memoryd.cli:main"}
"""What is imported only by a process that is not the connector."""


def main() -> None:
    """Be the connector of an MCP client, or run a command."""
    if sys.platform != "win32":  # Python has no Unix sockets there
        connect.main()
    environment.limit_threads()
    gc.disable()  # imports create a million objects that stay; collecting among them takes a fifth of the start-up time
    try:
        run = extras.named(COMMANDS["command"])
        gc.freeze()  # the collector skips imported objects from now on
        gc.enable()
        run()
    except KeyboardInterrupt:  # before a command has begun, which ends with this code, too
        sys.exit(130)


if __name__ == "__main__":
    main()
