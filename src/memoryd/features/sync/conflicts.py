"""The texts and names that gave way to later ones, as files of the tree: so each machine's history has both sides."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress

from memoryd.core.base.clock import ASTRAY, moment, timestamp
from memoryd.core.security.secrets import Secrets
from memoryd.errors import InvalidInputError
from memoryd.features.sync import documents
from memoryd.features.sync.documents import Item, group_of, mark
from memoryd.features.sync.git import Git

FOLDER = "conflicts/"
LINES = 1_000  # that are read of a file and written to it, the latest: the work on them grows with their square
KEPT = ("memory", "entity", "observation")
"""The kinds of records that have versions."""


class Conflicts:
    """The files of conflicts in the folder of a workspace: what they say is checked as every input is."""

    def __init__(self, git: Git, folder: str, secrets: Secrets, now: str) -> None:
        self._git, self._folder, self._secrets = git, folder + FOLDER, secrets
        self._latest = timestamp(moment(now) + ASTRAY)  # clocks may differ, but none is so far ahead

    def files(
        self, commits: Iterable[str], documents_by_mark: Mapping[str, bytes | None], new: Iterable[Item]
    ) -> dict[str, bytes | None]:
        """Return the files of some records: what some commits have, and new ones, of records that are there.

        `documents_by_mark` has the file of each record, or of what it belongs to, by its hash; None for one that is
        gone.
        """
        kept = defaultdict[str, list[Item]](list)
        for one in new:
            kept[mark(group_of(one))].append(one)
        for commit in filter(None, dict.fromkeys(commits)):
            for digest, found in self._read(commit, map(self._path, documents_by_mark)).items():
                kept[digest] += found
        files = dict[str, bytes | None]()
        for digest, found in kept.items():
            document = documents_by_mark.get(digest) or b""
            lines = {(one["until"], _line(one)) for one in found if one["id"].encode() in document}
            text = "".join(f"{line}\n" for _, line in sorted(lines)[-LINES:])
            files[self._path(digest)] = text.encode() or None
        return files

    def moved(self, commits: Iterable[str], became: Mapping[str, str]) -> list[Item]:
        """Return what gave way to records that became others, as of these, which have the ids `became`."""
        paths = [self._path(mark(("memory", key))) for key in became]
        every = [one for commit in commits for each in self._read(commit, paths).values() for one in each]
        return [one | {"id": became[one["id"]]} for one in every if one["id"] in became]

    def received(self, ours: str, head: str, paths: Iterable[str]) -> list[Item]:
        """Return what the changed files of conflicts have in `head` and not in `ours`."""
        named = [path for path in paths if path.startswith(self._folder)]
        known, there = self._read(ours, named), self._read(head, named)
        return [one for digest, each in there.items() for one in each if one not in known.get(digest, ())]

    def _path(self, digest: str) -> str:
        return f"{self._folder}{digest}.jsonl"

    def _read(self, commit: str, paths: Iterable[str]) -> dict[str, list[Item]]:
        """Return what files in a commit have, by the hashes in their names."""
        found = self._git.read(commit, paths)
        return {
            path.removeprefix(self._folder).removesuffix(".jsonl"): self._items(data) for path, data in found.items()
        }

    def _items(self, data: bytes) -> list[Item]:
        """Return the items of a file, with the time `until` which they stood; lines that are none are left out."""
        found = []
        for line in data.decode("utf-8-sig", errors="replace").strip().rsplit("\n", LINES)[-LINES:]:
            with suppress(InvalidInputError, ValueError, KeyError, TypeError, RecursionError):
                value = json.loads(line)
                until = min(documents.time_of(str(value["until"])), self._latest)
                item = documents.item_of(value["kind"], value) | {"until": until}
                documents.check(item)
                documents.check_edited(item)
                needed = ("created_at", "updated_at", *(["name"] if item["kind"] == "entity" else ()))
                if item["kind"] in KEPT and all(item[name] for name in needed):
                    found.append(self._secrets.clean(item).value)
        return found


def _line(item: Item) -> str:
    return json.dumps(documents.stated(item) | {"until": item["until"]}, ensure_ascii=False)
