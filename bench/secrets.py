"""How well secrets and injected instructions are distinguished from honest notes, and how fast.

    python -m bench.secrets [--wrong]

The notes are labelled: secret_notes/*.jsonl and order_notes.jsonl have the kind of each. A secret is between « and »;
{h40} is replaced with 40 characters of a class (CLASSES) from a fixed seed, and ¦ splits texts that a scanner would
report. `--wrong` prints the notes that are misjudged.
"""

import argparse
import hashlib
import json
import random
import re
import string
import time
import uuid
from base64 import urlsafe_b64encode
from collections import Counter
from pathlib import Path

from mnemonic import Mnemonic

from memoryd.core.security.prompt_injection import reads_like_instructions
from memoryd.core.security.secrets import Secrets

HERE = Path(__file__).parent
KEPT = 4  # consecutive characters of a secret that must not be readable afterwards, except its prefix
ALNUM = string.ascii_letters + string.digits
CLASSES = {
    "a": ALNUM,
    "w": ALNUM + "-_",
    "h": "0123456789abcdef",
    "u": string.ascii_uppercase + string.digits,
    "d": string.digits,
    "l": string.ascii_lowercase + string.digits,
    "b": ALNUM + "+/",
    "x": string.ascii_uppercase + "234567",
    "s": "023456789acdefghjklmnpqrstuvwxyz",
    "k": ALNUM.translate(str.maketrans("", "", "0OIl")),
    "c": string.ascii_letters,
    "q": ALNUM + "!#%*+?^~",
    "X": "x",
}
MASKING = Secrets("mask")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wrong", action="store_true")
    wrong = parser.parse_args().wrong
    for path in sorted(HERE.glob("secret_notes/*.jsonl")):
        _judge(path, wrong=wrong)
    _instructions(wrong=wrong)
    _speed()


def _judge(path: Path, *, wrong: bool) -> None:
    """Print how many secrets of each kind are masked, and how many honest notes."""
    rng, right, of, taken = random.Random(39), Counter[str](), Counter[str](), list[str]()
    honest = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        kind, note = (given := json.loads(line))["kind"], made(given["note"], rng)
        secrets = re.findall("«(.*?)»", note, re.DOTALL)
        cleaned = MASKING.clean(note.replace("«", "").replace("»", "") if secrets else note)
        if not secrets:
            honest += 1
            taken += [str(cleaned.value)] if cleaned.found else []
            continue
        of[kind] += 1
        shown = _shown(secrets[-1], cleaned.value)
        right[kind] += not shown
        if shown and wrong:
            print(f"  shown: {kind}: {cleaned.value}")
    print(f"{path.stem}: {right.total()} of {of.total()} secrets masked, {len(taken)} of {honest} honest notes")
    for kind in of:
        print(f"  {kind:50} {right[kind]:3} of {of[kind]:3}")
    if wrong:
        print(*(f"  taken: {note}" for note in taken), sep="\n")


def made(line: str, rng: random.Random) -> str:
    """Return a line with the braces filled in; {{ and }} stand for braces."""
    whole = line.replace("{{", "\0").replace("}}", "\1")
    whole = re.sub(r"\{([A-Za-z])(\d*)\}", lambda match: _fill(match[1], int(match[2] or 0), rng), whole)
    return whole.replace("\0", "{").replace("\1", "}").replace("¦", "")


def _fill(kind: str, length: int, rng: random.Random) -> str:
    if kind == "U":
        return str(uuid.UUID(int=rng.getrandbits(128), version=4))
    if kind == "M":
        return _phrase(rng.randbytes(length * 4 // 3))
    if kind == "J":
        parts = (b'{"alg":"HS256","typ":"JWT"}', json.dumps({"sub": rng.random()}).encode(), rng.randbytes(32))
        return ".".join(urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)
    return "".join(rng.choices(CLASSES[kind], k=length))


def _phrase(entropy: bytes) -> str:
    """Return a key phrase of BIP 39 with its checksum."""
    words = Mnemonic("english").wordlist
    bits = f"{int.from_bytes(entropy):0{len(entropy) * 8}b}{hashlib.sha256(entropy).digest()[0]:08b}"
    return " ".join(words[int(bits[at : at + 11], 2)] for at in range(0, len(bits) // 11 * 11, 11))


def _shown(secret: str, masked: str) -> bool:
    """Return whether at least a quarter of a secret can still be read."""
    part = max(len(secret) // 4, KEPT)
    return any(secret[at : at + part] in masked for at in range(len(secret) - part + 1))


def _instructions(*, wrong: bool) -> None:
    notes = [json.loads(line) for line in (HERE / "order_notes.jsonl").read_text(encoding="utf-8").splitlines()]
    orders = [each["note"] for each in notes if each["kind"] == "order"]
    honest = [each["note"] for each in notes if each["kind"] == "honest"]
    missed = [note for note in orders if not reads_like_instructions(note)]
    taken = [note for note in honest if reads_like_instructions(note)]
    print(f"orders: {len(orders) - len(missed)} of {len(orders)} noticed, {len(taken)} of {len(honest)} honest notes")
    if wrong:
        print(*(f"  missed: {note}" for note in missed), *(f"  taken: {note}" for note in taken), sep="\n")


def _speed() -> None:
    """Print the time for 10,000 characters of the documents, and for ten times as many of the slowest inputs."""
    prose = "".join(path.read_text(encoding="utf-8") for path in sorted(Path("docs").glob("*.md")))[:10_000]
    _spent(prose)
    print(f"10,000 characters: {_spent(prose) * 1000:.1f} ms")
    took = {part: _spent(part * (100_000 // len(part))) for part in EVIL}
    for part in sorted(took, key=lambda part: -took[part])[:8]:
        print(f"100,000 characters of {part[:40]!r}: {took[part]:.2f} s")


def _spent(text: str) -> float:
    began = time.process_time()
    MASKING.clean(text)
    return time.process_time() - began


EVIL = (
    "a",
    "1",
    " ",
    "\n",
    "-",
    "sk-",
    "eyJ",
    "eyJeyJeyJ.",
    "xoxb-1-",
    "://a:",
    "https://",
    "http://hook/",
    "aws key ",
    "password ",
    "password=",
    "password: ",
    "token is ",
    "secret:::",
    "curl -u ",
    "mysql -p ",
    "Bearer ",
    "AKIA",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAA",
    "PuTTY-User-Key-File-2",
    "[masked: password]",
    '"',
    "secret_key_key_key_",
    "api key access key ",
    "authorization: ",
    "pw:",
    "key is ",
    "--password ",
    "client('a',",
    "cookie:sid=",
    "recovery codes aaaa-",
    "abandon ",
)


if __name__ == "__main__":
    main()
