#!/usr/bin/env python3
"""Writes the seeds of onnx_fuzz: one small model a family of operators. Needs the onnx package.

    tests/fuzz/make_onnx_corpus.py tests/fuzz/corpus/onnx_fuzz
"""

import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def floats(name, *shape):
    return numpy_helper.from_array(np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape), name)


def ints(name, *numbers):
    return helper.make_tensor(name, INT64, [len(numbers)], numbers)  # typed, not raw


def node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def model(nodes, inputs, outputs, initializers=(), opset=17, functions=()):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs.split()],
        list(initializers),
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=list(functions))


def models():
    image = ("x", FLOAT, [1, 2, 6, 6])
    yield "conv", model(
        [
            node("Conv", "x w b", "c", pads=[0, 1, 1, 1], strides=[2, 1]),
            node("BatchNormalization", "c b b b b", "n"),
            node("Clip", "n lo hi", "r"),
            node("MaxPool", "r", "p", kernel_shape=[2, 2], ceil_mode=1, pads=[0, 0, 1, 1]),
            node("AveragePool", "p", "a", kernel_shape=[2, 2], auto_pad="SAME_UPPER"),
            node("GlobalAveragePool", "a", "y"),
        ],
        [image], "y",
        [floats("w", 2, 2, 3, 3), floats("b", 2), floats("lo"), floats("hi")],
    )
    yield "own_operators", model(
        [
            node("gain", "x", "a", domain="my", factor=2.5),
            node("grow", "a", "g", domain="my", parts=3),
            node("blend", "a x x", "s h", domain="my", weights=[0.5, 0.25], signs=[1, -1], mode="sum", twice=1),
            node("copies", "h", "c d", domain="my", count=2),
            node("Add", "s d", "y"),
        ],
        [("x", FLOAT, ["n", 3, 8])], "y g",
    )
    yield "conv_transpose", model(
        [node("ConvTranspose", "x w", "y", strides=[2, 2], output_shape=[13, 12])], [image], "y",
        [floats("w", 2, 3, 3, 3)],
    )
    yield "symbols", model(
        [
            node("Shape", "x", "s"),
            node("Gather", "s zero", "n", axis=0),
            node("Concat", "n rest", "t", axis=0),
            node("Reshape", "x t", "r"),
            node("MatMul", "r w", "m"),
            node("Add", "m b", "y"),
        ],
        [("x", FLOAT, ["n", 3, 8])], "y",
        [ints("zero", 0), ints("rest", -1, 4), floats("w", 4, 5), floats("b", 5)],
    )
    yield "reduce_old", model(
        [
            node("ReduceMean", "x", "a", axes=[1], keepdims=0),
            node("ReduceL2", "a", "b", axes=[-1]),
            node("Softmax", "b", "c"),
            node("ArgMax", "c", "d", select_last_index=1),
            node("Cast", "d", "y", to=1),
        ],
        [image], "y", opset=12,
    )
    yield "index", model(
        [
            node("Slice", "x starts ends axes steps", "a"),
            node("Gather", "a i", "b", axis=3),
            node("Pad", "b pads", "c", mode="reflect"),
            node("Split", "c sizes", "d e", axis=1),
            node("Tile", "d pads2", "f"),
            node("Transpose", "f", "g", perm=[0, 2, 3, 1]),
            node("DepthToSpace", "x4", "h", blocksize=2),
            node("Einsum", "g g", "y", equation="abcd,abcd->ab"),
        ],
        [image, ("x4", FLOAT, [1, 4, 2, 2])], "y",
        [ints("starts", -1, 0), ints("ends", -9, 4), ints("axes", 2, 3), ints("steps", -2, 1), ints("i", 0, 2),
         ints("pads", 0, 0, 1, 0, 0, 0, 0, 1), ints("sizes", 1, 1), ints("pads2", 1, 2, 1, 1)],
    )
    yield "recurrent", model(
        [node("LSTM", "x w r b", "y h c", hidden_size=2), node("Resize", "y none scales", "z", mode="nearest")],
        [("x", FLOAT, [3, 1, 4])], "z h",
        [floats("w", 1, 8, 4), floats("r", 1, 8, 2), floats("b", 1, 16), floats("none", 0),
         numpy_helper.from_array(np.array([1, 1, 1, 2], np.float32), "scales")],
    )
    yield "select", model(
        [
            node("TopK", "x k", "v i"),
            node("GatherElements", "x i", "g", axis=-1),
            node("ScatterElements", "x i g", "s", axis=-1),
            node("OneHot", "i2 depth values", "o"),
            node("CumSum", "s zero", "y"),
            node("QuantizeLinear", "y scale point", "q"),
            node("DequantizeLinear", "q scale point", "d"),
        ],
        [("x", FLOAT, [3, 5]), ("i2", INT64, [4])], "y o d",
        [ints("k", 2), helper.make_tensor("depth", INT64, [], [3]), floats("values", 2),
         helper.make_tensor("zero", INT64, [], [0]), floats("scale"),
         helper.make_tensor("point", TensorProto.UINT8, [], [7])],
    )
    sparse = helper.make_sparse_tensor(floats("s", 2), helper.make_tensor("si", INT64, [2], [1, 4]), [2, 3])
    yield "constants", model(
        [
            helper.make_node("Constant", [], ["a"], sparse_value=sparse),
            node("Constant", "", "b", value_floats=[1.0, 2.0, 3.0]),
            node("ConstantOfShape", "two", "c", value=helper.make_tensor("v", FLOAT, [1], [0.5])),
            node("Range", "r0 r1 r2", "d"),
            node("Where", "m a b", "e"),
            node("Max", "e b x", "y"),
        ],
        [("x", FLOAT, [2, 3]), ("m", TensorProto.BOOL, [2, 3])], "y c d",
        [ints("two", 2, 2)] + [helper.make_tensor(f"r{i}", INT64, [], [n]) for i, n in enumerate((0, 9, 2))],
    )
    attribute = node("LeakyRelu", "a", "b")
    reference = attribute.attribute.add()
    reference.name, reference.ref_attr_name, reference.type = "alpha", "slope", 1
    function = helper.make_function(
        "local", "Leak", ["a", "low"], ["c"], [attribute, node("Clip", "b low", "c")], [helper.make_opsetid("", 17)],
        ["slope"])
    yield "function", model([node("Leak", "x", "y", domain="local", slope=0.5)], [image], "y", functions=[function])


