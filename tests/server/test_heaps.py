"""A server process gives memory back to the system."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the system has no glibc"),
]

FLOOD = """
import ctypes, time
from pathlib import Path
from memoryd.server import process

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

process.EVERY, process.WORTH = 0.2, 0.0
process.limit_heaps()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
blocks = [libc.malloc(20_000) for _ in range(5_000)]
for block in blocks:
    ctypes.memset(ctypes.c_void_p(block), 1, 20_000)
full = resident()
for block in blocks[:-1]:  # the last one is at the top of the heap, so malloc cannot shorten it
    libc.free(block)
deadline = time.monotonic() + 30
while resident() > full - 80e6 and time.monotonic() < deadline:
    time.sleep(0.1)
print(int(full - resident()))
"""


def test_memory_below_what_is_in_use_is_given_back(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", FLOOD], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(run.stdout) > 80e6
