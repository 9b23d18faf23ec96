"""Rows of quantised operators, standard and com.microsoft's, and of what ONNX Runtime's optimiser writes."""
import pathlib
import sys

import numpy as np

from elementwise import all_sizes
from graph import F32, I8, I32, U8, Unfit, each, elements
from products import Window
from table import row, rows

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "compat"))
from saturation import products_saturate  # noqa: E402

MICROSOFT = "com.microsoft"
BYTES = (U8, I8)
SIGNED_WEIGHTS = (-64, 64) if products_saturate() else (-128, 128)


def scale(g, shape=()):
    return g.weight(F32, shape, lambda generator, s: (generator.random(s) * .2 + .01).astype(np.float32), constant=.95)


def zero(g, dtype, shape=(), symmetric=False):
    low, high = (100, 156) if dtype == U8 else (-28, 29)
    return g.weight(dtype,
                    shape,
                    lambda generator, s: (np.zeros(s) if symmetric else generator.integers(low, high, s)).astype(dtype),
                    constant=.95)


def bytes_like(g, dtype, shape, constant=.9):
    low, high = (0, 256) if dtype == U8 else (-128, 128)
    return g.weight(dtype, shape, lambda generator, s: generator.integers(low, high, s).astype(dtype), constant)


def weight_like(g, dtype, shape, constant=.9):
    low, high = (0, 256) if dtype == U8 else SIGNED_WEIGHTS
    return g.weight(dtype, shape, lambda generator, s: generator.integers(low, high, s).astype(dtype), constant)


def quantised(g, least=1, most=4, shapes=None, types=BYTES):
    """A quantised tensor with its scale and zero point: of one that is there, or an input."""
    dtype = g.dtype(types)
    found = [
        v for v in g.values if v.dtype == dtype and least <= v.rank <= most and (shapes is None or v.shapes == shapes)
    ]
    if found and g.chance(.6):
        x = g.choose(found)
    else:
        low, high = (0, 256) if dtype == U8 else (-128, 128)
        x = g.input(dtype, shapes or g.random_shapes(least, most),
                    lambda generator, s: generator.integers(low, high, s).astype(dtype))
    return x, scale(g), zero(g, dtype)


def quantise(g, op):
    x = g.pick((F32, ))
    dtype = g.dtype(BYTES)
    if x.rank and g.chance(.3) and g.opset >= 13:
        axis, written = g.axis(x.rank)
        c = x.fixed(axis)
        return g.node(op, [x, scale(g, (c, )), zero(g, dtype, (c, ))], dtype, x.shapes, axis=written)
    points = [] if g.chance(.2) else [zero(g, dtype)]
    return g.node(op, [x, scale(g)] + points, dtype if points else U8, x.shapes)


def dequantise(g, op):
    x = g.pick(BYTES + (I32, ))
    if x.rank and g.chance(.3) and g.opset >= 13:
        axis, written = g.axis(x.rank)
        c = x.fixed(axis)
        points = [zero(g, x.dtype, (c, ))] if x.dtype != I32 else []
        return g.node(op, [x, scale(g, (c, ))] + points, F32, x.shapes, axis=written)
    points = [zero(g, x.dtype)] if x.dtype != I32 and g.chance(.8) else []
    return g.node(op, [x, scale(g)] + points, F32, x.shapes)


def dynamic_quantise(g, op):
    x = g.pick((F32, ))
    if any(elements(s) == 0 for s in x.shapes):
        raise Unfit
    return g.nodes_of(op, [x], [(U8, x.shapes), (F32, g.fixed_shapes()), (U8, g.fixed_shapes())])


def matmul_shapes(x, width):
    return each(lambda s: [*s[:-1], width], x)


def matmul_integer(g, op):
    x, _, point = quantised(g, 2, 4)
    width, dtype = g.number(1, 6), g.dtype(BYTES)
    y = weight_like(g, dtype, (x.fixed(x.rank - 1), width))
    points = [point if g.chance(.8) else None, zero(g, dtype)] if g.chance(.8) else []
    return g.node(op, [x, y] + points, I32, matmul_shapes(x, width))


def qlinear_matmul(g, op):
    x, x_scale, x_zero = quantised(g, 2, 3)
    width, dtype = g.number(1, 6), g.dtype(BYTES) if x.dtype == U8 else I8
    y = weight_like(g, dtype, (x.fixed(x.rank - 1), width))
    inputs = [x, x_scale, x_zero, y, scale(g), zero(g, dtype), scale(g), zero(g, x.dtype)]
    return g.node(op, inputs, x.dtype, matmul_shapes(x, width))


