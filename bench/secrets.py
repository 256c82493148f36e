"""How well secrets and injected instructions are distinguished from honest notes, compared with the bare library.

    python -m bench.secrets [--wrong]

The notes are labelled. `--wrong` prints those that are misjudged.
"""

import argparse
import importlib
import inspect
import pkgutil
import random
import string
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from detect_secrets import plugins
from detect_secrets.plugins.base import BasePlugin

from bench import secret_notes_fresh as fresh
from bench.order_notes import NOTES, ORDERS
from bench.secret_notes import held, honest
from memoryd.core.security import secrets
from memoryd.core.security.prompt_injection import reads_like_instructions

KEPT = 4  # consecutive characters of a secret that must not be readable afterwards, except its prefix


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wrong", action="store_true")
    wrong = parser.parse_args().wrong
    print("notes by the hand that wrote the rules")
    _secrets(held(), honest(), wrong=wrong)
    for half, name in enumerate(("tuned on", "not looked at")):
        print(f"fresh notes, the half that was {name}")
        _secrets(fresh.held(half), fresh.honest(half), wrong=wrong)
    _library()
    _instructions(wrong)
    _speed()


def _secrets(secret: Iterable[tuple[str, str, str]], plain: Iterable[tuple[str, str]], *, wrong: bool) -> None:
    hidden, there = Counter[str](), Counter[str]()
    for kind, note, value in secret:
        there[kind] += 1
        masked = secrets.Secrets("mask").clean(note).value
        if not _shown(value, masked):
            hidden[kind] += 1
        elif wrong:
            print(f"  shown: {kind}: {masked}")
    taken, total = Counter[str](), Counter[str]()
    for kind, note in plain:
        total[kind] += 1
        if found := secrets.Secrets("mask").clean(note).found:
            taken[kind] += 1
            if wrong:
                print(f"  taken: {kind}: {note} {found}")
    _table("secrets", hidden, there)
    _table("honest notes that were masked", taken, total)


def _shown(secret: str, masked: str) -> bool:
    """Return whether at least a quarter of a secret can still be read."""
    part = max(len(secret) // 4, KEPT)
    return any(secret[at : at + part] in masked for at in range(len(secret) - part + 1))


def _library() -> None:
    """Judge the same notes with the library's unmodified plugins, line by line as it reads files."""
    found = []
    for module in pkgutil.iter_modules(plugins.__path__):
        for _, plugin in inspect.getmembers(importlib.import_module(f"detect_secrets.plugins.{module.name}")):
            if inspect.isclass(plugin) and issubclass(plugin, BasePlugin) and not inspect.isabstract(plugin):
                found.append(plugin)
    every = [plugin() for plugin in dict.fromkeys(found)]

    def judge(note: str) -> bool:
        return any(True for line in note.split("\n") for plugin in every for _ in plugin.analyze_string(line))

    right = _share(judge, (note for _, note, _ in held()))
    false = _share(judge, (note for _, note in honest()))
    print(f"detect-secrets with all its plugins: {right} secrets noticed; {false} honest notes taken\n")


def _share(judge: Callable[[str], bool], notes: Iterable[str]) -> str:
    judged = list(map(judge, notes))
    return f"{sum(judged)} of {len(judged)}"


def _instructions(wrong: bool) -> None:
    print(f"orders: {_share(lambda note: bool(reads_like_instructions(note)), ORDERS)} noticed; "
          f"honest notes taken: {_share(lambda note: bool(reads_like_instructions(note)), NOTES)}\n")  # fmt: skip
    if wrong:
        for note in ORDERS:
            if not reads_like_instructions(note):
                print(f"  missed: {note}")
        for note in NOTES:
            if reason := reads_like_instructions(note):
                print(f"  taken: {note} ({reason})")


def _speed() -> None:
    """Print microseconds per character of honest text, and seconds per megabyte of the slowest inputs."""
    prose = "".join(path.read_text(encoding="utf-8") for path in sorted(Path("docs").glob("*.md")))
    for name, text in (("documents", prose), ("honest notes", "\n".join(note for _, note in honest()))):
        began = time.process_time()
        secrets.Secrets("mask").clean(text)
        print(f"{name}: {(time.process_time() - began) / len(text) * 1e6:.2f} us a character")
    rng = random.Random(1)
    texts = {
        "words": " ".join(rng.choices("the password token server key is memory aws secret of".split(), k=160_000)),
        "hex": "".join(rng.choices("0123456789abcdef", k=1_000_000)),
        "base64": "".join(rng.choices(string.ascii_letters + string.digits + "-_", k=1_000_000)),
        **{part: part * (1_000_000 // len(part)) for part in _EVIL},
    }
    took = {}
    for name, text in texts.items():
        began = time.process_time()
        secrets.Secrets("mask").clean(text)
        middle = time.process_time()
        reads_like_instructions(text)
        took[name] = middle - began, time.process_time() - middle
    for name, (one, other) in sorted(took.items(), key=lambda pair: -max(pair[1]))[:8]:
        print(f"1 MB of {name[:40]!r}: secrets {one:.2f} s, instructions {other:.2f} s")


_EVIL = (
    "a", "1", " ", "\n", "-", "sk-", "eyJ", "eyJeyJeyJ.", "xoxb-1-", "://a:", "https://", "//", "aws ", "aws key ",
    "password ", "password=", "password: ", "is ", "token is ", "secret:::", "curl -u ", "curl ", "mysql -p ",
    "Bearer ", "AKIA", "pass", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAA",
    "PuTTY-User-Key-File-2", "ignore all ", "do not ", "you are ", "when the ", "before ", "send the ", "<system ",
    '{"role": ', "instructions ", "[masked: password]", '"', "secret_key_key_key_", "api key access key ",
    "authorization: ", "authorization:bearer ", "pw:", "key is ", "--password ", "able ", "http://hook/", "cookie:sid=",
)  # fmt: skip


def _table(head: str, numbers: Counter[str], of: Counter[str]) -> None:
    print(f"{head}: {numbers.total()} of {of.total()}")
    for kind in of:
        print(f"  {kind:30} {numbers[kind]:3} of {of[kind]:3}")
    print()


if __name__ == "__main__":
    main()
