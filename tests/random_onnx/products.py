"""Rows of matrix products, convolutions and what slides a window: pools."""
import math

import numpy as np

from graph import F16, F32, F64, I32, I64, Unfit, each, elements
from table import idiom, row, rows


def matmul(g, op):
    x = g.pick((F32, F32, F64, F16, I32, I64), 1, 4)
    inner = x.fixed(x.rank - 1)
    if g.chance(.3):
        found = [
            v for v in g.values
            if v.dtype == x.dtype and 1 <= v.rank <= 4 and set(v.dim(max(0, v.rank - 2))) == {inner}
        ]
        y = g.choose(found)
    else:
        width, form = g.number(1, 9), g.number(0, 9)
        shape = (inner, ) if form == 0 else (inner, width) if form < 8 else (g.number(1, 2), inner, width)
        y = g.weight(x.dtype, shape)
    def rule(a, b):
        front = np.broadcast_shapes(a[:-2], b[:-2]) if len(a) > 1 and len(b) > 1 else (a[:-2] if len(a) > 1 else b[:-2])
        return [*front, *(a[-2:-1] if len(a) > 1 else ()), *(b[-1:] if len(b) > 1 else ())]
    try:
        shapes = each(rule, x, y)
    except ValueError:
        raise Unfit from None
    return g.node(op, [x, y], x.dtype, shapes)


def gemm(g, op):
    x = g.pick((F32, F32, F64), 2, 2)
    first, second = g.number(0, 1), g.number(0, 1)
    inner, width = x.fixed(0 if first else 1), g.number(1, 17)
    y = g.weight(x.dtype, (width, inner) if second else (inner, width))
    shapes = each(lambda s: [s[1] if first else s[0], width], x)
    inputs = [x, y]
    if g.chance(.7):
        rows_ = {s[0] for s in shapes}
        options = [(), (1, ), (width, ), (1, width)]
        if len(rows_) == 1:
            options += [(n, m) for n in rows_ for m in (1, width)]
        inputs.append(g.weight(x.dtype, g.choose(options)))
    return g.node(op, inputs, x.dtype, shapes, **g.some(alpha=g.real(-1, 2), beta=g.real(-1, 2)),
                  **({"transA": 1} if first else {}), **({"transB": 1} if second else {}))


EQUATIONS = ("ij,jk->ik", "bij,bjk->bik", "bhqd,bhkd->bhqk", "ij->ji", "ij->i", "ij->", "i,j->ij", "ij,ij->ij",
             "ij,ij->", "bij,bkj->bik", "ijk->kij", "ij,kj", "i,i->", "bi,bj->bij", "abc,cd,de->abe",
             "...ij,...jk->...ik", "ii->i", "bhwc,hkc->bhwk", "i,->i")


def einsum(g, op):
    equation = g.choose(EQUATIONS)
    left, _, right = equation.partition("->")
    sizes = {letter: g.number(1, 5) for letter in "abcdehijkqw"}
    extra = [g.number(1, 3) for _ in range(g.number(0, 2))]
    dtype = g.dtype((F32, F64))
    def shape(term):
        return ([*extra] if "..." in term else []) + [sizes[c] for c in term.replace(".", "")]
    terms = left.split(",")
    inputs = []
    for term in terms:
        wanted = g.fixed_shapes(*shape(term))
        found = [v for v in g.values if v.dtype == dtype and v.shapes == wanted]
        inputs.append(g.choose(found) if found else g.weight(dtype, tuple(shape(term)), constant=.4))
    if "->" not in equation:
        letters = left.replace(",", "")
        right = "".join(sorted(c for c in letters if letters.count(c) == 1))
    return g.node(op, inputs, dtype, g.fixed_shapes(*shape(right)), equation=equation)


row("MatMul", matmul)
row("Gemm", gemm)
row("Einsum", einsum, since=12)

# Windows.


def spatial(g, types=(F32, ), most=5, least=3):
    """A value [N, C, spatial…], mostly of two spatial dimensions."""
    found = [v for v in g.values if v.dtype in types and least <= v.rank <= most]
    if found and g.chance(.7):
        return g.choose(found)
    rank = g.choose([r for r in (3, 4, 4, 4, 5) if least <= r <= most])
    sizes = [g.number(1, 3), g.choose((1, 2, 3, 4, 6, 8, 16))]
    sizes[0] = 0 if g.chance(.02) else sizes[0]
    sizes += [g.choose((1, 3, 5, 6, 7, 8, 11)) for _ in range(rank - 2)]
    while elements(sizes[1:]) > 1500:
        sizes[1 + sizes[1:].index(max(sizes[1:]))] //= 2
    shapes = [list(sizes) for _ in range(g.bindings)]
    if g.symbols and g.chance(.6):
        dims, axis = g.choose(list(g.symbols.values())), g.choose((0, 0, 2, rank - 1))
        for s, n in zip(shapes, dims):
            s[axis] = n
    return g.input(g.dtype(types), tuple(tuple(s) for s in shapes))


