"""Small models with fixed seeds, quantised by onnxruntime.quantization in every form that it writes."""
import contextlib
import io
import logging
import os
import pathlib
import tempfile
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from saturation import products_saturate


class Graph:
    """An ONNX graph under construction: each method appends a node and gives the name of its result."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.count = [], [], 0

    def constant(self, array):
        self.count += 1
        self.constants.append(numpy_helper.from_array(array, f"c{self.count}"))
        return f"c{self.count}"

    def normal(self, *shape, deviation=1.):
        return self.constant((self.rng.standard_normal(shape) * deviation).astype(np.float32))

    def node(self, operator, *inputs, **attributes):
        self.count += 1
        name = f"{operator}_{self.count}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def conv(self, x, channels, out, kernel=3, stride=1, groups=1, pads=None, dilation=1, rank=2, bias=True):
        fan_in = channels // groups * kernel**rank
        weight = self.normal(out, channels // groups, *[kernel] * rank, deviation=(2 / fan_in)**.5)
        inputs = [x, weight] + ([self.normal(out, deviation=.1)] if bias else [])
        pads = pads or [dilation * (kernel // 2)] * 2 * rank
        return self.node("Conv", *inputs, kernel_shape=[kernel] * rank, strides=[stride] * rank, pads=pads, group=groups,
                         dilations=[dilation] * rank)

    def relu(self, x):
        return self.node("Relu", x)

    def relu6(self, x):
        return self.node("Clip", x, self.constant(np.float32(0)), self.constant(np.float32(6)))

    def linear(self, x, features, out):
        """MatMul and Add, as exporters write a linear layer over tokens."""
        weight = self.normal(features, out, deviation=features**-.5)
        return self.node("Add", self.node("MatMul", x, weight), self.normal(out, deviation=.1))

    def gemm(self, x, features, out):
        return self.node("Gemm", x, self.normal(out, features, deviation=features**-.5), self.normal(out, deviation=.1),
                         transB=1)

    def model(self, x, shape, y):
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info(x, TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        return onnx.shape_inference.infer_shapes(model), shape


def residual_net():
    """Residual blocks, one with a strided convolution beside it, and a classifier."""
    g = Graph(1)
    x = g.relu(g.conv("x", 3, 16, 7, stride=2))
    x = g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = g.relu(g.node("Add", g.conv(g.relu(g.conv(x, 16, 16)), 16, 16), x))
    side = g.conv(x, 16, 24, 1, stride=2)
    x = g.relu(g.node("Add", g.conv(g.relu(g.conv(x, 16, 24, stride=2)), 24, 24), side))
    x = g.node("Flatten", g.node("GlobalAveragePool", x))
    return g.model("x", [2, 3, 32, 32], g.gemm(x, 24, 10))


def mobile_net():
    """Inverted residuals: pointwise, depthwise, pointwise, with limits of 6."""
    g = Graph(2)
    x = g.relu6(g.conv("x", 3, 8, stride=2))
    for channels, out, stride in (8, 12, 2), (12, 12, 1), (12, 16, 1):
        wide = g.relu6(g.conv(x, channels, 4 * channels, 1))
        wide = g.relu6(g.conv(wide, 4 * channels, 4 * channels, stride=stride, groups=4 * channels))
        y = g.conv(wide, 4 * channels, out, 1)
        x = g.node("Add", x, y) if channels == out else y
    x = g.node("Flatten", g.node("GlobalAveragePool", x))
    return g.model("x", [1, 3, 32, 32], g.gemm(x, 16, 10))


def odd_net():
    """Groups, dilation, uneven padding, a convolution without bias, concatenation, a sigmoid behind a convolution."""
    g = Graph(3)
    a = g.relu(g.conv("x", 4, 12, groups=2, bias=False))
    b = g.conv("x", 4, 8, dilation=2)
    x = g.node("Concat", a, b, axis=1)
    x = g.node("Sigmoid", g.conv(x, 20, 16, pads=[0, 0, 1, 1]))
    return g.model("x", [1, 4, 15, 17], g.conv(x, 16, 5, 1))


def signal_net():
    """Convolutions over one axis."""
    g = Graph(4)
    x = g.relu(g.conv("x", 6, 16, 5, rank=1, stride=2))
    x = g.relu(g.conv(x, 16, 16, 3, rank=1, groups=16))
    x = g.node("Add", g.conv(x, 16, 16, 1, rank=1), x)
    return g.model("x", [2, 6, 40], x)


def normed(g, x, size):
    return g.node("LayerNormalization", x, g.constant(np.ones(size, np.float32)), g.constant(np.zeros(size, np.float32)),
                  axis=-1)


def gelu(g, x):
    half = g.node("Mul", x, g.constant(np.float32(.5)))
    erf = g.node("Erf", g.node("Div", x, g.constant(np.float32(2**.5))))
    return g.node("Mul", half, g.node("Add", erf, g.constant(np.float32(1))))


def transformer():
    """Two blocks of attention and a feed-forward layer with gelu."""
    g = Graph(5)
    size, heads, length = 32, 4, 12
    x = "x"
    for _ in range(2):
        y = normed(g, x, size)
        parts = []
        for order in (0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3):
            part = g.node("Reshape", g.linear(y, size, size), g.constant(np.array([0, 0, heads, size // heads])))
            parts.append(g.node("Transpose", part, perm=order))
        scores = g.node("Mul", g.node("MatMul", parts[0], parts[1]), g.constant(np.float32((size // heads)**-.5)))
        mixed = g.node("MatMul", g.node("Softmax", scores, axis=-1), parts[2])
        mixed = g.node("Reshape", g.node("Transpose", mixed, perm=(0, 2, 1, 3)), g.constant(np.array([0, 0, size])))
        x = g.node("Add", x, g.linear(mixed, size, size))
        y = g.linear(gelu(g, g.linear(normed(g, x, size), size, 4 * size)), 4 * size, size)
        x = g.node("Add", x, y)
    return g.model("x", [2, length, size], g.linear(normed(g, x, size), size, 20))


def perceptron():
    """Linear layers alone."""
    g = Graph(6)
    x = g.relu(g.gemm("x", 40, 64))
    x = g.relu(g.gemm(x, 64, 48))
    return g.model("x", [5, 40], g.gemm(x, 48, 10))


def wide_net():
    """Sums of so many products that floats do not hold them exactly."""
    g = Graph(7)
    x = g.conv("x", 1024, 6)
    x = g.node("Flatten", g.relu(x))
    x = g.relu(g.gemm(x, 24, 8192))
    return g.model("x", [1, 1024, 2, 2], g.gemm(x, 8192, 10))


MODELS = {f.__name__: f for f in (residual_net, mobile_net, odd_net, signal_net, transformer, perceptron, wide_net)}
FORMS = ["qdq_s8s8", "qdq_u8s8", "qdq_u8u8", "qdq_tensor", "qoperator", "dynamic", "dynamic_channel"]


def inputs_of(shape, count, seed):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(np.float32) for _ in range(count)]


def quantized(name, form, folder):
    """The path of model `name`, quantised in `form`, and the shape of its input x."""
    from onnxruntime import quantization as q
    model, shape = MODELS[name]()
    plain, result = pathlib.Path(folder) / f"{name}.onnx", pathlib.Path(folder) / f"{name}_{form}.onnx"
    onnx.save(model, plain)
    logging.disable(logging.WARNING)

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            self.left = [{"x": x} for x in inputs_of(shape, 4, 11)]

        def get_next(self):
            return self.left.pop() if self.left else None

    s8, u8 = q.QuantType.QInt8, q.QuantType.QUInt8
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if form.startswith("dynamic"):
            q.quantize_dynamic(plain, result, weight_type=s8, per_channel=form.endswith("channel"),
                               reduce_range=products_saturate())
        else:
            given = s8 if form == "qdq_s8s8" else u8
            weight = u8 if form == "qdq_u8u8" else s8
            layout = q.QuantFormat.QOperator if form == "qoperator" else q.QuantFormat.QDQ
            q.quantize_static(plain, result, Reader(), quant_format=layout, per_channel=form not in ("qdq_tensor", "qdq_u8u8"),
                              activation_type=given, weight_type=weight,
                              reduce_range=weight == s8 and products_saturate())
    return result, shape
