"""Where the process begins: the `memoryd` command, and `python -m memoryd`."""

import gc

gc.disable()  # importing makes a million objects that stay; looking for garbage among them takes a fifth of the start

from memoryd.cli import main  # noqa: E402

gc.freeze()  # what was imported is never looked at again
gc.enable()

if __name__ == "__main__":
    main()
