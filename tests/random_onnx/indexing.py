"""Rows of operators with indices: gathers, scatters, sums along an axis, sorting. Indices are constants or inputs, and
within range."""
import numpy as np

from graph import ANY, F32, F64, FLOATS, I32, I64, Unfit, each, elements
from table import row


def indices(g, size, shape, dtype=None, constant=.5):
    """Indices of an axis of `size` elements, from the front and from the back."""
    if size == 0 and elements(shape):
        raise Unfit
    def draw(generator, s):
        return generator.integers(-size, size, s).astype(dtype or np.int64) if size else np.zeros(s, dtype or np.int64)
    return g.weight(np.dtype(dtype or np.int64), shape, draw, constant)


def gather(g, op):
    x = g.pick(ANY, 1)
    axis, written = g.axis(x.rank)
    shape = tuple(g.number(1, 4) for _ in range(g.choose((0, 0, 1, 1, 1, 2))))
    i = indices(g, min(x.dim(axis)), shape, np.int32 if g.chance(.2) else np.int64)
    return g.node(op, [x, i], x.dtype, each(lambda s: s[:axis] + shape + s[axis + 1:], x),
                  **({} if axis == 0 and g.chance(.5) else {"axis": written}))


def gather_elements(g, op):
    x = g.pick(ANY, 1)
    axis, written = g.axis(x.rank)
    shape = [g.number(min(1, n), n) for n in x.shape]
    shape[axis] = g.number(1, 5) if x.shape[axis] else 0
    i = indices(g, x.shape[axis], tuple(shape))
    return g.node(op, [x, i], x.dtype, g.fixed_shapes(*shape), axis=written)


def nd_indices(g, shape, batch, front, constant=.5):
    """Indices [batch…, front…, depth] into the axes behind `batch`, and their depth."""
    depth = g.number(1, len(shape) - batch)
    limits = np.array(shape[batch:batch + depth])
    if (limits == 0).any():
        raise Unfit
    def draw(generator, s):
        return np.asarray(generator.integers(0, 1 << 30, s) % (2 * limits) - limits, np.int64)
    return g.weight(I64, tuple(shape[:batch]) + tuple(front) + (depth, ), draw, constant), depth


def gather_nd(g, op):
    x = g.pick(ANY, 1, 4)
    batch = g.number(0, x.rank - 1) if g.opset >= 12 and g.chance(.3) else 0
    front = [g.number(1, 3) for _ in range(g.number(0, 2))]
    i, depth = nd_indices(g, x.shape, batch, front)
    return g.node(op, [x, i], x.dtype, g.fixed_shapes(*i.shape[:-1], *x.shape[batch + depth:]),
                  **({"batch_dims": batch} if batch else {}))


def reduction(g):
    if g.opset < 16 or g.chance(.5):
        return {}
    return {"reduction": g.choose(("none", "add") + (("max", "min") if g.opset >= 18 and g.chance(.1) else ()))}


def scatter_elements(g, op):
    x = g.pick(FLOATS + (I32, I64), 1, 4)
    axis, written = g.axis(x.rank)
    if elements(x.shape) == 0:
        raise Unfit
    attributes = reduction(g)
    shape = [g.number(1, n) for n in x.shape]
    several = attributes.get("reduction", "none") != "none"
    def draw(generator, s):
        if several:
            return generator.integers(-x.shape[axis], x.shape[axis], s)
        lines = np.argsort(generator.random([x.shape[axis] if d == axis else n for d, n in enumerate(s)]), axis=axis)
        return np.take(lines, range(s[axis]), axis=axis) - x.shape[axis] * (generator.random() < .3)
    i = g.weight(I64, tuple(shape), draw, constant=.5)
    return g.node(op, [x, i, g.weight(x.dtype, tuple(shape), constant=.4)],
                  x.dtype, x.shapes, axis=written, **attributes)


