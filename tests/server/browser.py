"""The Chromium that `make ui-test` drives: CHROMIUM names one, else chromium or google-chrome on PATH."""

import os
import shutil

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
NONE = "no Chromium: name one in CHROMIUM, or install one"
