import itertools

import pytest

from memoryd.models.base import clean, prefixes, spans


@pytest.mark.parametrize("length", [0, 1, 99, 100, 101, 150, 190, 191, 1_000, 12_345])
def test_spans_cover_everything_within_the_window_and_share_the_overlap(length: int) -> None:
    found = spans(length, 100, 10)
    assert found[0][0] == 0
    assert found[-1][1] == length
    assert all(end - start <= 100 for start, end in found)
    assert all(before[1] - after[0] >= 9 for before, after in itertools.pairwise(found))
    sizes = {end - start for start, end in found}
    assert len(sizes) == 1, "no short last span that would represent a few words only"


def test_clean_keeps_the_length() -> None:
    assert clean("a\ud83d\udc00\0b\U0001f9e0") == "a?? b\U0001f9e0"


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [
        ("nomic-embed-text:v1.5", "search_query: ", "search_document: "),
        ("nomic-ai/nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        ("mxbai-embed-large", "Represent this sentence for searching relevant passages: ", ""),
        ("BAAI/bge-base-en-v1.5", "", ""),
        ("snowflake-arctic-embed2", "", ""),
        ("text-embedding-3-small", "", ""),
    ],
)
def test_prefixes_by_family(model: str, query: str, passage: str) -> None:
    assert prefixes(model) == (query, passage)
