"""The entry point of the process: the `memoryd` command, and `python -m memoryd`."""

import gc

gc.disable()  # imports create a million objects that stay; collecting among them takes a fifth of the start-up time

from memoryd.cli import main  # noqa: E402

gc.freeze()  # the collector skips imported objects from now on
gc.enable()

if __name__ == "__main__":
    main()
