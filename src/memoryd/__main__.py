"""Where the process begins: the `memoryd` command, and `python -m memoryd`."""

import gc

gc.disable()  # importing makes a million objects that stay; looking for garbage among them takes a fifth of the start

from memoryd.cli import main as run  # noqa: E402


def main() -> None:
    """Run the command line."""
    gc.freeze()  # what was imported is never looked at again
    gc.enable()
    run()


if __name__ == "__main__":
    main()
