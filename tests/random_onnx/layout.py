"""Rows of operators that move elements: shapes, parts, joins, repetitions, padding."""
import numpy as np

from graph import ANY, BOOL, F32, FLOATS, I32, I64, NUMBERS, Unfit, each, elements
from table import row


def with_axes(g, op, inputs, axes, since, dtype, shapes, **attributes):
    """A node whose axes are an attribute, or from opset `since` on an input."""
    if axes is None:
        return g.node(op, inputs, dtype, shapes, **attributes)
    if g.opset >= since:
        return g.node(op, inputs + [g.ints(axes)], dtype, shapes, **attributes)
    return g.node(op, inputs, dtype, shapes, axes=axes, **attributes)


def factors(g, count, most=5):
    """Sizes whose product is `count`."""
    sizes = []
    while count > 1 and len(sizes) < most - 1 and g.chance(.75):
        size = g.choose(d for d in range(1, count + 1) if count % d == 0)
        sizes.append(size)
        count //= size
    return sizes + [count] if count != 1 or g.chance(.4) else sizes


def reshape_fixed(g, x):
    count = elements(x.shape)
    if count == 0:
        sizes = list(x.shape)
        g.rng.shuffle(sizes)
        if g.chance(.5):
            sizes = [0, g.number(1, 5)]
    else:
        sizes = factors(g, count)
    target = list(sizes)
    if target and count and g.chance(.4):
        target[g.number(0, len(target) - 1)] = -1
    copied = [i for i, n in enumerate(sizes) if i < x.rank and x.shape[i] == n]
    zero = 0 in sizes
    if copied and not zero and g.chance(.3):
        target[g.choose(copied)] = 0
    if zero and any(n == 0 and (i >= x.rank or x.shape[i] != 0) for i, n in enumerate(target)):
        if g.opset < 14 or -1 in target:
            raise Unfit
        return target, g.fixed_shapes(*sizes), {"allowzero": 1}
    return target, g.fixed_shapes(*sizes), {}


def reshape_open(g, x):
    """Merges neighbours; at most one of the new dimensions may be open and not copied."""
    cuts = sorted(g.rng.sample(range(1, x.rank), g.number(0, x.rank - 1))) if x.rank > 1 else []
    groups = [range(a, b) for a, b in zip([0] + cuts, cuts + [x.rank])]
    shapes = each(lambda s: [elements([s[i] for i in group]) for group in groups], x)
    target = []
    for at, group in enumerate(groups):
        sizes = {s[at] for s in shapes}
        if len(sizes) == 1:
            target.append(sizes.pop())
        elif len(group) == 1 and group[0] == at and g.chance(.6):
            target.append(0)
        elif -1 in target:
            raise Unfit
        else:
            target.append(-1)
    if any(0 in s for s in shapes):
        raise Unfit
    return target, shapes, {}


def reshape(g, op):
    x = g.pick(ANY)
    target, shapes, more = reshape_fixed(g, x) if x.is_fixed() else reshape_open(g, x)
    return g.node(op, [x, g.ints(target)], x.dtype, shapes, **more)


def reshape_like(g, op):
    """To a shape that is computed: of another value, or from single sizes."""
    x = g.pick(ANY, 1, 4)
    shape = g.node("Shape", [x], I64, g.fixed_shapes(x.rank))
    first = g.node("Gather", [shape, g.constant(np.array(0), plain=True)], I64, g.fixed_shapes(), axis=0)
    first = g.unsqueezed(first, [0])
    rest = g.ints([-1])
    if any(s[0] == 0 for s in x.shapes):
        raise Unfit
    target = g.node("Concat", [first, rest], I64, g.fixed_shapes(2), axis=0)
    return g.node("Reshape", [x, target], x.dtype, each(lambda s: [s[0], elements(s[1:])], x))


def transpose(g, op):
    x = g.pick(ANY)
    perm = list(range(x.rank))
    g.rng.shuffle(perm)
    if x.rank == 0 or g.chance(.15):
        return g.node(op, [x], x.dtype, each(lambda s: s[::-1], x))
    return g.node(op, [x], x.dtype, each(lambda s: [s[p] for p in perm], x), perm=perm)


