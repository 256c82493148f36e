"""The file in which multilingual-e5-small comes, in 4 bits, and the files that are made from it once, with numpy.

The file has a header, a tokenizer and a directory of tensors: float32, or blocks of 32 numbers of 4 bits with a scale.
"""

import itertools
import json
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 32
"""Numbers in a block of weights ..."""
BLOCK_BYTES = 18
"""... which has a scale in float16 and 4 bits for each number."""

_ROOT = ("emb.pos", "emb.type", "emb.ln.w", "emb.ln.b")
_LINEAR = ("q", "k", "v", "ao", "fi", "fo")
_NORMS = ("aln", "oln")


class E5File:
    """The numbers, the vocabulary and the tensors of the file."""

    def __init__(self, path: Path) -> None:
        self._bytes, self._at = path.read_bytes(), 8
        self.width, self.layers, self.heads, self.inner, self.words, _, _ = self._take("7i")
        self.epsilon, _ = self._take("f")[0], self._take("i")
        count, self.first, self.last, self.pad, self.unknown = self._take("5i")
        (size,) = self._take("Q")
        ends, self.scores = self._array("<u4", count + 1), self._array("<f4", count)
        pieces = self._bytes[self._at : self._at + size]
        self._at += size
        self.pieces = [pieces[start:end] for start, end in itertools.pairwise(ends)]
        self.replaced = dict(self._replacements())
        self._tensors = dict(self._directory())

    def _take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + form, self._bytes, self._at)
        self._at += struct.calcsize("<" + form)
        return values

    def _array(self, kind: str, count: int) -> NDArray[Any]:
        found = np.frombuffer(self._bytes, kind, count, self._at)
        self._at += found.nbytes
        return found

    def _replacements(self) -> Iterator[tuple[int, str]]:
        """Yield what the tokenizer replaces: a character's code and the text in its place."""
        count, size = self._take("iI")
        end = self._at + size
        for _ in range(count):
            code, length = self._take("IB")
            yield code, "".join(map(chr, self._take(f"{length}I")))
        self._at = end

    def _directory(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield the name of each tensor, its number of floats and its place."""
        for _ in range(self._take("i")[0]):
            (length,) = self._take("H")
            name = self._take(f"{length}s")[0].decode()
            _, count, place, _ = self._take("BIQQ")
            yield name, (count, place)

    def floats(self, name: str) -> NDArray[np.float32]:
        """Return a tensor of floats."""
        count, place = self._tensors[name]
        return np.frombuffer(self._bytes, "<f4", count, place)

    def blocks(self, name: str, rows: int, columns: int) -> NDArray[np.uint8]:
        """Return a tensor of blocks, shape (rows, blocks, bytes)."""
        shape = (rows, columns // BLOCK, BLOCK_BYTES)
        _, place = self._tensors[name]
        found: NDArray[np.uint8] = np.frombuffer(self._bytes, np.uint8, math.prod(shape), place)
        return found.reshape(shape)

    def weights(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield what the graph needs, by name, in the order in which it lies in the file of weights."""
        yield from ((name, self.floats(name)) for name in _ROOT)
        for layer in range(self.layers):
            for part in _LINEAR:
                name = f"l{layer}.{part}"
                rows, columns = {"fi": (self.inner, self.width), "fo": (self.width, self.inner)}.get(
                    part, (self.width, self.width)
                )
                wide = widened(self.blocks(f"{name}.w", rows, columns)).T
                scale = np.abs(wide).max(0) / np.float32(127)
                yield f"{name}.w_quantized", np.rint(wide / scale).clip(-127, 127).astype(np.int8)
                yield f"{name}.w_scale", scale
                yield f"{name}.b", self.floats(f"{name}.b")
            for part in _NORMS:
                yield from ((f"l{layer}.{part}.{end}", self.floats(f"l{layer}.{part}.{end}")) for end in "wb")

    def tokenizer(self) -> bytes:
        """Return the vocabulary as a model of sentencepiece: its pieces (1), training (2) and normalisation (3)."""
        kinds = {self.unknown: 2, self.first: 3, self.pad: 3, self.last: 3}
        pieces = b"".join(
            _field(1, _field(1, piece) + _tag(2, 5) + struct.pack("<f", score) + _number(3, kinds.get(place, 1)))
            for place, (piece, score) in enumerate(zip(self.pieces, self.scores.tolist(), strict=True))
        )
        special = ((40, self.unknown), (41, self.first), (42, self.last), (43, self.pad))
        training = _number(3, 1) + b"".join(_number(field, value) for field, value in special)
        return (
            pieces
            + _field(2, training)
            + _field(3, _field(1, b"identity") + b"".join(_number(n, 1) for n in (3, 4, 5)))
        )


def widened(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return blocks as floats: byte j has the numbers j and j + 16, less 8, to be multiplied by the scale."""
    scale = blocks[..., :2].copy().view("<f2").astype(np.float32)
    numbers = np.concatenate([blocks[..., 2:] & 15, blocks[..., 2:] >> 4], axis=-1).astype(np.float32) - 8
    return np.asarray((numbers * scale).reshape(len(blocks), -1))


def lay_out(source: Path, graph: bytes, into: Path) -> None:
    """Write the files of the embedder, made from `source`, into a folder: the same bytes on every machine."""
    file = E5File(source)
    (into / "model.onnx").write_bytes(graph)
    with (into / "weights.bin").open("wb") as out:
        for _, values in file.weights():
            out.write(np.ascontiguousarray(values).tobytes())
    (into / "words.bin").write_bytes(file.blocks("emb.word", file.words, file.width).tobytes())
    (into / "pieces.model").write_bytes(file.tokenizer())
    (into / "replaced.json").write_text(json.dumps(file.replaced, sort_keys=True), "utf-8", newline="\n")


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def _tag(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _field(field: int, body: bytes) -> bytes:
    return _tag(field, 2) + _varint(len(body)) + body


def _number(field: int, number: int) -> bytes:
    return _tag(field, 0) + _varint(number)
