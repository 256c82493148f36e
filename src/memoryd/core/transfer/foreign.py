"""Import files of other memory servers into the graph.

A file is read as a stream, entities first and relations in a second pass, and written in batches, each of them
atomic. Existing rows stay untouched, so an interrupted import can simply be repeated.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from memoryd.core.base.batches import batches
from memoryd.core.base.progress import Progress, StepProgress, ignore_progress
from memoryd.core.engine import Engine
from memoryd.core.graph import entities, relations
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Change, Graph, named
from memoryd.core.transfer import jsonl
from memoryd.core.transfer.formats.items import Fault, Hint, SourceEntity, SourceRelation, Yielded
from memoryd.core.transfer.formats.source import ForeignFormat, Source
from memoryd.core.transfer.server_memory import FORMATS, SERVER_MEMORY, UNKNOWN, Item, brief
from memoryd.errors import InvalidInputError

BATCH = 500  # entities, observations and relations per transaction; a larger entity stays whole
REMARKS = 20  # maximum remarks of a kind that are kept; further ones are only counted
LOAD = 3600.0  # seconds to wait for a model: a provider may have to download it


# the file ------------------------------------------------------------------------------------------------------------


class ForeignFile:
    """An open file of a foreign format, which can be read several times."""

    def __init__(self, source: jsonl.LineFile, form: str) -> None:
        self.path = source.path
        self.changed = source.changed
        self.clean = source.clean
        self._source = source
        self._read = FORMATS[form]

    def items(self, report: Progress = ignore_progress) -> Iterator[tuple[int, Item]]:
        """Yield the items of the file, each with its line number."""
        for number, line in self._source.lines(report):
            for item in self._read(line):
                yield number, item


@contextmanager
def opened(path: Path, form: str) -> Iterator[ForeignFile]:
    """Open a file to import; raise InvalidInputError if nothing in it can be imported."""
    if form not in FORMATS:
        raise InvalidInputError(f"There is no format {form!r} to import from. There are: {', '.join(FORMATS)}.")
    with jsonl.opened(path) as file:
        source = ForeignFile(file, form)
        _check_some(source, form)
        yield source


def _check_some(source: ForeignFile, form: str) -> None:
    """Raise InvalidInputError unless the file holds an entity or a relation."""
    first = None
    for number, item in source.items():
        if isinstance(item, NewEntity | Edge):
            return
        if isinstance(item, Fault) and first is None:
            first = f"Line {number} {item.reason}."
    raise InvalidInputError(f"{source.path} contains nothing in the format {form}. {first or 'It is empty.'}")


# the file as a source ------------------------------------------------------------------------------------------------


def _recognizes(source: Source) -> bool:
    head = source.only.head().partition(b"\n")[0] if source.only else b""
    return any(isinstance(item, NewEntity | Edge) for item in FORMATS[SERVER_MEMORY](head))


def _items(source: Source, _more: frozenset[str]) -> Iterator[Yielded]:
    """Yield the items of a file as other formats do, to be shown."""
    for file in source.files:
        with file.open() as lines:
            for number, line in enumerate(filter(bytes.strip, lines), 1):
                yield from (_item(item, number) for item in FORMATS[SERVER_MEMORY](line))


def _item(item: Item, number: int) -> Yielded:
    match item:
        case NewEntity(name=name, type=type_, observations=observations):
            return SourceEntity(id=name, name=name, type=type_, observations=observations)
        case Edge(source, target, type_):
            return SourceRelation(id=source, source=source, target=target, type=type_)
        case Fault(reason):
            return Fault(f"line {number} {reason}")
        case Hint(text):
            return Hint(f"line {number} {text}")


FORMAT = ForeignFormat(SERVER_MEMORY, "a graph of server-memory", _recognizes, _items)
"""The format for recognizing a file and showing its contents; `load` imports it."""


# the import ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphCounts:
    """Numbers of entities, observations and relations."""

    entities: int = 0
    observations: int = 0
    relations: int = 0

    def __add__(self, other: "GraphCounts") -> "GraphCounts":
        """Return the sums."""
        return GraphCounts(
            entities=self.entities + other.entities,
            observations=self.observations + other.observations,
            relations=self.relations + other.relations,
        )


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark about a line."""

    line: int
    text: str


class Remarks:
    """The first REMARKS remarks of a kind, and the total number."""

    def __init__(self) -> None:
        self.number = 0
        self.first: list[Remark] = []

    def add(self, line: int, text: str) -> None:
        """Add a remark."""
        self.number += 1
        if self.number <= REMARKS:
            self.first.append(Remark(line, text))


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSummary:
    """The result of an import. What was read but is not new already existed."""

    read: GraphCounts
    new: GraphCounts
    placeholders: int
    """Entities that were created only because relations name them."""
    empty: int
    """Observations without text, which were skipped."""
    faults: int
    """Lines, or parts of them, that were not imported."""
    hints: int
    changed: bool
    """Whether the file changed during the import, so that something may be missing."""
    first_faults: tuple[Remark, ...]
    first_hints: tuple[Remark, ...]
    masked: tuple[str, ...]
    """The kinds of the secrets that were masked."""

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return asdict(self) | {"masked": dict(Counter(self.masked))}


