"""Write the notes of a sample with basic-memory, and print what it reads: python write_basic_memory.py FOLDER"""

import asyncio
import importlib
import sys
from pathlib import Path
from typing import Any

COFFEE = """# Coffee Brewing

Two ways, see [[Tasting Notes]].

## Observations
- [method] Pour over is clearer than French press #brewing (tasted twice)
- [decision] @2026-07-27 The grinder stays at 18.
- [ ] buy beans
- #todo clean the kettle

## Relations
- requires [[Grinder]]
- based on [[Coffee Notes]]
- "inspired by" [[Ann's book|a book]]
- [[Water]]
"""
NOTES: tuple[dict[str, Any], ...] = (
    {
        "title": "Coffee Brewing",
        "directory": "kitchen",
        "content": COFFEE,
        "entity_metadata": {"tags": ["coffee", "home"], "status": "draft"},
    },
    {
        "title": "Grinder",
        "directory": "kitchen",
        "note_type": "device",
        "content": "- [fact] Ten years old\n- used_by [[kitchen/coffee-brewing]]\n",
    },
    {"title": "抹茶", "directory": "kitchen", "content": "- [味] 少し苦い #茶\n"},
)


async def write(folder: Path) -> None:
    base, utils, files = (
        importlib.import_module(f"basic_memory.{name}") for name in ("schemas.base", "markdown.utils", "file_utils")
    )
    parser = importlib.import_module("basic_memory.markdown.entity_parser").EntityParser(folder)
    for fields in NOTES:
        note = base.Entity(**fields)
        path = folder / note.file_path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files.dump_frontmatter(await utils.schema_to_markdown(note)))
        read = await parser.parse_file(path)
        report = [f"[{one.category}] {one.content} ({one.context})" for one in read.observations]
        report += [f"{one.type} -> {one.target}" for one in read.relations]
        sys.stdout.write("\n  ".join([note.file_path, *report]) + "\n")


asyncio.run(write(Path(sys.argv[1]).absolute()))
