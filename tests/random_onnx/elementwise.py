"""Rows of operators on single elements: of one tensor, of two that broadcast, of several; choices and casts."""
import numpy as np
from onnx import helper

from graph import (ANY, BOOL, F32, F64, FLOATS, I8, I16, I32, I64, INTEGERS, NUMBERS, SIGNED, U8, U16, U32, U64,
                   broadcast, element_type)
from table import row, rows

PLAIN = ("Acos", "Asin", "Atan", "Cos", "Sin", "Tan", "Acosh", "Asinh", "Atanh", "Cosh", "Sinh", "Exp", "Log", "Sqrt",
         "Sigmoid", "Tanh", "Reciprocal", "Softplus", "Softsign", "Erf")


def unary(g, op, types, result=None, **attributes):
    x = g.pick(types)
    return g.node(op, [x], result or x.dtype, x.shapes, **attributes)


def all_sizes(node, inputs):
    """Of x · (1 + tanh(…)) or x · (1 + erf(…)), which is nearly nothing where x is negative."""
    return sum(np.abs(a) for a in inputs)


def one(node, inputs):
    """Of an exponential that 1 is taken from, as some write it."""
    return 1


rows(PLAIN, lambda g, op: unary(g, op, FLOATS))
rows(("Ceil", "Floor", "Round"), lambda g, op: unary(g, op, FLOATS), exact=True)
row("Relu", lambda g, op: unary(g, op, FLOATS + (SIGNED if g.opset >= 14 else ())), exact=True)
row("Abs", lambda g, op: unary(g, op, NUMBERS), exact=True)
row("Neg", lambda g, op: unary(g, op, FLOATS + SIGNED), exact=True)
row("Sign", lambda g, op: unary(g, op, NUMBERS), exact=True)
row("Identity", lambda g, op: unary(g, op, ANY), exact=True)
row("Not", lambda g, op: unary(g, op, (BOOL, )), exact=True)
row("BitwiseNot", lambda g, op: unary(g, op, INTEGERS), since=18, exact=True)
row("IsNaN", lambda g, op: unary(g, op, FLOATS, BOOL), exact=True)
row("IsInf", lambda g, op: unary(g, op, (F32, F64), BOOL, **g.some(detect_negative=g.number(0, 1),
                                                                   detect_positive=g.number(0, 1))), exact=True)
row("LeakyRelu", lambda g, op: unary(g, op, FLOATS, **g.some(alpha=g.real(-1, 2))))
row("Elu", lambda g, op: unary(g, op, FLOATS, **g.some(alpha=g.real(-1, 2))), inside=one)
row("Celu", lambda g, op: unary(g, op, (F32, ), **g.some(alpha=g.choose((.5, 1., 2., 3.3)))), since=12, inside=one)
row("Selu", lambda g, op: unary(g, op, FLOATS, **g.some(alpha=g.real(.5, 2), gamma=g.real(.5, 2))), inside=one)
row("HardSigmoid", lambda g, op: unary(g, op, FLOATS, **g.some(alpha=g.real(-.5, 1), beta=g.real(-.5, 1))))
row("HardSwish", lambda g, op: unary(g, op, FLOATS), since=14)
row("Mish", lambda g, op: unary(g, op, FLOATS), since=18)
row("ThresholdedRelu", lambda g, op: unary(g, op, FLOATS, **g.some(alpha=g.real(-1, 1))), exact=True)
row("Shrink", lambda g, op: unary(g, op, FLOATS + (I32, I64), **g.some(bias=float(g.number(0, 1)),
                                                                       lambd=g.choose((.5, 1., 2.)))))
row("Gelu", lambda g, op: unary(g, op, FLOATS, **g.some(approximate=g.choose(("none", "tanh")))), since=20,
    inside=all_sizes)
row("Swish", lambda g, op: unary(g, op, FLOATS, **g.some(alpha=g.real(-1, 2))), since=24)


def dropout(g, op):
    x = g.pick(FLOATS)
    outputs = [(x.dtype, x.shapes)]
    if g.opset < 12:
        return g.nodes_of(op, [x], outputs, **g.some(ratio=g.real(0, .9)))
    outputs += [(BOOL, x.shapes)] if g.chance(.1) else []  # what an older opset's mask holds is not said
    inputs = [x, g.constant(np.float32(.5)), g.constant(np.array(False))] if g.chance(.4) else [x]
    return g.nodes_of(op, inputs, outputs)


