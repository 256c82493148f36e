"""Notes of vaults, graphs and agents: their properties, dates and folders, and texts without Markdown."""

import json
import os
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.features.imports.formats.notes import date_of_name, dated
from memoryd.model import Record
from tests.features.imports.formats_kit import bring
from tests.features.imports.test_formats import records

UNDATED = 1_600_000_000
"""When the files were last changed: the time of what states none."""


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


def vault(folder: Path, **notes: str) -> Path:
    """Write notes; in their names, `__` stands for a slash."""
    for name, content in notes.items():
        file = folder / "vault" / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        os.utime(file, (UNDATED, UNDATED))
    return folder / "vault"


def one(engine: Engine, folder: Path) -> Record:
    bring(engine, folder)
    (record,) = records(engine).values()
    return record


# properties ----------------------------------------------------------------------------------------------------------


def test_properties_without_a_meaning_here_are_text_and_lead_to_the_note(engine: Engine, tmp_path: Path) -> None:
    front = (
        'aliases: [Harbour book, HB]\nauthor: "[[people/ines|Ines Falk]]"\nrating: 7\nlinks:\n  - "[[Harbour]]"\n'
        "where: {town: Lund}\ncssclasses: [wide]\nempty:\ntags: [book]\n"
    )
    record = one(engine, vault(tmp_path, **{"Notes.md": f"---\n{front}---\nOn the harbour.\n"}))
    assert record.body == (
        "Notes\n\naliases: Harbour book, HB\nauthor: Ines Falk\nrating: 7\nlinks: Harbour\nwhere: town: Lund\n\n"
        "On the harbour."
    )
    assert record.tags == ("book", "note:Notes")


def test_a_note_of_properties_alone_is_a_memory_and_one_of_embeds_is_none(engine: Engine, tmp_path: Path) -> None:
    folder = vault(
        tmp_path,
        **{
            "Ines.md": "---\nbirthday: 1984-03-09\n---\n",
            "Books.md": "![[Books.base]]\n",
            "None.md": "---\ntags: []\n---\n",
        },
    )
    read, _ = bring(engine, folder)
    assert set(records(engine)) == {"Ines\n\nbirthday: 1984-03-09"}
    assert dict(read.found.left_out) == {"notes that only embed other files": 1, "empty notes": 1}


@pytest.mark.parametrize(
    "front", ["title: Tea: the leaf\ntags: [food, drink]", "tags:\n- food\n- drink\ntime: {{time}}"]
)
def test_one_property_that_is_not_yaml_loses_no_other(engine: Engine, tmp_path: Path, front: str) -> None:
    record = one(engine, vault(tmp_path, **{"Tea.md": f"---\ncreated: 2024-03-14\n{front}\n---\nGreen.\n"}))
    assert record.created_at == "2024-03-14T00:00:00.000Z"
    assert {"food", "drink"} <= set(record.tags)
    assert "Green." in record.body


def test_suffixes_in_capitals_are_read_and_other_texts_are_counted(engine: Engine, tmp_path: Path) -> None:
    folder = vault(tmp_path, **{"A.MD": "One.", "B.TXT": "Two.", "c.org": "* Three", "d.canvas": "{}", "e.ORG": "* x"})
    read, _ = bring(engine, folder)
    assert set(records(engine)) == {"A\n\nOne.", "Two."}
    assert dict(read.found.left_out) == {"other files (1 .org, 1 .canvas, 1 .ORG)": 3}


# dates ---------------------------------------------------------------------------------------------------------------

DAY, HALF_PAST_TEN = "2024-03-14T00:00:00.000Z", "2024-03-14T10:30:00.000Z"