def load(graph: Graph, source: ForeignFile, report: StepProgress) -> ImportSummary:
    """Import a file into a graph, without its secrets. Raise MemorydError; what was already imported stays.

    If secrets are refused, the whole file is checked first: InvalidInputError names the line, and nothing is imported.
    """
    loading = _Loading(graph)
    if graph.engine.secrets.mode == "refuse":
        loading.demand_none(source)
    loading.run(source, report)
    return loading.summary(changed=source.changed())


class _Loading:
    """An import in progress."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._read = GraphCounts()
        self._new = GraphCounts()
        self._placeholders = self._empty = 0
        self._faults, self._hints = Remarks(), Remarks()
        self._masked: list[str] = []

    def demand_none(self, source: ForeignFile) -> None:
        for number, item in source.items():
            self._clean(source, number, item)

    def _items(self, source: ForeignFile, what: str, report: StepProgress) -> Iterator[tuple[int, Item]]:
        for number, item in source.items(partial(report, what)):
            yield number, self._clean(source, number, item)

    def _clean(self, source: ForeignFile, number: int, item: Item) -> Item:
        if not isinstance(item, NewEntity | Edge):
            return item
        cleaned = source.clean(number, asdict(item), self._graph.engine.secrets)
        if not cleaned.found:
            return item
        self._masked += cleaned.found
        return type(item)(**cleaned.value)

    def run(self, source: ForeignFile, report: StepProgress) -> None:
        found = self._entities(self._items(source, "importing entities", report))
        for news in batches(found, BATCH, lambda one: 1 + len(one[1].observations)):
            self._put_entities(news)
        masked, items = len(self._masked), self._items(source, "importing relations", report)
        edges = ((number, item) for number, item in items if isinstance(item, Edge))
        for batch in batches(edges, BATCH):
            self._put_relations(batch)
        del self._masked[masked:]  # the second pass will find them again

    def summary(self, *, changed: bool) -> ImportSummary:
        return ImportSummary(
            read=self._read, new=self._new, placeholders=self._placeholders, empty=self._empty,
            faults=self._faults.number, hints=self._hints.number, changed=changed,
            first_faults=tuple(self._faults.first), first_hints=tuple(self._hints.first),
            masked=tuple(self._masked),
        )  # fmt: skip

    def _entities(self, items: Iterable[tuple[int, Item]]) -> Iterator[tuple[int, NewEntity]]:
        """Yield the entities among the items; count relations, and record faults and hints."""
        for number, item in items:
            match item:
                case Fault(reason):
                    self._faults.add(number, reason)
                case Hint(text):
                    self._hints.add(number, text)
                case Edge():
                    self._read += GraphCounts(relations=1)
                case NewEntity():
                    contents = tuple(filter(None, item.observations))
                    self._empty += len(item.observations) - len(contents)
                    self._read += GraphCounts(entities=1, observations=len(contents))
                    yield number, NewEntity(name=item.name, type=item.type, observations=contents)

    def _put_entities(self, batch: list[tuple[int, NewEntity]]) -> None:
        news = [new for _, new in batch]
        made = self._graph.change(lambda change: entities.put(change, news, {}))
        for (number, new), one in zip(batch, made, strict=True):
            self._new += GraphCounts(entities=not one.already_existed, observations=one.added)
            if new.type not in (one.entity.type, UNKNOWN):
                kept = f"{brief(new.name)} the type {brief(new.type)}, but it keeps {brief(one.entity.type)}"
                self._hints.add(number, f"gives {kept}")

    def _put_relations(self, batch: list[tuple[int, Edge]]) -> None:
        edges = [edge for _, edge in batch]

        def work(change: Change) -> tuple[set[str], int]:
            missing = _ends(edges) - named(change.queries, _ends(edges)).keys()
            if missing:
                entities.put(change, [NewEntity(name=name, type=UNKNOWN) for name in sorted(missing)], {})
            return missing, len(relations.put(change, edges)["created"])

        missing, created = self._graph.change(work)
        self._new += GraphCounts(relations=created)
        self._placeholders += len(missing)
        for number, edge in batch:
            for name in sorted(missing & _ends([edge])):
                missing.remove(name)
                self._hints.add(number, f"relates {brief(name)}, which did not exist: created, of type {UNKNOWN}")


def _ends(edges: Iterable[Edge]) -> set[str]:
    return {name for edge in edges for name in (edge.source, edge.target)}


# vectors -------------------------------------------------------------------------------------------------------------


def embed(engine: Engine, report: StepProgress) -> str:
    """Embed the records that lack vectors; return '', or why the model is not available.

    Like any backfill, this covers every workspace.
    """
    engine.helpers.embedder.start()
    if engine.helpers.embedder.get(LOAD) is None:
        return engine.helpers.embedder.reason
    engine.embedding.complete(lambda done: report("making vectors", done))
    return ""
