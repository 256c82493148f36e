"""Searches by words on every store: the first part of the suite in test_storage.py."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memoryd.core.records import records
from memoryd.model import Filter, Kind, Workspace
from memoryd.query_syntax import WordQuery, parse_query, typed_query
from memoryd.store.base import Store
from memoryd.text import spaced
from tests import odd_queries
from tests.store.kit import add, by_words, change, forget, put, words, workspace


class Words(ABC):
    """The suite; a subclass defines how to open a store at a place, which is empty at first."""

    @abstractmethod
    def open(self, place: Path) -> Store: ...

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        with closing(self.open(tmp_path)) as store:
            yield store

    @pytest.fixture
    def here(self) -> Workspace:
        return workspace()

    # words -----------------------------------------------------------------------------------------------------------

    def test_better_matches_come_first(self, store: Store, here: Workspace) -> None:
        put(store, here, "the river and the long road and the old mill and many other things")
        put(store, here, "river river road")
        put(store, here, "a hill")
        for n in range(10):
            put(store, here, f"filler {n}")
        assert words(store, here, "river road")[0] == "river river road"
        scores = [score for _, score in by_words(store, here, parsed("river road"), Filter(), 10)]
        assert scores == sorted(scores, reverse=True)
        assert all(score > 0 for score in scores)
        assert len(words(store, here, "filler", limit=3)) == 3

    def test_an_identifier_is_found_by_its_words(self, store: Store) -> None:
        for own in ("getUserProfile", "HTTPServerError", "parseJSON", "OAuth2Client", "maxRetryCount"):
            here, apart = workspace(own), spaced(own)
            other = f"call {apart.replace(' ', '_').lower()} later"
            lines = [f"call {own}() first", other, "users call servers", own[1:]]
            store.write(here, lambda q, lines=lines: [add(q, line) for line in lines])  # type: ignore[misc]
            assert {*lines[:2]} <= set(words(store, here, apart))
            assert words(store, here, own)[:2] == lines[:2], "itself, then its other spelling"
            for query in (f'"call {own}"', f"{own[:-2]}*", f'"{own} first"', f"call AND {own}"):
                assert words(store, here, query) == lines[:1]
            assert set(words(store, here, f'"{apart}"')) == {*lines[:2]}
            assert words(store, here, f'"{apart} first"') == []

    def test_other_capitals_are_part_of_a_word(self, store: Store, here: Workspace) -> None:
        for text, query in (("the URLs and IDs", "ids"), ("BS14RH", "bs14rh"), ("see Ab", "ab")):
            put(store, here, text)
            assert words(store, here, query) == [text]
            assert words(store, here, query[1:]) == []

    def test_a_code_is_found_however_it_is_parted(self, store: Store, here: Workspace) -> None:
        lines = ["the club at NE65 0AP", "claim LY-4482-B is open", "NE65 and 9 0AP", "NE650AP in one word"]
        store.write(here, lambda q: [add(q, line) for line in lines])
        assert set(words(store, here, "where is NE650AP")) == {lines[0], lines[3]}
        assert words(store, here, "LY4482B") == [lines[1]]

    def test_words_are_found_by_their_stems(self, store: Store, here: Workspace) -> None:
        put(store, here, "something else")
        for text, query in (
            ("she was running home", "run"),
            ("the connections dropped", "connected"),
            ("studies of cities", "city study"),
        ):
            put(store, here, text)
            assert words(store, here, query) == [text]

    def test_title_type_and_tags_are_searched_too(self, store: Store, here: Workspace) -> None:
        put(store, here, "by name", name="Amsterdam")
        put(store, here, "by type", type="locomotive", kind=Kind.ENTITY, name="E")
        put(store, here, "by tag", tags=("marzipan",))
        assert words(store, here, "amsterdam") == ["by name"]
        assert words(store, here, "locomotives") == ["by type"]
        assert words(store, here, "marzipan") == ["by tag"]

    def test_operators(self, store: Store, here: Workspace) -> None:
        for text in ("apple banana", "apple cherry", "banana apple split", "date"):
            put(store, here, text)
        for query, found in (
            ("apple banana", {"apple banana", "apple cherry", "banana apple split"}),
            ("apple AND banana", {"apple banana", "banana apple split"}),
            ('"apple banana"', {"apple banana"}),
            ("apple NOT banana", {"apple cherry"}),
            ("cher*", {"apple cherry"}),
            ("(cherry OR split) AND apple", {"apple cherry", "banana apple split"}),
            ("nothing", set()),
        ):
            assert set(words(store, here, query)) == found

    @pytest.mark.parametrize("filtered", [False, True])
    def test_odd_queries_find_the_words_in_them(self, store: Store, here: Workspace, filtered: bool) -> None:
        put(store, here, "the staging database", tags=("t",))
        put(store, here, "elsewhere", tags=("t",))
        allowed = Filter(kinds=(Kind.MEMORY,), tags=("t",)) if filtered else Filter()

        def number(query: str) -> int:
            parsed = parse_query(query[:2_000])  # the longest that a tool takes
            return len(by_words(store, here, parsed, allowed, 10)) if parsed else 0

        assert [query[:60] for query in odd_queries.WITH_A_WORD if number(query) != 1] == []
        assert [query[:60] for query in odd_queries.WITHOUT_A_WORD if number(query)] == []

    def test_a_long_text_that_is_being_typed_is_found(self, store: Store, here: Workspace) -> None:
        text = " ".join(f"w{number}" for number in range(1_200))
        put(store, here, text, tags=("t",))
        query = typed_query(text[:-1])
        assert query
        assert len(by_words(store, here, query, Filter(tags=("t",)), 10)) == 1

    def test_words_of_many_scripts(self, store: Store) -> None:
        for text, query in (
            ("café crème", "cafe"),
            ("ЖЁЛТЫЙ дом", "жёлтый"),
            ("naïve façade", "NAÏVE"),
            ("שלום עולם", "שלום"),
            ("مرحبا بالعالم", "مرحبا"),
            ("東京 タワー", "東京"),
            ("서울 날씨", "날씨"),
            ("tiếng Việt", "tieng"),
            ("tiê\u0301ng Viê\u0323t", "tiếng"),
            ("rocket 🚀 launch", "rocket"),
            ("snake_case name", "snake_case"),
            ("C3PO r2d2", "c3po"),
        ):
            here = workspace(text)
            store.write(here, lambda q, text=text: [add(q, text), add(q, "plain other")])  # type: ignore[misc]
            assert words(store, here, query) == [text]

    def test_words_of_texts_without_blanks(self, store: Store, here: Workspace) -> None:
        for text in (
            "数据库端口是5433。",
            "私の好きな色は青色です",
            "日本語とEnglishの文",
            "우리는 서울에서 만났다",
            "ประชุมที่กรุงเทพ",
            "データを消す",
            "ຂ້ອຍຢູ່ວຽງຈັນ",
            "ខ្ញុំនៅភ្នំពេញ",
            "ကျွန်တော်ရန်ကုန်မှာနေတယ်",
            "plain other",
            "東京",
        ):
            put(store, here, text)
        for query, found in (
            ("数据库", "数据库端口是5433。"),
            ("端口", "数据库端口是5433。"),
            ("5433", "数据库端口是5433。"),
            ("是", "数据库端口是5433。"),
            ("数据*", "数据库端口是5433。"),
            ('"库端口"', "数据库端口是5433。"),
            ("色は何ですか", "私の好きな色は青色です"),
            ("青", "私の好きな色は青色です"),
            ("私の好", "私の好きな色は青色です"),
            ("日本語", "日本語とEnglishの文"),
            ('"とEnglish"', "日本語とEnglishの文"),
            ("english", "日本語とEnglishの文"),
            ("日本語 AND English", "日本語とEnglishの文"),
            ("文 NOT 端口", "日本語とEnglishの文"),
            ("서울", "우리는 서울에서 만났다"),
            ("서울에서 만나", "우리는 서울에서 만났다"),
            ("에서", "우리는 서울에서 만났다"),
            ("ที่", "ประชุมที่กรุงเทพ"),
            ("กรุงเทพ", "ประชุมที่กรุงเทพ"),
            ('"ที่กรุงเทพ"', "ประชุมที่กรุงเทพ"),
            ("ﾃﾞｰﾀ", "データを消す"),
            ("テ\u3099ータ", "データを消す"),
            ("ວຽງຈັນ", "ຂ້ອຍຢູ່ວຽງຈັນ"),
            ("ភ្នំពេញ", "ខ្ញុំនៅភ្នំពេញ"),
            ("ရန်ကုန်", "ကျွန်တော်ရန်ကုန်မှာနေတယ်"),
            ("京都府", None),
            ('"据端"', None),
            ("黄色", None),
            ('"口 是"', None),
        ):
            assert words(store, here, query)[:1] == ([found] if found else []), query

    def test_names_types_and_tags_without_blanks(self, store: Store, here: Workspace) -> None:
        put(store, here, "x", name="東京都庁", tags=("会議室",), type="打ち合わせ")
        record_id = put(store, here, "会議室 会議室 会議室")
        assert words(store, here, "京都") == words(store, here, "合わせ") == ["x"]
        assert words(store, here, "会議") == ["会議室 会議室 会議室", "x"]
        change(store, here, record_id, "消した")
        assert words(store, here, "会議") == ["x"]
        forget(store, here, record_id)
        assert words(store, here, "消し") == []
        assert store.upkeep.problems(here) == []

    def test_texts_are_kept_verbatim(self, store: Store, here: Workspace) -> None:
        for text in (
            "👩‍👩‍👧‍👦 family 🏳️‍🌈",
            "مرحبا \u202bRTL\u202c",
            "漢字かな交じり文",
            "a\u0301 vs á",
            "  spaces  ",
            "line\nline\r\n\ttab ",
            "quote ' \" ; -- /* */",
            "\U0010ffff",
            "%00 \\0 {}",
            "'); DROP TABLE records; --",
        ):
            record_id = put(store, here, text, tags=(text,), name=text)
            memory = store.read(here, lambda q, key=record_id: records.fetch(q, [key], ""))[record_id]  # type: ignore[misc]
            assert (memory.body, memory.tags, memory.name) == (text, (text,), text)

    def test_a_megabyte_is_kept_and_found(self, store: Store, here: Workspace) -> None:
        text = "lorem ipsum dolor 🚀 " * 60_000 + "needle"
        assert len(text) > 2**20
        put(store, here, text)
        assert words(store, here, "needle") == [text]


def parsed(query: str) -> WordQuery:
    found = parse_query(query)
    assert found
    return found
