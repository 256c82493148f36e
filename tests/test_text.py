"""Word queries, comparison of texts, sizes."""

import re
import unicodedata

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.records.deduplication import fingerprint, may_differ
from memoryd.origin import address
from memoryd.query_syntax import parse_query
from memoryd.text import (
    LETTERS,
    SEARCHED,
    asks,
    content_words,
    estimate_tokens,
    gist,
    indexed,
    segmented,
    shortened,
    speaker,
    words,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
QUERIES = st.lists(
    st.sampled_from(['"', "(", ")", "*", "AND", "OR", "NOT", "NEAR", "a", "b*", "ç", "-", ":", "'"]), max_size=40
)


@pytest.mark.parametrize(
    ("query", "emitted"),
    [
        ("where is the red car", '"red" OR "car"'),
        ("where is it", '"where" OR "is" OR "it"'),  # only stop words: keep them
        ("red AND car", '"red" AND "car"'),
        ("red car*", '"red" AND "car"*'),
        ('"red car" blue', '"red car" AND "blue"'),
        ("red OR blue AND car", '"red" OR ("blue" AND "car")'),
        ("(red OR blue) car*", '("red" OR "blue") AND "car"*'),
        ("red NOT blue NOT green", '"red" NOT ("blue" OR "green")'),
        ("a-b c*", '"a b" AND "c"*'),
        ("red and blue or not", '"red" OR "blue"'),  # operators must be in capitals
        ("AND", '"and"'),
        ("red AND", '"red"'),
        ("NOT red", '"red"'),
        ('say "unfinished', '"say" OR "unfinished"'),  # a quote counts only in a pair
        ('27" monitor', '"27" OR "monitor"'),
        ('27" and 32" monitors', '"27" OR "32" OR "monitors"'),
        ('"" staging ""', '"staging"'),
        ('"port 27" monitor', '"port 27" AND "monitor"'),
        ('文件"数据库"', '"文件" AND "数据 据库"'),
        ("WHAT DID ALICE AND BOB DECIDE TODAY", '"alice" OR "bob" OR "decide" OR "today"'),  # a sentence
        ("HOW DO I RUN LINT AND TESTS", '"run" OR "lint" OR "tests"'),
        ("DID ALICE (CEO) AND BOB DECIDE", '"alice" OR "ceo" OR "bob" OR "decide"'),
        ('WHAT DID "Al Bo" AND EVE DECIDE', '"al bo" AND "eve" AND "decide"'),
        ("LINT AND TESTS OR DOCS", '("lint" AND "tests") OR "docs"'),
        ("E1 AND E2 AND E3 NOT E4", '"e1" AND "e2" AND ("e3" NOT "e4")'),
        ("東京 大阪 AND 京都 神戸", '"東京" AND "大阪" AND "京都" AND "神戸"'),
        ("what did Alice AND Bob decide", '"alice" AND "bob" AND "decide"'),  # stop words next to operators
        ("red NOT the blue", '"red" NOT "blue"'),
        ("US AND EU", '"us" AND "eu"'),  # without `us` it would not be valid
        ("red AND (the)", '"red" AND "the"'),
        ("re\u0301sume\u0301* İstanbul x\u0302y", '"résumé"* AND "istanbul" AND "xy"'),
        ("(red OR", '"red"'),
        ("don't", '"don" OR "t"'),
        ("body: x", '"body" OR "x"'),
        ("NEAR(a b)", '"near" OR "b"'),
        ("Café ПРИВЕТ 東京", '"café" OR "привет" OR "東京"'),
        ("x x X", '"x"'),
        ("東京都の天気", '"東京" OR "京都" OR "都の" OR "の天" OR "天気"'),  # the last letter is in the last pair
        ("猫", '"猫"*'),  # every letter begins a word of the index
        ("日本語とEnglish", '"日本" OR "本語" OR "語と" OR "english"'),
        ("port猫 AND 犬*", '"port 猫"* AND "犬"*'),
        ('"東京 大阪府"', '"東京 京 大阪 阪府"'),  # within a phrase a run ends where it ends
        ('"Tokyo 東"', '"tokyo 東"*'),
        ('데이터베이스* NOT "서울"', '"데이 이터 터베 베이 이스" NOT "서울"'),
        ("getUserProfile today", '"getuserprofile" OR "today" OR "get user profile"'),
        ("call get_user_profile", '"call" OR "get_user_profile"'),
        ('"getUserProfile now"', '"getuserprofile now"'),
        ("getUser*", '"getuser"*'),
        ("URLs of 9f86d081884c in HTTP", '"urls" OR "9f86d081884c" OR "http"'),
        ("NE650", '"ne650" OR "n e650" OR "ne 650" OR "ne6 50" OR "ne65 0"'),
        ("LY44B", '"ly44b" OR "l y44b" OR "ly 44b" OR "ly4 4b" OR "ly44 b" OR "ly 44 b"'),
        ("K12AB L12AB M12AB N12AB", '"k12ab" OR "l12ab" OR "m12ab" OR "n12ab"'),  # as in a log
        ("ﾃﾞｰﾀ か\u3099く", '"デー" OR "ータ" OR "がく"'),  # half-width and decomposed letters
        ("กรุงเทพ", '"กร" OR "รง" OR "งเ" OR "เท" OR "ทพ"'),  # without vowel signs
        ("葛\U000e0100城", '"葛城"'),
    ],
)
def test_queries(query: str, emitted: str) -> None:
    parsed = parse_query(query)
    assert parsed
    assert parsed.fts5() == emitted


@pytest.mark.parametrize(
    ("query", "emitted"),
    [
        ("a* " * 600, '"a"*'),
        (" OR ".join(["a*", "b"] * 200), '"a"* OR "b"'),
        ('"x y" ' * 300, '"x y"'),
        ("(a* b*) " * 200, '"a"* AND "b"*'),
        ("a*" + " NOT b" * 200, '"a"* NOT "b"'),
        ("a* A* b a*", '"a"* AND "b"'),
    ],
)
def test_a_repeated_part_of_a_query_is_searched_once(query: str, emitted: str) -> None:
    parsed = parse_query(query)
    assert parsed
    assert parsed.fts5() == emitted


def test_a_query_of_many_prefixes_is_taken_literally() -> None:
    parsed = parse_query(" OR ".join(f"(a* OR x{number})" for number in range(51)))
    assert parsed
    assert not parsed.syntax


@pytest.mark.parametrize("query", ["", "   ", "?!", '""', "***", "🚀", '"" *'])
def test_a_text_without_words_is_not_a_query(query: str) -> None:
    assert parse_query(query) is None


@given(st.one_of(TEXTS, QUERIES.map(" ".join)))
def test_every_query_has_balanced_quotes_and_brackets(query: str) -> None:
    parsed = parse_query(query)
    if parsed:
        emitted = parsed.fts5()
        assert emitted.count('"') % 2 == 0
        assert emitted.count("(") == emitted.count(")")


@pytest.mark.parametrize(
    ("query", "syntax", "binding"),
    [
        ("red car", False, False),
        ('27" monitor', False, False),
        ('27" and 32" monitors', False, False),
        ("HOW DO I RUN LINT AND TESTS", False, False),
        ('WHAT DID "Al Bo" AND EVE DECIDE', True, False),
        ('the "red car"', True, False),
        ('"red car"', True, True),
        ("car*", True, True),
        ("red AND car", True, True),
        ("where is the red AND car", True, True),
        ("(red car)", False, False),
    ],
)
def test_syntax_and_binding(query: str, syntax: bool, binding: bool) -> None:
    parsed = parse_query(query)
    assert parsed
    assert (parsed.syntax, parsed.binding) == (syntax, binding)


@pytest.fixture(scope="module")
def index() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61 remove_diacritics 2')")
    return connection


def finds(index: apsw.Connection, text: str, query: str) -> bool:
    parsed = parse_query(query)
    assert parsed, query
    return matched(index, text, " AND ".join(f'"{w}"' for w in words(query)), parsed.fts5())


def matched(index: apsw.Connection, text: str, *matches: str) -> bool:
    """Return whether an index of this one text finds it by all of `matches`."""
    index.execute("DELETE FROM t")
    index.execute("INSERT INTO t VALUES (?)", (indexed(text),))
    return all(list(index.execute("SELECT 1 FROM t WHERE t MATCH ?", (match,))) for match in matches)


MANY_SCRIPTS = """résumé naïve Straße STRAẞE İstanbul ISPARTA ılık Łódź Çeşme Ångström œuvre tiếng Ðuro þorn ΟΔΟΣ
    δοκιμή ἄνθρωπος Жёлтый йод Україна Հայերեն ქართული שלום שָׁלוֹם العربية مُحَمَّد मुख्य বাংলা தமிழ் ไทย 서울 東京 ポート
    がぎぐ አማርኛ ǅungla t͡sar o͘te""".split()


@pytest.mark.parametrize("word", MANY_SCRIPTS)
def test_a_word_finds_its_own_text(index: apsw.Connection, word: str) -> None:
    for query in (word, word.lower(), f'"{word}"', f"{word}*"):
        assert finds(index, f"before {word} after", query), query


@pytest.mark.parametrize("word", ["résumé", "naïve", "İstanbul", "Łódź", "Çeşme", "Ångström", "서울", "がぎぐ"])
def test_a_decomposed_word_finds_its_own_text(index: apsw.Connection, word: str) -> None:
    decomposed = unicodedata.normalize("NFD", word)
    assert finds(index, decomposed, decomposed)


@pytest.mark.parametrize("word", ["résumé", "naïve", "İstanbul", "tiếng", "жёлтый", "йод", "δοκιμή", "ἄνθρωπος"])
def test_a_decomposed_query_finds_the_composed_text(index: apsw.Connection, word: str) -> None:
    for query in (word, word.upper()):
        assert finds(index, word, unicodedata.normalize("NFD", query)), query


def test_every_accent_splits_words_as_in_the_index(index: apsw.Connection) -> None:
    marks = set(range(0x300, 0x370)) - {0x340, 0x341, 0x344}  # deprecated: NFC replaces them
    assert [hex(mark) for mark in marks if not finds(index, f"q{chr(mark)}z", f"q{chr(mark)}z")] == []


def test_text_without_spaces_is_indexed_as_overlapping_pairs() -> None:
    assert segmented("東京都に住む。Tokyo 3区x") == " 東京 京都 都に に住 住む む 。Tokyo 3 区 x"
    assert segmented("naïve Straße 🚀, no change") == "naïve Straße 🚀, no change"
    assert words("日本語とEnglish") == ["日本", "本語", "語と", "と", "english"]
    assert content_words("日本語の日本") == ["日本", "本語", "語の", "の日"]


@pytest.mark.parametrize("found", re.findall(r"\w-\w|\w", LETTERS), ids=ascii)
def test_every_letter_of_a_script_without_spaces_is_found(index: apsw.Connection, found: str) -> None:
    for letter in (found[0], found[-1]):
        text = f"before {letter * 3} after"
        for query in (letter, letter * 2, f'"{letter * 3} after"'):
            parsed = parse_query(query)
            assert parsed
            assert matched(index, text, parsed.fts5()), (hex(ord(letter)), query)
            assert parsed.matches(words(text))


def test_words_are_folded_as_in_the_index() -> None:
    assert words("re\u0301sume\u0301 İstanbul I\u0307zmir") == ["résumé", "istanbul", "izmir"]
    assert words("Straße") == ["straße"]  # FTS5 does not fold it to ss
    assert content_words("The Cat and the Hat, the CAT") == ["cat", "hat"]


APART = [
    ("The CSV delimiter is ;", "The CSV delimiter is ,"),
    ("An empty list is []", "An empty list is {}"),
    ("Quote it with ' only", 'Quote it with " only'),
    ("It ends with !", "It ends with ?"),
    ("It ends with .", "It ends with"),
    ("Use drive a for backups", "Use drive for backups"),
    ("El jefe presenta a Juan", "El jefe presenta Juan"),
    ("The a drive is full", "The drive is full"),
    ("Use (the) key", "Use key"),
    ("Drives: a, the", "Drives: a"),
    ("Use `a` here", "Use here"),
    ("Mount drive a", "Mount drive b"),
]
SAME_FACTS = [("Use (the) key", "Use key"), ("Drives: a, the", "Drives: a")]  # other fingerprints, but the same facts


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The cat sat.", "the cat sat"),
        ("“The cat sat”", "Cat sat."),
        ("It is an axe on the wall", "It is axe on wall"),
        ("Look. A cat sat.", "Look. Cat sat."),
        ("A cat sat.", "Cat sat"),
        ("Then (it is known) it works", "then it is known it works"),
        (" fine  line\n", "fine line"),
        ("Café", "cafe\u0301"),
        ("駅でパンを買う。", "駅でパンを買う"),
        ("我们买面包。", "我们买面包！"),
        ("आठ बजे 8 लोग आए।", "आठ बजे 8 लोग आए"),
    ],
)
def test_texts_that_differ_only_in_form_have_the_same_fingerprint(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("port 80", "port 81"),
        ("it works", "it works not"),
        ("Ann called Bob", "Bob called Ann"),
        ("plan A", "plan B"),
        ("version 1.2", "version 12"),
        ("C", "C++"),
        ("5 %", "-5 %"),
        ("👍", "👎"),
        ("yes", "no"),
        ("x > y", "x < y"),
        ("駅でパンを買う？", "駅でパンを買う"),
        *APART,
    ],
)
def test_different_facts_have_different_fingerprints(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


@given(TEXTS)
def test_every_text_has_a_fingerprint(text: str) -> None:
    assert fingerprint(text) == fingerprint(f" {text}\n")
    assert not may_differ(text, text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The server listens on port 80", "The server listens on port 8080"),
        ("We deploy on Monday", "We deploy on Tuesday"),
        ("He likes tea", "He does not like tea"),
        ("Alice manages Bob", "Bob manages Alice"),
        ("The talk is by Meyer", "The talk is by Miller"),
        ("The flag is enabled", "The flag is disabled"),
        ("It costs $5", "It costs $6"),
        ("rotate left", "rotate right"),
        ("released in v2.1", "released in v2.2"),
        ("the limit is 10 %", "the limit is 10 ms"),
        *(pair for pair in APART if pair not in SAME_FACTS),
    ],
)
def test_facts_that_may_differ(one: str, other: str) -> None:
    assert may_differ(one, other)
    assert may_differ(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("She prefers dark themes.", "she prefers dark themes"),
        ("The build takes ten minutes", "The build needs ten minutes"),
        ("We deploy on Monday", "We ship on Monday"),
    ],
)
def test_paraphrases(one: str, other: str) -> None:
    assert not may_differ(one, other)


