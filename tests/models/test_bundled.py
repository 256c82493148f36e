import itertools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from memoryd.errors import InvalidInputError, ModelError
from memoryd.models.embedders import Embedder, load_embedder
from memoryd.models.multilingual import MultilingualEmbedder
from memoryd.models.onnx import WINDOW, BundledEmbedder
from memoryd.models.rerankers import Reranker, load_reranker
from memoryd.settings import Settings

KNOWN = [
    ("Where does Anna live?", "Anna moved to Lisbon in May.", "The pump needs a new gasket."),
    ("which editor theme does the user like", "The user prefers dark mode.", "Deploys on Friday are forbidden."),
    ("What is Bob allergic to?", "Bob has an allergy to peanuts and shellfish.", "Bob plays the cello."),
]
UNRELATED = [
    "Whales sleep with one half of their brain at a time.",
    "The build fails because the linker cannot find libssl.",
    "Sourdough needs a long cold rise overnight.",
    "Interest rates were raised by a quarter of a point.",
    "Grandmother's ring was stolen during the burglary.",
    "He plays the cello in a small amateur orchestra.",
    "A jury found the defendant not guilty on all counts.",
    "Tulips were once worth more than houses in Amsterdam.",
    "The ferry was cancelled due to strong winds.",
    "The password policy requires at least fourteen characters.",
    "Carlos speaks Portuguese, Spanish and a little Basque.",
    "Glaciers in the Alps have lost a third of their volume.",
]
ODD = ["", " ", "\0", "a\ud800b", "\udfff", "\U0001f9e0", "[SEP] [PAD]", "x" * 10_000, "\x07\u200b\ufffe", "語" * 600]


@pytest.fixture(scope="module")
def embedder(settings: Settings) -> Embedder:
    embedder = load_embedder("bundled", settings)
    assert embedder is not None
    return embedder


@pytest.fixture(scope="module")
def reranker(settings: Settings) -> Reranker:
    reranker = load_reranker("bundled", settings)
    assert reranker is not None
    return reranker


def test_the_models_have_names(embedder: Embedder, reranker: Reranker) -> None:
    assert (embedder.name, embedder.dim) == ("bundled:e5-small-v2", 384)
    assert reranker.name == "bundled:ms-marco-minilm-l-12-v2"


def test_multilingual_vectors_are_the_same_on_every_processor(settings: Settings) -> None:
    multilingual = MultilingualEmbedder("", settings)
    asked = multilingual.embed_query("मेहमान वाईफाई का नाम")
    fact = multilingual.embed_passage("मेहमानों के कमरे के वाईफाई का नाम उल्लू है।")[0]
    assert float(asked @ fact) == pytest.approx(0.907, abs=0.008)  # in float32; .891 where sums of products overflow


@pytest.mark.parametrize(("query", "relevant", "irrelevant"), KNOWN)
def test_the_relevant_passage_is_nearer(embedder: Embedder, query: str, relevant: str, irrelevant: str) -> None:
    asked = embedder.embed_query(query)
    near, far = (float(embedder.embed_passage(text)[0] @ asked) for text in (relevant, irrelevant))
    assert near > far + 0.05


@pytest.mark.parametrize(("query", "relevant", "irrelevant"), KNOWN)
def test_the_relevant_passage_scores_higher(reranker: Reranker, query: str, relevant: str, irrelevant: str) -> None:
    near, far = reranker.score(query, [relevant, irrelevant])
    assert near > far + 2


def test_the_declared_cosine_of_unrelated_texts_is_accurate(embedder: Embedder) -> None:
    rows = [embedder.embed_passage(text)[0] for text in UNRELATED]
    cosines = [float(a @ b) for a, b in itertools.combinations(rows, 2)]
    assert np.mean(cosines) == pytest.approx(embedder.unrelated, abs=0.03)


def test_a_text_embeds_the_same_alone_and_after_and_alongside_others(embedder: Embedder) -> None:
    alone = [embedder.embed_passage(text) for text in UNRELATED]
    embedder.embed_passage("word " * 600)
    with ThreadPoolExecutor(4) as pool:
        beside = list(pool.map(embedder.embed_passage, [*UNRELATED, *UNRELATED]))
    assert all(np.array_equal(a, b) for a, b in zip([*alone, *alone], beside, strict=True))


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("Which port has the staging database?", True),
        ("Über welchen Port?", False),
        ("5433?", True),
        ("ステージングのポートは？", False),
        ("预发布数据库用哪个端口？", False),
        ("Какой порт у базы?", False),
    ],
)
def test_the_reranker_reads_what_it_was_trained_on(reranker: Reranker, query: str, read: bool) -> None:
    assert reranker.reads(query) == read


def test_a_text_scores_the_same_alone_and_among_others(reranker: Reranker) -> None:
    query = "How do whales sleep?"
    assert reranker.score(query, UNRELATED) == [reranker.score(query, [text])[0] for text in UNRELATED]
    assert reranker.score(query, []) == []


@pytest.mark.parametrize("text", ODD, ids=lambda text: ascii(text[:8]))
def test_no_text_is_refused(embedder: Embedder, reranker: Reranker, text: str) -> None:
    for rows in (embedder.embed_query(text)[None], embedder.embed_passage(text)):
        assert rows.dtype == np.float32
        assert rows.shape[1] == embedder.dim
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.isfinite([*reranker.score(text, ["a"]), *reranker.score("a", [text])]).all()


def test_a_long_passage_is_cut_into_chunks_that_cover_it(embedder: Embedder) -> None:
    words = ["gasket"] * 500
    words[450] = "Lisbon"
    chunks = embedder.embed_passage(" ".join(words))
    assert 2 <= len(chunks) <= 10
    nearness = chunks @ embedder.embed_query("Lisbon")
    assert int(nearness.argmax()) >= len(chunks) - 2, "the chunk with the word is one of the last"


def test_the_window_is_used_to_its_end_and_not_exceeded_and_special_tokens_are_plain_words(settings: Settings) -> None:
    embedder = BundledEmbedder("", settings)
    room = WINDOW - 2 - len(embedder._passage)
    assert len(embedder.embed_passage("pump " * room)) == 1
    assert len(embedder.embed_passage("pump " * (room + 1))) == 2
    assert not {101, 102, 0} & set(embedder._graph.tokens("[CLS] [SEP] [PAD]"))


def test_a_long_text_leaves_the_query_complete(reranker: Reranker) -> None:
    text = "Anna moved to Lisbon in May. " + "The pump needs a new gasket. " * 300
    right, wrong = (reranker.score(f"Where does {who} live?", [text])[0] for who in ("Anna", "the gasket of Carlos"))
    assert right > wrong


def test_another_bundled_model_does_not_exist(settings: Settings) -> None:
    with pytest.raises(InvalidInputError, match="bundled:e5-small-v2"):
        load_embedder("bundled:e6", settings)


def test_missing_models_are_an_error_with_the_command_to_get_them(tmp_path: Path) -> None:
    empty = Settings.read({"MEMORY_MODEL_DIR": str(tmp_path)})
    for load in (load_embedder, load_reranker):
        with pytest.raises(ModelError, match=r"model\.onnx is missing. Run `memoryd models pull`"):
            load("bundled", empty)


@pytest.mark.process
def test_the_protocols_are_light_to_import() -> None:
    code = (
        "import sys, memoryd.models.embedders, memoryd.models.rerankers\n"
        "import memoryd.models.weights, memoryd.models.loader\n"
        "print(sorted({'onnxruntime', 'tokenizers', 'httpx2', 'openai', 'fastembed'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
