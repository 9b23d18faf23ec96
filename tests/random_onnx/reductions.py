"""Rows of reductions, of operators over an axis, and of norms."""
import warnings

import numpy as np

from graph import BOOL, F32, F64, FLOATS, I32, I64, Unfit, each
from table import idiom, row, rows


def reduced(x, axes, keep):
    return each(lambda s: [1 if i in axes else n for i, n in enumerate(s) if keep or i not in axes], x)


def reduce(g, op, types=(F32, F64, I32, I64), since=18):
    x = g.pick(types)
    keep = g.number(0, 1)
    attributes = {} if keep and g.chance(.5) else {"keepdims": keep}
    if g.chance(.2) or x.rank == 0:
        if g.opset >= since and g.chance(.2):
            return g.node(op, [x], x.dtype, x.shapes, noop_with_empty_axes=1, **attributes)
        return g.node(op, [x], x.dtype, reduced(x, range(x.rank), keep), **attributes)
    axes, written = g.axes(x.rank)
    if any(min(x.dim(a)) == 0 for a in axes) and not g.chance(.3):
        raise Unfit
    if g.opset >= since:
        return g.node(op, [x, g.ints(written)], x.dtype, reduced(x, axes, keep), **attributes)
    return g.node(op, [x], x.dtype, reduced(x, axes, keep), axes=written, **attributes)


def extreme(g, op):
    return reduce(g, op, FLOATS + (I32, I64) + ((BOOL, ) if g.opset >= 20 else ()))


def argument(g, op):
    x = g.pick(FLOATS + (I32, I64), 1)
    axis, written = g.axis(x.rank)
    if min(x.dim(axis)) == 0:
        raise Unfit
    keep = g.number(0, 1)
    attributes = {} if keep and g.chance(.5) else {"keepdims": keep}
    attributes |= {} if axis == 0 and g.chance(.5) else {"axis": written}
    attributes |= g.some(select_last_index=g.number(0, 1)) if g.opset >= 12 else {}
    return g.node(op, [x], I64, reduced(x, [axis], keep), **attributes)


rows(("ReduceL1", "ReduceL2", "ReduceMean", "ReduceProd", "ReduceSumSquare"), reduce)
rows(("ReduceLogSum", "ReduceLogSumExp"), lambda g, op: reduce(g, op, (F32, F64)))
row("ReduceSum", lambda g, op: reduce(g, op, since=13))
rows(("ReduceMax", "ReduceMin"), extreme, exact=True)
rows(("ArgMax", "ArgMin"), argument, exact=True)


def along(g, op, types=FLOATS):
    x = g.pick(types, 1)
    axis, written = g.axis(x.rank)
    return g.node(op, [x], x.dtype, x.shapes, **({} if g.chance(.3) else {"axis": written}))


def lp_normalization(g, op):
    x = g.pick((F32, F64), 1)
    return g.node(op, [x], x.dtype, x.shapes, **g.some(axis=g.axis(x.rank)[1], p=g.number(1, 2)))


def mean_variance(g, op):
    x = g.pick((F32, ), 4, 4)
    return g.node(op, [x], x.dtype, x.shapes, **g.some(axes=g.axes(4)[1]))


rows(("Softmax", "LogSoftmax", "Hardmax"), along)
row("LpNormalization", lp_normalization)
row("MeanVarianceNormalization", mean_variance)

# Norms with parameters.


def positive(generator, shape):
    return (generator.random(shape) * 2 + .25).astype(np.float32)


def per(g, x, shape, draw=None):
    return g.weight(x.dtype, shape, (lambda generator, s: draw(generator, s).astype(x.dtype)) if draw else None)


def batch_normalization(g, op):
    x = g.pick((F32, F32, F64), 2)
    c = x.fixed(1)
    parameters = [per(g, x, (c, )) for _ in range(3)] + [per(g, x, (c, ), positive)]
    return g.node(op, [x] + parameters, x.dtype, x.shapes, **g.some(epsilon=g.choose((1e-5, 1e-3, .1)), momentum=.5))


def instance_normalization(g, op):
    x = g.pick((F32, ), 3)
    return g.node(op, [x, per(g, x, (x.fixed(1), )), per(g, x, (x.fixed(1), ))], x.dtype, x.shapes,
                  **g.some(epsilon=g.choose((1e-5, 1e-3, .1))))


def group_normalization(g, op):
    x = g.pick((F32, ), 3)
    c = x.fixed(1)
    groups = g.choose(n for n in range(1, c + 1) if c % n == 0)
    many = groups if g.opset < 21 else c
    return g.node(op, [x, per(g, x, (many, )), per(g, x, (many, ))], x.dtype, x.shapes, num_groups=groups,
                  **g.some(epsilon=g.choose((1e-5, 1e-3))))


