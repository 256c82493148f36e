"""Files that a stranger, or a slip of the hand, leaves in the repository: each is refused alone, and nothing waits."""

import json

import pytest

from memoryd.core.base.clock import ASTRAY, moment, timestamp
from memoryd.errors import StoreError
from memoryd.features.sync import conflicts, documents, git
from tests.features.sync.kit import Clone, Machine, settle

TIME = "2026-01-01T00:00:00.000Z"
STAMPED = f"created_at: {TIME}\nupdated_at: {TIME}\n"
NESTED = "a0: &a0 [" + "lol," * 10 + "]\n" + "".join(
    f"a{number}: &a{number} [{f'*a{number - 1},' * 10}]\n" for number in range(1, 40)
)  # fmt: skip


def turn(**fields: object) -> str:
    """Return a file with one turn."""
    known = {"kind": "interaction", "id": "t1", "session_id": "s1", "body": "p\n\nt\n\nr", "thought_at": 3}
    return json.dumps(known | {"response_at": 6, "created_at": TIME, "updated_at": TIME} | fields) + "\n"


def entity(properties: str, listed: str = "") -> str:
    return f"---\nname: Ann\n{properties}---\nA person.\n{listed}"


TEA = "\n## Observations\n\n- likes tea ^0\n\n## Relations\n"
REFUSED = {
    "a number that is nested lists": ("entities/a.md", entity(f"{NESTED}next_ordinal: *a39\n"), "next_ordinal"),
    "an ordinal that is nested lists": (
        "entities/a.md",
        entity(f"{NESTED}observations:\n- ordinal: *a39\n"),
        "ordinal",
    ),
    "a number of 4,400 digits": ("entities/a.md", entity(f"next_ordinal: {'9' * 4_400}\n"), "next_ordinal"),
    "a number beyond the database": ("entities/a.md", entity(f"next_ordinal: {'9' * 30}\n"), "next_ordinal"),
    "a cut beyond the database": ("sessions/00/a.jsonl", turn(thought_at=10**4_000), "thought_at"),
    "a relation to nothing": ("entities/a.md", entity("relations:\n- id: r1\n  relation_type: knows\n"), "to_entity"),
    "a turn without times": ("sessions/00/a.jsonl", turn(created_at=None), "no times"),
    "a turn of month 13": ("sessions/00/a.jsonl", turn(created_at="2026-13-01T00:00:00.000Z"), "not an ISO 8601"),
    "a score that is a text": ("sessions/00/a.jsonl", turn(kind="summary", quality="0.5"), "quality"),
    "the id of a memory for an observation": (
        "entities/a.md",
        entity(
            f"observations:\n- {{id: m1, ordinal: 0, created_at: '{TIME}', updated_at: '{TIME}'}}\n",
            TEA,
        ),
        "another record",
    ),
    "an id twice": (
        "entities/a.md",
        entity(f"id: e1\n{STAMPED}observations:\n- {{id: e1, ordinal: 0, created_at: '{TIME}'}}\n", TEA),
        "twice",
    ),
    "a turn twice": ("sessions/00/a.jsonl", turn() + turn(body="p\n\nt\n\nq"), "twice"),
    "more than is read": ("memories/a.md", "0" * 10_000, "has more than"),
    "a list that takes much memory": ("memories/a.md", f"---\na: [{'x,' * 1_100}]\n---\nA.\n", "properties"),
    "another one": ("memories/a.md", "---\na:\r" + "-\r" * 1_100 + "\n---\nA.\n", "properties"),
}
TAKEN = {
    "a turn without cuts": ("sessions/00/a.jsonl", turn(thought_at=None, response_at=None, body=None)),
    "a summary without figures": ("sessions/00/b.jsonl", turn(id="t2", kind="summary", name="T", memory_count=None)),
    "an ordinal of nine digits": ("entities/a.md", entity("", "\n## Observations\n\n- tea ^999999999\n- rum\n")),
    "attributes, modules": (".gitattributes", "* diff=evil text eol=crlf ident\n"),
    "a name of two lines": ("memories/a\nb.md", "never read"),
    "a name that is not UTF-8": ("memories/caf\udce9.md", "never read"),
}