class Window:
    """Attributes of a sliding window over the spatial dimensions of `x`, and the sizes that come of it."""

    def __init__(self, g, x, kernel, dilate=True, ceil=False):
        count = x.rank - 2
        self.kernel = kernel
        self.strides = [g.choose((1, 1, 1, 2, 3)) for _ in range(count)]
        self.dilations = [g.choose((1, 1, 1, 2)) if dilate else 1 for _ in range(count)]
        self.auto = g.choose(("NOTSET", ) * 6 + ("SAME_UPPER", "SAME_LOWER", "VALID"))
        if self.auto.startswith("SAME"):
            self.dilations = [1] * count  # ONNX Runtime has no others
        self.pads = [g.number(0, k - 1) if g.chance(.4) else 0 for k in list(kernel) * 2]
        if self.auto != "NOTSET":
            self.pads = [0] * 2 * count
        self.ceil = int(ceil and self.auto == "NOTSET" and g.chance(.3))

    def sizes(self, sizes):
        result = []
        for i, n in enumerate(sizes):
            reach = self.dilations[i] * (self.kernel[i] - 1) + 1
            if self.auto.startswith("SAME"):
                result.append(-(-n // self.strides[i]))
                if (result[-1] - 1) * self.strides[i] + reach < n:
                    raise Unfit  # ONNX Runtime refuses windows that leave out some of the input
                continue
            room = n + self.pads[i] + self.pads[i + len(sizes)] - reach
            if room < 0 or n == 0:
                raise Unfit
            out = (-(-room // self.strides[i]) if self.ceil else room // self.strides[i]) + 1
            if self.ceil and (out - 1) * self.strides[i] >= n + self.pads[i]:
                out -= 1
            result.append(out)
        return result

    def attributes(self, g):
        said = {"strides": (self.strides, 1), "dilations": (self.dilations, 1), "pads": (self.pads, 0)}
        made = {name: numbers for name, (numbers, default) in said.items() if any(n != default for n in numbers)}
        if self.auto != "NOTSET":
            made["auto_pad"] = self.auto
        if self.ceil:
            made["ceil_mode"] = 1
        return made


def conv(g, op):
    x = spatial(g, (F32, F32, F64), 4 if g.chance(.95) else 5)
    c = x.fixed(1)
    if c == 0:
        raise Unfit
    groups = g.choose([1, 1, 1, c] + [n for n in range(1, c + 1) if c % n == 0])
    out = groups * g.choose((1, 1, 2, 3, 4))
    kernel = [g.choose((1, 1, 2, 3, 3, 5)) for _ in range(x.rank - 2)]
    window = Window(g, x, kernel)
    weight = g.weight(x.dtype, (out, c // groups, *kernel))
    bias = [g.weight(x.dtype, (out, ))] if g.chance(.6) else []
    shapes = each(lambda s: [s[0], out, *window.sizes(s[2:])], x)
    return g.node(op, [x, weight] + bias, x.dtype, shapes, **window.attributes(g), **g.some(kernel_shape=kernel),
                  **({} if groups == 1 and g.chance(.7) else {"group": groups}))


def conv_transpose(g, op):
    x = spatial(g, (F32, ), 4)
    c, count = x.fixed(1), x.rank - 2
    if c == 0:
        raise Unfit
    groups = g.choose([1, 1, 1] + [n for n in range(1, c + 1) if c % n == 0])
    out = g.choose((1, 1, 2, 3))
    kernel = [g.choose((1, 2, 3, 3, 4)) for _ in range(count)]
    strides = [g.choose((1, 1, 2, 2, 3)) for _ in range(count)]
    dilations = [g.choose((1, 1, 1, 2)) for _ in range(count)]
    pads = [g.number(0, k - 1) if g.chance(.4) else 0 for k in kernel * 2]
    more = [g.number(0, max(s, 1) - 1) if g.chance(.3) else 0 for s in strides]
    def rule(s):
        sizes = [st * (n - 1) + m + d * (k - 1) + 1 - pads[i] - pads[count + i]
                 for i, (n, st, m, d, k) in enumerate(zip(s[2:], strides, more, dilations, kernel))]
        if min(sizes) < 1 or min(s[1:]) == 0:
            raise Unfit
        return [s[0], out * groups, *sizes]
    inputs = [x, g.weight(F32, (c, out, *kernel))] + ([g.weight(F32, (out * groups, ))] if g.chance(.5) else [])
    attributes = {"strides": strides, "dilations": dilations} if max(strides + dilations) > 1 else {}
    attributes |= {"pads": pads} if any(pads) else {}
    attributes |= {"output_padding": more} if any(more) else {}
    shapes = each(rule, x)
    if g.chance(.1) and len(set(s[2:] for s in shapes)) == 1:
        attributes.pop("pads", None)
        attributes.pop("output_padding", None)
        full = each(
            lambda s: [st * (n - 1) + d * (k - 1) + 1 for n, st, d, k in zip(s[2:], strides, dilations, kernel)], x)
        sizes = [g.number(max(1, n - 2), n) for n in full[0]]
        if len(set(full)) > 1:
            raise Unfit
        attributes |= {"output_shape": sizes} | g.some(auto_pad=g.choose(("SAME_UPPER", "SAME_LOWER")))
        shapes = each(lambda s: [s[0], out * groups, *sizes], x)
    return g.node(op, inputs, F32, shapes, **attributes, **({} if groups == 1 else {"group": groups}))


def pool(g, op):
    x = spatial(g, (F32, F32, F64) if op != "LpPool" else (F32, ))
    kernel = [g.choose((1, 2, 2, 3, 3)) for _ in range(x.rank - 2)]
    dilate = op == "MaxPool" or g.opset >= (19 if op == "AveragePool" else 18)
    window = Window(g, x, kernel, dilate, ceil=op != "LpPool" or g.opset >= 18)
    shapes = each(lambda s: [s[0], s[1], *window.sizes(s[2:])], x)
    attributes = window.attributes(g)
    if op == "AveragePool":
        attributes |= g.some(count_include_pad=g.number(0, 1))
    if op == "LpPool":
        attributes |= g.some(p=g.number(1, 3))
    outputs = [(x.dtype, shapes)] + ([(I64, shapes)] if op == "MaxPool" and g.chance(.05) else [])
    return g.nodes_of(op, [x], outputs, kernel_shape=kernel, **attributes)


def global_pool(g, op):
    x = spatial(g)  # ONNX Runtime has no other type
    if any(min(s[2:]) == 0 for s in x.shapes):
        raise Unfit
    return g.node(op, [x], x.dtype, each(lambda s: [s[0], s[1]] + [1] * (len(s) - 2), x))


row("Conv", conv)
row("ConvTranspose", conv_transpose)
row("MaxPool", pool, exact=True)
rows(("AveragePool", "LpPool"), pool)
row("GlobalAveragePool", global_pool)
row("GlobalMaxPool", global_pool, exact=True)


@idiom
def conv_block(g):
    """Convolution, norm, activation and what is added, in their usual order."""
    x = conv(g, "Conv")
    if g.chance(.6):
        c = x.fixed(1)
        numbers = [
            g.weight(x.dtype, (c, ), lambda r, s: (r.random(s) + .5).astype(x.dtype), constant=1) for _ in range(4)
        ]
        x = g.node("BatchNormalization", [x] + numbers, x.dtype, x.shapes)
    if g.chance(.4):
        x = g.node("Add", [x, g.operand(x, one_way=True)], x.dtype, x.shapes)
    return g.node(g.choose(("Relu", "Sigmoid", "Tanh", "LeakyRelu", "Neg")), [x], x.dtype, x.shapes)


@idiom
def linear_block(g):
    """A linear layer as exporters write it, and what follows it."""
    x = g.pick((F32, ), 1, 4)
    inner, width = x.fixed(x.rank - 1), g.number(1, 9)
    y = g.node("MatMul", [x, g.weight(F32, (inner, width), constant=1)], F32, each(lambda s: [*s[:-1], width], x))
    y = g.node("Add", [y, g.weight(F32, (width, ), constant=1)], F32, y.shapes)
    kind = g.number(0, 3)
    if kind == 0:
        gate = g.node("Sigmoid", [y], F32, y.shapes)
        return g.node("Mul", [y, gate], F32, y.shapes)
    if kind == 1:
        scaled = g.node("Div", [y, g.constant(np.float32(math.sqrt(2)))], F32, y.shapes)
        erf = g.node("Erf", [scaled], F32, y.shapes)
        one = g.node("Add", [erf, g.constant(np.float32(1))], F32, y.shapes)
        product = g.node("Mul", [y, one], F32, y.shapes)
        return g.node("Mul", [product, g.constant(np.float32(.5))], F32, y.shapes)
    return g.node(g.choose(("Relu", "Tanh", "Clip")), [y], F32, y.shapes)


@idiom
def attention_block(g):
    """Softmax(Q · K / sqrt(d) + mask) · V, from one input or from three."""
    b, t, d = g.number(1, 2), g.number(1, 6), g.choose((1, 2, 4, 8))
    shape = g.fixed_shapes(b, t, d)
    found = [v for v in g.values if v.dtype == F32 and v.shapes == shape]
    q, k, v = (g.choose(found) if found and g.chance(.5) else g.input(F32, shape) for _ in "qkv")
    turned = g.node("Transpose", [k], F32, g.fixed_shapes(b, d, t), perm=[0, 2, 1])
    scores = g.node("MatMul", [q, turned], F32, g.fixed_shapes(b, t, t))
    scores = g.node("Mul", [scores, g.constant(np.float32(d ** -.5))], F32, scores.shapes)
    if g.chance(.5):
        mask = np.where(np.tril(np.ones((t, t))) > 0, 0, -np.inf if g.chance(.5) else -1e9).astype(np.float32)
        scores = g.node("Add", [scores, g.constant(mask)], F32, scores.shapes)
    weights = g.node("Softmax", [scores], F32, scores.shapes, axis=-1 if g.opset >= 13 else 2)
    return g.node("MatMul", [weights, v], F32, shape)
