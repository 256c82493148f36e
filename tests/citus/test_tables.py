"""The page on scale distributes each table that has rows of a workspace."""

import re
from pathlib import Path

from memoryd.store.sql import migrations

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
TABLE = re.compile(r"^CREATE TABLE (\w+) \((.*?)\)[^()]*;", re.MULTILINE | re.DOTALL)


def test_the_page_distributes_every_table_with_rows_of_a_workspace() -> None:
    script = "\n".join(migrations("postgres").values())
    needed = {name for name, columns in TABLE.findall(script) if re.search(r"\bworkspace_id\b", columns)}
    (commands,) = re.findall(r"citus\.enable_unsafe_triggers.*?```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert {"records", "embeddings", "put_away"} <= needed
    assert set(re.findall(r"'(\w+)'", commands)) - {"workspace_id"} == needed
