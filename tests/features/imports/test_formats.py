"""The foreign formats: what is read of each, that an import can be repeated, that damage affects only its part."""

import json
import random
import shutil
import sqlite3
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.base import limits
from memoryd.core.engine import Engine
from memoryd.core.memories.memories import Memories
from memoryd.core.scope import Scope
from memoryd.errors import InvalidInputError
from memoryd.features.imports import intake
from memoryd.features.imports.formats.items import SourceItem, SourceTurn
from memoryd.features.imports.formats.source import opened
from memoryd.features.imports.formats.table import FORMATS
from memoryd.model import Record
from memoryd.store import rows
from tests.core import kit
from tests.features.imports.formats_kit import NAMES, bring, sample

EXPECTED: dict[str, tuple[str, dict[str, int], int, str]] = {
    "aider": ("aider", {"turns": 2}, 0, "Which port?\nThe one of staging.\n\n\n\n5433."),
    "basic-memory": (
        "markdown", {"entities": 7, "observations": 5, "relations": 6}, 0,
        "[decision] @2026-07-27 The grinder stays at 18.",
    ),
    "chat": ("chat", {"turns": 1}, 0, "Which port?\n\nLook into the file.\n\n5433."),
    "chatgpt": ("chatgpt", {"memories": 1, "turns": 3}, 1, "Ann prefers Assam."),
    "claude-ai": ("claude-ai", {"memories": 5, "turns": 3, "summaries": 1}, 2, "Work: Ann prefers short answers."),
    "claude-code": ("claude-code", {"turns": 2}, 0, "Which port?\n\nLook into the file.\n\n5433."),
    "claude-mem": (
        "claude-mem", {"memories": 2, "summaries": 1}, 1,
        "Port of staging. It moved\nThe old port was taken.\n- Staging listens on 5433",
    ),
    "claude-mem-original": ("claude-mem", {"memories": 3, "summaries": 1}, 2, "バックアップは毎晩三時に動く"),
    "claude-memory": (
        "markdown", {"memories": 2}, 1,
        "Where staging listens\n\nStaging listens on port 5433. **Why:** 5432 is the old one. See [[deploy-steps]].",
    ),
    "codex": ("codex", {"turns": 2}, 1, "Which port?\n\nLook into the compose file.\n\n5433."),
    "cognee": ("cognee", {"memories": 1, "entities": 2, "relations": 1}, 2, "Ann works at Acme."),
    "cursor": ("cursor", {"turns": 1}, 1, "Which port?\n\n\n\n5433."),
    "cursor-state": ("cursor", {"turns": 1}, 1, "Which port?\n\nLook.\n\n5433."),
    "gemini": ("gemini", {"turns": 2, "summaries": 1}, 1, "Which port?\n\nLooking: in the file.\n\n5433."),
    "graphiti": (
        "graphiti", {"memories": 1, "entities": 2, "observations": 2, "relations": 1}, 1, "Ann works at Acme."
    ),
    "jsonl": (
        "jsonl", {"memories": 2, "turns": 1, "summaries": 1, "entities": 2, "observations": 1, "relations": 1}, 0,
        "Lives in Berlin.",
    ),
    "letta": ("letta", {"memories": 2, "turns": 1}, 0, "Ann prefers tea."),
    "list": ("markdown", {"memories": 2}, 0, "Ann prefers tea."),
    "markdown": (
        "markdown", {"memories": 4, "entities": 3, "observations": 1, "relations": 3}, 2,
        "[method] Pour over is clearer than French press #brewing (tasted twice)",
    ),
    "mcp-memory-service": ("mcp-memory-service", {"memories": 2}, 2, "Bob likes cycling to work."),
    "mcp-memory-service-export": ("mcp-memory-service", {"memories": 3}, 1, "Bob fährt mit dem Rad zur Arbeit."),
    "mcp-memory-service-original": ("mcp-memory-service", {"memories": 3}, 3, "Bob fährt mit dem Rad zur Arbeit."),
    "mcp-memory-service-json": ("mcp-memory-service", {"memories": 1}, 0, "Staging listens on port 5433."),
    "mem0": ("mem0", {"memories": 2}, 1, "Bob lives in Porto."),
    "mem0-export": ("mem0", {"memories": 1}, 1, "Ann prefers tea."),
    "mempalace": (
        "mempalace", {"memories": 3, "entities": 3, "relations": 1}, 5, " ".join(f"word{n}" for n in range(400))
    ),
    "opencode": ("opencode", {"turns": 1}, 1, "Which port?\n\nLook.\n\n5433."),
    "opencode-export": ("opencode", {"turns": 1}, 0, "Which port?\n\nLook.\n\n5433."),
    "qwen": ("qwen", {"turns": 1}, 0, "Which port?\n\nLook into the file.\n\n5433."),
    "server-memory": (
        "server-memory", {"entities": 2, "observations": 2, "relations": 1}, 1, "Ann climbs on Tuesdays.",
    ),
    "openmemory": ("mem0", {"memories": 2}, 1, "Ann works at Acme."),
}  # fmt: skip
"""Of each sample its format, what is found and how much is left out in it, and the text of a record."""


