"""The relations of an entity in an answer: those that bear on the question, or else the oldest."""

from dataclasses import replace

from memoryd.core.records.records import RELATED
from memoryd.model import Record, Tie
from memoryd.text import content_words, in_common, spaced


def bearing(record: Record, query: str) -> Record:
    """Return an entity with at most RELATED of its relations: those that share most words with a question first.

    If some share words with it, leave out those that share none.
    """
    if not record.related:
        return record
    terms = content_words(query)
    shared = {tie: in_common(terms, f"{tie.source} {spaced(tie.type)} {tie.target}") for tie in record.related}
    bear = sorted((tie for tie in shared if shared[tie]), key=lambda tie: -shared[tie])
    return replace(record, related=tuple(bear or shared)[:RELATED])


def shown(record: Record) -> str:
    """Return the relations of a record as they follow its text: ` [works_at Acme; Bob manages Ann]`; '' for none."""
    return f" [{'; '.join(lines(record))}]" if record.related else ""


def lines(record: Record) -> list[str]:
    """Return the relations of a record, one each: `works_at Acme`, `Bob manages Ann`."""
    return [_shown(tie, record.name or "") for tie in record.related[:RELATED]]


def _shown(tie: Tie, name: str) -> str:
    """Return a relation as a reader of the entity's line sees it: what it does, or who does what to it."""
    return f"{tie.source} {tie.type} {name}" if tie.source else f"{tie.type} {tie.target or name}"
