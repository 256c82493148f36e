"""Write a workspace as a folder of Markdown: a file for each memory, entity and session, for people and for git.

Obsidian and basic-memory read it, and so does `import` (formats/own_notes.py is the other half of this module). Equal
contents give equal files: nothing depends on when or where they were written.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from memoryd.core.base.batches import batches
from memoryd.core.base.progress import Progress
from memoryd.core.security.prompt_injection import reads_like_instructions
from memoryd.core.transfer.export import NOUNS, Numbers
from memoryd.core.transfer.file_names import FileNames
from memoryd.features.imports.formats.items import brief
from memoryd.features.imports.formats.own_notes import PREFIX, SUFFIX, TURNS, is_categorized
from memoryd.model import Kind, Workspace
from memoryd.store import rows
from memoryd.store.base import Queries, Row

BATCH = 200  # records whose texts are in memory together
TITLE = 60  # characters of a title made from a text
LISTED = 20  # important memories and frequent tags in the index
PATHS = re.compile(r"index\.md|(?:memories/\d{4}-\d\d|entities|sessions)/[^/\\:]+\.md")
"""The paths of the files, below the folder."""
_TAG = re.compile(r"[^\w/-]+")
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

ExportedFile = tuple[str, str]
"""A path below the folder, and its text."""


class _Plan:
    """The file of each record, chosen before any is written, because files link to each other."""

    def __init__(self, queries: Queries) -> None:
        self.entities: dict[str, Row] = {}
        self.memories: dict[str, str] = {}
        """The path of each memory by its id."""
        self.paths: dict[str, str] = {}
        """The path of each entity by its id."""
        self.observations: dict[str, list[tuple[int, str]]] = defaultdict(list)
        """The ordinals and ids of the observations of each entity."""
        self.turns: dict[str, list[tuple[str, str]]] = defaultdict(list)
        """The times and ids of the turns of each session."""
        self.summaries: dict[str, Row] = {}
        self.tags: Counter[str] = Counter()
        names = FileNames()
        memories: list[tuple[str, str, str]] = []
        for row in _shown(queries):
            self.tags.update(json.loads(row["tags"]))
            match row["kind"]:
                case Kind.MEMORY:
                    memories.append((row["created_at"], row["id"], row["name"] or brief(row["body"], TITLE)))
                case Kind.ENTITY:
                    self.entities[row["id"]] = row | {"body": ""}
                case Kind.INTERACTION:
                    self.turns[row["session_id"] or ""].append((row["created_at"], row["id"]))
                case Kind.SUMMARY:
                    self.summaries[row["session_id"] or ""] = row
        for at, key, title in sorted(memories):
            self.memories[key] = names.free(f"memories/{at[:7]}", title)
        for row in sorted(self.entities.values(), key=lambda one: (one["created_at"], one["name"])):
            self.paths[row["id"]] = names.free("entities", row["name"])
        for page in rows.pages(queries, "observation_details"):
            for row in page:
                self.observations[row["entity_id"]].append((row["ordinal"], row["id"]))


def files(queries: Queries, workspace: Workspace, numbers: Numbers, report: Progress) -> Iterator[ExportedFile]:
    """Yield the files of a workspace, from one snapshot, and count their records."""
    plan = _Plan(queries)
    total, done = max(1, len(plan.memories) + len(plan.entities) + len(plan.turns)), 0
    for part in (_memories, _entities, _sessions):
        for file in part(queries, plan, workspace, numbers):
            yield file
            done += 1
            report(min(1.0, done / total))
    yield _index(queries, plan, workspace, numbers)


def _shown(queries: Queries) -> Iterator[Row]:
    """Yield the records that are neither deleted nor limited to a session."""
    for page in rows.pages(queries, "records"):
        yield from (row for row in page if row["deleted_at"] is None and not row["scope"])


def _texts(queries: Queries, ids: Sequence[str]) -> dict[str, Row]:
    return {
        row["id"]: row for row in rows.of(queries, "records", ids) if row["deleted_at"] is None and not row["scope"]
    }


# files ---------------------------------------------------------------------------------------------------------------


def _memories(queries: Queries, plan: _Plan, workspace: Workspace, numbers: Numbers) -> Iterator[ExportedFile]:
    for ids in batches(plan.memories, BATCH):
        details = {row["id"]: row for row in rows.of(queries, "memory_details", ids)}
        texts = _texts(queries, ids)
        for key in ids:
            row, path = texts[key], plan.memories[key]
            own = {"key": row["name"], "importance": details[key]["importance"], "session": row["session_id"]}
            numbers[NOUNS[Kind.MEMORY]] += 1
            title = row["name"] or brief(row["body"], TITLE)
            yield _file(path, title, "memory", row, workspace, own, f"{row['body']}\n")


def _entities(queries: Queries, plan: _Plan, workspace: Workspace, numbers: Numbers) -> Iterator[ExportedFile]:
    relations: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for page in rows.pages(queries, "relations"):
        for row in page:
            if row["deleted_at"] is None and row["from_entity"] in plan.paths and row["to_entity"] in plan.paths:
                relations[row["from_entity"]].append((row["relation_type"], row["to_entity"]))
    for ids in batches(sorted(plan.paths, key=plan.paths.__getitem__), BATCH):
        texts = _texts(queries, ids)
        for key in ids:
            row, about = texts[key], sorted(plan.observations[key])
            words = _texts(queries, [one for _, one in about])
            ordinals = [ordinal for ordinal, one in about if one in words]
            lines = [_item(words[one]["body"]) for _, one in about if one in words]
            links = [_link(kind, plan.paths[to], plan.entities[to]["name"]) for kind, to in sorted(relations[key])]
            own = {"ordinals": ordinals if ordinals != list(range(len(ordinals))) else None}
            numbers[NOUNS[Kind.ENTITY]] += 1
            numbers[NOUNS[Kind.OBSERVATION]] += len(lines)
            numbers["relations"] += len(links)
            summary = f"{row['body']}\n\n" if row["body"] else ""
            listed = f"## Observations\n\n{''.join(lines)}\n## Relations\n\n{''.join(links)}"
            content = f"# {brief(row['name'])}\n\n{summary}{listed}"
            yield _file(plan.paths[key], row["name"], row["type"], row, workspace, own, content, "entity")


def _item(text: str) -> str:
    """Return an observation as a list item: with a category, and not ending in a parenthesis."""
    marked = text if is_categorized(text) else f"{PREFIX}{text}"
    ended = f"{marked}{SUFFIX}" if marked.endswith(")") else marked
    return "- " + ended.replace("\n", "\n  ") + "\n"


def _link(kind: str, path: str, name: str) -> str:
    plain = " ".join(kind.replace('"', "'").split())
    typed = plain if re.fullmatch(r"[^\s\[\]'\"]+", plain) else f'"{plain}"'
    shown = " ".join(re.sub(r"[\[\]|]", " ", name).split())
    return f"- {typed} [[{path}|{shown}]]\n"


def _sessions(queries: Queries, plan: _Plan, workspace: Workspace, numbers: Numbers) -> Iterator[ExportedFile]:
    names = FileNames()
    details = {row["id"]: row for page in rows.pages(queries, "summary_details") for row in page}
    begins = {name: min(turns)[0] for name, turns in plan.turns.items()}
    begins = {name: row["created_at"] for name, row in plan.summaries.items()} | begins
    for session, at in sorted(begins.items(), key=lambda one: (one[1], one[0])):
        summary = plan.summaries.get(session)
        turns = [one for _, one in sorted(plan.turns[session])]
        texts = _texts(queries, turns)
        cuts = {row["id"]: row for row in rows.of(queries, "interaction_details", turns)}
        first = brief(texts[turns[0]]["body"], TITLE) if turns else ""
        title = (summary["name"] if summary else "") or first or session
        scores = {name: value for name, value in details[summary["id"]].items() if name != "id"} if summary else {}
        scores |= {"technologies": json.loads(scores["technologies"])} if summary else {}
        own = {"session": session, "category": summary["type"] if summary else None, **scores}
        row = summary or {"id": "", "tags": "[]", "created_at": at, "updated_at": at, "client": "", "tool": ""}
        numbers[NOUNS[Kind.SUMMARY]] += summary is not None
        numbers[NOUNS[Kind.INTERACTION]] += len(turns)
        words = f"{summary['body']}\n\n" if summary else ""
        every = "".join(_turn(texts[one], cuts[one]) for one in turns)
        path = names.free("sessions", f"{at[:10]} {title}")
        yield _file(path, title, "session", row, workspace, own, f"# {brief(title)}\n\n{words}{TURNS}\n{every}")


def _turn(row: Row, cuts: Row) -> str:
    """Return a turn as quotations, so that nothing in it is taken for the structure around it."""
    body, thought, response = row["body"], cuts["thought_at"], cuts["response_at"]
    parts = {"Prompt": body[: thought - 2], "Thought": body[thought : response - 2], "Response": body[response:]}
    quoted = "".join(
        f"\n### {name}\n\n> " + words.replace("\n", "\n> ") + "\n" for name, words in parts.items() if words
    )
    return f"\n## Turn {json.dumps(row['id'])} {row['created_at']}\n{quoted}"


def _index(queries: Queries, plan: _Plan, workspace: Workspace, numbers: Numbers) -> ExportedFile:
    counts = "".join(f"- {noun}: {numbers[noun]}\n" for noun in NOUNS.values() if numbers[noun])
    weights = {row["id"]: row["importance"] for page in rows.pages(queries, "memory_details") for row in page}
    best = sorted(plan.memories, key=lambda key: (-weights.get(key, 0.0), plan.memories[key]))[:LISTED]
    links = "".join(f"- [[{plan.memories[key]}]]\n" for key in best)
    tags = "".join(
        f"- #{_tag(tag)} {count}\n" for tag, count in sorted(plan.tags.items(), key=lambda t: (-t[1], t[0]))[:LISTED]
    )
    front = _yaml({"title": f"Memory: {workspace.name}", "type": "index", "memoryd": {"kind": "index"}})
    text = f"# {brief(workspace.name)}\n\n{counts}\n## Most important\n\n{links}\n## Tags\n\n{tags}"
    return "index.md", f"---\n{front}---\n{text}"


# properties ----------------------------------------------------------------------------------------------------------


def _file(
    path: str, title: str, type_: str, row: Row, workspace: Workspace, own: dict[str, Any], content: str, kind: str = ""
) -> ExportedFile:
    """Return a file with its properties: first those that other programs read, then memoryd's own."""
    tags = json.loads(row["tags"])
    plain = list(dict.fromkeys(map(_tag, tags)))
    kept = {
        "id": row["id"] or None,
        "kind": kind or type_,
        "workspace": workspace.name,
        **own,
        "tags": tags if tags != plain else None,
        "client": row["client"] or None,
        "tool": row["tool"] or None,
        "note": "reads like instructions to an agent" if reads_like_instructions(content) else None,
    }
    times = f"created: {row['created_at']}\nmodified: {row['updated_at']}\n"
    first = _yaml({"title": title, "type": type_, "tags": plain, "permalink": _permalink(path)})
    front = first + times + _yaml({"memoryd": {name: value for name, value in kept.items() if value is not None}})
    return f"{path}.md", f"---\n{front}---\n{content}"


def _yaml(value: Any) -> str:
    return str(yaml.dump(value, Dumper=_DUMPER, allow_unicode=True, sort_keys=False, width=1_000_000))


def _tag(tag: str) -> str:
    """Return a tag that Obsidian accepts: without blanks and punctuation, and not only digits."""
    plain = _TAG.sub("-", tag).strip("-")
    return f"t-{plain}" if not re.search(r"[^\W\d]", plain) else plain


def _permalink(path: str) -> str:
    return re.sub(r"[^\w/]+", "-", path.lower()).strip("-")
