"""Seed d, its retrieval pipeline sentence by sentence: search by words and by meaning."""

import pytest

from tests.clients import Agent
from tests.odd_queries import WITH_A_WORD, WITHOUT_A_WORD
from tests.seeds.test_recall import FACTS

PASTRIES = ("apple pie recipe", "apple tart", "banana bread recipe", "cherry pie", "a list of knives")


# "FTS5 BM25 keyword search"; operators in capitals, phrases and prefixes are syntax ----------------------------------

SYNTAX = [
    ("apple AND pie", {"apple pie recipe"}),
    ("apple AND recipe AND pie", {"apple pie recipe"}),
    ("apple AND banana", set()),
    ("apple OR banana", {"apple pie recipe", "apple tart", "banana bread recipe"}),
    ("apple NOT pie", {"apple tart"}),
    ("pie NOT apple NOT banana", {"cherry pie"}),
    ('"pie recipe"', {"apple pie recipe"}),
    ('"recipe pie"', set()),
    ('"bread recipe" OR tart', {"apple tart", "banana bread recipe"}),
    ("ban*", {"banana bread recipe"}),
    ("che* OR tar*", {"apple tart", "cherry pie"}),
    ('"apple ta"*', {"apple tart"}),
    ("recipe NOT (apple OR cherry)", {"banana bread recipe"}),
    ("(apple OR cherry) AND pie", {"apple pie recipe", "cherry pie"}),
    ("((cherry))AND((pie))", {"cherry pie"}),
    ("apple pie AND recipe", {"apple pie recipe"}),
    ("recipes AND apples", {"apple pie recipe"}),  # "Porter stemming"
]


def test_syntax(words: Agent) -> None:
    words.store_all(PASTRIES)
    for query, expected in SYNTAX:
        assert set(words.found(query)) == expected, query


def test_syntax_also_applies_with_models(memory: Agent) -> None:
    memory.store_all(PASTRIES)
    for query, expected in SYNTAX:
        found = set(memory.found(query))
        assert not expected or found == expected, query


def test_lower_case_operators_are_words(words: Agent) -> None:
    words.store_all(["cats and dogs", "ships or planes", "to be or not to be"])
    assert "cats and dogs" in words.found("cats or dogs")
    assert words.found("to be or not to be")[0] == "to be or not to be", "stop words alone still match"


def test_a_sentence_in_capitals_is_not_syntax(words: Agent) -> None:
    words.store_all(["Alice and Bob decided to ship", "We run lint before we commit", "A new monitor of 32 inches"])
    assert words.found("WHAT DID ALICE AND BOB DECIDE TODAY") == ["Alice and Bob decided to ship"]
    assert words.found("HOW DO I RUN LINT AND TESTS")[:1] == ["We run lint before we commit"]
    assert words.found("what did Alice AND Bob decide") == ["Alice and Bob decided to ship"]
    assert words.found('27" and 24" monitor') == ["A new monitor of 32 inches"]


# "Porter stemming, bigram phrases" -----------------------------------------------------------------------------------


def test_any_word_of_a_question_may_match(words: Agent) -> None:
    words.store_all(FACTS)
    assert words.found("Who is it that leads the billing team these days?")[0] == FACTS[1]
    assert words.found("when do we do deployment?")[0] == FACTS[2]
    assert words.found("archive an invoice")[0] == FACTS[5]


def test_tags_are_searched_too(words: Agent) -> None:
    words.store_all(FACTS)
    kept = words.store("Ask at the front desk.", tags=["visitor-badge"])
    assert words.raw("badge")[0]["id"] == kept


def test_accents_do_not_matter(words: Agent) -> None:
    words.store("José prefers the café in Zürich")
    assert words.found("jose cafe zurich") == ["José prefers the café in Zürich"]
    words.store("İstanbul has the re\u0301sume\u0301s")  # decomposed, as some systems type it
    for query in ("İstanbul", "ISTANBUL", "re\u0301sume\u0301s", "RÉSUMÉS", '"İstanbul has"'):
        assert words.found(query) == ["İstanbul has the re\u0301sume\u0301s"], query


# invalid syntax is searched literally: a query never fails -----------------------------------------------------------


@pytest.mark.slow
def test_invalid_syntax_is_searched_literally(words: Agent) -> None:
    words.store_all(FACTS)
    missed = [query[:60] for query in WITH_A_WORD if FACTS[0] not in words.found(query[:2_000])]
    assert missed == []
    for query in WITHOUT_A_WORD:
        words.ok("memory_recall", query=query[:2_000])


def test_a_question_may_contain_a_phrase(words: Agent) -> None:
    # a phrase makes it syntax; but to require "which", "does" and "have" too would find nothing
    words.store_all(FACTS)
    assert words.found('Which port does the "staging database" have?')[:1] == [FACTS[0]]


def test_words_in_other_scripts(words: Agent) -> None:
    texts = ("数据库端口是5433", "Порт базы данных 5433", "ポート", "δοκιμή βάσης", "मुख्य सर्वर", "🦊 fox")
    words.store_all(texts)
    for query, expected in (
        ("数据库端口是5433", texts[0]),
        ("ПОРТ базы", texts[1]),
        ("ポート", texts[2]),
        ("ΔΟΚΙΜΉ", texts[3]),
        ("मुख्य", texts[4]),
        ("🦊 fox", texts[5]),
    ):
        assert words.found(query)[:1] == [expected], query