def graph(name, nodes, inputs, outputs):
    return helper.make_graph(
        nodes, name, [helper.make_tensor_value_info(i, FLOAT, None) for i in inputs.split()],
        [helper.make_tensor_value_info(o, FLOAT, None) for o in outputs.split()])


def small(name, kind, *numbers):
    return helper.make_tensor(name, kind, [len(numbers)] if len(numbers) != 1 else [], numbers)


def newer_models():
    u8, i8 = TensorProto.UINT8, TensorProto.INT8
    yield "quantized", model(
        [
            node("DynamicQuantizeLinear", "x", "q s z"),
            node("ConvInteger", "q w z", "i", pads=[1, 0, 0, 1]),
            node("QLinearConv", "q s z w ws wz s z b", "c"),
            node("Cast", "i", "j", to=1),
            node("DequantizeLinear", "c s z", "y"),
            node("QLinearMatMul", "q s z q s z s z", "m"),
            node("MatMulInteger", "m q z", "n"),
        ],
        [("x", FLOAT, [1, 2, 6, 6])], "y j n",
        [helper.make_tensor("w", i8, [2, 2, 2, 2], range(16)), floats("ws", 2), small("wz", i8, 0, 0),
         small("b", TensorProto.INT32, 5, -5)],
    )
    contrib = model(
        [
            node("QLinearAdd", "q s z q s z s z", "a", domain="com.microsoft"),
            node("QLinearAveragePool", "a s z s z", "b", domain="com.microsoft", kernel_shape=[2, 2], pads=[1, 0, 0, 1]),
            node("QLinearConcat", "s z a s z q s z", "c", domain="com.microsoft", axis=1),
            node("QGemm", "g s z g s z f s z", "h", domain="com.microsoft", transB=1),
            node("MatMulNBits", "x p ps", "n", domain="com.microsoft", K=5, N=2, bits=4, block_size=2),
            node("SkipLayerNormalization", "x x v", "l k1 k2 k", domain="com.microsoft"),
            node("FusedMatMul", "x x", "y", domain="com.microsoft", transB=1, alpha=0.5),
        ],
        [("q", u8, [1, 2, 4, 4]), ("g", u8, [3, 3]), ("x", FLOAT, [2, 5])], "b c h n l y",
        [small("s", FLOAT, 0.5), small("z", u8, 7), small("f", TensorProto.INT32, 1, 2, 3),
         helper.make_tensor("p", u8, [2, 3, 1], range(6)), floats("ps", 6), floats("v", 5)],
    )
    yield "contrib", contrib
    yes = graph("yes", [node("Add", "x x", "t")], "", "t")
    no = graph("no", [node("If", "c", "e", then_branch=yes, else_branch=graph("n", [node("Relu", "x", "r")], "", "r"))],
               "", "e")
    body = graph("body", [node("Add", "v x", "w"), node("Cast", "i", "k", to=1), node("Mul", "w k", "u"),
                          node("Identity", "g", "h")], "i g v", "h w u")
    unknown = graph("unknown", [node("Add", "v x", "w"), node("ReduceMax", "w", "k", keepdims=0),
                                node("Less", "k seven", "h")], "i g v", "h w")
    rows = graph("rows", [node("Add", "sum row", "next"), node("Relu", "next", "all")], "sum row", "next all")
    yield "control", model(
        [
            node("If", "c", "a", then_branch=yes, else_branch=no),
            helper.make_node("Loop", ["three", "", "x"], ["b", "bs"], body=body),
            helper.make_node("Loop", ["many", "", "x"], ["d", "ds"], body=body),
            helper.make_node("Loop", ["many", "c", "x"], ["e"], body=unknown),
            node("Scan", "start x", "f fs", body=rows, num_scan_inputs=1, scan_input_axes=[1],
                 scan_output_directions=[1]),
        ],
        [("x", FLOAT, [2, 3]), ("c", TensorProto.BOOL, [])], "a b bs d ds e f fs",
        [small("three", INT64, 3), small("many", INT64, 1000), small("seven", FLOAT, 7), floats("start", 2)],
    )
    yield "attention", model(
        [
            node("RotaryEmbedding", "x c c at", "q", num_heads=2, interleaved=1),
            helper.make_node("Attention", ["q", "x", "x", "mask", "past", "past"], ["y", "k", "v", "w"], q_num_heads=2,
                             kv_num_heads=2, is_causal=1, softcap=2.0, qk_matmul_output_mode=3),
        ],
        [("x", FLOAT, [1, 3, 8]), ("at", INT64, [1, 3]), ("past", FLOAT, [1, 2, 2, 4])], "y k w",
        [floats("c", 5, 2), floats("mask", 3, 4)], opset=24,
    )
    yield "signal", model(
        [
            node("HannWindow", "eight", "w"),
            node("STFT", "x two w", "f"),
            node("DFT", "f", "d", axis=1, inverse=1),
            node("GridSample", "i g", "s", padding_mode="reflection", mode="bicubic"),
            node("Col2Im", "b size block", "c", pads=[1, 0, 0, 1], strides=[1, 2]),
            node("CenterCropPad", "c to", "p", axes=[2, 3]),
            node("ReverseSequence", "p lengths", "y"),
            node("NonZero", "y", "z"),
        ],
        [("x", FLOAT, [1, 20]), ("i", FLOAT, [1, 1, 4, 4]), ("g", FLOAT, [1, 2, 2, 2]), ("b", FLOAT, [1, 4, 15]),
         ("lengths", INT64, [1])], "d s y z",
        [small("eight", INT64, 8), small("two", INT64, 2), ints("size", 5, 5), ints("block", 2, 2), ints("to", 3, 9)],
    )
    yield "narrow", model(
        [
            node("QuantizeLinear", "x scale", "q", output_dtype=TensorProto.FLOAT8E4M3FN, saturate=0),
            node("Cast", "x", "e", to=TensorProto.FLOAT8E8M0, round_mode="down"),
            node("DequantizeLinear", "w e", "y", axis=1, block_size=2),
            node("Cast", "w", "two", to=TensorProto.INT2),
            node("CastLike", "two q", "like"),
            node("ConstantOfShape", "size", "four", value=small("four", TensorProto.FLOAT4E2M1, 1.5)),
            node("Cast", "four", "z", to=FLOAT),
            node("Cast", "like", "l", to=FLOAT),
        ],
        [("x", FLOAT, [1, 2]), ("scale", FLOAT, [])], "y z l",
        [helper.make_tensor("w", TensorProto.INT4, [1, 4], [-8, -1, 0, 7]), ints("size", 5, 5)], opset=24,
    )


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, proto in [*models(), *newer_models()]:
        (folder / f"{name}.onnx").write_bytes(proto.SerializeToString())


if __name__ == "__main__":
    main()