def convolved(g, x):
    c = x.fixed(1)
    if c == 0 or any(0 in s for s in x.shapes):
        raise Unfit
    groups = g.choose([1, 1, c])
    out = groups * g.number(1, 3)
    kernel = [g.choose((1, 2, 3)) for _ in range(x.rank - 2)]
    window = Window(g, x, kernel)
    shapes = each(lambda s: [s[0], out, *window.sizes(s[2:])], x)
    return (out, c // groups, *kernel), shapes, window.attributes(g) | ({"group": groups} if groups > 1 else {})


def picture(g):
    shapes = g.fixed_shapes(g.number(1, 2), g.number(1, 4), g.number(3, 7), g.number(3, 7))
    return quantised(g, shapes=shapes, types=(U8, ))


def conv_integer(g, op):
    x, _, point = picture(g)
    shape, shapes, attributes = convolved(g, x)
    dtype = g.dtype(BYTES)
    points = [point, zero(g, dtype)] if g.chance(.7) else []
    return g.node(op, [x, weight_like(g, dtype, shape)] + points, I32, shapes, **attributes)


def qlinear_conv(g, op):
    x, x_scale, x_zero = picture(g)
    shape, shapes, attributes = convolved(g, x)
    dtype = g.dtype(BYTES)
    per_channel = dtype == I8 and g.chance(.4)
    weight_scale = scale(g, (shape[0], ) if per_channel else ())
    weight_zero = zero(g, dtype, (shape[0], ) if per_channel else (), symmetric=per_channel)
    bias = [
        g.weight(I32, (shape[0], ), lambda generator, s: generator.integers(-500, 500, s).astype(np.int32), constant=1)
    ] if g.chance(.6) else []
    inputs = [x, x_scale, x_zero, weight_like(g, dtype, shape, 1), weight_scale, weight_zero, scale(g), zero(g, U8)]
    return g.node(op, inputs + bias, U8, shapes, **attributes)


row("QuantizeLinear", quantise)
row("DequantizeLinear", dequantise)
row("DynamicQuantizeLinear", dynamic_quantise)
row("MatMulInteger", matmul_integer, exact=True)
row("ConvInteger", conv_integer, exact=True)
row("QLinearMatMul", qlinear_matmul)
row("QLinearConv", qlinear_conv)

# com.microsoft


def qlinear_binary(g, op):
    x, x_scale, x_zero = quantised(g, 1, 4)
    shape = [1 if g.chance(.2) else n for n in x.shape]
    y = bytes_like(g, x.dtype, tuple(shape), .4)
    inputs = [x, x_scale, x_zero, y, scale(g), zero(g, x.dtype), scale(g), zero(g, x.dtype)]
    return g.node(op, inputs, x.dtype, x.shapes, MICROSOFT)


def qlinear_unary(g, op):
    x, x_scale, x_zero = quantised(g, 1, 4)
    more = {"QLinearLeakyRelu": {"alpha": .1}, "QLinearSoftmax": {"axis": -1, "opset": g.opset}}.get(op, {})
    return g.node(op, [x, x_scale, x_zero, scale(g), zero(g, x.dtype)], x.dtype, x.shapes, MICROSOFT, **more)


def qlinear_global_pool(g, op):
    x, x_scale, x_zero = picture(g)
    return g.node(op, [x, x_scale, x_zero, scale(g), zero(g, U8)],
                  U8,
                  each(lambda s: [s[0], s[1], 1, 1], x),
                  MICROSOFT,
                  channels_last=0)


def qlinear_pool(g, op):
    x, x_scale, x_zero = picture(g)
    window = Window(g, x, [g.number(1, 3), g.number(1, 3)], dilate=False)
    return g.node(op, [x, x_scale, x_zero, scale(g), zero(g, U8)],
                  U8,
                  each(lambda s: [s[0], s[1], *window.sizes(s[2:])], x),
                  MICROSOFT,
                  kernel_shape=window.kernel,
                  **window.attributes(g),
                  **g.some(count_include_pad=g.number(0, 1)))


def qlinear_concat(g, op):
    x, x_scale, x_zero = quantised(g, 1, 4)
    axis, written = g.axis(x.rank)
    inputs, values = [scale(g), zero(g, x.dtype), x, x_scale, x_zero], [x]
    for _ in range(g.number(1, 2)):
        shapes = each(lambda s: s[:axis] + (2, ) + s[axis + 1:], x)
        part = g.input(x.dtype, shapes)
        inputs += [part, scale(g), zero(g, x.dtype)]
        values.append(part)
    return g.node(op,
                  inputs,
                  x.dtype,
                  each(lambda *s: s[0][:axis] + (sum(t[axis] for t in s), ) + s[0][axis + 1:], *values),
                  MICROSOFT,
                  axis=written)


def qgemm(g, op):
    x, x_scale, x_zero = quantised(g, 2, 2)
    width, dtype = g.number(1, 6), I8 if x.dtype == I8 else g.dtype(BYTES)
    y = weight_like(g, dtype, (x.fixed(1), width))
    bias = g.weight(I32, (width, ), lambda generator, s: generator.integers(-500, 500, s).astype(np.int32),
                    constant=1) if g.chance(.5) else None
    inputs = [x, x_scale, x_zero, y, scale(g), zero(g, dtype), bias]
    shapes = matmul_shapes(x, width)
    if g.chance(.4):
        return g.node(op, inputs, F32, shapes, MICROSOFT, alpha=1.0)
    return g.node(op, inputs + [scale(g), zero(g, x.dtype)], x.dtype, shapes, MICROSOFT, alpha=1.0)


def matmul_integer_to_float(g, op):
    x, x_scale, x_zero = quantised(g, 2, 3)
    width, dtype = g.number(1, 6), I8 if x.dtype == I8 else g.dtype(BYTES)
    y = weight_like(g, dtype, (x.fixed(x.rank - 1), width))
    bias = [g.weight(F32, (width, ))] if g.chance(.5) else []
    return g.node(op, [x, y, x_scale, scale(g), x_zero, zero(g, dtype)] + bias, F32, matmul_shapes(x, width), MICROSOFT)


def matmul_nbits(g, op):
    bits, block, inner, width = 4, 16, g.choose((16, 20, 32)), g.number(1, 5)
    x = g.input(F32, g.fixed_shapes(g.number(1, 4), inner))
    blocks = -(-inner // block)
    packed = g.weight(U8, (width, blocks, block * bits // 8),
                      lambda generator, s: generator.integers(0, 256, s).astype(np.uint8),
                      constant=1)
    scales = g.weight(F32, (width * blocks, ),
                      lambda generator, s: (generator.random(s) * .2 + .01).astype(np.float32),
                      constant=1)
    return g.node(op, [x, packed, scales],
                  F32,
                  matmul_shapes(x, width),
                  MICROSOFT,
                  K=inner,
                  N=width,
                  bits=bits,
                  block_size=block)


rows(("QLinearAdd", "QLinearMul"), qlinear_binary, domain=MICROSOFT)
rows(("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax"), qlinear_unary, domain=MICROSOFT)
row("QLinearGlobalAveragePool", qlinear_global_pool, domain=MICROSOFT)
row("QLinearAveragePool", qlinear_pool, domain=MICROSOFT)
row("QLinearConcat", qlinear_concat, domain=MICROSOFT)
row("QGemm", qgemm, domain=MICROSOFT)
row("MatMulIntegerToFloat", matmul_integer_to_float, domain=MICROSOFT)
row("MatMulNBits", matmul_nbits, domain=MICROSOFT)


def plain(g, op):
    x = g.pick((F32, ))
    return g.node(op, [x], F32, x.shapes, MICROSOFT, **(g.some(alpha=g.real(.5, 2)) if op == "QuickGelu" else {}))


def with_bias(g, op):
    x = g.pick((F32, ), 1)
    bias = [g.weight(F32, (x.fixed(x.rank - 1), ))] if op == "BiasGelu" or g.chance(.6) else []
    return g.node(op, [x] + bias, F32, x.shapes, MICROSOFT)


def fused_matmul(g, op):
    x = g.pick((F32, ), 2, 3)
    first, second, width = g.number(0, 1), g.number(0, 1), g.number(1, 5)
    inner = x.fixed(x.rank - 2 if first else x.rank - 1)
    y = g.weight(F32, (width, inner) if second else (inner, width))
    shapes = each(lambda s: [*s[:-2], s[-1] if first else s[-2], width], x)
    return g.node(op, [x, y], F32, shapes, MICROSOFT, transA=first, transB=second, **g.some(alpha=g.real(-1, 2)))


def skip_norm(g, op):
    x = g.pick((F32, ), 3, 3)
    c = x.fixed(2)
    skip = g.operand(x, one_way=True)
    if skip.shapes != x.shapes:
        raise Unfit
    inputs = [x, skip, g.weight(F32, (c, ))]
    if op == "SkipLayerNormalization":
        inputs.append(g.weight(F32, (c, )) if g.chance(.6) else None)
    inputs.append(g.weight(F32, (c, )) if g.chance(.4) else None)
    return g.node(op, inputs, F32, x.shapes, MICROSOFT, **g.some(epsilon=1e-5))


rows(("Gelu", "QuickGelu"), plain, domain=MICROSOFT, inside=all_sizes)
rows(("BiasGelu", "FastGelu"), with_bias, domain=MICROSOFT, inside=all_sizes)
row("FusedMatMul", fused_matmul, domain=MICROSOFT)
rows(("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"), skip_norm, domain=MICROSOFT)