def scatter_nd(g, op):
    x = g.pick(FLOATS + (I32, I64), 1, 4)
    attributes = reduction(g)
    depth = g.number(1, x.rank)
    room = elements(x.shape[:depth])
    if elements(x.shape) == 0:
        raise Unfit
    count = g.number(1, min(4, room))
    def draw(generator, s):
        flat = generator.choice(room, s[0], replace=attributes.get("reduction", "none") != "none")
        return np.stack(np.unravel_index(flat, x.shape[:depth]), -1).astype(np.int64)
    i = g.weight(I64, (count, depth), draw, constant=.5)
    updates = g.weight(x.dtype, (count, ) + tuple(x.shape[depth:]), constant=.4)
    return g.node(op, [x, i, updates], x.dtype, x.shapes, **attributes)


def one_hot(g, op):
    depth = g.number(1, 6)
    dtype = g.dtype((F32, I64, I32))
    values = g.constant(np.array([g.number(-2, 1), g.number(2, 4)], dtype))
    i = g.weight(I64, tuple(g.number(1, 4) for _ in range(g.number(1, 3))),
                 lambda generator, s: generator.integers(-depth - 1, depth + 2, s), constant=.3)
    axis = g.number(-i.rank - 1, i.rank)
    at = axis + i.rank + 1 if axis < 0 else axis
    d = g.constant(np.array(depth, np.int64) if g.chance(.5) else np.array([depth], np.int64), plain=True)
    return g.node(op, [i, d, values], dtype, each(lambda s: s[:at] + (depth, ) + s[at:], i),
                  **({} if at == i.rank and g.chance(.5) else {"axis": axis}))


def cum_sum(g, op):
    x = g.pick((F32, F64, I32, I64), 1)
    axis, written = g.axis(x.rank)
    return g.node(op, [x, g.constant(np.array(written, np.int64), plain=True)], x.dtype, x.shapes,
                  **g.some(exclusive=g.number(0, 1), reverse=g.number(0, 1)))


def top_k(g, op):
    x = g.pick((F32, F64, I64, I32), 1)
    axis, written = g.axis(x.rank)
    k = g.number(0 if g.chance(.05) else 1, min(x.dim(axis)))
    shapes = each(lambda s: s[:axis] + (k, ) + s[axis + 1:], x)
    return g.nodes_of(op, [x, g.ints([k])], [(x.dtype, shapes), (I64, shapes)],
                      **({} if axis == x.rank - 1 and g.chance(.5) else {"axis": written}),
                      **g.some(largest=g.number(0, 1)))


def non_zero(g, op):
    """Of a constant: how many there are must be known."""
    array = np.random.default_rng(g.rng.getrandbits(32)).integers(0, 2, [g.number(1, 4) for _ in range(g.number(1, 3))])
    x = g.constant(array.astype(g.choose((np.float32, np.int64, np.bool_))), plain=True)
    return g.node(op, [x], I64, g.fixed_shapes(array.ndim, int(np.count_nonzero(array))))


def col2im(g, op):
    block = [g.number(1, 3), g.number(1, 3)]
    strides, dilations = [g.number(1, 2) for _ in "hw"], [g.number(1, 2) for _ in "hw"]
    pads = [g.number(0, 1) for _ in range(4)]
    image = [g.number(4, 8), g.number(4, 8)]
    counts = []
    for d in range(2):
        room = image[d] + pads[d] + pads[2 + d] - dilations[d] * (block[d] - 1) - 1
        if room < 0:
            raise Unfit
        counts.append(room // strides[d] + 1)
    n, c = g.number(1, 2), g.number(1, 3)
    x = g.input(F32, g.fixed_shapes(n, c * block[0] * block[1], counts[0] * counts[1]))
    attributes = {"strides": (strides, [1, 1]), "pads": (pads, [0] * 4), "dilations": (dilations, [1, 1])}
    return g.node(op, [x, g.ints(image), g.ints(block)], F32, g.fixed_shapes(n, c, *image),
                  **{name: numbers for name, (numbers, default) in attributes.items() if numbers != default})


row("Gather", gather, exact=True)
row("GatherElements", gather_elements, exact=True)
row("GatherND", gather_nd, exact=True)
row("ScatterElements", scatter_elements)
row("ScatterND", scatter_nd)
row("OneHot", one_hot, exact=True)
row("CumSum", cum_sum)
row("TopK", top_k, exact=True)
row("NonZero", non_zero, exact=True)
row("Col2Im", col2im, since=18)
