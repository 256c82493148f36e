"""memoryd as the store of pydantic-ai's memory capability: `pip install 'memoryd[pydantic-ai]'`."""

import asyncio
from collections import OrderedDict
from dataclasses import replace

from memoryd.api.keyed import KeyedTexts, tagged
from memoryd.api.memory import Memory
from memoryd.core.memories.vault import KeyedChange, version_of
from memoryd.core.records.records import FILE
from memoryd.errors import ChangedMeanwhileError
from memoryd.extras import Needing
from memoryd.model import Record

with Needing("pydantic-ai"):
    from pydantic_ai_harness.memory import (
        MemoryConflictError,
        MemoryFile,
        MemoryMutation,
        MemoryOperation,
        MemoryOperationConflictError,
        MemorySearchMatch,
        MemorySearchResult,
    )

ROOT = "pydantic-ai"
"""The first part of the keys of all files, and a tag of each."""
OPERATION = "operation="
"""The tag with the operation that wrote a file."""
RECEIPTS = 1_024
"""Receipts of operations that are kept, in this process alone: as many as InMemoryStore keeps."""


class MemorydStore:
    """A store of files with compare and swap by version, which are found by words and by meaning, offline.

    A repeated operation returns its receipt as long as this process runs; after that, its version no longer matches.
    """

    def __init__(self, memory: Memory | str | None = None) -> None:
        """Keep files in a memory, or in the workspace of that name."""
        self._texts = KeyedTexts(memory, "pydantic_ai")
        self.memory = self._texts.memory
        self._receipts: OrderedDict[str, tuple[str, MemoryMutation]] = OrderedDict()
        self._lock = asyncio.Lock()

    async def read(self, path: str, *, max_chars: int) -> MemoryFile | None:
        """Return a file, cut to some characters; None if there is none."""
        if max_chars <= 0:
            raise ValueError("max_chars must be positive")
        found = await asyncio.to_thread(self._texts.get, _key(path))
        if found is None:
            return None
        cut = len(found.body) > max_chars
        return MemoryFile(found.body[:max_chars], version_of(found), tagged(found, OPERATION), cut)

    async def get_operation(self, operation: MemoryOperation) -> MemoryMutation | None:
        """Return the result of an operation that was done before; raise MemoryOperationConflictError if it differs."""
        known = self._receipts.get(operation.id)
        if known is None:
            return None
        if known[0] != operation.fingerprint:
            raise MemoryOperationConflictError(f"operation id {operation.id!r} was reused with different arguments")
        return replace(known[1], replayed=True)

    async def write(
        self, path: str, content: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Create or replace a file; raise MemoryConflictError if it is not in the expected version."""
        tags = [ROOT, *([OPERATION + operation.id] if operation else [])]
        change = KeyedChange(key=_key(path), content=content, tags=tags, seen=expected_version or "", type=FILE)
        return await self._changed(path, change, operation)

    async def delete(
        self, path: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Delete a file; raise MemoryConflictError if it is not in the expected version."""
        change = KeyedChange(key=_key(path), content=None, seen=expected_version or "")
        return await self._changed(path, change, operation)

    async def list_paths(self, prefix: str = "", *, limit: int) -> list[str]:
        """Return the paths that begin with a prefix, sorted."""
        if limit <= 0:
            raise ValueError("limit must be positive")
        keys = await asyncio.to_thread(self._texts.keys, _key(prefix))
        return [_path(key) for key in keys[:limit]]

    async def search(
        self, prefix: str, query: str, *, limit: int, max_files: int, max_chars: int, max_file_chars: int
    ) -> MemorySearchResult:
        """Return the files right below a prefix that bear on a query, best first; `max_file_chars` is not needed."""
        if not query.split() or min(limit, max_files, max_chars, max_file_chars) <= 0:
            return MemorySearchResult([], 0, truncated=False)
        return await asyncio.to_thread(self._search, prefix, query, limit, max_files, max_chars)

    def _search(self, prefix: str, query: str, limit: int, most: int, left: int) -> MemorySearchResult:
        files = [one for one in self._texts.under(_key(prefix)) if "/" not in _path(_name(one)).removeprefix(prefix)]
        hits = self._texts.meant(query, [one.id for one in files[:most]])
        matches = []
        for hit in hits[:limit]:
            path = _path(_name(hit.record))
            snippet = hit.record.body[: max(0, left - len(path.removeprefix(prefix)))]
            left -= len(path.removeprefix(prefix)) + len(snippet)
            if left < 0 or not snippet:
                break
            matches.append(MemorySearchMatch(path, snippet, hit.score))
        return MemorySearchResult(matches, min(len(files), most), len(matches) < len(hits) or len(files) > most)

    async def _changed(self, path: str, change: KeyedChange, operation: MemoryOperation | None) -> MemoryMutation:
        async with self._lock:
            if operation and (done := await self.get_operation(operation)):
                return done
            try:
                (version,) = await asyncio.to_thread(self._texts.change, [change])
            except ChangedMeanwhileError as error:
                verb = "deleted" if change.content is None else "written"
                raise MemoryConflictError(f"memory path {path!r} changed before it could be {verb}") from error
            done = MemoryMutation(version or None, replayed=False, existed=bool(change.seen))
            if operation:
                self._receipts[operation.id] = (operation.fingerprint, done)
                if len(self._receipts) > RECEIPTS:
                    self._receipts.popitem(last=False)
            return done


def _key(path: str) -> str:
    if ".." in path.split("/") or path.startswith("/"):
        raise ValueError(f"invalid memory path: {path!r}")
    return f"{ROOT}/{path}"


def _path(key: str) -> str:
    return key.removeprefix(f"{ROOT}/")


def _name(record: Record) -> str:
    return record.name or ""
