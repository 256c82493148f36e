"""The entry point of the process: the `memoryd` command, and `python -m memoryd`."""

import gc
import sys

from memoryd import environment, extras

if sys.platform != "win32":
    from memoryd import connect

COMMANDS = {
    "command": "memoryd.cli:main",
    "hook": "memoryd.connect.elsewhere:run",
    "client": "memoryd.connect.client:run",
}
"""The parts of the program, each imported only if it is to run."""


def main() -> None:
    """Run as the connector of an MCP client, or run a command."""
    if sys.platform != "win32":  # Python has no Unix sockets there
        part, arguments = connect.main()
        if part != "command":
            extras.named(COMMANDS[part])(*arguments)  # returns if this process has to do the work itself
    environment.limit_threads()
    gc.disable()  # imports create a million objects that stay; collecting them takes a fifth of the start-up time
    try:
        run = extras.named(COMMANDS["command"])
        gc.freeze()  # from now on the collector skips imported objects
        gc.enable()
        run()
    except KeyboardInterrupt:  # before a command has begun; commands end with this code too
        sys.exit(130)


if __name__ == "__main__":
    main()