# sizes and names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("🚀" * 8, 2)])
def test_a_token_is_four_characters(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("東京の駅。", 5), ("서울역", 3), ("北京 5433", 4), ("Grüße", 2), ("المنفذ", 2), ("\u2fff\ud7ff\ue000", 2)],
)
def test_a_chinese_japanese_or_korean_character_is_a_token(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:secret@box.example:8080/secret/v1?key=secret#secret", "box.example:8080"),
        ("https://secret@[::1]:8080/", "[::1]:8080"),
        ("https://box.example/v1", "box.example"),
        ("user:secret@box:11434", "box:11434"),
        ("box", "box"),
        ("http://user:sec/ret@box", "(not a URL)"),
        ("http://user:secret@box:port", "(not a URL)"),
        ("http://[secret", "(not a URL)"),
        ("", "(not a URL)"),
    ],
)
def test_a_url_is_shown_as_its_host_and_port(url: str, shown: str) -> None:
    assert address(url) == shown


def test_the_speaker_is_the_name_before_the_first_colon() -> None:
    assert [speaker(text) for text in ("Anna Lee: yes", "Zoë: ja", "10 at: x", "no name", "one two three four: x")] == [
        "Anna Lee",
        "Zoë",
        "",
        "",
        "",
    ]
    assert [asks(text) for text in ("Why? Because.", "なぜ？", "So.")] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("call getUserProfile(id) now", "get User Profile"),
        ("HTTPServerError", "HTTP Server Error"),
        ("parseJSON, isOK", "parse JSON is OK"),
        ("OAuth2Client", "O Auth2 Client"),
        ("test_getUser.selfTest", "get User self Test"),
        ("iPhone and PostgreSQL", "i Phone Postgre SQL"),
        ("URLs, IDs and BS14RH of the HTTP server; 9F86D0", ""),
        ("getUser" + "Profile" * 20, ""),  # no name
        ("éaB", ""),
        ("GetÉtat", ""),
    ],
)
def test_the_words_within_an_identifier_follow_the_text(text: str, parts: str) -> None:
    assert indexed(text) == f"{text} {parts}".rstrip()


