"""Missing relations: observations that mention a node without a relation to it. A heuristic: the reader judges."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from typing_extensions import TypedDict

from memoryd.core.graph.transaction import Graph
from memoryd.store.base import Queries, Row
from memoryd.text import SIGNS

# Scripts without blanks between words, or with attached endings (Korean): each character counts as a word.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
# A + or # directly after a word belongs to it: `C++` does not mention `C`, nor `F#` `F`.
_TOKEN = re.compile(rf"[^\W{_UNSPACED}]+(?:[{SIGNS}]+[^\W{_UNSPACED}]*)*[+#]*|\S")

WordSequence = tuple[str, ...]


class RelationGap(TypedDict):
    """A node that mentions another one without a relation to it, and the number of observations that do."""

    node: str
    referenced_name: str
    reference_count: int


class NodeNames:
    """Finds the names of all nodes in texts, in one pass.

    Matches whole words regardless of case and spacing. The longest name wins: if both are nodes, `New York` does not
    mention `York`.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.phrases = {key: phrase_of(name) for key, name in names.items()}
        self.owners: defaultdict[WordSequence, list[str]] = defaultdict(list)
        for key, phrase in self.phrases.items():
            self.owners[phrase].append(key)
        self._lengths: dict[str, list[int]] = {}
        for start, length in sorted({(phrase[0], len(phrase)) for phrase in self.owners if phrase}, reverse=True):
            self._lengths.setdefault(start, []).append(length)

    def mentioned(self, text: str) -> Iterator[WordSequence]:
        """Yield the names that a text mentions, in the order of the text."""
        words = phrase_of(text)
        if self._lengths.keys().isdisjoint(words):
            return
        free = 0
        for place, word in enumerate(words):
            if place >= free and word in self._lengths:
                longest_first = (words[place : place + length] for length in self._lengths[word])
                if found := next(filter(self.owners.__contains__, longest_first), ()):
                    yield found
                    free = place + len(found)


def phrase_of(text: str) -> WordSequence:
    """Return the words and punctuation marks of a text, normalized for comparison."""
    return tuple(_TOKEN.findall(text.casefold() if text.isascii() else unicodedata.normalize("NFC", text).casefold()))


def gaps(graph: Graph) -> list[RelationGap]:
    """Return the nodes that mention others without a relation between them, most mentions first.

    In a node's observations its own name refers to itself, even if another node's name differs only in case.
    """
    names, texts, related = graph.read(_everything)
    named, counts = NodeNames(names), Counter[tuple[str, str]]()
    for row in texts:
        node = row["entity_id"]
        mentioned = set(named.mentioned(row["body"])) - {named.phrases.get(node, ())}
        counts.update((node, other) for phrase in mentioned for other in named.owners[phrase])
    found: list[RelationGap] = [
        {"node": names[node], "referenced_name": names[other], "reference_count": count}
        for (node, other), count in counts.items()
        if (node, other) not in related and (other, node) not in related
    ]
    return sorted(found, key=lambda gap: (-gap["reference_count"], gap["node"], gap["referenced_name"]))


def _everything(queries: Queries) -> tuple[dict[str, str], list[Row], set[tuple[str, str]]]:
    names = {row["id"]: row["name"] for row in queries.all("entities.names")}
    related = {(row["from_entity"], row["to_entity"]) for row in queries.all("relations.pairs")}
    return names, queries.all("observations.texts"), related