def squeeze(g, op):
    x = g.pick(ANY, fits=lambda v: any(set(v.dim(i)) == {1} for i in range(v.rank)))
    ones = [i for i in range(x.rank) if set(x.dim(i)) == {1}]
    if g.chance(.15) and x.is_fixed():
        return with_axes(g, op, [x], None, 13, x.dtype, each(lambda s: [n for n in s if n != 1], x))
    axes = g.rng.sample(ones, g.number(1, len(ones)))
    written = [a - x.rank if g.chance(.3) else a for a in axes]
    return with_axes(g, op, [x], written, 13, x.dtype, each(lambda s: [n for i, n in enumerate(s) if i not in axes], x))


def unsqueeze(g, op):
    x = g.pick(ANY, 0, 4)
    rank = x.rank + g.number(1, 2)
    axes = g.rng.sample(range(rank), rank - x.rank)
    written = [a - rank if g.chance(.3) else a for a in axes]
    def rule(s):
        rest = iter(s)
        return [1 if i in axes else next(rest) for i in range(rank)]
    return with_axes(g, op, [x], written, 13, x.dtype, each(rule, x))


def flatten(g, op):
    x = g.pick(ANY)
    axis = g.number(-x.rank, x.rank)
    at = axis + x.rank if axis < 0 else axis
    shapes = each(lambda s: [elements(s[:at]), elements(s[at:])], x)
    return g.node(op, [x], x.dtype, shapes, **({} if at == 1 and g.chance(.5) else {"axis": axis}))


def expand(g, op):
    x = g.pick(ANY, 0, 4)
    if g.values and g.chance(.4):
        like = g.choose(g.values)
        try:
            shapes = each(lambda a, b: np.broadcast_shapes(a, b), x, like)
        except ValueError:
            raise Unfit from None
        return g.node(op, [x, g.node("Shape", [like], I64, g.fixed_shapes(like.rank))], x.dtype, shapes)
    front = [g.number(1, 3) for _ in range(g.number(0, 2))]
    target = front + [
        g.number(1, 5) if set(x.dim(i)) == {1} else (1 if g.chance(.5) else x.fixed(i)) for i in range(x.rank)
    ]
    return g.node(op, [x, g.ints(target)], x.dtype, each(lambda s: np.broadcast_shapes(s, tuple(target)), x))


def slice_part(g, op):
    x = g.pick(ANY, 1)
    axes = g.rng.sample(range(x.rank), g.number(1, x.rank))
    parts = {}
    for axis in axes:
        size = min(x.dim(axis))
        step = g.choose((1, 1, 1, 2, 3, -1, -2))
        far = g.choose((2**31 - 1, 2**63 - 1, 1000))
        if step > 0:
            start = g.choose((0, g.number(0, max(0, size - 1)), -g.number(1, max(1, size))))
            end = g.choose((far, g.number(0, size), -1, size))
        else:
            start = g.choose((far, -1, max(0, size - 1)))
            end = g.choose((-far, 0, -max(1, size)))
        parts[axis] = slice(start, end, step)
    def size_of(n, part):
        return len(range(*part.indices(n)))
    def rule(s):
        return [size_of(n, parts[i]) if i in parts else n for i, n in enumerate(s)]
    shapes = each(rule, x)
    if any(elements(s) == 0 for s in shapes) and not g.chance(.15):
        raise Unfit
    written = [a - x.rank if g.chance(.3) else a for a in axes]
    lists = [[parts[a].start for a in axes], [parts[a].stop for a in axes], written, [parts[a].step for a in axes]]
    if all(parts[a].step == 1 for a in axes) and g.chance(.4):
        lists.pop()
        if axes == list(range(len(axes))) and g.chance(.5):
            lists.pop()
    dtype = np.int32 if all(abs(n) < 2**31 for numbers in lists for n in numbers) and g.chance(.2) else np.int64
    return g.node(op, [x] + [g.constant(np.array(n, dtype), plain=True) for n in lists], x.dtype, shapes)


