"""Forms in which secrets are written down (texts/held.txt), and honest notes that look alike (texts/honest.txt).

Between « and » stands what is masked; ¦ parts what no scanner should take for a leak.
"""

import base64
import json
import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memoryd.core.security.secrets import mask

TEXTS = Path(__file__).parent / "texts"


def lines(name: str) -> list[str]:
    """The notes of a file, without its headings."""
    notes = (TEXTS / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
    return [note.replace("\\n", "\n").replace("¦", "") for note in notes if not note.startswith("# ")]


def test_a_secret_is_masked() -> None:
    for note in lines("held"):
        secret = note[note.index("«") + 1 : note.index("»")]
        masked, found = mask(note.replace("«", "").replace("»", ""))
        assert secret not in masked
        assert len(found) == 1, note


@pytest.mark.parametrize("key_id", ["k1", "signing-2024-09-" * 12])
def test_a_web_token_is_masked_however_long_its_header(key_id: str) -> None:
    parts = [{"alg": "RS256", "kid": key_id}, {"sub": "ann", "exp": 1_726_561_800}]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    assert mask(f"The console shows {'.'.join(encoded)}.{'Zx8k' * 10} again") == (
        "The console shows [masked: JSON web token] again",
        ["JSON web token"],
    )


def test_an_honest_note_stays() -> None:
    assert [note for note in lines("honest") if mask(note) != (note, [])] == []


WORDS = (
    "the a code key token secret lock safe vault alarm door gate entrance entry port id is are lautet ist est press"
    " enter type opens with unlocks for on at year limit wifi login account user api number row advisory zip order"
    " Schlüssel Code Tür Tresor clé porte coffre llave puerta ключ дверь сейф 鍵 金庫 门 锁 비상구"
).split()
SHORT = st.integers(0, 99_999_999).map(str)
JOINTS = st.sampled_from([" ", ": ", " = ", ", ", " (", ") ", " - ", "="])


@given(st.lists(st.tuples(st.one_of(st.sampled_from(WORDS), SHORT), JOINTS), min_size=1, max_size=14))
def test_no_short_number_without_a_label_is_masked(parts: list[tuple[str, str]]) -> None:
    """A lost fact costs more than the code of a door that is kept."""
    text = "".join(word + joint for word, joint in parts)
    assume(not re.search(r"[=:] ?\w+=\w", text))  # `token=the=1000`: the label has a value with letters
    assume(not re.search(r"\b(?:wifi|login|api) [^\W\d]+ ?[:=-]", text))  # `wifi Schlüssel: 1000` has a label
    assert mask(text) == (text, [])


@given(
    st.integers(1_000, 10**12).map(str),
    st.sampled_from(["PIN: ", "pin=", "My PIN is ", "passcode: ", "Passwort: "]),
)
def test_a_label_directly_before_a_number_makes_it_a_secret(number: str, label: str) -> None:
    assert number not in mask(f"{label}{number}.")[0]
