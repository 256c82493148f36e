"""Write the samples' database and export with mcp-memory-service: python write_mcp_memory_service.py FOLDER

Without its models it makes vectors from hashes. If Python's sqlite3 loads no extensions, install pysqlite3-binary.
"""

import asyncio
import importlib
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

BEGUN = 1771063462.1
MEMORIES: tuple[dict[str, Any], ...] = (
    {
        "content": "Staging listens on port 5433.",
        "tags": ["infra", "port"],
        "memory_type": "observation",
        "metadata": {"quality_score": 0.8, "conversation_id": "c9"},
    },
    {"content": "Bob fährt mit dem Rad zur Arbeit.", "tags": [], "memory_type": "note"},
    {"content": "Remove this one.", "tags": ["old"], "memory_type": "note"},
    {"content": "Staging listens on port 5432.", "tags": ["infra"], "memory_type": "observation"},
    {"content": "The tulips need frost.", "tags": ["garden"], "memory_type": "learning"},
)


async def write(folder: Path) -> None:
    part = "mcp_memory_service."
    hashing, models = importlib.import_module(f"{part}utils.hashing"), importlib.import_module(f"{part}models.memory")
    vectors, graphs = (importlib.import_module(f"{part}storage.{name}") for name in ("sqlite_vec", "graph"))
    path = str(folder / "sqlite_vec.db")
    storage = vectors.SqliteVecMemoryStorage(path)
    await storage.initialize()
    made = []
    for number, fields in enumerate(MEMORIES):
        memory = models.Memory(
            content_hash=hashing.generate_content_hash(fields["content"]), created_at=BEGUN + 10 * number, **fields
        )
        made.append(memory.content_hash)
        done, message = await storage.store(memory, store="garden" if "garden" in fields["tags"] else "default")
        assert done, message
    graph = graphs.GraphStorage(path)
    await graph.store_association(made[0], made[1], 0.7, ["semantic"])
    await graph.store_entity_link(made[1], "Bob", "person")
    await storage.delete(made[2])
    await storage.update_memory_metadata(made[3], {"superseded_by": made[0]})
    exporter = importlib.import_module(f"{part}sync.exporter").MemoryExporter(storage)
    await exporter.export_to_json(folder / "export.json")
    await storage.close()


with suppress(ImportError):
    sys.modules["sqlite3"] = importlib.import_module("pysqlite3")
asyncio.run(write(Path(sys.argv[1])))