def clip(g, op):
    x = g.pick(FLOATS + ((I32, I64, I8, U8) if g.opset >= 12 else ()))
    low, high = sorted((g.number(-3, 3), g.number(-3, 3)))
    low = max(low, 0) if x.dtype.kind == "u" else low
    limits = [g.constant(np.array(n, x.dtype)) if g.chance(.7) else None for n in (low, max(low, high))]
    return g.node(op, [x] + limits, x.dtype, x.shapes)


row("Dropout", dropout, exact=True)
row("Clip", clip, exact=True)

# Two operands.


def binary(g, op, types, result=None, **attributes):
    x = g.pick(types)
    y = g.operand(x)
    pair = [x, y] if g.chance(.5) else [y, x]
    return g.node(op, pair, result or x.dtype, broadcast(x, y), **attributes)


ARITHMETIC = FLOATS + (I32, I64)
rows(("Add", "Sub", "Mul"), lambda g, op: binary(g, op, ARITHMETIC + ((I8, U8) if g.opset >= 14 else ())))
rows(("And", "Or", "Xor"), lambda g, op: binary(g, op, (BOOL, )), exact=True)
rows(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), lambda g, op: binary(g, op, INTEGERS), since=18, exact=True)
row("Equal", lambda g, op: binary(g, op, ANY, BOOL), exact=True)
rows(("Greater", "Less"), lambda g, op: binary(g, op, NUMBERS, BOOL), exact=True)
rows(("GreaterOrEqual", "LessOrEqual"), lambda g, op: binary(g, op, NUMBERS, BOOL), since=12, exact=True)


def not_zero(g, x):
    """A constant divisor."""
    def draw(generator, shape):
        array = generator.integers(1, 7, shape)
        return (array if x.dtype.kind == "u" else array * generator.choice([-1, 1], shape)).astype(x.dtype)
    shape = g.choose([(), (1, )] + ([x.shape[-1:]] if x.rank and x.is_fixed() else []))
    return g.weight(x.dtype, shape, draw, constant=.7)


def divide(g, op):
    x = g.pick(ARITHMETIC + ((I8, U8) if g.opset >= 14 else ()))
    if x.dtype in FLOATS:
        return binary(g, op, (x.dtype, ))
    y = not_zero(g, x)
    return g.node(op, [x, y], x.dtype, broadcast(x, y))


def modulo(g, op):
    x = g.pick(NUMBERS)
    y = not_zero(g, x)
    fmod = {"fmod": 1} if x.dtype in FLOATS else g.some(fmod=g.number(0, 1))
    return g.node(op, [x, y], x.dtype, broadcast(x, y), **fmod)


def power(g, op):
    x = g.pick(FLOATS + (I32, I64) if g.opset >= 12 else FLOATS)
    if g.chance(.6) or x.dtype not in FLOATS:
        dtype = g.dtype((x.dtype, I64, I32) if g.opset >= 12 else (x.dtype, ))
        y = g.constant(np.array(g.number(0, 3) if g.chance(.8) or dtype not in FLOATS else .5, dtype))
    else:
        y = g.operand(x)
    return g.node(op, [x, y], x.dtype, broadcast(x, y))


def shift(g, op):
    x = g.pick((U8, U8, U32, U64, U16))
    y = g.weight(x.dtype, g.choose([(), (1, )]),
                 lambda generator, shape: generator.integers(0, 8, shape).astype(x.dtype))
    return g.node(op, [x, y], x.dtype, broadcast(x, y), direction=g.choose(("LEFT", "RIGHT")))


def prelu(g, op):
    x = g.pick(FLOATS + (I32, I64))
    return g.node(op, [x, g.operand(x, one_way=True)], x.dtype, x.shapes)


row("Div", divide)
row("Mod", modulo)
row("Pow", power)
row("BitShift", shift, exact=True)
row("PRelu", prelu)

# Several operands.


