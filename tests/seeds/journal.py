"""Helpers for seed e, for an agent whose server offers the journal."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.clients import Agent, Json

EMPTY = '{"memoryd":{"format":"journal","version":1,"collections":["memories","summaries"]}}\n'


def ended(lines: str) -> str:
    """Return the lines followed by the last line of an export."""
    end = {"lines": lines.count("\n"), "sha256": hashlib.sha256(lines.encode()).hexdigest()}
    return lines + json.dumps({"end": end}) + "\n"


def put(journal: Agent, name: str, text: str | bytes) -> str:
    """Write a file into the export directory and return its path."""
    exports = journal.data / "exports"
    exports.mkdir(parents=True, exist_ok=True)
    (exports / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return str(exports / name)


def emptied(journal: Agent) -> Agent:
    """Delete all turns and summaries."""
    journal.ok("import_database", file=put(journal, "empty.jsonl", ended(EMPTY)), mode="replace")
    return journal


def add(journal: Agent, prompt: str, response: str = "Done.", session: str = "s", thought: str = "Let me see.") -> str:
    """Add a turn and return its id."""
    result = journal.ok("add_memory", prompt=prompt, thought=thought, response=response, sessionId=session)
    return str(result["id"])


def add_many(journal: Agent, prompts: Iterable[str], session: str = "s") -> None:
    """Add many turns with one call, by importing a file."""
    lines = [
        {
            "id": f"mem_{number:06}",
            "metadata": {
                "prompt": prompt,
                "thought": "Let me see.",
                "response": "Done.",
                "sessionId": session,
                "timestamp": 1_700_000_000_000 + number,
                "type": "agent-interaction",
            },
        }
        for number, prompt in enumerate(prompts)
    ]
    file = put(journal, "many.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    assert journal.ok("import_database", file=file)["newMemories"] == len(lines)


def memories(journal: Agent, session: str = "s", **page: int) -> list[Json]:
    """Return the turns of a session."""
    found: list[Json] = journal.ok("get_session_memories", sessionId=session, **page)["memories"]
    return found


def prompts(journal: Agent, session: str = "s", **page: int) -> list[str]:
    """Return the prompts of a session."""
    return [one["prompt"] for one in memories(journal, session, **page)]


def found(journal: Agent, query: str, **arguments: Any) -> list[str]:
    """Return the prompts of the turns that a query finds, best first."""
    return [one["prompt"] for one in journal.ok("query_raw_memories", query=query, **arguments)["results"]]


def summarize(journal: Agent, session: str = "s") -> Json:
    """Summarize a session and return its summary."""
    summary: Json
    (summary,) = journal.ok("summarize_sessions", sessionId=session)["sessions"]
    return summary


def summaries(journal: Agent, **arguments: Any) -> list[Json]:
    """Return the summaries of get_all_summaries."""
    result: list[Json] = journal.ok("get_all_summaries", **arguments)["summaries"]
    return result


def of(some: list[Json]) -> list[str]:
    """Return the session ids of some summaries."""
    return [one["sessionId"] for one in some]


def export(journal: Agent, *include: str) -> Path:
    """Export the journal and return the file."""
    return Path(journal.ok("export_database", **({"include": list(include)} if include else {}))["file"])


def lines_of(file: Path) -> list[Json]:
    """Return the lines of a file between its first and its last."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()][1:-1]