@pytest.mark.parametrize(
    ("written", "time"),
    [
        ("2024-03-14", DAY),
        ("2024/03/14", DAY),
        ("2024.03.14", DAY),
        ("20240314", DAY),
        ("14-03-2024", DAY),
        ("14.03.2024", DAY),
        ("14/03/2024", DAY),
        ("03/14/2024", DAY),
        ("[[2024-03-14]]", DAY),
        ("2024-03-14 Thursday", DAY),
        ("Mar 14th, 2024", DAY),
        ("14 March 2024", DAY),
        ("[[Thu, 14 Mar 2024]]", DAY),
        ("2024-03-14T10:30", HALF_PAST_TEN),
        ("2024-03-14 10:30", HALF_PAST_TEN),
        ("2024-03-14T12:30:00+02:00", HALF_PAST_TEN),
        ("202403141030", HALF_PAST_TEN),
        ("20240314103000", HALF_PAST_TEN),
        ("14.03.2024 10:30", HALF_PAST_TEN),
        ("Thursday, March 14th 2024, 10:30:00 am", HALF_PAST_TEN),
        ("March 14, 2024 10:30", HALF_PAST_TEN),
        ("Thursday, March 14th 2024, 10:30:00 pm", "2024-03-14T22:30:00.000Z"),
        ("March 14, 2024 12:05 am", "2024-03-14T00:05:00.000Z"),
        ("1710412200", HALF_PAST_TEN),
        ("03/04/2024", ""),  # in April or in March
        ("March 2024", ""),
        ("2024-13-45", ""),
        ("99999999", ""),
        ("tomorrow", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_a_date_is_read_as_people_write_it_and_never_guessed(written: object, time: str) -> None:
    assert dated(written) == time


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("2024-03-14", DAY),
        ("2024_03_14", DAY),
        ("20240314", DAY),
        ("2024-03-14 Thursday", DAY),
        ("2024-03-14 Meeting with Ann", DAY),
        ("202403141030", HALF_PAST_TEN),
        ("202403141030 My zettel", HALF_PAST_TEN),
        ("2024", ""),
        ("2024-03", ""),
        ("12345678", ""),
        ("20240314ab", ""),
        ("Meeting 2024-03-14", ""),
    ],
)
def test_the_name_of_a_note_may_begin_with_its_date(name: str, time: str) -> None:
    assert date_of_name(name) == time


@pytest.mark.parametrize(
    "name", ["created", "Created", "createdAt", "created_at", "date created", "creation date", "date", "Date-Created"]
)
def test_the_time_of_a_note_is_found_under_any_usual_name(engine: Engine, tmp_path: Path, name: str) -> None:
    front = f"{name}: 14.03.2024\ndate modified: Friday, March 15th 2024, 9:00:00 am"
    record = one(engine, vault(tmp_path, **{"Tea.md": f"---\n{front}\n---\nGreen.\n"}))
    assert (record.created_at, record.updated_at) == (DAY, "2024-03-15T09:00:00.000Z")
    assert record.body == "Tea\n\nGreen."


def test_notes_that_state_no_time_are_counted(engine: Engine, tmp_path: Path) -> None:
    read, _ = bring(engine, vault(tmp_path, **{"A.md": "One.", "B.md": "Two.", "2024-03-14.md": "Three."}))
    assert read.found.hints.first == ["2 notes state no time: they get that at which their files last changed"]
    assert records(engine)["A\n\nOne."].created_at == "2020-09-13T12:26:40.000Z"


# programs ------------------------------------------------------------------------------------------------------------


def test_a_graph_of_logseq_is_read_without_its_own_properties_and_earlier_versions(
    engine: Engine, tmp_path: Path
) -> None:
    folder = vault(
        tmp_path,
        **{
            "pages__boat.md": "title:: Boat log\ntags:: boats, [[sea life]]\ncreated:: 2024-03-14\n\n- Named Petra\n",
            "journals__2024_03_14.md": "- Fixed the mast\n  id:: 64b1-aaaa\n  collapsed:: true\n- price:: 7\n",
            "logseq__bak__pages__boat__2024-01-01.md": "- Named Paula",
            "logseq__version-files__local__pages__boat__2024-01-02.md": "- Named Pia",
            "logseq__config.edn": "{}",
        },
    )
    read, _ = bring(engine, folder)
    kept = records(engine)
    assert set(kept) == {"Boat log\n\n- Named Petra", "2024_03_14\n\n- Fixed the mast\n- price:: 7"}
    assert {record.created_at for record in kept.values()} == {DAY}
    assert kept["Boat log\n\n- Named Petra"].tags == ("boats", "sea life", "note:Boat log")
    assert read.found.left_out["notes in hidden folders, templates and earlier versions"] == 2


@pytest.mark.parametrize(
    ("body", "is_graph"),
    [
        ("## Observations\n- [likes] Tea\n\n## Relations\n- works_at [[Acme]]\n", True),
        ("## Relations\n\n- works_at [[Acme]]\n", True),
        ("## Observations\n- Tea is green.\n", False),
        ("## Observations\n- [ ] Buy tea\n", False),
        ("- works_at [[Acme]]\n", False),
    ],
)
def test_a_note_for_basic_memory_keeps_its_relations_without_a_permalink(
    engine: Engine, tmp_path: Path, body: str, is_graph: bool
) -> None:
    read, _ = bring(engine, vault(tmp_path, **{"Ann.md": f"---\ntype: person\n---\n# Ann\n\n{body}"}))
    assert (read.numbers["relations"] > 0, read.numbers["memories"] == 0) == (is_graph, is_graph)


def test_texts_that_agents_wrote_with_the_memory_tool_stay_whole(engine: Engine, tmp_path: Path) -> None:
    folder = vault(
        tmp_path,
        **{
            "memories__preferences.txt": "Ann prefers\ntea over coffee,\nbut only in the evening.\n",
            "memories__prefs.xml": "<drink>tea</drink>",
            "memories__progress.md": "# Progress\n- step 1",
            "memories__facts.txt": "Ann lives in Lund.\nBob sings.\n",
        },
    )
    bring(engine, folder)
    assert set(records(engine)) == {
        "preferences\n\nAnn prefers\ntea over coffee,\nbut only in the evening.",
        "prefs\n\n<drink>tea</drink>",
        "progress\n\n# Progress\n- step 1",
        "Ann lives in Lund.",
        "Bob sings.",
    }


def test_memories_of_goose_are_blocks_with_tags(engine: Engine, tmp_path: Path) -> None:
    text = "# drink\nAnn prefers tea.\n\n# home town\nAnn lives\nin Lund.\n\nStill.\n"
    bring(engine, vault(tmp_path, **{"personal.txt": text}))
    kept = records(engine)
    assert set(kept) == {"Ann prefers tea.", "Ann lives\nin Lund.\n\nStill."}
    assert kept["Ann prefers tea."].tags == ("file:personal.txt", "drink")


def test_of_a_projects_folder_the_memories_come_in_and_the_rest_is_named(engine: Engine, tmp_path: Path) -> None:
    folder = vault(
        tmp_path,
        **{
            ".serena__memories__ports.md": "The staging port is 5433.",
            "memory-bank__activeContext.md": "Active: the oar.",
            "CLAUDE.md": "Be kind.",
            ".cursor__rules__a.mdc": "Be quick.",
            ".git__description.md": "No.",
            "node_modules__x__CLAUDE.md": "No.",
            "src__main.py": "print(1)",
        },
    )
    (folder / "src" / "data.json").write_text(json.dumps([{"content": "Not a memory."}]))
    read, _ = bring(engine, folder)
    assert set(records(engine)) == {"ports\n\nThe staging port is 5433.", "activeContext\n\nActive: the oar."}
    commands = [hint for hint in read.found.hints.first if "memoryd import" in hint]
    assert [hint.split()[0] for hint in commands] == [".cursor/rules/a.mdc", "CLAUDE.md"]
    assert f"`memoryd import {folder / 'CLAUDE.md'}`" in commands[1]