@pytest.mark.parametrize(
    "query", ["word " * 1_000, "a" * 5_000, "字" * 3_000, "x " + "y" * 5_000, "  " * 3_000, "a\n" * 1_500]
)
def test_of_a_long_query_both_ends_are_searched_the_last_part_first(query: str) -> None:
    searched, sentence = shortened(query)
    assert len(searched) <= SEARCHED
    assert f"{len(query):,} characters" in sentence
    last = "the last line names the error"
    assert last in shortened(f"{query}\n{last}")[0][:600]


def test_a_query_is_not_cut_within_a_word() -> None:
    numbers = [f"word{number}" for number in range(1_000)]
    searched, _ = shortened(" ".join(numbers))
    assert set(searched.split()) <= set(numbers)
    assert {"word0", "word100", "word999", "word900"} <= set(searched.split())


@pytest.mark.parametrize("query", ["", "short", "x" * 2_000, "word " * 400])
def test_a_query_that_fits_is_searched_as_it_is(query: str) -> None:
    assert shortened(query) == (query, "")


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("Where is\nthe key?", ("Where is\nthe key?",)),
        ("Why?\n" + "  at a.b(c)\n" * 60 + "Caused by: no rows\n}\n```\n", ("Why?", "Caused by: no rows")),
        ("ab " * 200, ("ab " * 66 + "ab", "b " + "ab " * 66)),
        ("?" * 500, ("?" * 200, "?" * 200)),
    ],
)
def test_of_a_pasted_text_the_first_and_the_last_line_are_asked(query: str, asked: tuple[str, ...]) -> None:
    assert gist(query) == asked