@pytest.fixture(autouse=True)
def _limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "LONGEST", 9_000)
    monkeypatch.setattr(documents, "PROPERTIES", 1_000)


def after(pair: tuple[Machine, Machine], clone: Clone, files: dict[str, str]) -> dict[str, str]:
    """Return why files were refused on either machine, once all others have what each of them had."""
    one, two = pair
    one.sync()
    clone.write("default/memories/m1.md", f"---\nid: m1\n{STAMPED}---\nThe first fact.\n")
    one.sync()
    clone.write_all({f"default/{path}": text for path, text in files.items()})
    refused = one.sync().refused | two.sync().refused
    one.memories.store("The second fact.")
    settle(one, two)
    assert {"The first fact.", "The second fact."} <= set(two.texts())
    return refused


def test_a_file_that_cannot_be_used_is_refused_alone(pair: tuple[Machine, Machine], clone: Clone) -> None:
    cases = {f"{number}.".join(path.split(".")): case for number, (path, *case) in enumerate(REFUSED.values())}
    files = {path: text for path, (text, _) in cases.items()}
    refused = after(pair, clone, files)
    assert {path.removeprefix("default/") for path in refused} == set(files)
    for path, (_, why) in cases.items():
        assert why in refused[f"default/{path}"]


def test_an_odd_file_changes_nothing_else_and_a_time_that_no_clock_shows_yet_is_bounded(
    pair: tuple[Machine, Machine], clone: Clone
) -> None:
    ahead = {f"conflicts/{documents.mark(('memory', 'm1'))}.jsonl": other(until="2999-01-01T00:00:00.000Z")}
    assert after(pair, clone, dict(TAKEN.values()) | ahead) == {}
    for machine in pair:
        versions = machine.versions("m1")
        assert [row["body"] for row in versions] == ["It gave way."]
        assert versions[0]["until"] < timestamp(moment(machine.engine.clock.now()) + 2 * ASTRAY)


