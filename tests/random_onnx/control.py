"""Rows of If, Loop and Scan, with small bodies that see the values around them."""
import numpy as np

from graph import BOOL, F32, I64, Unfit, Value, body_proto, broadcast, each
from table import row

INNER = ("Add", "Sub", "Mul", "Relu", "Tanh", "Neg", "Abs", "Max", "Sigmoid", "Clip", "Sin", "Where", "Min", "Sqrt")


def same_shape(g, x, steps=3):
    """A chain from `x` that ends with its type and shapes, in the body `g`."""
    y = x
    for _ in range(g.number(1, steps)):
        if g.chance(.5):
            y = g.node(g.choose(("Relu", "Tanh", "Neg", "Abs", "Sigmoid", "Sin")), [y], y.dtype, y.shapes)
        else:
            y = g.node(g.choose(("Add", "Sub", "Mul", "Max", "Min")), [y, inner_operand(g, y)], y.dtype, y.shapes)
    return y


def inner_operand(g, y):
    """Of the shape of `y`, or broadcast to it: a value around the body, or a constant."""
    def fits(v):
        try:
            return v.dtype == y.dtype and broadcast(v, y) == y.shapes
        except Unfit:
            return False
    found = [v for v in g.values if fits(v)]
    return g.choose(found) if found and g.chance(.7) else g.constant(np.array(g.real(-2, 2), y.dtype))


def condition(g):
    """A truth: a constant, an input, or computed from a value."""
    kind = g.number(0, 2)
    if kind == 0:
        return g.constant(np.array(g.chance(.5)))
    if kind == 1:
        return g.input(BOOL, g.fixed_shapes(*g.choose(((), (1, )))))
    x = g.pick((F32, ), 0, 0)
    return g.node("Greater", [x, g.constant(np.float32(g.real(-1, 1)))], BOOL, x.shapes)


def branch(g, op):
    x = g.pick((F32, ))
    truth = condition(g)
    count = g.number(1, 2)
    bodies = {}
    for name in ("then_branch", "else_branch"):
        body = g.body()
        results = [x if g.chance(.1) else same_shape(body, x) for _ in range(count)]
        bodies[name] = body_proto(body, name, [], results)
    return g.nodes_of(op, [truth], [(x.dtype, x.shapes)] * count, **bodies)


def inner(g, dtype, shapes):
    return Value(g.name("i"), dtype, shapes)


def loop(g, op):
    x = g.pick((F32, ))
    turns = g.number(0 if g.chance(.1) else 1, 4)
    body = g.body()
    at, truth, state = inner(g, I64, g.fixed_shapes()), inner(g, BOOL, g.fixed_shapes()), inner(g, F32, x.shapes)
    body.values += [state]
    after = same_shape(body, state)
    inputs, results = [at, truth, state], [truth, after]
    outputs = [(F32, x.shapes)]
    if g.chance(.4):  # how far, in a carried value of its own
        results[1] = body.node("Add", [after, body.cast(at, F32)], F32, x.shapes)
    if g.chance(.5):
        results.append(same_shape(body, state, 2))
        outputs.append((F32, tuple((turns, ) + s for s in x.shapes)))
    truths = g.constant(np.array(True)) if g.chance(.7) else None
    return g.nodes_of(op, [g.constant(np.array(turns, np.int64), plain=True), truths, x], outputs,
                      body=body_proto(body, "body", inputs, results))


def scan(g, op):
    x = g.pick((F32, ), 1, 4)
    axis, written = g.axis(x.rank) if g.chance(.3) else (0, 0)
    steps = x.fixed(axis)
    if steps == 0:
        raise Unfit
    part = each(lambda s: s[:axis] + s[axis + 1:], x)
    start = g.weight(F32, part[0]) if len(set(part)) == 1 else g.input(F32, part)
    body = g.body()
    state, element = inner(g, F32, part), inner(g, F32, part)
    body.values += [state, element]
    after = body.node(g.choose(("Add", "Mul", "Max", "Sub")), [state, element], F32, part)
    attributes = {"num_scan_inputs": 1}
    if axis:
        attributes["scan_input_axes"] = [written]
    if g.chance(.2):
        attributes["scan_input_directions"] = [1]
    at = g.number(0, len(part[0])) if g.chance(.2) else 0
    if at:
        attributes["scan_output_axes"] = [at]
    if g.chance(.2):
        attributes["scan_output_directions"] = [1]
    whole = tuple(s[:at] + (steps, ) + s[at:] for s in part)
    results = [after, same_shape(body, after, 2)]
    return g.nodes_of(op, [start, x], [(F32, part), (F32, whole)],
                      body=body_proto(body, "body", [state, element], results),
                      **attributes)


row("If", branch)
row("Loop", loop)
row("Scan", scan)
