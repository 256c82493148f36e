"""The bundled models on onnxruntime and tokenizers: one text at a time, and those of one question side by side.

These quantised graphs give vectors that depend on the batch (cosine .994 to .997 between alone and in a batch of
three), so there are no batches.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnxruntime import InferenceSession, SessionOptions  # type: ignore[import-untyped]
from onnxruntime.capi.onnxruntime_pybind11_state import (  # type: ignore[import-untyped]
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    NoSuchFile,
    NotImplemented,  # noqa: A004 - the library's name
    RuntimeException,
)
from tokenizers import Tokenizer

from memoryd.errors import InvalidInputError, ModelError
from memoryd.languages import is_foreign
from memoryd.models import weights
from memoryd.models.base import clean, spans, unit
from memoryd.models.native import GATE, THREADS, TURNS
from memoryd.settings import Settings

WINDOW = 512
"""The maximum input of both models in tokens, special ones included."""

OVERLAP = 48
"""Tokens that adjacent chunks of a passage share, which is two or three sentences."""

_CLS, _SEP = 101, 102
_QUERY_MOST = WINDOW // 2
"""Maximum tokens of a query for the reranker, so that it leaves room for the text."""

_CHARACTERS_A_TOKEN = 16
"""The average number of characters per token is never higher: text beyond WINDOW times this need not be tokenised."""

_VNNI = frozenset(("avx512_vnni", "avx_vnni"))

GRAPH_ERRORS = (Fail, InvalidArgument, InvalidGraph, InvalidProtobuf, NoSuchFile, NotImplemented, RuntimeException)
"""The errors of onnxruntime, which have no common base class."""


class LocalEmbedder(ABC):
    """A model of the e5 family, which splits passages by its own tokens: see Embedder. Mean pooling over all tokens."""

    dim = 384
    unrelated: float

    def __init__(self, name: str, query: str, passage: str) -> None:
        self.name = name
        self._query, self._passage = self._tokens(query), self._tokens(passage)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        tokens = self._tokens(text[: WINDOW * _CHARACTERS_A_TOKEN])[: WINDOW - 2 - len(self._query)]
        vector: NDArray[np.float32] = self._embed([self._query + tokens])[0]
        return vector

    def embed_passage(self, text: str, *, hurry: bool = False) -> NDArray[np.float32]:  # noqa: ARG002 - never hangs
        tokens = self._tokens(text)
        chunks = spans(len(tokens), WINDOW - 2 - len(self._passage), OVERLAP)
        return self._embed([self._passage + tokens[start:end] for start, end in chunks])

    def _embed(self, texts: list[list[int]]) -> NDArray[np.float32]:
        return unit([self._pooled(tokens) for tokens in texts], len(texts), self.name)

    @abstractmethod
    def _tokens(self, text: str) -> list[int]:
        """Return the token ids of a text without special tokens."""

    @abstractmethod
    def _pooled(self, tokens: list[int]) -> NDArray[np.float32]:
        """Return the mean of the vectors of some tokens and the special ones around them."""


class BundledEmbedder(LocalEmbedder):
    """e5-small-v2, int8: see Embedder."""

    unrelated = 0.74
    """Passage to passage, 64 sentences on as many subjects, 2,016 pairs: mean .742, deviation .035, 95th
    percentile .80. Query to passage the mean is .707; related ones have .81 to .90."""

    def __init__(self, model: str, settings: Settings) -> None:
        name = _name(model, weights.EMBEDDER)
        self._graph = _Graph(weights.EMBEDDER, settings)
        super().__init__(name, "query: ", "passage: ")

    def _tokens(self, text: str) -> list[int]:
        return self._graph.tokens(text)

    def _pooled(self, tokens: list[int]) -> NDArray[np.float32]:
        pooled: NDArray[np.float32] = self._graph.run("last_hidden_state", [_CLS, *tokens, _SEP])[0].mean(axis=0)
        return pooled


class BundledReranker:
    """ms-marco-MiniLM-L-12-v2, int8: see Reranker."""

    def __init__(self, model: str, settings: Settings) -> None:
        self.name = _name(model, weights.RERANKER)
        self._graph = _Graph(weights.RERANKER, settings)
        self._readers = ThreadPoolExecutor(settings.model_runs, "reranker")

    def reads(self, text: str) -> bool:
        """See Reranker. It reads English only; it makes the ranking of every other language worse (bench/languages)."""
        return not is_foreign(text)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        first = [_CLS, *self._tokens(query)[:_QUERY_MOST], _SEP]
        room = WINDOW - len(first) - 1
        answers = [[*self._tokens(text)[:room], _SEP] for text in texts]
        read = partial(self._graph.run, "logits", first)
        try:
            logits = list(self._readers.map(read, answers))
        except RuntimeError:  # the process is ending, and starts nothing more
            logits = list(map(read, answers))
        return [float(one[0, 0]) for one in logits]

    def _tokens(self, text: str) -> list[int]:
        return self._graph.tokens(text[: WINDOW * _CHARACTERS_A_TOKEN])


class _Graph:
    """A BERT graph and its tokenizer."""

    def __init__(self, model: str, settings: Settings) -> None:
        files = weights.files(weights.place(settings), model)
        self._tokenizer = Tokenizer.from_file(str(files["tokenizer.json"]))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True  # `[SEP]` in a text is plain text
        self._session = Session(files["model.onnx"])

    def tokens(self, text: str) -> list[int]:
        """Return the token ids of `text` without special tokens."""
        with GATE:
            ids: list[int] = self._tokenizer.encode(clean(text), add_special_tokens=False).ids
        return ids

    def run(self, output: str, first: list[int], second: Sequence[int] = ()) -> NDArray[np.float32]:
        """Return the output of the graph for one pair of segments, shape (1, ...). Raise ModelError."""
        ids = np.array([[*first, *second]], dtype=np.int64)
        types = np.array([[0] * len(first) + [1] * len(second)], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
        return self._session.run(output, inputs, ids.size)


class Session:
    """A graph on onnxruntime. Raise ModelError if it cannot be loaded."""

    def __init__(self, graph: Path) -> None:
        try:
            self._session = InferenceSession(str(graph), _options(), providers=["CPUExecutionProvider"])
        except GRAPH_ERRORS as error:
            raise ModelError(f"onnxruntime cannot load {graph}: {error}. Update onnxruntime.") from error

    def run(self, output: str, inputs: Mapping[str, NDArray[Any]], tokens: int) -> NDArray[np.float32]:
        """Return an output of the graph for a text of so many tokens, in this thread's turn. Raise ModelError."""
        try:
            with TURNS, GATE:
                result: NDArray[np.float32] = self._session.run([output], inputs)[0]
        except GRAPH_ERRORS as error:
            raise ModelError(f"onnxruntime failed on a text of {tokens} tokens: {error}") from error
        return result


def _options() -> SessionOptions:
    """Return options that avoid extra threads, spinning, and a cached memory plan for each input length."""
    chosen = SessionOptions()
    chosen.intra_op_num_threads = THREADS
    chosen.inter_op_num_threads = 1
    chosen.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if not _has_vnni():
        chosen.add_session_config_entry("session.x64quantprecision", "1")
    chosen.enable_mem_pattern = False
    chosen.log_severity_level = 3
    return chosen


@cache
def _has_vnni() -> bool:
    """Return whether this processor is known to add products of 8 bits in 32; only Linux tells.

    On x86 without VNNI sums of two of them would overflow 16 bits, so that answers would depend on the processor. What
    avoids that takes a sixth more time there; with AMX, which does not need it, up to three times as much.
    """
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="ascii", errors="replace") as lines:
        flags = next((line.split() for line in lines if line.startswith("flags")), [])
        return not _VNNI.isdisjoint(flags)
    return False


def _name(model: str, bundled: str) -> str:
    if model not in ("", bundled):
        raise InvalidInputError(f"There is no bundled model {model!r}. Use `bundled:{bundled}`.")
    return f"bundled:{bundled}"
