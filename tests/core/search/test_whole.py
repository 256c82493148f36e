"""One memory alone is shown whole; of a longer one the lines around what answers, never a part of a line."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.core.search.briefing import INDENT, MORE, UNSURE
from memoryd.text import estimate_tokens
from tests.core.kit import memories, with_models

DEFAULT = 500  # tokens of an answer

HANDOVER = """Handover of the night desk, for Ilja.
The lift to the third floor sticks: press the button twice and wait for the click.
Two late arrivals are announced, a family in 12 and a cyclist in 7 who wants to keep the bike inside.
Room 4 has asked for a quiet morning, so no vacuum cleaner before ten.
If the fire panel shows zone 6, it is the steam of the laundry; open the hatch and acknowledge with the grey key.
The float of the till is 180, the rest lies in the safe."""
MINUTES = """Minutes of the orchard association
Present: Ylva, Tarek, Ms. Obermoser; apologies from the beekeepers.
1. Frost: the wind machine ran on five nights, diesel for two more is left.
2. Harvest: pickers come from the 9th of September on, Tarek books the minibus.
3. Cider press: the bearing is worn, Ylva asks for two offers and may spend up to 640 without asking again.
4. Any other business: the gate stays shut because of the sheep next door."""
CHECKLIST = """Before the boat goes into the water:
- [ ] close both sea cocks and try the bilge pump
- [ ] grease the rudder bearing (the tube is in the port locker)
- [ ] check the anodes; below 60 % they are replaced
- [ ] paint the waterline, two coats of the red antifouling
- [ ] charge both batteries to 12.7 V
- [ ] hang the fenders on the side of the crane"""
YAML = """receivers:
  otlp:
    protocols:
      grpc:
        endpoint: 0.0.0.0:4317
processors:
  memory_limiter:
    check_interval: 2s
    limit_mib: 384
  batch:
    timeout: 5s
exporters:
  file:
    path: /var/lib/traces/spans.json
service:
  pipelines:
    traces: {receivers: [otlp], processors: [memory_limiter, batch], exporters: [file]}"""
TRACE = """Traceback (most recent call last):
  File "/opt/tiles/render.py", line 88, in <module>
    render(job)
  File "/opt/tiles/render.py", line 41, in render
    sheet = atlas.load(job.region)
  File "/opt/tiles/atlas.py", line 129, in load
    raise AtlasError(f"region {region} has no index")
AtlasError: region north-4 has no index
It was the nightly sync, which leaves out the .idx files; run `make index` on the depot, then start the job again."""
TABLE = """| valve | opens | closes | note |
|---|---|---|---|
| V1 terrace | 05:30 | 05:50 | drip line |
| V2 hedge | 05:50 | 06:20 | skips Sundays |
| V3 lawn | 21:00 | 21:25 | off when the rain sensor is wet |
| V4 greenhouse | 07:00 | 07:05 | twice a day in July |
| V5 vegetable bed | 06:20 | 06:40 | by hand while the seedlings are small |"""
CODE = """```sh
#!/bin/sh
set -eu
mount /dev/disk/by-label/ATTIC /mnt/attic
rsync --archive --delete --exclude .cache /home/ /mnt/attic/home/
date --iso-8601=minutes > /mnt/attic/last  # shown by the greeter of the shell
umount /mnt/attic
```
The disk is in the drawer with the atlas, below the stairs. Unplug it afterwards, or the laptop does not sleep."""
RECIPE = """Dark bread of Aunt Ludmila, makes two loaves.
Stir 300 g of rye flour with 300 g of water and a spoon of sourdough, leave it overnight beside the stove.
In the morning add 450 g of spelt, 14 g of salt, a spoon of caraway and 250 g of water.
Knead only until it holds together, then let it rest for forty minutes in the tins.
Bake with steam: ten minutes at 240 degrees, then fifty at 190.
It is done when the bottom sounds hollow. Cut it on the next day."""
LETTER = (
    "Dear tenants, from Monday the 3rd on the scaffolding stands at the courtyard side. The windows there cannot be "
    "opened for about five weeks. Please take everything off the balconies by Sunday evening; the firm takes no "
    "responsibility for plants. The water is turned off on Wednesday between eight and noon. Bicycles may stand in "
    "the passage for as long as the shed is closed, but not in front of the meters. Deliveries go to number 18, "
    "where Mr. Pasternak signs for them. Questions to the office, mornings only, or by card into the box at the gate."
)
ASKED = {
    "handover": (HANDOVER, "What do I do if the fire panel shows zone 6?", HANDOVER.splitlines()[4]),
    "minutes": (MINUTES, "How much may Ylva spend on the cider press?", MINUTES.splitlines()[4]),
    "checklist": (CHECKLIST, "Where is the grease for the rudder?", CHECKLIST.splitlines()[2]),
    "yaml": (YAML, "What is the memory limit of the collector?", "    check_interval: 2s\n    limit_mib: 384"),
    "trace": (TRACE, "How do I fix the AtlasError about a missing index?", TRACE.splitlines()[-1]),
    "table": (TABLE, "When is the lawn watered?", TABLE.splitlines()[4]),
    "code": (CODE, "Where is the backup disk of the laptop?", CODE.splitlines()[-1]),
    "recipe": (RECIPE, "How long is the rye bread baked?", RECIPE.splitlines()[4]),
    "letter": (LETTER, "Who signs for parcels while the scaffolding stands?", "Deliveries go to number 18"),
}
"""Memories with a question and what answers it."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Engine]:
    with with_models(tmp_path_factory.mktemp("whole"), model_dir) as here:
        yield here


