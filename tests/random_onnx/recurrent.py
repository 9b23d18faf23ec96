"""Rows of recurrent layers, and of attention."""
import numpy as np

from graph import F32, I32, I64
from table import row

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
ACTIVATIONS = ("Relu", "Tanh", "Sigmoid")


def small(generator, shape):
    return (generator.standard_normal(shape) * .5).astype(np.float32)


def recurrent(g, op):
    found = [
        v for v in g.values
        if v.dtype == F32 and v.rank == 3 and v.is_fixed() and 0 < v.shape[0] <= 6 and 0 not in v.shape
    ]
    if found and g.chance(.4):
        x = g.choose(found)
    else:
        x = g.input(F32, g.fixed_shapes(g.number(1, 5), g.number(1, 3), g.number(1, 6)))
    steps, batch, width = x.shape
    hidden, gates = g.number(1, 5), GATES[op]
    direction = g.choose(("forward", "forward", "reverse", "bidirectional"))
    ways = 2 if direction == "bidirectional" else 1
    def weight(*shape):
        return g.weight(F32, shape, small)
    inputs = [x, weight(ways, gates * hidden, width), weight(ways, gates * hidden, hidden)]
    inputs.append(weight(ways, 2 * gates * hidden) if g.chance(.6) else None)
    inputs.append(g.weight(I32, (batch, ), lambda generator, s: generator.integers(1, steps + 1, s).astype(np.int32))
                  if g.chance(.25) else None)
    inputs.append(weight(ways, batch, hidden) if g.chance(.4) else None)
    if op == "LSTM":
        inputs.append(weight(ways, batch, hidden) if g.chance(.4) else None)
        inputs.append(weight(ways, 3 * hidden) if g.chance(.2) else None)
    attributes = {"hidden_size": hidden}
    if direction != "forward" or g.chance(.3):
        attributes["direction"] = direction
    if g.chance(.2):
        attributes["activations"] = [g.choose(ACTIVATIONS) for _ in DEFAULTS[op] * ways]
    if g.chance(.1):
        attributes["clip"] = g.choose((.25, 1.5))
    if op == "GRU":
        attributes |= g.some(linear_before_reset=g.number(0, 1))
    if op == "LSTM" and g.chance(.1):
        attributes["input_forget"] = 1
    last = g.fixed_shapes(ways, batch, hidden)
    outputs = [(F32, g.fixed_shapes(steps, ways, batch, hidden)), (F32, last)] + ([(F32, last)] if op == "LSTM" else [])
    outputs = [o if i == 0 or g.chance(.5) else None for i, o in enumerate(outputs)]
    while outputs[-1] is None:
        outputs.pop()
    return g.nodes_of(op, inputs, outputs, **attributes)


def attention(g, op):
    b, heads, t, s, d = g.number(1, 2), g.choose((1, 2, 4)), g.number(1, 4), g.number(1, 4), g.choose((2, 4, 8))
    shared = g.choose([n for n in (1, 2, 4) if heads % n == 0])
    def heads_of(count, length):
        return g.fixed_shapes(b, count, length, d) if four else g.fixed_shapes(b, length, count * d)
    four = g.chance(.5)
    q, k, v = g.input(F32, heads_of(heads, t)), g.input(F32, heads_of(shared, s)), g.input(F32, heads_of(shared, s))
    attributes = g.some(is_causal=g.number(0, 1), scale=g.real(.1, 1))
    if not four:
        attributes |= {"q_num_heads": heads, "kv_num_heads": shared}
    mask = [g.weight(F32, (t, s))] if g.chance(.4) else []
    return g.node(op, [q, k, v] + mask, F32, heads_of(heads, t), **attributes)


def rotary_embedding(g, op):
    b, heads, t, d = g.number(1, 2), g.number(1, 3), g.number(1, 5), g.choose((2, 4, 8))
    x = g.input(F32, g.fixed_shapes(b, heads, t, d))
    if g.chance(.5):
        caches = [g.weight(F32, (b, t, d // 2)) for _ in range(2)]
        positions = []
    else:
        caches = [g.weight(F32, (8, d // 2)) for _ in range(2)]
        positions = [g.weight(I64, (b, t), lambda generator, s: generator.integers(0, 8, s))]
    return g.node(op, [x] + caches + positions, F32, x.shapes, **g.some(interleaved=g.number(0, 1)))


for name in GATES:
    row(name, recurrent)
row("Attention", attention, since=23)
row("RotaryEmbedding", rotary_embedding, since=23)
