"""The texts and names that gave way to later ones, as files of the tree: so each machine's history has both sides."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from memoryd.core.security.secrets import SecretRefusedError, Secrets
from memoryd.errors import InvalidInputError
from memoryd.features.sync import documents
from memoryd.features.sync.documents import Item, group_of, mark
from memoryd.features.sync.git import Git

FOLDER = "conflicts/"
LINES = 1_000  # that are read of a file and written to it, the latest: the work on them grows with their square
KEPT = ("memory", "entity", "observation")
"""The kinds of records that have versions."""


def files(
    git: Git, commits: Iterable[str], folder: str, documents_by_mark: Mapping[str, bytes | None], new: Iterable[Item]
) -> dict[str, bytes | None]:
    """Return the files of conflicts of some records: what some commits have, and new ones, of records that are there.

    `documents_by_mark` has the file of each record, or of what it belongs to, by its hash; None for one that is gone.
    """
    kept, paths = defaultdict[str, list[Item]](list), {_path(folder, one): one for one in documents_by_mark}
    for one in new:
        kept[mark(group_of(one))].append(one)
    for commit in filter(None, dict.fromkeys(commits)):
        for path, data in git.read(commit, paths).items():
            kept[paths[path]] += _read(data)
    living = {
        digest: [one for one in each if one["id"].encode() in (documents_by_mark.get(digest) or b"")]
        for digest, each in kept.items()
    }
    return {_path(folder, digest): _written(each) if each else None for digest, each in living.items()}


def moved(git: Git, commits: Iterable[str], folder: str, became: Mapping[str, str], secrets: Secrets) -> list[Item]:
    """Return what gave way to records that became others, as of these, which have the ids `became`."""
    paths = [_path(folder, mark(("memory", key))) for key in became]
    every = [one for commit in commits for data in git.read(commit, paths).values() for one in _read(data)]
    return [one | {"id": became[one["id"]]} for one in _clean(every, secrets) if one["id"] in became]


def received(git: Git, ours: str, head: str, paths: Iterable[str], folder: str, secrets: Secrets) -> list[Item]:
    """Return what the changed files of conflicts have in `head` and not in `ours`, checked as every input is."""
    named = [path for path in paths if path.startswith(folder + FOLDER)]
    known = [one for data in git.read(ours, named).values() for one in _read(data)]
    every = [one for data in git.read(head, named).values() for one in _read(data) if one not in known]
    return list(_clean(every, secrets))


def _clean(found: Iterable[Item], secrets: Secrets) -> Iterator[Item]:
    for one in found:
        with suppress(SecretRefusedError):
            yield secrets.clean(one).value


def _path(folder: str, digest: str) -> str:
    return f"{folder}{FOLDER}{digest}.jsonl"


def _written(found: Iterable[Item]) -> bytes:
    lines = {
        (one["until"], json.dumps(documents.stated(one) | {"until": one["until"]}, ensure_ascii=False)) for one in found
    }
    return "".join(f"{line}\n" for _, line in sorted(lines)[-LINES:]).encode()


def _read(data: bytes) -> list[Item]:
    """Return the items of such a file, with the time `until` which they stood; lines that are none are left out."""
    found = []
    for line in data.decode("utf-8-sig", errors="replace").strip().split("\n")[-LINES:]:
        with suppress(InvalidInputError, ValueError, KeyError, TypeError, RecursionError):
            value = json.loads(line)
            item = documents.item_of(value["kind"], value) | {"until": documents.time_of(str(value["until"]))}
            documents.check(item)
            documents.check_edited(item)
            needed = ("created_at", "updated_at", *(["name"] if item["kind"] == "entity" else ()))
            if item["kind"] in KEPT and all(item[name] for name in needed):
                found.append(item)
    return found