def answer(engine: Engine, name: str, question: str, text: str) -> str:
    here = memories(engine, name=name)
    here.store(text)
    return here.recall(question, DEFAULT).text


@pytest.mark.parametrize("name", ASKED)
def test_a_memory_that_fits_is_shown_whole(engine: Engine, name: str) -> None:
    body, question, says = ASKED[name]
    assert 80 <= estimate_tokens(body) <= 250
    text = answer(engine, name, question, body)
    assert says.replace("\n", INDENT) in text
    assert body.replace("\n", INDENT) in text
    assert "…" not in text


def test_all_of_them_together_are_cut_only_where_they_do_not_fit(engine: Engine) -> None:
    here = memories(engine, name="all")
    for body, *_ in ASKED.values():
        here.store(body)
    for name, (body, question, says) in list(ASKED.items())[::2]:
        text = here.recall(question, DEFAULT).text
        assert estimate_tokens(text) <= DEFAULT
        assert says.replace("\n", INDENT) in text, name
        assert body.replace("\n", INDENT) in text, "the best hit is whole"


# longer ones ---------------------------------------------------------------------------------------------------------

TITLE = "Notes on the farmhouse"
NOTES = [
    "The gravel for the drive was delivered in eleven big bags.",
    "Marlene repainted the shutters in a dull green.",
    "The old pear tree bears again since it was grafted.",
    "Two panes of the veranda have cracks at the corner.",
    "The chimney sweep has his own ladder and wants coffee.",
    "Swallows nest above the barn door, so it stays open.",
    "The well is nine metres deep and has never run dry.",
    "A mason from the next village rebuilt the garden wall.",
    "The piano is tuned a quarter tone too low.",
    "In the loft there are crates with magazines about trains.",
]
FINDS = {
    "We were wed on the ninth of June in the town hall of Arles.": "When did the couple of the farmhouse get married?",
    "Whoever feels ill calls Doctor Sabatier, day and night.": "Which physician comes to the farmhouse at any hour?",
    "The lorry comes for the rubbish each second Thursday.": "How often is the garbage of the farmhouse collected?",
}
"""A line of a long text, and a question that shares no word with it, but one with the title."""


@pytest.mark.parametrize(("line", "place"), [*zip(FINDS, (2, 48), strict=False)])
def test_a_long_text_is_cut_at_lines_around_what_answers(engine: Engine, line: str, place: int) -> None:
    lines = [TITLE, *(f"{NOTES[number % len(NOTES)][:-1]}, see page {number}." for number in range(50))]
    lines[place] = line
    body = "\n".join(lines)
    assert len(body) >= 3_000
    text = answer(engine, f"long{place}-{len(line)}", FINDS[line], body)
    assert estimate_tokens(text) <= DEFAULT
    shown, _, named = text.removeprefix(f"{UNSURE}\n").partition("\n\n")
    assert re.fullmatch(r'Whole texts: memory_inspect ids=\["[0-9a-f]{8,}"\]', named)
    assert line in shown
    more = re.search(re.escape(MORE).replace(r"\{\}", r"(\d+)") + r" \(\d{4}-\d\d-\d\d\)$", shown)
    assert more
    own = re.sub(r"^- \[\w+\] ", "", shown[: more.start()]).split(INDENT)
    kept = [one.strip() for one in own if one.strip("… ")]
    assert set(kept) <= set(lines), "each line is whole"
    assert kept == sorted(kept, key=lines.index), "in their order"
    assert int(more[1]) == pytest.approx(estimate_tokens(body) - estimate_tokens("\n".join(kept)), abs=5)


def test_prose_in_one_line_is_cut_between_sentences(engine: Engine) -> None:
    says, question = next(iter(FINDS.items()))
    sentences = [f"{TITLE}.", *(f"{NOTES[number % len(NOTES)][:-1]}, see page {number}." for number in range(50))]
    sentences[30] = says
    text = answer(engine, "prose", question, " ".join(sentences))
    assert says in text
    shown = re.sub(r"^- \[\w+\] |… \d+ more tokens .*$", "", text.removeprefix(f"{UNSURE}\n").partition("\n\n")[0])
    parts = [part.strip() for part in re.split(r"…|(?<=\.) ", shown)]
    assert {part for part in parts if part} <= set(sentences)
