"""A random graph while it grows: its values, and how the operators' rows (operators.py) take and add some.

A model with dynamic sizes is drawn for several bindings of its symbols at once: a value has a shape for each binding,
and a node fits when it fits them all. A model without has one binding.
"""
import dataclasses
import random

import numpy as np
from onnx import helper, numpy_helper

F32, F64, F16 = np.dtype("float32"), np.dtype("float64"), np.dtype("float16")
I8, I16, I32, I64 = (np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
U8, U16, U32, U64 = (np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
BOOL = np.dtype("bool")

FLOATS = (F32, F64, F16)
SIGNED = (I32, I64, I8, I16)
INTEGERS = (I32, I64, I8, U8)
NUMBERS = FLOATS + INTEGERS
ANY = NUMBERS + (BOOL, )
# How often an element type is drawn where several are possible.
WEIGHT = {F32: 40, F64: 3, F16: 3, I32: 3, I64: 4, I8: 2, U8: 2, BOOL: 2, I16: 1, U16: 1, U32: 1, U64: 1}

SIZES = (1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 16, 17)
MOST_ELEMENTS = 2000
MOST_RANK = 5
MOST_INPUTS = 4
OPSETS = (11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 18, 19, 20, 21, 22, 23)
IR_VERSION = 10


class Unfit(Exception):
    """What was to be drawn does not fit here; the graph tries something else."""


@dataclasses.dataclass(frozen=True)
class Value:
    """`shapes`: one for each binding of the symbols. `array`: of a constant."""
    name: str
    dtype: np.dtype
    shapes: tuple
    array: np.ndarray = None

    @property
    def rank(self):
        return len(self.shapes[0])

    def dim(self, axis):
        return tuple(shape[axis] for shape in self.shapes)

    def fixed(self, axis):
        """The size of this axis, which must be the same in all bindings."""
        if len(set(self.dim(axis))) > 1:
            raise Unfit
        return self.shapes[0][axis]

    def is_fixed(self):
        return len(set(self.shapes)) == 1

    @property
    def shape(self):
        """The shape, which must be the same in all bindings."""
        if not self.is_fixed():
            raise Unfit
        return self.shapes[0]


@dataclasses.dataclass
class Input:
    """A graph input. `draw(generator, shape)` makes an array for a call."""
    value: Value
    draw: object


def each(rule, *values):
    """The shapes that `rule` gives for those of the values, one binding after the other."""
    return tuple(tuple(int(n) for n in rule(*shapes)) for shapes in zip(*(v.shapes for v in values)))


def broadcast(*values):
    try:
        return each(lambda *shapes: np.broadcast_shapes(*shapes), *values)
    except ValueError:
        raise Unfit from None


def elements(shape):
    return int(np.prod(shape, dtype=np.int64))


def element_type(dtype):
    return helper.np_dtype_to_tensor_dtype(dtype)


class Graph:
    """`parent`: of the body of an If, Loop or Scan, which sees the values of the graphs around it and has no inputs but
    those that its node gives it."""

    def __init__(self, rng, opset, symbols=None, wild=False, parent=None):
        self.rng, self.opset, self.wild, self.parent = rng, opset, wild, parent
        self.symbols = symbols or {}  # name: its size in each binding
        self.bindings = len(next(iter(self.symbols.values()))) if self.symbols else 1
        self.values = list(parent.values) if parent else []
        self.inputs, self.constants, self.nodes = [], [], []
        self.counter = parent.counter if parent else [0]

    # Choices.

    def chance(self, probability):
        return self.rng.random() < probability

    def choose(self, options):
        options = list(options)
        if not options:
            raise Unfit
        return self.rng.choice(options)

    def number(self, lowest, highest):
        if lowest > highest:
            raise Unfit
        return self.rng.randint(lowest, highest)

    def real(self, lowest, highest):
        return round(self.rng.uniform(lowest, highest), 3)

    def dtype(self, types):
        types = list(types)
        return self.rng.choices(types, [WEIGHT[t] for t in types])[0]

    def axis(self, rank):
        """An axis from the front, and as it is written: that, or from the back."""
        axis = self.number(0, rank - 1)
        return axis, axis - rank if self.chance(.4) else axis

    def axes(self, rank, least=1):
        """Some axes, in no order, and as they are written."""
        chosen = self.rng.sample(range(rank), self.number(least, rank))
        return chosen, [a - rank if self.chance(.3) else a for a in chosen]

    def some(self, **attributes):
        """Each of these attributes, or not, when its default does as well."""
        return {name: value for name, value in attributes.items() if self.chance(.6)}

    def random_shapes(self, least=0, most=4):
        """A shape for each binding, of `least` to `most` dimensions."""
        while True:
            rank = self.rng.choice([r for r in (0, 1, 2, 2, 3, 3, 4, 4, 5) if least <= r <= most] or [least])
            dims = []
            for _ in range(rank):
                if self.symbols and self.chance(.35):
                    dims.append(self.rng.choice(list(self.symbols.values())))
                else:
                    size = 0 if self.chance(.02) else self.rng.choice(SIZES if self.chance(.97) else (31, 33, 64))
                    dims.append((size, ) * self.bindings)
            shapes = tuple(tuple(d[b] for d in dims) for b in range(self.bindings))
            if all(elements(shape) <= MOST_ELEMENTS for shape in shapes):
                return shapes

    def fixed_shapes(self, *sizes):
        return (tuple(sizes), ) * self.bindings

    # New values.

    def name(self, prefix):
        self.counter[0] += 1
        return f"{prefix}{self.counter[0]}"

    def constant(self, array, plain=False):
        """An initialiser, or at times the node of a constant. `plain`: an initialiser, for what must be known."""
        array = np.asarray(array)
        value = Value(self.name("c"), array.dtype, (array.shape, ) * self.bindings, array)
        if not plain and self.chance(.1):
            self.nodes.append(helper.make_node("Constant", [], [value.name],
                                               value=numpy_helper.from_array(array, value.name)))
        else:
            self.constants.append(value)
        return value

    def ints(self, numbers):
        return self.constant(
            np.asarray(numbers, np.int64).reshape(-1 if isinstance(numbers, (list, tuple)) else ()), True)

    def input(self, dtype, shapes, draw=None):
        """A graph input; in the body of a node, or where there are many, or for sizes that no symbol stands for, a
        constant."""
        draw = draw or self.drawing(dtype)
        known = set(self.symbols.values()) | {(n, ) * self.bindings for n in range(4096)}
        dims = list(zip(*shapes))
        if not all(d in known for d in dims):
            raise Unfit
        fixed = len(set(shapes)) == 1
        if fixed and (self.parent or len(self.inputs) >= MOST_INPUTS):
            return self.constant(draw(np.random.default_rng(self.rng.getrandbits(32)), shapes[0]))
        if self.parent:
            raise Unfit
        value = Value(self.name("x"), dtype, tuple(shapes))
        self.inputs.append(Input(value, draw))
        self.values.append(value)
        return value

    def weight(self, dtype, shape, draw=None, constant=.8):
        """A parameter of fixed size: mostly a constant."""
        draw = draw or self.drawing(dtype, wild=False)
        if self.chance(constant):
            return self.constant(draw(np.random.default_rng(self.rng.getrandbits(32)), shape))
        return self.input(dtype, self.fixed_shapes(*shape), draw)

    def drawing(self, dtype, wild=None):
        """How the arrays of a new input are drawn."""
        scale = self.rng.choice((1, 1, 1, 3, .1))
        wild = self.wild and self.chance(.7) if wild is None else wild
        whole = self.chance(.1)
        return lambda generator, shape: draw_array(generator, dtype, shape, scale, wild, whole)

    # Values that are there.

    def pick(self, types, least=0, most=MOST_RANK, fits=None):
        """A value of one of these types and ranks, for which `fits`: mostly one that is there, newer ones rather, else
        a new input."""
        found = [v for v in self.values if v.dtype in types and least <= v.rank <= most and (not fits or fits(v))]
        if found and self.chance(.9):
            return self.rng.choices(found, [i + 1 for i in range(len(found))])[0]
        for _ in range(4):
            made = self.bent(types, least, most) if self.chance(.5) else None
            if made is None:
                made = self.input(self.dtype(types), self.random_shapes(least, most))
            if not fits or fits(made):
                return made
        raise Unfit

    def bent(self, types, least, most):
        """A value that is there, cast to another type, or with its rank changed, or None."""
        if not self.values:
            return None
        v = self.rng.choice(self.values)
        if v.rank > most and v.is_fixed() and most >= 1 and elements(v.shape) > 0:
            v = self.node("Reshape", [v, self.ints([elements(v.shape)])], v.dtype,
                          self.fixed_shapes(elements(v.shape))) if least <= 1 else None
        elif v.rank < least:
            v = self.unsqueezed(v, list(range(least - v.rank)))
        elif v.rank > most:
            v = None
        if v is None or v.dtype in types:
            return v
        if v.dtype in FLOATS and not any(t in FLOATS for t in types):
            return None
        return self.cast(v, self.dtype(types))

    def cast(self, v, dtype):
        return self.node("Cast", [v], dtype, v.shapes, to=element_type(dtype))

    def unsqueezed(self, v, axes):
        def rule(shape):
            rest = iter(shape)
            return [1 if i in axes else next(rest) for i in range(len(shape) + len(axes))]
        if self.opset >= 13:
            return self.node("Unsqueeze", [v, self.ints(axes)], v.dtype, each(rule, v))
        return self.node("Unsqueeze", [v], v.dtype, each(rule, v), axes=axes)

    def operand(self, v, dtype=None, one_way=False):
        """Another operand that broadcasts with `v`; `one_way`: to its shape."""
        dtype = dtype or v.dtype
        wanted = set(v.shapes)
        def fits(other):
            if other.dtype != dtype:
                return False
            try:
                result = broadcast(v, other)
            except Unfit:
                return False
            return set(result) == wanted if one_way else all(elements(s) <= MOST_ELEMENTS for s in result)
        found = [other for other in self.values if fits(other)]
        if found and self.chance(.6):
            return self.choose(found)
        drop = self.number(0, v.rank) if self.chance(.3) else 0
        ones = [self.chance(.2) for _ in range(v.rank)]
        shapes = each(lambda s: [1 if one else n for one, n in zip(ones, s)][drop:], v)
        if not one_way and not drop and v.rank < 4 and self.chance(.08):
            shapes = tuple((2, ) + s for s in shapes)
        if len(set(shapes)) == 1:
            return self.weight(dtype, shapes[0], self.drawing(dtype), constant=.5)
        return self.input(dtype, shapes)

    # Nodes.

    def node(self, op, inputs, dtype, shapes, domain="", **attributes):
        """Appends a node of one output."""
        return self.nodes_of(op, inputs, [(dtype, shapes)], domain, **attributes)[0]

    def nodes_of(self, op, inputs, outputs, domain="", **attributes):
        """Appends a node. `inputs`: values, or None for one that is left out. `outputs`: (type, shapes) of each, or
        None for one that is left out."""
        for output in outputs:
            if output and any(
                    min(s, default=1) < 0 or elements(s) > 4 * MOST_ELEMENTS or len(s) > 8 for s in output[1]):
                raise Unfit
        made = [output and Value(self.name("v"), output[0], tuple(tuple(s) for s in output[1])) for output in outputs]
        names = [i.name if i else "" for i in inputs]
        while names and not names[-1]:
            names.pop()
        self.nodes.append(helper.make_node(op, names, [m.name if m else "" for m in made], domain=domain,
                                           name=self.name(op.lower()), **attributes))
        self.values += [m for m in made if m]
        return made

    def body(self):
        return Graph(self.rng, self.opset, self.symbols, self.wild, parent=self)


def draw_array(generator, dtype, shape, scale, wild, whole):
    if dtype == BOOL:
        return generator.random(shape) < .5
    if dtype.kind == "u":
        return generator.integers(0, 20 if scale < 3 else 256, shape).astype(dtype)
    if dtype.kind == "i":
        return generator.integers(-10, 11, shape).astype(dtype)
    array = generator.standard_normal(shape) * scale
    array = np.round(array * 2) / 2 if whole else array
    array = np.asarray(array).astype(dtype)
    if wild and array.size:
        odd = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 3e4, -3e4, 1e-7], dtype)
        where = generator.random(shape) < generator.choice([.05, .3])
        array = np.where(where, odd[generator.integers(0, len(odd), shape)], array).astype(dtype)
    return array