def test_what_unpacks_to_more_than_memory_holds_is_not_read(
    pair: tuple[Machine, Machine], clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = pair
    one.memories.store("The first fact.")
    settle(one, two)
    clone.write_all({f"default/memories/big {number}.md": f"{number} {'0' * 4_000}" for number in range(4)})
    monkeypatch.setattr(git, "WHOLE", 10_000)
    with pytest.raises(StoreError, match="more than is read at once"):
        one.sync()
    clone.delete("big")
    settle(one, two)
    assert one.texts() == ["The first fact."]


def test_a_folder_without_the_name_of_a_workspace_is_left_alone(pair: tuple[Machine, Machine], clone: Clone) -> None:
    one, two = pair
    one.memories.store("The first fact.")
    one.sync()
    names: list[object] = ["two\nlines", "x" * 201, "auto", " ", "\u202eeman", 5, ["default"], None]
    odd = {f"odd{number}/workspace.json": json.dumps({"name": name}) for number, name in enumerate(names)}
    clone.write_all(odd | {f"odd{number}/memories/a.md": "Never read." for number in range(len(names))})
    why = "does not name a workspace: restore it if it is memoryd's"
    assert sorted(one.sync().remarks) == [f"{path} {why}" for path in odd]
    settle(two, one)
    assert two.texts() == ["The first fact."]


def note(key: str, text: str, properties: str = "") -> str:
    return f"---\nid: {key}\n{STAMPED}{properties}---\n{text}\n"


CLASHES: dict[str, dict[str, str]] = {
    "a memory and an entity": {"Notes/a.md": note("m2", "A fact."), "entities/a.md": note("m2", "Ann.", "name: Ann\n")},
    "an entity and a memory": {"entities/b.md": note("m3", "Bob.", "name: Bob\n"), "vault/b.md": note("m3", "A fact.")},
    "a memory and a turn": {"memories/c.md": note("m4", "A fact."), "sessions/00/c.jsonl": turn(id="m4")},
    "turns of two sessions": {
        "sessions/00/d.jsonl": turn(id="t5"),
        "sessions/00/e.jsonl": turn(id="t5", session_id="s5"),
    },
    "one turn with two texts": {
        "sessions/00/f.jsonl": turn(id="t6", session_id="s6"),
        "sessions/00/g.jsonl": turn(id="t6", session_id="s6", body="p\n\nt\n\nq"),
    },
}


def test_of_two_files_with_one_id_the_second_is_refused(pair: tuple[Machine, Machine], clone: Clone) -> None:
    one, two = pair
    one.memories.store("The first fact.")
    settle(one, two)
    there = len(one.files())
    clone.write_all({f"default/{path}": text for case in CLASHES.values() for path, text in case.items()})
    refused = one.sync().refused
    assert [len({f"default/{path}" for path in case} & {*refused}) for case in CLASHES.values()] == [1] * len(CLASHES)
    assert all("another record" in why for why in refused.values())
    for machine in (two, one):
        machine.memories.store(f"Fact {machine is one}.")
        assert set(machine.sync().refused) == set(refused)
    two.sync()
    assert one.files() == two.files()
    assert len(one.files()) == there + 2 + len(CLASHES), "the first files count"
    clone.delete(*refused)
    assert not any(done.refused for done in settle(two, one))
    assert len(one.files()) == there + 2 + len(CLASHES)


def test_two_new_notes_with_one_id_are_two_memories(pair: tuple[Machine, Machine], clone: Clone) -> None:
    one, two = pair
    one.sync()
    clone.write_all(
        {"default/Notes/a.md": note("m2", "The second fact."), "default/Notes/b.md": note("m2", "The third fact.")}
    )
    assert not any(done.refused for done in settle(one, two))
    assert one.texts() == ["The second fact.", "The third fact."]


def other(**fields: object) -> str:
    """Return a line of a file of conflicts: what gave way to the first fact."""
    known = {"kind": "memory", "id": "m1", "body": "It gave way.", "created_at": TIME, "updated_at": TIME}
    return json.dumps(known | {"until": "2026-01-02T00:00:00.000Z"} | fields)


UNUSABLE = "It is of no use."
CONFLICTS = {
    "not JSON": "{",
    "no record": "[]",
    "no kind": other(body=UNUSABLE, kind=["memory"]),
    "no time": other(body=UNUSABLE, until=None),
    "a number as the time": other(body=UNUSABLE, until=5),
    "a time at the beginning of all": other(body=UNUSABLE, until="0001-01-01T00:00:00.000Z"),
    "a time before the beginning of all": other(body=UNUSABLE, until="0001-01-01T00:00:00+09:00"),
    "a time in month 13": other(body=UNUSABLE, until="2026-13-01T00:00:00.000Z"),
    "a change in month 13": other(body=UNUSABLE, updated_at="2026-13-01T00:00:00.000Z"),
    "endless lists": "[" * 3_000,
    "another kind": other(body=UNUSABLE, kind="observation", entity_id="e1"),
}


def test_of_a_file_of_conflicts_what_cannot_be_used_is_left_out(pair: tuple[Machine, Machine], clone: Clone) -> None:
    lines = "\n".join([f"\ufeff{other(body='It gave way, too.')}\r", *CONFLICTS.values(), f"{other()}\n"])
    files = {f"conflicts/{documents.mark(('memory', 'm1'))}.jsonl": lines}
    assert after(pair, clone, files) == {}
    for machine in pair:
        versions = {text for key, text in machine.wordings() if key == "m1"}
        assert versions == {"The first fact.", "It gave way.", "It gave way, too."}


def test_of_a_file_of_conflicts_the_last_lines_are_read(
    pair: tuple[Machine, Machine], clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conflicts, "LINES", 2)
    lines = "".join(f"{other(body=f'It was {n}.', until=f'2026-01-0{n}T00:00:00.000Z')}\n" for n in range(2, 7))
    files = {f"conflicts/{documents.mark(('memory', 'm1'))}.jsonl": lines}
    assert after(pair, clone, files) == {}
    for machine in pair:
        versions = {text for key, text in machine.wordings() if key == "m1"}
        assert versions == {"The first fact.", "It was 5.", "It was 6."}
