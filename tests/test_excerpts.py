"""Excerpts of texts of every kind: what answers stays, whole lines and sentences, in order, within the tokens."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.excerpts import Excerpt, cut, excerpt
from memoryd.sentences import sentences
from memoryd.text import content_words, estimate_tokens, speaker

PYTHON = """Retry decorator we use for flaky calls:

```python
import functools, time

def retry(times, base=0.2):
    # Call again. Wait longer each time.
    def wrap(f):
        @functools.wraps(f)
        def inner(*a, **k):
            for n in range(times):
                try:
                    return f(*a, **k)
                except OSError:
                    time.sleep(base * 2 ** n)
            raise RuntimeError("gave up")
        return inner
    return wrap
```

It must not be used for payments. Those are sent once only."""
NESTED = """# Packing list

- Clothes
  - two shirts
  - rain jacket, the blue one
    with the hood
  - socks
- Kitchen
  - stove. Check the gas first.
  - lighter
  1. matches
  2. knife
- Papers
  - passport
  - tickets for the ferry at 08:15"""
YAML = """services:
  db:
    image: postgres:16
    environment:
      POSTGRES_PASSWORD: example
    ports:
      - "5432:5432"
  web:
    image: shop/web:1.4
    depends_on: [db]
    ports:
      - "8080:80"
  worker:
    image: shop/worker:1.4
    command: ["run", "--queue", "mail"]"""
TABLE = """Machines of the lab:

| host | address | role |
|------|---------|------|
| alder | 10.0.0.4 | build. Rebooted on Mondays. |
| birch | 10.0.0.5 | database |
| cedar | 10.0.0.6 | mail |
| elm | 10.0.0.7 | backup |
| fir | 10.0.0.8 | spare |"""
CHECKLIST = """Restoring the database, step by step:
1. Tell the team in the channel.
2. Stop the writers.
3. Take the newest dump from the vault.
4. Check its sum.
5. Create an empty database.
6. Load the dump.
7. Run the migrations.
8. Compare the row counts.
9. Start one writer.
10. Watch the log for ten minutes.
11. Start the others and tell the team."""
TRACEBACK = """Import of a bank file failed:

Traceback (most recent call last):
  File "/srv/app/import.py", line 88, in load
    amount = Decimal(field)
  File "/srv/app/money.py", line 12, in parse
    raise InvalidOperation(text)
decimal.InvalidOperation: [<class 'decimal.ConversionSyntax'>]

Cause: the bank writes a comma. Dr. Weiss confirmed it.
Fix: replace it before parsing, see commit 41ac9d2."""
MINUTES = """Minutes of the gateway meeting, 4 March

Present: Ana, Bo, Cem. Ana chaired. Bo took notes.
We will use the second proposal. It costs less. Cem builds a prototype by April.
Bo asked about the certificates. They are renewed by the host, i.e. there is nothing to do.
Open: who informs the partners. Ana asks Mr. Lund."""
LETTER = """Dear Ms. Ortega,

thank you for your letter of 3 May. We looked into the broken heating at once and found that the pump in the
cellar had failed, which is why the radiators on the upper floors stayed cold. A new one was ordered on Tuesday.

The fitter comes on 12 May between 8 and 10 a.m. and needs access to your flat. If you are away, please leave the
key with Mr. Brandt on the ground floor. The rent for April is reduced by 10 %.

Yours sincerely,
J. R. Hollis"""
CHAT = """Anna: Good morning! How have you been? I slept badly.
Ben: Fine, thanks. I sold the red car. A man from Rome bought it for 4,200 euros. He paid in cash.
Anna: Oh! And what do you drive now?
Ben: The bike. It is spring, after all."""
JSON = """{
  "name": "ledger",
  "limits": {
    "rows": 5000,
    "wait": 2.5
  },
  "hosts": [
    "alder. one",
    "birch"
  ],
  "retry": true
}"""
DIFF = """diff --git a/app.py b/app.py
--- a/app.py
+++ b/app.py
@@ -1,6 +1,7 @@
 import os
-PORT = 80
+PORT = 8080
+- keep this. It is odd.
+HOST = "alder"

 def run():
-    serve(PORT)
+    serve(HOST, PORT)
@@ -20,3 +21,3 @@
 # end