def new_rng(seed, index):
    return random.Random(f"{seed} {index}")


def type_of(value, symbols, with_shape=True):
    """The ValueInfoProto of an input or output. A size that is not fixed is its symbol, or left open."""
    if not with_shape:
        return helper.make_tensor_value_info(value.name, element_type(value.dtype), None)
    names = {sizes: name for name, sizes in symbols.items()}
    dims = [value.dim(i)[0] if len(set(value.dim(i))) == 1 else names.get(value.dim(i)) for i in range(value.rank)]
    return helper.make_tensor_value_info(value.name, element_type(value.dtype), dims)


def used_names(graph):
    """What a GraphProto's nodes read, those of bodies included."""
    names = set()
    for node in graph.node:
        names.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                names |= used_names(attribute.g) | {o.name for o in attribute.g.output}
    return names


def prune(graph):
    """Removes the nodes, initialisers and inputs of a GraphProto that no output needs."""
    while True:
        used = used_names(graph) | {o.name for o in graph.output}
        dead = [n for n in graph.node if not used & set(n.output)]
        if not dead:
            break
        for node in dead:
            graph.node.remove(node)
    for rows in (graph.initializer, graph.input):
        for row in [r for r in rows if r.name not in used]:
            rows.remove(row)


def body_proto(graph, name, inputs, outputs):
    """The GraphProto of a body. `inputs`, `outputs`: values. A value that goes through untouched is copied."""
    results = []
    own = {o for n in graph.nodes for o in n.output}
    for v in outputs:
        results.append(v if v.name in own and v not in results else graph.node("Identity", [v], v.dtype, v.shapes))
    proto = helper.make_graph(graph.nodes, name, [type_of(v, {}) for v in inputs],
                              [type_of(v, {}, False) for v in results],
                              [numpy_helper.from_array(c.array, c.name) for c in graph.constants])
    keep = [i for i in proto.input]
    prune(proto)
    del proto.input[:]
    proto.input.extend(keep)
    return proto