def split(g, op):
    x = g.pick(ANY, 1)
    axis, written = g.axis(x.rank)
    size = x.fixed(axis)
    attributes = {} if axis == 0 and g.chance(.5) else {"axis": written}
    inputs = [x]
    if g.chance(.5):
        count = g.choose(n for n in range(1, 5)
                         if (size % n == 0 or g.opset >= 18 and size > 2 * n) and n <= max(1, size))
        chunk = -(-size // count)
        parts = [chunk] * (count - 1) + [size - chunk * (count - 1)]
        if g.opset >= 18:
            attributes["num_outputs"] = count
    else:
        parts, rest = [], size
        while rest > 0 and len(parts) < 3:
            parts.append(g.number(0 if g.chance(.05) else 1, rest))
            rest -= parts[-1]
        parts += [rest] if rest or not parts else []
        if g.opset >= 13:
            inputs.append(g.ints(parts))
        else:
            attributes["split"] = parts
    def shapes(part):
        return each(lambda s: s[:axis] + (part, ) + s[axis + 1:], x)
    return g.nodes_of(op, inputs, [(x.dtype, shapes(p)) for p in parts], **attributes)


def concat(g, op):
    x = g.pick(ANY, 1)
    axis, written = g.axis(x.rank)
    def fits(v):
        return (v.dtype == x.dtype and v.rank == x.rank and
                all(v.dim(i) == x.dim(i) for i in range(x.rank) if i != axis))
    values = [x]
    for _ in range(g.number(0, 3)):
        if g.chance(.7):
            values.append(g.choose(v for v in g.values if fits(v)))
        else:
            size = g.number(0 if g.chance(.05) else 1, 5)
            values.append(g.input(x.dtype, each(lambda s: s[:axis] + (size, ) + s[axis + 1:], x)))
    g.rng.shuffle(values)
    return g.node(op, values, x.dtype,
                  each(lambda *s: s[0][:axis] + (sum(t[axis] for t in s), ) + s[0][axis + 1:], *values), axis=written)


def tile(g, op):
    x = g.pick(ANY)
    repeats = [g.choose((1, 1, 2, 3, 0 if g.chance(.05) else 1)) for _ in range(x.rank)]
    return g.node(op, [x, g.constant(np.array(repeats, np.int64), plain=True)], x.dtype,
                  each(lambda s: [n * r for n, r in zip(s, repeats)], x))


def pad(g, op):
    x = g.pick(FLOATS + (I32, I64) if g.opset >= 13 else FLOATS, 1)
    modes = ("constant", "constant", "reflect", "edge") + (("wrap", ) if g.opset >= 19 else ())
    mode = g.choose(modes)
    axes = None if g.opset < 18 or g.chance(.5) else g.rng.sample(range(x.rank), g.number(1, x.rank))
    padded = list(range(x.rank)) if axes is None else axes
    def one(axis):
        smallest = min(x.dim(axis))
        if mode != "constant" and smallest == 0:
            return 0
        most = {"constant": 3, "edge": 3, "reflect": min(3, smallest - 1), "wrap": min(3, smallest)}[mode]
        lowest = -(smallest // 3) if g.chance(.2) else 0
        return g.number(lowest, max(0, most)) if g.chance(.7) else 0
    before, after = [one(a) for a in padded], [one(a) for a in padded]
    def rule(s):
        sizes = list(s)
        for a, b, e in zip(padded, before, after):
            sizes[a] += b + e
        return sizes
    shapes = each(rule, x)
    if mode != "constant" and any(elements(s) == 0 for s in shapes + x.shapes):
        raise Unfit
    attributes = {} if mode == "constant" and g.chance(.5) else {"mode": mode}
    inputs = [x, g.ints(before + after)]
    value = g.constant(np.array(g.number(-3, 3), x.dtype)) if mode == "constant" and g.chance(.5) else None
    inputs.append(value)
    if axes is not None:
        inputs.append(g.ints([a - x.rank if g.chance(.3) else a for a in axes]))
    return g.node(op, inputs, x.dtype, shapes, **attributes)


def depth_to_space(g, op):
    block, (n, c, h, w) = g.number(1, 3), (g.number(1, 2), g.number(1, 3), g.number(1, 4), g.number(1, 4))
    def fits(v):
        return len(set(v.dim(1))) == 1 and v.dim(1)[0] % (block * block) == 0
    found = [v for v in g.values if v.rank == 4 and v.dtype in FLOATS and fits(v)]
    x = g.choose(found) if found and g.chance(.6) else g.input(
        F32, g.fixed_shapes(0 if g.chance(.04) else n, c * block * block, h, w))
    mode = g.some(mode=g.choose(("DCR", "CRD")))
    shapes = each(lambda s: [s[0], s[1] // block**2, s[2] * block, s[3] * block], x)
    return g.node(op, [x], x.dtype, shapes, blocksize=block, **mode)


def space_to_depth(g, op):
    block = g.number(1, 3)
    def fits(v):
        return all(s[2] % block == 0 and s[3] % block == 0 for s in v.shapes)
    found = [v for v in g.values if v.rank == 4 and v.dtype in FLOATS and fits(v)]
    sizes = (0 if g.chance(.04) else g.number(1, 2), g.number(1, 3), block * g.number(1, 4), block * g.number(1, 4))
    x = g.choose(found) if found and g.chance(.6) else g.input(F32, g.fixed_shapes(*sizes))
    shapes = each(lambda s: [s[0], s[1] * block**2, s[2] // block, s[3] // block], x)
    return g.node(op, [x], x.dtype, shapes, blocksize=block)


def shape(g, op):
    x = g.pick(ANY)
    if g.opset < 15 or g.chance(.5):
        return g.node(op, [x], I64, g.fixed_shapes(x.rank))
    start, end = g.number(-x.rank - 1, x.rank + 1), g.number(-x.rank - 1, x.rank + 1)
    attributes = g.some(start=start, end=end)
    part = range(x.rank)[attributes.get("start", 0):attributes.get("end")]
    return g.node(op, [x], I64, g.fixed_shapes(len(part)), **attributes)


def size(g, op):
    return g.node(op, [g.pick(ANY)], I64, g.fixed_shapes())


def center_crop_pad(g, op):
    x = g.pick(FLOATS, 1)
    axes = g.rng.sample(range(x.rank), g.number(1, x.rank))
    sizes = [g.number(1, 6) for _ in axes]
    def rule(s):
        return [sizes[axes.index(i)] if i in axes else n for i, n in enumerate(s)]

    return g.node(op, [x, g.ints(sizes)],
                  x.dtype,
                  each(rule, x),
                  axes=[a - x.rank if g.chance(.3) else a for a in axes])


def trilu(g, op):
    x = g.pick(NUMBERS + (BOOL, ), 2)
    k = [g.constant(np.array(g.number(-4, 4), np.int64), plain=True)] if g.chance(.6) else []
    return g.node(op, [x] + k, x.dtype, x.shapes, **g.some(upper=g.number(0, 1)))


def reverse_sequence(g, op):
    x = g.pick(ANY, 2)
    time = g.number(0, 1)
    steps, batch = x.fixed(time), x.fixed(1 - time)
    if steps == 0 or batch == 0:
        raise Unfit
    lengths = g.weight(I64, (batch, ), lambda generator, s: generator.integers(1, steps + 1, s))
    return g.node(op, [x, lengths], x.dtype, x.shapes, time_axis=time, batch_axis=1 - time)


MOVES = [("Reshape", reshape, 1), ("Transpose", transpose, 1), ("Squeeze", squeeze, 1), ("Unsqueeze", unsqueeze, 1),
         ("Flatten", flatten, 1), ("Expand", expand, 1), ("Slice", slice_part, 1), ("Split", split, 1),
         ("Concat", concat, 1), ("Tile", tile, 1), ("Pad", pad, 1), ("DepthToSpace", depth_to_space, 1),
         ("SpaceToDepth", space_to_depth, 1), ("Shape", shape, 1), ("Size", size, 1),
         ("CenterCropPad", center_crop_pad, 18), ("Trilu", trilu, 14), ("ReverseSequence", reverse_sequence, 1),
         ("Reshape", reshape_like, 1)]
for name, draw, opset in MOVES:
    row(name, draw, since=opset, exact=True)
