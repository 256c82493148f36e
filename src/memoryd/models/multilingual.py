"""The multilingual embedder on onnxruntime and sentencepiece: for every text and question that is not English."""

import json
import re

import numpy as np
from numpy.typing import NDArray
from sentencepiece import SentencePieceProcessor

from memoryd.errors import InvalidInputError
from memoryd.models import weights
from memoryd.models.base import clean
from memoryd.models.e5_file import BLOCK, BLOCK_BYTES, widened
from memoryd.models.embedders import MULTILINGUAL, MULTILINGUAL_UNRELATED
from memoryd.models.native import GATE
from memoryd.models.onnx import LocalEmbedder, Session
from memoryd.settings import Settings

_BEGIN, _END = 0, 2
_BLANKS = re.compile(" {2,}")


class MultilingualEmbedder(LocalEmbedder):
    """multilingual-e5-small: see Embedder. The words stay in 4 bits, on the disk."""

    unrelated = MULTILINGUAL_UNRELATED

    def __init__(self, model: str, settings: Settings) -> None:
        if model not in ("", MULTILINGUAL.partition(":")[2]):
            raise InvalidInputError(f"There is no multilingual model {model!r}. Use `multilingual`.")
        files = weights.files(weights.place(settings), weights.MULTILINGUAL)
        replaced = json.loads(files["replaced.json"].read_text("utf-8"))
        self._replaced = {int(code): text for code, text in replaced.items()}
        self._words = np.memmap(files["words.bin"], np.uint8, "r").reshape(-1, self.dim // BLOCK, BLOCK_BYTES)
        self._pieces = SentencePieceProcessor(model_file=str(files["pieces.model"]))
        self._session = Session(files["model.onnx"])
        super().__init__(MULTILINGUAL, "query:", "passage:")

    def _tokens(self, text: str) -> list[int]:
        with GATE:
            tokens: list[int] = self._pieces.encode(_BLANKS.sub(" ", clean(text).translate(self._replaced)))
        return tokens

    def _pooled(self, tokens: list[int]) -> NDArray[np.float32]:
        words = widened(self._words[[_BEGIN, *tokens, _END]])[None]
        pooled: NDArray[np.float32] = self._session.run("pooled", {"x": words}, len(tokens) + 2)[0]
        return pooled