def records(engine: Engine, workspace: str = "default") -> dict[str, Record]:
    """Return all records of a workspace, by their texts."""
    found: dict[str, Record] = {}

    def read(queries: Any) -> None:
        for page in rows.pages(queries, "records"):
            for row in page:
                row.pop("deleted_at")
                found[row["body"]] = Record(**row | {"tags": tuple(json.loads(row["tags"]))})

    engine.store.read(engine.workspaces.find(workspace), read)
    return found


def test_every_format_has_a_sample() -> None:
    assert set(NAMES) == EXPECTED.keys()
    assert {form for form, *_ in EXPECTED.values()} == FORMATS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_recognized_imported_and_found_and_a_second_import_adds_nothing(
    name: str, engine: Engine, tmp_path: Path
) -> None:
    form, numbers, left_out, text = EXPECTED[name]
    path = sample(name, tmp_path)
    read, (done,) = bring(engine, path)
    assert (read.form.name, dict(read.numbers), read.found.left_out.total()) == (form, numbers, left_out)
    assert +done.new & Counter(numbers) == Counter(numbers)
    assert read.found.faults.number == 0, read.found.faults
    kept = records(engine)[text]
    assert (kept.client, kept.tool) == (f"import {form}", "memoryd import")
    scope = Scope(engine, engine.workspaces.find("default"))
    recalled = Memories(scope).recall(" ".join(text.split()[:6]), 5_000, form="list")
    assert text in {hit.record.body for hit in recalled.hits}
    _, (again,) = bring(engine, path)
    assert not +again.new


def test_what_another_program_keeps_apart_or_names_shows_in_tags(engine: Engine, tmp_path: Path) -> None:
    bring(engine, sample("mcp-memory-service-original", tmp_path))
    kept = records(engine)
    assert kept["The tulips need frost."].tags == ("project:garden", "type:learning", "garden")
    assert kept["Bob fährt mit dem Rad zur Arbeit."].tags == ("type:note", "entity:Bob")


