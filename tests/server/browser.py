"""The Chromium that `make ui-test` drives."""

import os
import shutil

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
PICTURES = os.environ.get("MEMORYD_PICTURES")
"""Where to put the pictures of the documentation; unset: nowhere."""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
NONE = "no Chromium: name one in CHROMIUM, or install one"
