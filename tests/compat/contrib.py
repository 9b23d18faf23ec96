"""Operators of com.microsoft and ai.onnx.ml on random shapes, against ONNX Runtime: one node a model, seeded.

What ONNX Runtime has for GPUs alone (PackedAttention, BiasSplitGelu) is compared with a few lines of NumPy.
"""
import fnmatch
import os
import pathlib
import tempfile

import numpy as np

from drivers import Broken, Refused, difference
from saturation import products_saturate

ROUNDS = 6
SIGNED_WEIGHTS = (-64, 64) if products_saturate() else (-127, 127)


class Case:
    """A node under construction: inputs, which are constants or not, and attributes."""

    def __init__(self, operator, rng):
        self.operator, self.rng = operator, rng
        self.inputs, self.outputs, self.attributes, self.expected, self.rtol = [], 1, {}, None, 1e-4
        self.domain = "com.microsoft"

    def add(self, array, constant=False):
        self.inputs.append((array, constant))
        return array

    def reals(self, *shape, constant=False, scale=1.):
        return self.add((self.rng.standard_normal(shape) * scale).astype(np.float32), constant)

    def skip(self, count=1):
        self.inputs += [(None, False)] * count

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def size(self, low, high):
        return int(self.rng.integers(low, high + 1))


def multi_head_attention(c):
    batch, length, keys, heads, size = c.size(1, 3), c.size(1, 6), c.size(1, 7), c.size(1, 4), 2 * c.size(1, 4)
    past = c.pick(0, 3)
    keys = length if past else keys
    c.reals(batch, length, heads * size)
    c.reals(batch, keys, heads * size)
    c.reals(batch, keys, heads * size)
    c.reals(3 * heads * size) if c.pick(True, False) else c.skip()
    mask = c.pick("none", "rows", "lengths")
    if mask == "rows":
        c.add((c.rng.random((batch, keys + past)) > .3).astype(np.int32))
    elif mask == "lengths" and not past:
        c.add(c.rng.integers(1, keys + 1, batch).astype(np.int32))
    else:
        c.skip()
    c.reals(batch, heads, length, keys + past) if c.pick(True, False) else c.skip()
    if past:
        c.reals(batch, heads, past, size)
        c.reals(batch, heads, past, size)
        c.outputs = 3
    c.attributes = {"num_heads": heads}
    if keys == length and c.pick(True, False):
        c.attributes["unidirectional"] = 1
    if c.pick(True, False):
        c.attributes["scale"] = .4


def attention(c):
    batch, length, heads, size, features = c.size(1, 3), c.size(1, 6), c.size(1, 3), 2 * c.size(1, 4), c.size(2, 9)
    past = c.pick(0, 2)
    c.reals(batch, length, features)
    c.reals(features, 3 * heads * size, constant=True)
    c.reals(3 * heads * size, constant=True)
    if c.pick(True, False):
        c.add((c.rng.random((batch, length + past)) > .3).astype(np.int32))
    else:
        c.skip()
    if past:
        c.reals(2, batch, heads, past, size)
        c.outputs = 2
    c.attributes = {"num_heads": heads, "unidirectional": c.pick(0, 1)}