-TIMEOUT = 5
+TIMEOUT = 9"""
JAPANESE = (
    "これは別の話である。" * 12
    + "猫の名前はタマです。"
    + "関係のない文が続く。" * 6
    + "サーバーは東京都にある。"
    + "これで終わりです。" * 5
)
WINDOWS = LETTER.replace("\n", "\r\n")
UNBROKEN = "x1" * 200 + "needle" + "y2" * 200
ONLY_TABLE = "\n".join(["name | port", "-----|-----"] + [f"svc{n} | {9000 + n}" for n in range(20)])
FENCED_YAML = f"The compose file:\n\n~~~yaml\n{YAML}\n~~~\nIt runs on alder. Nothing else does."

KINDS = {
    "python": PYTHON,
    "nested list": NESTED,
    "yaml": YAML,
    "fenced yaml": FENCED_YAML,
    "table": TABLE,
    "checklist": CHECKLIST,
    "traceback": TRACEBACK,
    "minutes": MINUTES,
    "letter": LETTER,
    "chat": CHAT,
    "json": JSON,
    "diff": DIFF,
    "japanese": JAPANESE,
    "windows": WINDOWS,
    "unbroken": UNBROKEN,
    "only a table": ONLY_TABLE,
}


def about(question: str, text: str, tokens: int) -> str:
    return excerpt(text, tokens, content_words(question)).text


# what is kept --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "question", "answer"),
    [
        ("python", "how long does it sleep?", "\n                    time.sleep(base * 2 ** n)\n"),
        ("nested list", "which hood is on the jacket?", "\n  - rain jacket, the blue one\n    with the hood\n"),
        ("nested list", "ferry", "\n- Papers\n  - passport\n  - tickets for the ferry at 08:15"),
        ("yaml", "web image", "services:\n"),
        ("yaml", "image shop/worker", "\n  worker:\n    image: shop/worker:1.4\n"),
        ("fenced yaml", "image shop/worker", "\n    image: shop/worker:1.4\n"),
        ("table", "cedar", "| host | address | role |\n|------|---------|------|\n…\n| cedar | 10.0.0.6 | mail |\n"),
        ("checklist", "after watching the log start the others", "\n11. Start the others and tell the team."),
        ("traceback", "which commit fixed it?", "\nFix: replace it before parsing, see commit 41ac9d2."),
        ("minutes", "who informs the partners?", "Open: who informs the partners. Ana asks Mr. Lund."),
        ("letter", "how much is the rent reduced?", "… The rent for April is reduced by 10 %.\n"),
        ("chat", "a man from Rome bought what?", "A man from Rome bought it for 4,200 euros."),
        ("json", "wait", '\n  "limits": {\n'),
        ("diff", "timeout", "\n-TIMEOUT = 5\n+TIMEOUT = 9"),
        ("japanese", "東京のサーバー", "サーバーは東京都にある。"),
        ("windows", "where is the key to be left?", "please leave the\r\nkey with Mr. Brandt on the ground floor."),
        ("unbroken", "needle", "1needley"),
        ("only a table", "port of svc13", "name | port\n-----|-----\n…\nsvc1"),
    ],
)
def test_what_answers_stays_as_it_is_in_the_text(kind: str, question: str, answer: str) -> None:
    tokens = 31
    assert estimate_tokens(KINDS[kind]) > tokens
    assert answer in about(question, KINDS[kind], tokens)


def test_sentences_that_share_words_stay_in_order() -> None:
    filler = "Something else entirely is shown here at length. " * 3
    text = f"{filler}The red car is fast. {filler}Its owner lives in Rome. {filler}"
    assert excerpt(text, 25, ["rome", "car"]).text == "… The red car is fast. … Its owner lives in Rome. …"


def test_rare_words_say_more_than_frequent_ones() -> None:
    text = "The server is old. The server is loud. The server has a fan. The key is in the drawer. The server is grey."
    assert "The key is in the drawer." in about("server key", text, 12)


def test_context_is_worth_more_than_scattered_sentences() -> None:
    lines = [f"{n}. The red step has the number {n}." for n in range(20)]
    lines[9] += " Valve seven stays open."
    text = "\n".join(lines)
    shown = about("number of the red valve seven open", text, 60).split("\n")
    assert [line for line in shown if line != "…"] == [lines[0], *lines[8:12]]


def test_the_best_span_goes_before_words() -> None:
    text = f"{MINUTES}\n{LETTER}"
    start = text.index("The fitter")
    found = excerpt(text, 30, content_words("minutes gateway meeting partners"), (start, start + 60)).text
    assert "The fitter comes on 12 May between 8 and 10 a.m. and needs access to your flat." in found
    assert "partners" not in found
    assert "Minutes of the gateway meeting" in excerpt(text, 30, content_words("minutes gateway meeting")).text


def test_words_choose_within_the_best_span() -> None:
    start, end = CHAT.index("Ben: Fine"), CHAT.index("\nAnna: Oh")
    assert excerpt(CHAT, 12, ["cash"], (start, end)).text == "Ben: … He paid in cash.\nAnna: Oh! …"
    assert excerpt(CHAT, 12, [], (start, end)).text == "Ben: … I sold the red car. …"


def test_the_speaker_and_the_title_stay() -> None:
    text = "Anna Lee: Good morning! How have you been? I sold the red car to a man from Rome. See you on Monday then."
    assert about("car", text, 15) == "Anna Lee: … I sold the red car to a man from Rome. …"
    assert about("morning", text, 8) == "Anna Lee: Good morning! …"
    assert about("bought euros", CHAT, 15) == "Ben: … A man from Rome bought it for 4,200 euros. …"
    assert about("partners", f"Notes\n{MINUTES}", 20).startswith("Notes\n…\n")
    assert about("partners", f"Anna: I was there.\n{MINUTES}", 17).startswith("Anna: …\n")


def test_a_unit_that_does_not_fit_is_torn_around_its_words() -> None:
    text = "The staging database listens on port 5433, and it is restarted with systemctl restart postgres."
    found = excerpt(text, 12, ["systemctl"])
    assert found.torn
    assert found.text == "… restarted with systemctl restart postgres."
    assert excerpt(text, 12, [], (40, 45)).text.startswith("… ")
    assert not excerpt(text, 30, ["systemctl"]).torn


@pytest.mark.parametrize(("text", "shown"), [("", ""), (" \n" * 40, "…"), ("```\n```\n" * 9, "…")])
def test_a_text_without_content_is_a_gap(text: str, shown: str) -> None:
    assert excerpt(text, 4, []).text == shown


# properties ----------------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
LINES = [line for text in KINDS.values() for line in text.splitlines()] + ["", "```", "~~~~", "| a |", "|-|", "x " * 99]
MIXED = st.tuples(st.lists(st.sampled_from(LINES), max_size=30), st.sampled_from(["\n", "\r\n"])).map(
    lambda drawn: drawn[1].join(drawn[0])
)
WORDS = st.lists(st.sampled_from([*content_words(" ".join(KINDS.values())), "東", "x"]), max_size=6)
SPANS = st.none() | st.tuples(st.integers(0, 400), st.integers(1, 200)).map(lambda drawn: (drawn[0], sum(drawn)))


def fences(text: str) -> list[str]:
    return re.findall(r"(?m)^[ \t]*(?:```|~~~)", text)


def made_of(line: str, source: str) -> bool:
    """Return whether a line is a line of the source or consists of whole sentences of it."""
    if line == source:
        return True
    name = f"{speaker(source)}: "
    rest = line.removeprefix(name) if line.startswith(f"{name}…") else line
    pieces = [re.escape(part) for part in sentences(source)]
    return bool(re.fullmatch(rf"\s*(?:(?:{'|'.join(pieces)}|…)\s*)+", rest)) if pieces else False


def in_order(shown: str, text: str) -> bool:
    """Return whether the lines of an excerpt are those of a text, whole or in sentences, in the order of the text."""
    sources = iter(text.split("\n"))
    name = f"{speaker(text)}: …"
    return all(
        line.strip() in {"…", name} or any(made_of(line.rstrip(), source.rstrip()) for source in sources)
        for line in shown.split("\n")
    )


def check(found: Excerpt, text: str, tokens: int) -> None:
    assert estimate_tokens(found.text) <= tokens
    if estimate_tokens(text) <= tokens:
        assert found == Excerpt(text)
    else:
        assert found.left_out_tokens == estimate_tokens(text) - estimate_tokens(found.text)


@pytest.mark.slow
@given(TEXTS | MIXED, st.integers(-1, 120), st.lists(st.text(max_size=5), max_size=4) | WORDS, SPANS)
def test_an_excerpt_fits(text: str, tokens: int, words: list[str], best: tuple[int, int] | None) -> None:
    check(excerpt(text, tokens, words, best), text, max(tokens, 0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)  # of each of the kinds
@given(st.integers(1, 140), WORDS, SPANS)
def test_every_kind_stays_whole(kind: str, tokens: int, words: list[str], best: tuple[int, int] | None) -> None:
    text = KINDS[kind]
    found = excerpt(text, tokens, words, best)
    check(found, text, tokens)
    if not found.torn:
        assert in_order(found.text, text)
        assert len(fences(found.text)) in {0, len(fences(text))}
        if kind in {"table", "only a table"} and any(row in found.text for row in text.splitlines()[-4:]):
            assert re.search(r"^\|?-+\|", found.text, re.MULTILINE)
    again = excerpt(found.text, tokens, words)
    assert again == Excerpt(found.text)


@given(MIXED, st.integers(20, 200), WORDS, SPANS)
def test_mixed_texts_stay_whole(text: str, tokens: int, words: list[str], best: tuple[int, int] | None) -> None:
    found = excerpt(text, tokens, words, best)
    lines = text.split("\n")
    if not found.torn and max(map(estimate_tokens, lines)) <= tokens:
        assert in_order(found.text, text)


# cuts ----------------------------------------------------------------------------------------------------------------


@given(TEXTS, st.integers(2, 60))
def test_a_cut_fits(text: str, tokens: int) -> None:
    assert estimate_tokens(cut(text, tokens)) <= tokens
    assert cut(text, estimate_tokens(text)) == text


def test_a_cut_ends_between_words() -> None:
    assert cut("one two three four five six", 5) == "one two three …"
    assert cut("東京" * 20, 15) == "東京" * 7 + " …"