def layer_normalization(g, op):
    x = g.pick((F32, F32, F64), 1)
    axis, written = g.axis(x.rank)
    shape = tuple(x.fixed(i) for i in range(axis, x.rank))
    inputs = [x, per(g, x, shape)] + ([per(g, x, shape)] if g.chance(.6) else [])
    outputs = [(x.dtype, x.shapes)]
    if g.chance(.15):
        outputs += [(F32, each(lambda s: s[:axis] + (1, ) * (len(s) - axis), x))] * g.number(1, 2)
    attributes = {} if axis == x.rank - 1 and g.chance(.5) else {"axis": written}
    return g.nodes_of(op, inputs, outputs, **attributes, **g.some(epsilon=g.choose((1e-5, 1e-3, .1))))


def rms_normalization(g, op):
    x = g.pick((F32, ), 1)
    axis, written = g.axis(x.rank)
    shape = tuple(x.fixed(i) for i in range(axis, x.rank))
    return g.node(op, [x, per(g, x, shape)], x.dtype, x.shapes, axis=written, **g.some(epsilon=g.choose((1e-5, 1e-3))))


def lrn(g, op):
    x = g.pick((F32, ), 4, 4)
    return g.node(op, [x], x.dtype, x.shapes, size=g.choose((1, 3, 5)),
                  **g.some(alpha=g.real(0, .1), beta=g.real(.2, 1), bias=g.real(.5, 2)))


row("BatchNormalization", batch_normalization)
def scaled(node, inputs):
    """The size of x and of the mean, each times what both are multiplied with: their difference may be much smaller."""
    x, scale = inputs[0], inputs[1]
    groups = next((a.i for a in node.attribute if a.name == "num_groups"), x.shape[1])
    epsilon = next((a.f for a in node.attribute if a.name == "epsilon"), 1e-5)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = x.reshape(x.shape[0], groups, -1)
        factor = np.abs(scale).max(initial=0) / np.sqrt(parts.var(-1, keepdims=True) + epsilon)
        return (np.abs(parts).max(-1, keepdims=True, initial=0) * factor * np.ones_like(parts)).reshape(x.shape)


row("InstanceNormalization", instance_normalization, inside=scaled)
row("GroupNormalization", group_normalization, since=18, inside=scaled)
row("LayerNormalization", layer_normalization, since=17)
row("RMSNormalization", rms_normalization, since=23)
row("LRN", lrn)


@idiom
def written_out_layer_norm(g):
    """As exporters before opset 17 wrote it."""
    x = g.pick((F32, ), 1)
    if min(x.dim(x.rank - 1)) == 0:
        raise Unfit
    def mean(v):
        shapes = reduced(v, [v.rank - 1], 1)
        if g.opset >= 18:
            return g.node("ReduceMean", [v, g.ints([-1])], F32, shapes)
        return g.node("ReduceMean", [v], F32, shapes, axes=[-1])
    centred = g.node("Sub", [x, mean(x)], F32, x.shapes)
    square = g.node("Pow", [centred, g.constant(np.float32(2))], F32, x.shapes)
    variance = mean(square)
    variance = g.node("Add", [variance, g.constant(np.float32(1e-5))], F32, variance.shapes)
    deviation = g.node("Sqrt", [variance], F32, variance.shapes)
    return g.node("Div", [centred, deviation], F32, x.shapes)


@idiom
def viewed_scalar(g):
    """Everything reduced to a scalar, which is viewed with ones around it, and used."""
    x = g.pick((F32, ))
    op = g.choose(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL1"))
    y = g.node(op, [x], F32, g.fixed_shapes(), keepdims=0)
    for _ in range(g.number(1, 2)):
        rank = y.rank + g.number(1, 2)
        if g.chance(.5):
            y = g.node("Reshape", [y, g.ints([1] * rank)], F32, g.fixed_shapes(*[1] * rank))
        else:
            y = g.unsqueezed(y, list(range(rank - y.rank)))
    if g.chance(.3):
        y = g.node("Reshape", [y, g.ints([])], F32, g.fixed_shapes())
    return g.node(g.choose(("Relu", "Neg", "Exp", "Sigmoid")), [y], F32, y.shapes)


@idiom
def empty_part(g):
    """A part without elements, for the nodes that follow."""
    x = g.pick((F32, ), 1)
    axis = g.number(0, x.rank - 1)
    at = g.number(0, 2)
    lists = [g.ints([n]) for n in (at, at, axis)]
    return g.node("Slice", [x] + lists, F32, each(lambda s: s[:axis] + (0, ) + s[axis + 1:], x))