def group_query_attention(c):
    batch, shared, groups, size = c.size(1, 3), c.size(1, 3), c.size(1, 3), 16
    prompt = c.pick(True, False)
    length = c.size(1, 6) if prompt else 1
    past = 0 if prompt else c.size(1, 5)
    heads = shared * groups
    packed = c.pick(True, False)
    if packed:
        c.reals(batch, length, (heads + 2 * shared) * size)
        c.skip(2)
    else:
        c.reals(batch, length, heads * size)
        c.reals(batch, length, shared * size)
        c.reals(batch, length, shared * size)
    if past:
        c.reals(batch, shared, past, size)
        c.reals(batch, shared, past, size)
    else:
        c.skip(2)
    total = length + past
    c.add(np.full(batch, total - 1, np.int32))
    c.add(np.array(total, np.int32), constant=True)
    c.attributes = {"num_heads": heads, "kv_num_heads": shared}
    if c.pick(True, False):
        c.attributes |= {"do_rotary": 1, "rotary_interleaved": c.pick(0, 1)}
        angles = c.rng.random((16, size // 2)).astype(np.float32)
        c.add(np.cos(angles), constant=True)
        c.add(np.sin(angles), constant=True)
    if c.pick(True, False):
        c.attributes["local_window_size"] = c.size(1, 4)
    if c.pick(True, False):
        c.attributes["softcap"] = 5.
    c.outputs = 3


def packed_attention(c):
    lengths, heads, size, features = [c.size(1, 4) for _ in range(c.size(1, 3))], c.size(1, 3), 4, c.size(2, 6)
    x = c.reals(sum(lengths), features)
    weights = c.reals(features, 3 * heads * size, constant=True)
    bias = c.reals(3 * heads * size, constant=True)
    c.add(np.arange(len(lengths) * max(lengths), dtype=np.int32).reshape(len(lengths), -1))
    ends = np.cumsum([0] + lengths).astype(np.int32)
    c.add(ends)
    c.attributes = {"num_heads": heads}
    rows = []
    for begin, end in zip(ends, ends[1:]):
        q, k, v = ((x[begin:end] @ weights + bias)[:, i * heads * size:(i + 1) * heads * size]
                   .reshape(-1, heads, size).transpose(1, 0, 2) for i in range(3))
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(size)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        y = scores / scores.sum(-1, keepdims=True) @ v
        rows.append(y.transpose(1, 0, 2).reshape(-1, heads * size))
    c.expected = [np.concatenate(rows).astype(np.float32)]


def dynamic_quantize_lstm(c):
    steps, features, hidden = c.size(1, 5), c.size(1, 6), c.size(1, 6)
    ways = c.pick("forward", "reverse", "bidirectional")
    count = 2 if ways == "bidirectional" else 1
    c.reals(steps, 1, features)
    kind = c.pick(np.int8, np.uint8)
    limits = SIGNED_WEIGHTS if kind == np.int8 else (0, 255)
    c.add(c.rng.integers(*limits, (count, features, 4 * hidden)).astype(kind), constant=True)
    c.add(c.rng.integers(*limits, (count, hidden, 4 * hidden)).astype(kind), constant=True)
    c.reals(count, 8 * hidden, constant=True)
    c.skip(4)
    for _ in range(2):
        c.add((.01 * (1 + c.rng.random(count))).astype(np.float32), constant=True)
        c.add(np.full(count, 0 if kind == np.int8 else 128, kind), constant=True)
    c.attributes = {"hidden_size": hidden, "direction": ways}
    c.outputs, c.rtol = 3, 2e-2  # a step of the quantiser


def dynamic_quantize_matmul(c):
    rows, inner, columns = c.size(1, 5), c.size(1, 9), c.size(1, 6)
    each = c.pick(1, columns)
    c.reals(rows, inner)
    c.add(c.rng.integers(*SIGNED_WEIGHTS, (inner, columns)).astype(np.int8), constant=True)
    c.add((.01 * (1 + c.rng.random(each))).astype(np.float32), constant=True)
    c.add(c.rng.integers(-5, 5, each).astype(np.int8), constant=True)
    if c.pick(True, False):
        c.reals(columns, constant=True)
    c.rtol = 1e-2


def gather_block_quantized(c):
    rows, blocks, block = c.size(2, 6), c.size(1, 3), 16
    columns = blocks * block - c.pick(0, 8)
    bits = c.pick(4, 8)
    c.add(c.rng.integers(0, 256, (rows, columns * bits // 8)).astype(np.uint8), constant=True)
    c.add(c.rng.integers(0, rows, c.pick((3,), (2, 2))).astype(np.int64))
    c.reals(rows, blocks, constant=True)
    if c.pick(True, False):
        c.add(c.rng.integers(0, 256, (rows, (blocks + 1) // 2 if bits == 4 else blocks)).astype(np.uint8), constant=True)
    c.attributes = {"block_size": block, "quantize_axis": 1, "gather_axis": 0, "bits": bits}


def embed_layer_normalization(c):
    batch, length, size = c.size(1, 3), c.size(1, 5), c.size(1, 3) * 4
    c.add(c.rng.integers(0, 7, (batch, length)).astype(np.int32))
    c.add(c.rng.integers(0, 2, (batch, length)).astype(np.int32))
    for rows in 7, 6, 2:
        c.reals(rows, size, constant=True)
    c.reals(size, constant=True)
    c.reals(size, constant=True)
    if c.pick(True, False):
        c.add((np.arange(length) < c.rng.integers(1, length + 1, (batch, 1))).astype(np.int32))
    c.outputs = 2


def fused_conv(c):
    channels, kernel = c.size(1, 4), c.size(1, 3)
    c.reals(c.size(1, 2), channels, 6, 7)
    c.reals(4, channels, kernel, kernel, constant=True)
    c.reals(4, constant=True)
    name, numbers = c.pick(("Relu", []), ("Sigmoid", []), ("Tanh", []), ("LeakyRelu", [.2]), ("Clip", [-1., 1.]))
    c.attributes = {"activation": name, "kernel_shape": [kernel, kernel]}
    if numbers:
        c.attributes["activation_params"] = numbers


def fused_gemm(c):
    rows, inner, columns = c.size(1, 4), c.size(1, 5), c.size(1, 6)
    c.reals(rows, inner)
    turned = c.pick(0, 1)
    c.reals(*((columns, inner) if turned else (inner, columns)), constant=True)
    if c.pick(True, False):
        c.reals(columns, constant=True)
    name, alpha, beta = c.pick(("Relu", None, None), ("Tanh", None, None), ("Softplus", None, None), ("Elu", .7, None),
                               ("LeakyRelu", .2, None), ("HardSigmoid", .3, .6), ("ThresholdedRelu", .4, None))
    c.attributes = {"activation": name, "transB": turned, "alpha": .5}
    if alpha is not None:
        c.attributes["activation_alpha"] = alpha
    if beta is not None:
        c.attributes["activation_beta"] = beta


def fused_matmul(c):
    batches, rows, inner, columns = (c.size(1, 3), c.size(1, 3)), c.size(1, 4), c.size(1, 5), c.size(1, 6)
    c.attributes = {"alpha": .5}
    for name, (first, last) in ("A", (rows, inner)), ("B", (inner, columns)):
        turned, behind = c.pick(0, 1), c.pick(0, 1)
        first, last = (last, first) if turned else (first, last)
        c.reals(*((first, *batches, last) if behind else (*batches, first, last)))
        c.attributes |= {f"trans{name}": turned, f"transBatch{name}": behind}


def rotary_embedding(c):
    batch, length, heads, size = c.size(1, 3), c.size(1, 5), c.size(1, 3), 2 * c.size(2, 5)
    c.reals(batch, length, heads * size)
    c.add(c.rng.integers(0, 8, (batch, length)).astype(np.int64))
    angles = c.rng.random((8, size // 2)).astype(np.float32)
    c.add(np.cos(angles), constant=True)
    c.add(np.sin(angles), constant=True)
    c.attributes = {"num_heads": heads, "interleaved": c.pick(0, 1)}


def bias_split_gelu(c):
    from math import erf
    x, bias = c.reals(c.size(1, 2), c.size(1, 4), 8), c.reals(8, constant=True)
    a, b = np.split(x + bias, 2, axis=-1)
    c.expected = [(a * b * .5 * (1 + np.vectorize(erf)(b / np.sqrt(2)))).astype(np.float32)]


def skip_layer_normalization(c):
    shape = c.size(1, 3), c.size(1, 5), 4 * c.size(1, 3)
    c.reals(*shape)
    c.reals(*shape)
    for _ in range(3):
        c.reals(shape[-1], constant=True)


def matmul_nbits(c):
    bits, block, k, columns = c.pick(2, 4, 8), c.pick(16, 32), c.size(3, 70), c.size(1, 9)
    blocks = -(-k // block)
    c.reals(c.size(1, 4), k)
    c.add(c.rng.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8), constant=True)
    c.reals(columns, blocks, constant=True)
    if c.pick(True, False):
        c.add(c.rng.integers(0, 256, (columns, -(-blocks * bits // 8))).astype(np.uint8), constant=True)
    c.attributes = {"K": k, "N": columns, "bits": bits, "block_size": block}


def matmul_bnb4(c):
    block, k, columns = c.pick(16, 32), c.size(3, 70), c.size(1, 18)
    c.reals(c.size(1, 4), k)
    c.add(c.rng.integers(0, 256, -(-k * columns // 2)).astype(np.uint8), constant=True)
    c.add(c.rng.random(-(-k * columns // block)).astype(np.float32), constant=True)
    c.attributes = {"K": k, "N": columns, "block_size": block, "quant_type": c.pick(0, 1)}


def of_learning(c):
    c.domain = "ai.onnx.ml"
    return c.reals(c.size(1, 4), c.size(2, 6))


def imputer(c):
    x = of_learning(c)
    x[c.rng.random(x.shape) > .6] = replaced = c.pick(np.nan, 2.)
    count = c.pick(1, x.shape[1])
    c.attributes = {"imputed_value_floats": c.rng.standard_normal(count).tolist(), "replaced_value_float": float(replaced)}


def normalizer(c):
    x = of_learning(c)
    x[0] = 0 if c.pick(True, False) else x[0]
    c.attributes = {"norm": c.pick("MAX", "L1", "L2")}


def linear(c, rows):
    x = of_learning(c)
    c.attributes = {"coefficients": c.rng.standard_normal(rows * x.shape[1]).tolist(),
                    "intercepts": c.rng.standard_normal(rows).tolist()}


def linear_regressor(c):
    rows = c.size(1, 3)
    linear(c, rows)
    c.attributes["targets"] = rows
    if rows > 1:
        c.attributes["post_transform"] = c.pick("NONE", "SOFTMAX", "LOGISTIC")


def linear_classifier(c):
    rows = c.size(2, 4)
    linear(c, rows)
    c.attributes |= {"classlabels_ints": (10 + c.rng.permutation(rows)).tolist(), "multi_class": 1,
                     "post_transform": c.pick("NONE", "SOFTMAX", "LOGISTIC")}
    c.outputs = 2


CASES = {"Attention": attention, "BiasSplitGelu": bias_split_gelu, "DynamicQuantizeLSTM": dynamic_quantize_lstm,
         "DynamicQuantizeMatMul": dynamic_quantize_matmul, "EmbedLayerNormalization": embed_layer_normalization,
         "FusedConv": fused_conv, "FusedGemm": fused_gemm, "FusedMatMul": fused_matmul,
         "GatherBlockQuantized": gather_block_quantized, "GroupQueryAttention": group_query_attention,
         "Imputer": imputer, "LinearClassifier": linear_classifier, "LinearRegressor": linear_regressor,
         "MatMulBnb4": matmul_bnb4, "MatMulNBits": matmul_nbits, "MultiHeadAttention": multi_head_attention,
         "Normalizer": normalizer, "PackedAttention": packed_attention, "RotaryEmbedding": rotary_embedding,
         "SkipLayerNormalization": skip_layer_normalization}


def model_of(case):
    """(the model, its inputs by name)."""
    import onnx
    from onnx import helper
    names, feeds, constants, inputs = [], {}, [], []
    for i, (array, constant) in enumerate(case.inputs):
        names.append("" if array is None else f"x{i}")
        if array is None:
            continue
        if constant:
            constants.append(onnx.numpy_helper.from_array(array, names[-1]))
        else:
            feeds[names[-1]] = array
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            inputs.append(helper.make_tensor_value_info(names[-1], kind, array.shape))
    outputs = [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(case.operator, names, outputs, domain=case.domain, **case.attributes)
    graph = helper.make_graph([node], "one", inputs, [onnx.ValueInfoProto(name=o) for o in outputs], constants)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(case.domain, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9), feeds


def compare(berth, case, work):
    import onnx
    import onnxruntime
    model, feeds = model_of(case)
    want = case.expected
    if want is None:
        onnxruntime.set_default_logger_severity(4)
        want = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    onnx.save(model, work / "model.onnx")
    paths = []
    for array in feeds.values():
        paths.append(work / f"in{len(paths)}.npy")
        np.save(paths[-1], array)
    try:
        berth.compile(work / "model.onnx", work / "model.pte")
        return difference(berth.run(work / "model.pte", paths, work / "out"), want, rtol=case.rtol, atol=case.rtol / 10)
    except (Refused, Broken) as error:
        return f"{type(error).__name__}: {error}"


def contrib(berth, patterns, tally):
    seed = int(os.environ.get("BERTH_SEED", "1"))
    for operator, make in CASES.items():
        if patterns and not any(fnmatch.fnmatch(operator, p) for p in patterns):
            continue
        problems = []
        for i in range(ROUNDS):
            case = Case(operator, np.random.default_rng([seed, i]))
            make(case)
            with tempfile.TemporaryDirectory() as work:
                problem = compare(berth, case, pathlib.Path(work))
            if problem:
                problems.append(f"seed {seed}, round {i}, {case.attributes}: {problem}")
        tally.add(f"{case.domain}.{operator}", "; ".join(problems) or None)