def test_column_names_in_queries_have_no_effect(words: Agent) -> None:
    words.store_all(FACTS)
    for query in ("kmemory", "scope_tokens: kmemory", "kmemory OR staging", "scope_tokens", '"kmemory"', "kmem*"):
        assert set(words.found(query)) <= {FACTS[0]}, query


# "vector KNN": found by meaning --------------------------------------------------------------------------------------

MEANT = [
    ("Is anyone in the house allergic to something?", "Ben must never eat peanuts; he swells up at once."),
    ("Which animal lives with the family?", "The neighbours gave us their old tabby, Miso, in June."),
    ("How does she get to work?", "Ana cycles eleven kilometres to her desk every morning."),
    ("What is the salary?", "Her monthly pay is 4,200 euros after tax."),
    ("Where did they spend their holiday?", "Last August the whole clan camped on the shore of Lake Bled."),
    (
        "Which programming language should I write new code in?",
        "Fresh services are to be implemented in Rust, never in C++ any more.",
    ),
    ("How do I get in when I lost my key?", "A locksmith called Petrov opens our door for 60 euros."),
    ("What illness does grandfather have?", "Opa Karl was diagnosed with Parkinson's in 2019."),
]


def test_questions_in_other_words_find_the_fact(memory: Agent) -> None:
    memory.store_all([fact for _, fact in MEANT])
    memory.store_all(FACTS)
    ranks = {question: [*memory.found(question), fact].index(fact) for question, fact in MEANT}
    assert max(ranks.values()) < 3, ranks
    assert sum(rank == 0 for rank in ranks.values()) >= len(MEANT) - 2, ranks


@pytest.mark.storeless
def test_long_texts_are_found_by_their_last_sentence(memory: Agent) -> None:
    # long texts are embedded in chunks that fit the model's window, and scored by their best chunk
    filler = {
        "garden": "The roses were pruned and the beds were mulched with bark. ",
        "accounts": "The ledger was balanced and the receipts were filed by month. ",
    }
    last = {
        "garden": "Grandmother's maiden name was Kowalczyk.",
        "accounts": "The spare key of the cottage hangs behind the barometer.",
    }
    for name, sentence in filler.items():
        memory.store(sentence * (2_600 // len(sentence)) + last[name], tags=[name])  # more than the model's window
    memory.settle()
    for question, name in (
        ("What was grandma called before she married?", "garden"),
        ("How can I unlock the holiday house?", "accounts"),
    ):
        assert memory.raw(question)[0]["tags"] == [name], question
    assert "Kowalczyk" in memory.text("memory_recall", query="grandmother's maiden name", token_budget=100)


def test_questions_in_japanese_are_ranked_by_words(memory: Agent) -> None:
    facts = [
        "ステージング環境のデータベースはポート5433です。",
        "猫の名前はタマで、毎朝六時に起きます。",
        "会議は毎週火曜日の午後三時からです。",
    ]
    memory.store_all([*facts, *FACTS])
    for question, fact in (("データベースのポート", facts[0]), ("猫の名前", facts[1]), ("会議は火曜日", facts[2])):
        assert memory.found(question)[0] == fact


# "Relevance gating", "relative gap filter" ---------------------------------------------------------------------------


def test_a_perfect_match_has_no_irrelevant_company(memory: Agent) -> None:
    memory.store_all(FACTS)
    for question, fact, strangers in (
        ("Which port does the staging database run on?", FACTS[0], (FACTS[1], FACTS[2], FACTS[3], FACTS[4], FACTS[5])),
        ("What is our office cat called?", FACTS[4], (FACTS[0], FACTS[2], FACTS[3], FACTS[6])),
        ("Does the user prefer tabs or spaces?", FACTS[3], (FACTS[0], FACTS[1], FACTS[4], FACTS[5])),
    ):
        found = memory.found(question)
        assert found[0] == fact
        assert not set(found) & set(strangers), question


def test_two_relevant_facts_are_both_returned(memory: Agent) -> None:
    # min-max over two candidates scores the second 0: the relevance gate must not drop it for that
    pair = {"Alice was born on 3 March 1990.", "Alice was born on 4 March 1990."}
    memory.store_all(sorted(pair))
    assert set(memory.found("When was Alice born?")) == pair
    memory.store_all(FACTS)
    assert set(memory.found("When was Alice born?")[:2]) == pair


def test_two_relevant_facts_are_both_returned_by_words_alone(words: Agent) -> None:
    pair = {"Alice was born on 3 March 1990.", "Alice, whom we all know from the office, was born on 4 March."}
    words.store_all(sorted(pair))
    assert set(words.found("When was Alice born?")) == pair


def test_a_single_memory_is_found(memory: Agent) -> None:
    memory.store(FACTS[0])
    assert memory.found("Which port does staging use?") == [FACTS[0]]
    assert memory.raw("Which port does staging use?")[0]["score"] > 0
