"""The multilingual embedder on onnxruntime and sentencepiece: for every text and question that is not English."""

import json
import re

import numpy as np
from numpy.typing import NDArray
from onnxruntime import InferenceSession  # type: ignore[import-untyped]
from sentencepiece import SentencePieceProcessor

from memoryd.errors import InvalidInputError, ModelError
from memoryd.models import weights
from memoryd.models.base import clean, spans, unit
from memoryd.models.e5_file import BLOCK, BLOCK_BYTES, widened
from memoryd.models.embedders import MULTILINGUAL, MULTILINGUAL_UNRELATED
from memoryd.models.native import GATE, TURNS
from memoryd.models.onnx import GRAPH_ERRORS, OVERLAP, WINDOW, options
from memoryd.settings import Settings

_BEGIN, _END = 0, 2
_CHARACTERS_A_TOKEN = 16
_BLANKS = re.compile(" {2,}")


class MultilingualEmbedder:
    """multilingual-e5-small: see Embedder. Mean pooling over all tokens; the words stay in 4 bits, on the disk."""

    dim = 384
    unrelated = MULTILINGUAL_UNRELATED

    def __init__(self, model: str, settings: Settings) -> None:
        if model not in ("", MULTILINGUAL.partition(":")[2]):
            raise InvalidInputError(f"There is no multilingual model {model!r}. Use `multilingual`.")
        self.name = MULTILINGUAL
        files = weights.files(weights.place(settings), weights.MULTILINGUAL)
        replaced = json.loads(files["replaced.json"].read_text("utf-8"))
        self._replaced = {int(code): text for code, text in replaced.items()}
        self._words = np.memmap(files["words.bin"], np.uint8, "r").reshape(-1, self.dim // BLOCK, BLOCK_BYTES)
        self._pieces = SentencePieceProcessor(model_file=str(files["pieces.model"]))
        try:
            self._session = InferenceSession(str(files["model.onnx"]), options(), providers=["CPUExecutionProvider"])
        except GRAPH_ERRORS as error:
            raise ModelError(f"onnxruntime cannot load {files['model.onnx']}: {error}. Update onnxruntime.") from error
        self._query, self._passage = self._tokens("query:"), self._tokens("passage:")

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See Embedder."""
        tokens = self._tokens(text[: WINDOW * _CHARACTERS_A_TOKEN])[: WINDOW - 2 - len(self._query)]
        vector: NDArray[np.float32] = self._embed([self._query + tokens])[0]
        return vector

    def embed_passage(self, text: str, *, hurry: bool = False) -> NDArray[np.float32]:  # noqa: ARG002 - never hangs
        """See Embedder."""
        tokens = self._tokens(text)
        chunks = spans(len(tokens), WINDOW - 2 - len(self._passage), OVERLAP)
        return self._embed([self._passage + tokens[start:end] for start, end in chunks])

    def _tokens(self, text: str) -> list[int]:
        with GATE:
            tokens: list[int] = self._pieces.encode(_BLANKS.sub(" ", clean(text).translate(self._replaced)))
        return tokens

    def _embed(self, texts: list[list[int]]) -> NDArray[np.float32]:
        return unit([self._run([_BEGIN, *tokens, _END]) for tokens in texts], len(texts), self.name)

    def _run(self, tokens: list[int]) -> NDArray[np.float32]:
        words = widened(self._words[tokens])[None]
        try:
            with TURNS, GATE:
                pooled: NDArray[np.float32] = self._session.run(["pooled"], {"x": words})[0][0]
        except GRAPH_ERRORS as error:
            raise ModelError(f"onnxruntime failed on a text of {len(tokens)} tokens: {error}") from error
        return pooled
