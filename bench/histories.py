"""Random histories of the sync, with all that may happen to machines and to the repository: how many end equal.

python -m bench.histories 1000        # a thousand; with a second number from that seed on
"""

import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.features.sync.histories import History

SHOWN = 10  # histories between figures


def main(number: int, first: int) -> int:
    """Run histories, and print those that fail; return 1 if any does."""
    place = Path("/dev/shm") if Path("/dev/shm").is_dir() else None  # in memory: fast
    failed, begun = list[int](), time.process_time()
    for seed in range(first, first + number):
        with tempfile.TemporaryDirectory(dir=place) as folder:
            try:
                History(seed, Path(folder), harm=True).run()
            except Exception:  # noqa: BLE001 - each is shown, and the others run
                failed.append(seed)
                print(f"history {seed}:", traceback.format_exc()[-1_500:], flush=True)
        done = seed + 1 - first
        if done % SHOWN == 0 or done == number:  # so that a run that is cut off has its figure, too
            used = time.process_time() - begun
            print(
                f"{done - len(failed)} of {done} histories from {first} on ended equal; {used:.0f} s of CPU.",
                flush=True,
            )
    if failed:
        print("Failed:", *failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int((*sys.argv, "0")[2])))
