"""The parts of a long text that are rated one by one, to find the one that answers."""

from memoryd.sentences import sentence_spans

PART = 240
"""Characters of a part at least: about three sentences, enough to tell what it is about."""


def parts(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the parts of a text between two places, each a few whole sentences or lines."""
    found: list[tuple[int, int]] = []
    for first, last in sentence_spans(text, start, end):
        if found and found[-1][1] - found[-1][0] < PART:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found