def several(g, op, types):
    values = [g.pick(types)]
    for _ in range(g.number(0, 3)):
        values.append(g.operand(values[g.number(0, len(values) - 1)]))
    g.rng.shuffle(values)
    return g.node(op, values, values[0].dtype, broadcast(*values))


def where(g, op):
    x = g.pick(ANY)
    condition, y = g.operand(x, BOOL), g.operand(x)
    return g.node(op, [condition, x, y], x.dtype, broadcast(condition, x, y))


rows(("Sum", "Mean"), lambda g, op: several(g, op, FLOATS))
rows(("Max", "Min"), lambda g, op: several(g, op, NUMBERS if g.opset >= 12 else FLOATS), exact=True)
row("Where", where, exact=True)


def tame(g, x, dtype):
    """`x`, in the range of `dtype`: what a cast gives beyond it is not defined."""
    if x.dtype in FLOATS and dtype not in FLOATS and dtype != BOOL:
        low, high = (0, 100) if dtype.kind == "u" else (-100, 100)
        limits = [g.constant(np.array(n, x.dtype)) for n in (low, high)]
        return g.node("Clip", [x] + limits, x.dtype, x.shapes)
    return x


def cast(g, op):
    x = g.pick(ANY)
    dtype = g.dtype(ANY + (I16, U16, U32, U64))
    return g.cast(tame(g, x, dtype), dtype)


def cast_like(g, op):
    x, like = g.pick(ANY), g.pick(ANY)
    return g.node(op, [tame(g, x, like.dtype), like], like.dtype, x.shapes)


row("Cast", cast)
row("CastLike", cast_like, since=15)

# Tensors from nothing but sizes.


def constant(g, op):
    """The forms of Constant beside a tensor, which Graph.constant makes."""
    numbers = [g.number(-5, 5) for _ in range(g.number(1, 5))]
    kind = g.choose(("value_float", "value_floats", "value_int", "value_ints"))
    dtype = F32 if "float" in kind else I64
    numbers = [float(n) for n in numbers] if dtype == F32 else numbers
    plural = kind.endswith("s")
    if g.opset < 12:
        array = np.array(numbers, dtype)
        return g.node(op, [], dtype, g.fixed_shapes(*array.shape),
                      value=helper.make_tensor("", element_type(dtype), array.shape, array))
    return g.node(op, [], dtype, g.fixed_shapes(*([len(numbers)] if plural else [])),
                  **{kind: numbers if plural else numbers[0]})


def constant_of_shape(g, op):
    dtype = g.dtype(ANY)
    value = {"value": helper.make_tensor("", element_type(dtype), [1], [g.number(0, 1)])}
    if g.values and g.chance(.4):
        like = g.choose(g.values)
        shape, shapes = g.node("Shape", [like], I64, g.fixed_shapes(like.rank)), like.shapes
    else:
        shapes = g.fixed_shapes(*(g.number(0 if g.chance(.1) else 1, 4) for _ in range(g.number(0, 3))))
        shape = g.constant(np.array(shapes[0], np.int64), plain=True)
    if g.chance(.1):
        return g.node(op, [shape], F32, shapes)
    return g.node(op, [shape], dtype, shapes, **value)


def eye_like(g, op):
    x = g.pick(ANY, 2, 2)
    dtype = g.dtype((F32, F64, I32, I64)) if g.chance(.5) or x.dtype == BOOL else x.dtype
    node = g.node(op, [x], dtype, x.shapes, **g.some(k=g.number(-3, 3)))
    if dtype != x.dtype:
        g.nodes[-1].attribute.append(helper.make_attribute("dtype", element_type(dtype)))
    return node


def count_up(g, op):
    dtype = g.dtype((F32, I64, I32, F64))
    start, delta, count = g.number(-5, 5), g.choose((1, 2, 3, -1, -2)), g.number(0 if g.chance(.1) else 1, 8)
    limit = start + delta * count
    numbers = [g.constant(np.array(n, dtype), plain=True) for n in (start, limit, delta)]
    return g.node(op, numbers, dtype, g.fixed_shapes(count))


row("Constant", constant, exact=True)
row("ConstantOfShape", constant_of_shape, exact=True)
row("EyeLike", eye_like, exact=True)
row("Range", count_up, exact=True)
