"""A random model: its file, the calls that are made of it, and how berth is told its sizes."""
import dataclasses

import numpy as np
from onnx import helper, numpy_helper

from graph import IR_VERSION, OPSETS, Graph, Unfit, new_rng, prune, type_of
from operators import IDIOMS, TABLE

MOST_OUTPUTS = 5
TRIES = 40  # of a row until one fits
MICROSOFT = "com.microsoft"


@dataclasses.dataclass
class Model:
    """`calls`: for each call, an array for each input, in order. `ranges`: NAME=SHAPE of the inputs with open sizes.
    `shapes`: of each output in each call, as the rows figured them; None where they are not known any more."""
    proto: object
    calls: list
    ranges: list
    shapes: list = None


def draw_symbols(rng):
    """Open sizes, each with three values; most models have none."""
    if rng.random() > .3:
        return {}
    symbols = {}
    for name in ("n", "m")[:1 + (rng.random() < .3)]:
        highest = rng.choice((2, 3, 5, 8, 13))
        lowest = rng.choice((0, 1, 1, 1, 1, 2))
        values = [rng.randint(lowest, highest) for _ in range(3)]
        values[rng.randint(0, 2)] = highest
        symbols[name] = tuple(values)
        if len(set(values)) == 1:
            symbols.pop(name)
    return symbols


def grow(g, count, only):
    """Adds about `count` operators; `only`: of these names, and no idioms."""
    table = [row for row in TABLE if not only or row.op in only]
    g.pick((np.dtype("float32"), ))
    for _ in range(count):
        for _ in range(TRIES):
            nodes, constants, inputs, values = (len(rows) for rows in (g.nodes, g.constants, g.inputs, g.values))
            try:
                if not only and g.chance(.08):
                    g.choose(IDIOMS)(g)
                else:
                    row = g.choose(table)
                    if row.since > g.opset:
                        continue
                    row.draw(g, row.op)
                break
            except Unfit:
                del g.nodes[nodes:], g.constants[constants:], g.inputs[inputs:], g.values[values:]


def outputs_of(g):
    """What nothing reads, and now and then what something reads too."""
    used = {name for node in g.nodes for name in node.input}
    made = {name for node in g.nodes for name in node.output}
    constants = {name for node in g.nodes if node.op_type == "Constant" for name in node.output}
    found = [v for v in g.values if v.name in made - constants and (v.name not in used or g.chance(.08))]
    g.rng.shuffle(found)
    return found[:MOST_OUTPUTS]


def draw_model(seed, index, only=()):
    rng = new_rng(seed, index)
    while True:
        symbols = draw_symbols(rng)
        g = Graph(rng, rng.choice(OPSETS), symbols, wild=rng.random() < .2)
        grow(g, rng.choice((1, 2, 2, 3, 3, 4, 5, 6, 8, 12)), only)
        outputs = outputs_of(g)
        if outputs:
            return finish(g, outputs, np.random.default_rng([abs(hash_text(seed)), index]))


def hash_text(text):
    return int.from_bytes(str(text).encode(), "little") % (1 << 62)


def finish(g, outputs, generator):
    infos = [type_of(v, g.symbols, with_shape=g.chance(.7)) for v in outputs]
    proto = helper.make_graph(g.nodes, "random", [type_of(i.value, g.symbols) for i in g.inputs], infos,
                              [numpy_helper.from_array(c.array, c.name) for c in g.constants])
    prune(proto)
    names = {i.name for i in proto.input}
    inputs = [i for i in g.inputs if i.value.name in names]
    count = g.bindings if g.symbols else g.number(1, 3)
    calls = [[np.asarray(i.draw(generator, i.value.shapes[call % g.bindings]), i.value.dtype) for i in inputs]
             for call in range(count)]
    shapes = [[v.shapes[call % g.bindings] for v in outputs] for call in range(count)]
    return Model(whole(proto, g.opset), calls, [ranges(i.value, g.symbols) for i in inputs if not i.value.is_fixed()],
                 shapes)


def whole(graph, opset):
    domains = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=IR_VERSION)


def ranges(value, symbols):
    """`NAME=1..8x3`, with a range for each open size."""
    bounds = {sizes: f"{min(sizes)}..{max(sizes)}" for sizes in symbols.values()}
    return f"{value.name}=" + "x".join(bounds[value.dim(i)] if len(set(value.dim(i))) > 1 else str(value.dim(i)[0])
                                       for i in range(value.rank))
