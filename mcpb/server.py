"""What the bundle starts: memoryd, which uv has installed."""

import runpy

runpy.run_module("memoryd", run_name="__main__", alter_sys=True)