def test_a_text_of_a_database_that_is_not_utf_8_loses_only_its_wrong_bytes(engine: Engine, tmp_path: Path) -> None:
    path = sample("claude-mem-original", tmp_path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE observations SET title = CAST(x'546561ff' AS TEXT), project = 'Café' WHERE id = 2")
    read, _ = bring(engine, path)
    assert read.numbers["memories"] == 3
    assert records(engine)["Tea\ufffd"].tags == ("project:Café", "type:discovery")


def test_what_of_a_vault_is_not_imported_and_why(engine: Engine, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "torn.md").write_text("---\ntags: [a\n---\nHalf a property.\n")
    (vault / "picture.png").write_bytes(b"\x89PNG")
    (vault / "Tea.md").write_text(
        f"# Tea\n\n## Green\n\n{'Steep it for two minutes. ' * 90}\n\n## Black\n\nBoiling water.\n"
    )
    read, _ = bring(engine, vault)
    assert dict(read.found.left_out) == {"other files (1 .png)": 1}
    hint, timeless = read.found.hints.first
    assert timeless == "2 notes state no time: they get that at which their files last changed"
    assert hint.startswith("torn.md: its properties are not valid YAML (line 3: did not find expected ',' or ']')")
    assert {text.split("\n\nSteep")[0] for text in records(engine)} == {
        "torn\n\nHalf a property.", "# Tea\n\n## Green", "Tea\n\n## Black\n\nBoiling water.",
    }, "a heading with nothing below it is not a memory"  # fmt: skip


def test_headings_with_nothing_but_lists_are_in_no_summary(engine: Engine, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    text = (
        "# Tea\n\n## Observations\n- [fact] Green\n\n## Notes\n### Deep\nBuy more.\n## Relations\n- grows_in [[Uji]]\n"
    )
    (vault / "Tea.md").write_text(f"---\ntitle: Tea\npermalink: tea\n---\n{text}")
    bring(engine, vault)
    (tea,) = [one for one in records(engine).values() if one.name == "Tea" and one.kind == "entity"]
    assert tea.body == "## Notes\n### Deep\nBuy more."


def test_a_broken_conversation_is_named(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    whole = json.loads((sample("chatgpt", tmp_path) / "conversations.json").read_text())
    torn = [{"id": "c9", "title": "Piano", "mapping": "gone"}, {"id": "c8", "mapping": {}}, {"title": "Bees"}, {"x": 1}]
    file.write_text(json.dumps([*whole, *torn]))
    read, _ = bring(engine, file)
    assert read.found.faults.first == [
        "the conversation 'Piano' has no messages (mapping)", "the conversation 'c8' has no messages (mapping)",
        "the conversation 'Bees' has no id", "a conversation with x has no id",
    ]  # fmt: skip
    assert read.numbers["turns"] == 3


def test_messages_of_claude_without_ids_are_kept(engine: Engine, tmp_path: Path) -> None:
    messages = [{"sender": "human", "text": "Which port?"}, {"sender": "assistant", "text": "5433."}]
    (tmp_path / "conversations.json").write_text(json.dumps([{"uuid": "u", "chat_messages": messages}]))
    read, _ = bring(engine, tmp_path / "conversations.json")
    assert (set(records(engine)), read.found.left_out) == ({"Which port?\n\n\n\n5433."}, {})


# damage --------------------------------------------------------------------------------------------------------------


def damaged(path: Path, how: str) -> None:
    """Break the largest file of a sample."""
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    file = max(files, key=lambda one: one.stat().st_size)
    data = bytearray(file.read_bytes())
    chance = random.Random(how)
    if how == "cut":
        data = data[: len(data) // 2]
    elif how == "empty":
        data.clear()
    elif how.startswith("flipped"):
        for _ in range(max(1, len(data) // 200)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_sample_is_read_as_far_as_possible_or_refused(name: str, tmp_path: Path) -> None:
    form, *_ = EXPECTED[name]
    for number, how in enumerate(("cut", "empty", "flipped 1", "flipped 2", "flipped 3")):
        (tmp_path / str(number)).mkdir()
        path = sample(name, tmp_path / str(number))
        damaged(path, how)
        with suppress(InvalidInputError), opened(path) as source:
            intake.recognize(source, FORMATS.values())
            for known, part in intake.named(source, FORMATS[form]).kinds:
                assert all(known.read(part, frozenset(known.more))), how


JUNK: list[Any] = [
    None,
    True,
    -1,
    10**30,
    1.5e308,
    "",
    "x",
    [],
    {},
    [None, 1, "a"],
    {"a": None},
    [[{}]],
    "\ud800",
    "\0",
]


def spoiled(value: Any, chance: random.Random) -> Any:
    """Return a JSON value in which some parts have another type."""
    if chance.random() < 0.15:
        return chance.choice(JUNK)
    if isinstance(value, dict):
        return {name: spoiled(part, chance) for name, part in value.items()}
    return [spoiled(part, chance) for part in value] if isinstance(value, list) else value


def spoil(file: Path, chance: random.Random) -> None:
    """Change the type of values in a JSON file or a database."""
    if file.suffix == ".jsonl":
        lines = [spoiled(json.loads(line), chance) for line in file.read_text().splitlines()]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    elif file.suffix in (".json", ".af"):
        file.write_text(json.dumps(spoiled(json.loads(file.read_text()), chance)))
    elif file.suffix in (".db", ".sqlite3", ".vscdb"):
        with closing(sqlite3.connect(file)) as database, database:
            database.execute("PRAGMA ignore_check_constraints = 1")
            tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                for _, column, _, required, _, key in database.execute(f"PRAGMA table_info('{table}')").fetchall():
                    if not (key or required) and chance.random() < 0.5:
                        junk = chance.choice([None, b"\xff\x00", 10**15, -3.5, "x", '{"a": [1]}'])
                        database.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (junk,))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("list", "claude-memory", "markdown")])
def test_values_of_wrong_types_break_nothing(name: str, seed: int, engine: Engine, tmp_path: Path) -> None:
    form, *_ = EXPECTED[name]
    path = sample(name, tmp_path)
    chance = random.Random(seed)
    for file in [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file()):
        spoil(file, chance)
    more = frozenset(FORMATS[form].more)
    with (
        suppress(InvalidInputError),
        opened(path) as source,
        intake.staged(engine, source, FORMATS[form], more, lambda *_: None, by_project=False) as read,
    ):
        assert read.parts


def test_only_a_broken_element_is_lost(engine: Engine, tmp_path: Path) -> None:
    conversations = json.loads((sample("chatgpt", tmp_path) / "conversations.json").read_text())
    whole = [json.dumps(conversations[0] | {"conversation_id": f"c{number}"}) for number in range(3)]
    file = tmp_path / "conversations.json"
    file.write_text(f"[{whole[0]}, {whole[1][:-200].replace(':', '', 1)}, {whole[2]}]")
    read, _ = bring(engine, file)
    assert {record.session_id for record in records(engine).values()} == {"chatgpt:c0", "chatgpt:c2"}
    assert read.found.faults.number == 1
    assert "element 2" in read.found.faults.first[0]


# rules that hold for every format ------------------------------------------------------------------------------------


def lines(file: Path, *values: dict[str, Any]) -> Path:
    file.write_text("".join(json.dumps(value) + "\n" for value in values))
    return file


def test_times_are_those_of_the_source_and_never_now(engine: Engine, tmp_path: Path) -> None:
    given = {
        "iso": "2026-03-15T10:30:00+02:00", "seconds": 1771063462.25, "milliseconds": 1771063462250, "none": None,
        "absurd": 1e300, "zero": 0,
    }  # fmt: skip
    read, _ = bring(engine, lines(tmp_path / "a.jsonl", *({"content": n, "created_at": at} for n, at in given.items())))
    found = {text: record.created_at for text, record in records(engine).items()}
    with opened(tmp_path / "a.jsonl") as source:
        modified = source.files[0].modified
    assert found == {
        "iso": "2026-03-15T08:30:00.000Z", "seconds": "2026-02-14T10:04:22.250Z",
        "milliseconds": "2026-02-14T10:04:22.250Z", "none": modified, "absurd": modified, "zero": modified,
    }  # fmt: skip
    assert "3 items have no time" in read.found.hints.first[0]


def test_a_long_text_is_split_at_headings(engine: Engine, tmp_path: Path) -> None:
    content = "\n\n".join(f"# Part {number}\n\n" + "word " * 1_200 for number in range(4))
    bring(engine, lines(tmp_path / "a.jsonl", {"content": content, "tags": ["t"], "key": "long"}))
    found = sorted(records(engine).values(), key=lambda record: record.tags)
    assert [record.tags[0] for record in found] == [f"part:{number}/4" for number in range(1, 5)]
    assert all(record.body.startswith("# Part") and len(record.body) <= 10_000 for record in found)
    assert {record.name for record in found} == {None}


@pytest.mark.parametrize("length", [limits.MEMORY_KEY, limits.MEMORY_KEY + 1, 2_000])
def test_an_imported_key_is_one_that_the_tools_take(engine: Engine, tmp_path: Path, length: int) -> None:
    bring(engine, lines(tmp_path / "a.jsonl", {"content": "Tea.", "key": "k" * length}))
    assert records(engine)["Tea."].name == "k" * 400


def test_secrets_are_masked_before_anything_is_kept(engine: Engine, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    _, (done,) = bring(engine, lines(tmp_path / "a.jsonl", {"content": f"The token is {secret}", "tags": [secret]}))
    (record,) = records(engine).values()
    assert secret not in record.body + "".join(record.tags)
    assert sum(done.masked.values()) == 2


def test_a_session_whose_id_is_a_secret_gets_another(engine: Engine, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    sessions = [secret, secret + "6", secret, "session_V1StGXR8Z5jdHi6BmyTabcDEF123"]
    items = [{"content": f"Note {number}", "session": session} for number, session in enumerate(sessions)]
    _, (done,) = bring(engine, lines(tmp_path / "a.jsonl", *items))
    of = {text: record.session_id or "" for text, record in records(engine).items()}
    assert sum(done.masked.values()) == 3
    assert of["Note 3"] == sessions[3]
    assert of["Note 0"] == of["Note 2"] != of["Note 1"]
    assert not [session for session in of.values() if secret in session or "[masked" in session]


def test_what_contains_a_secret_is_skipped_if_secrets_are_refused(home: Path, tmp_path: Path) -> None:
    file = lines(tmp_path / "a.jsonl", {"content": "The token is ghp_" + "a1B2c3D4e5" * 4}, {"content": "Tea."})
    with kit.engine(home, MEMORY_SECRETS="refuse") as engine:
        read, _ = bring(engine, file)
        assert set(records(engine)) == {"Tea."}
    assert read.found.faults.number == 1


def test_one_id_with_two_texts_is_two_memories_and_one_text_with_two_ids_is_one(engine: Engine, tmp_path: Path) -> None:
    values = [{"content": text, "id": place} for text, place in [("One.", "1"), ("Two.", "1"), ("One.", "2")]]
    read, _ = bring(engine, lines(tmp_path / "a.jsonl", *values))
    assert set(records(engine)) == {"One.", "Two."}
    assert read.found.left_out == {"duplicate texts": 1}


def test_each_project_can_be_a_workspace(engine: Engine, tmp_path: Path) -> None:
    values = [{"content": "One.", "project": "shop"}, {"content": "Two.", "project": "サイト"}, {"content": "Three."}]
    bring(engine, lines(tmp_path / "a.jsonl", *values), by_project=True)
    assert {name: set(records(engine, name)) for name in ("shop", "サイト", "default")} == {
        "shop": {"One."}, "サイト": {"Two."}, "default": {"Three."},
    }  # fmt: skip
    assert not any(record.tags for record in records(engine, "shop").values())


def test_a_project_with_a_name_that_no_workspace_may_have_gets_one(engine: Engine, tmp_path: Path) -> None:
    values = [{"content": f"Of {name}.", "project": name} for name in ("alpha", "auto", "zeta")]
    _, done = bring(engine, lines(tmp_path / "a.jsonl", *values), by_project=True)
    assert [one.workspace for one in done] == ["alpha", "auto-2", "zeta"]


def test_parts_of_one_history_from_two_exports_meet(engine: Engine, tmp_path: Path) -> None:
    path = sample("chatgpt", tmp_path) / "conversations.json"
    both = json.loads(path.read_text())
    path.write_text(json.dumps(both[:1]))
    bring(engine, path)
    path.write_text(json.dumps(both))
    _, (done,) = bring(engine, path)
    assert done.new["turns"] == 1


# sources -------------------------------------------------------------------------------------------------------------


def test_only_a_truncated_member_of_an_archive_is_lost(engine: Engine, tmp_path: Path) -> None:
    folder = sample("claude-ai", tmp_path)
    archive = Path(shutil.make_archive(str(tmp_path / "export"), "zip", folder))
    whole = (folder / "conversations.json").read_bytes()
    (folder / "conversations.json").write_bytes(whole + b" " * 5_000)
    data = bytearray(archive.read_bytes())
    at = data.index(b"conversations.json") + 60
    data[at : at + 40] = bytes(40)
    archive.write_bytes(data)
    read, _ = bring(engine, archive, "claude-ai")
    assert read.numbers["memories"] == 5
    assert "conversations.json" in read.found.faults.first[0]


def test_links_out_of_a_folder_are_not_followed(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "note.md").write_text("A note.")
    (tmp_path / "private.md").write_text("Private.")
    (folder / "link.md").symlink_to(tmp_path / "private.md")
    read, _ = bring(engine, folder)
    assert read.numbers["memories"] == 1
    assert read.found.left_out == {"symbolic links and special files": 1}


def test_a_database_in_use_is_read_with_its_log_and_not_changed(engine: Engine, tmp_path: Path) -> None:
    path = sample("claude-mem", tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO observations (memory_session_id, project, text, type, created_at, created_at_epoch)"
                       " VALUES ('mem-abc', 'shop', 'In the log.', 'change', '', 1777629690000)")  # fmt: skip
        before = path.read_bytes()
        bring(engine, path)
        assert path.read_bytes() == before
    assert "In the log." in records(engine)


def test_pickled_objects_are_not_read(engine: Engine, tmp_path: Path) -> None:
    store = tmp_path / "qdrant" / "collection" / "mem0" / "storage.sqlite"
    store.parent.mkdir(parents=True)
    with closing(sqlite3.connect(store)) as database:
        database.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
    with pytest.raises(InvalidInputError, match=r"contains pickled objects.*get_all"):
        bring(engine, tmp_path / "qdrant")


def items(path: Path, form: str, *include: str) -> list[SourceItem]:
    with opened(path) as source:
        return [one for one in FORMATS[form].read(source, frozenset(include)) if isinstance(one, SourceItem)]


def test_what_is_left_out_can_be_included(tmp_path: Path) -> None:
    found = items(sample("claude-mem", tmp_path), "claude-mem", "prompts")
    assert [one.prompt for one in found if isinstance(one, SourceTurn)] == ["Which port has staging?"]
    assert len(items(sample("mem0-export", tmp_path), "mem0", "history")) == 2
    mined = items(sample("mempalace", tmp_path), "mempalace", "mined")
    glued = next(one for one in mined if "file:/srv/shop/notes.md" in one.tags)
    assert getattr(glued, "text", "") == " ".join(f"tea{number}" for number in range(250))


def test_what_cannot_be_included_is_refused(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="claude-mem cannot include 'everything'"):
        bring(engine, sample("claude-mem", tmp_path), "", "everything")


def test_instructions_are_imported_when_they_are_named(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_text("# Rules\n@other.md\n\n## Style\nBe short. <!-- a comment -->\n\n## Tests\nRun them.\n")
    read, _ = bring(engine, file)
    assert {record.tags for record in records(engine).values()} == {("instructions", "file:AGENTS.md")}
    assert set(records(engine)) >= {"## Style\nBe short.", "## Tests\nRun them."}
    assert read.found.left_out == {"files that the instructions import with @": 1}


def test_a_preview_writes_nothing(engine: Engine, home: Path, tmp_path: Path) -> None:
    with opened(sample("jsonl", tmp_path)) as source:
        form = FORMATS["jsonl"]
        with intake.staged(engine, source, form, frozenset(), lambda *_: None, by_project=False) as read:
            assert read.as_dict()["first"].keys() == {
                "memories",
                "turns",
                "summaries",
                "entities",
                "observations",
                "relations",
            }
    assert not engine.store.placement.exists()
