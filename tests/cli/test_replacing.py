"""A fact that replaces another, and relations, at the command line."""

import json
from pathlib import Path

from tests.cli.test_commands import Run, data, run, stored

__all__ = ["data", "run"]  # fixtures


def test_a_fact_replaces_another_and_recall_names_relations(run: Run, tmp_path: Path) -> None:
    old = stored(run, "Staging of the shop listens on port 5432.")
    run("store", "Staging of the shop listens on port 5433 now.", "--supersedes", old[:8])
    assert "5432" not in run("recall", "staging").stdout
    graph = tmp_path / "memory.jsonl"
    people: list[dict[str, object]] = [
        {"type": "entity", "name": name, "entityType": "x", "observations": []} for name in ("Ann", "Acme")
    ]
    tie = {"type": "relation", "from": "Ann", "to": "Acme", "relationType": "works_at"}
    graph.write_text("".join(json.dumps(one) + "\n" for one in (*people, tie)))
    run("import", "--from", "server-memory", str(graph), "--yes")
    assert "- Ann (x) [works_at Acme]\n" in run("recall", "who works at Acme").stdout
