"""Where ONNX Runtime's CPU kernels are known to differ from ONNX, and what ONNX does not define."""
import dataclasses
import math

import numpy as np
from onnx import helper


@dataclasses.dataclass(frozen=True)
class Fault:
    """`when(node, inputs, opset)`: whether a node shows it. `by(node, inputs)`: its results as ONNX has them, a list;
    REFERENCE: onnx.reference is asked; FIRST_TRIP: the node runs with a trip count of 1, and no rows are kept of it;
    SKIP: they are not judged. `reason`: what ONNX Runtime does otherwise."""
    ops: tuple
    when: object
    by: object
    reason: str


REFERENCE, FIRST_TRIP, SKIP = "reference", "first trip", "skip"


def attribute(node, name, default=None):
    for a in node.attribute:
        if a.name == name:
            return {1: a.f, 2: a.i, 3: a.s.decode(), 6: list(a.floats), 7: list(a.ints)}.get(a.type, default)
    return default


def has_nan(array):
    return array is not None and array.dtype.kind == "f" and bool(np.isnan(array).any())


def not_finite(array):
    return array is not None and array.dtype.kind == "f" and not np.isfinite(array).all()


def any_nan(node, inputs, opset):
    return any(has_nan(a) for a in inputs)


def empty(node, inputs, opset):
    return inputs[0].size == 0


def no_trips(node, inputs, opset):
    return inputs[0] is not None and inputs[0].size == 1 and int(inputs[0].reshape(())) == 0


def before_first_trip(node, inputs, made):
    """Of results `made` by one trip: what is carried is as it was given, and nothing is stacked."""
    carried = inputs[2:]
    return [a.copy() for a in carried] + [a[:0] for a in made[len(carried):]]


def moves_empty_slices(node, inputs, opset):
    axes = attribute(node, "scan_input_axes", []) + attribute(node, "scan_output_axes", [])
    return any(axes) and any(a.size == 0 for a in inputs)


def nan_or_least(node, inputs, opset):
    return has_nan(inputs[0]) or bool(np.isneginf(inputs[0]).any())


def open_clip(node, inputs, opset):
    return not_finite(inputs[0]) and (len(inputs) < 3 or inputs[1] is None or inputs[2] is None)


def is_double(node, inputs, opset):
    return inputs[0].dtype == np.float64


def any_not_finite(node, inputs, opset):
    return any(not_finite(a) for a in inputs)


def sums_nothing(node, inputs, opset):
    return inputs[0].ndim > 0 and inputs[0].shape[-1] == 0


def blends(node, inputs, opset):
    default = "nearest" if node.op_type == "Resize" else "linear"
    return not_finite(inputs[0]) and attribute(node, "mode", default) != "nearest"


def scales_of(inputs):
    """Of a Resize; empty where it has sizes."""
    return inputs[2] if len(inputs) > 2 and inputs[2] is not None else np.zeros(0, np.float32)


def same_sizes(inputs):
    """Whether onnx.reference has the same sizes as ONNX's shape inference, which multiplies in float32."""
    scales = scales_of(inputs)
    sizes = np.array(inputs[0].shape[:scales.size])
    return bool((np.floor((sizes * scales).astype(np.float32)) == np.floor(sizes * scales.astype(np.float64))).all())


def is_nearest(node):
    return attribute(node, "mode", "nearest") == "nearest"


def is_nearest_about_middle(node):
    """The rule whose places Berth computes exactly; those of all others are floats, as ONNX Runtime's are."""
    return is_nearest(node) and attribute(node, "coordinate_transformation_mode") == "half_pixel_symmetric"


def rounded_places(node, inputs, opset):
    return is_nearest_about_middle(node) and same_sizes(inputs) and not not_finite(inputs[0])


def other_rounded_places(node, inputs, opset):
    """Those that onnx.reference cannot tell: it has another size, or multiplies infinities by 0."""
    return is_nearest_about_middle(node) and not rounded_places(node, inputs, opset)


def nearest(node, inputs):
    """A Resize by half_pixel_symmetric, by ONNX's text."""
    x, scales = inputs[0], scales_of(inputs).astype(np.float64)
    rounding = attribute(node, "nearest_mode", "round_prefer_floor")
    for k, axis in enumerate(attribute(node, "axes") or range(x.ndim)):
        n = x.shape[axis]
        out = int(inputs[3][k]) if not scales.size else int(np.floor(np.float32(n * scales[k])))
        scale = scales[k] if scales.size else out / n
        length, i = scale * n, np.arange(out)
        place = (i + .5) / scale - .5 + n / 2 * (1 - out / length)
        place = np.round(place * 2.**34) / 2.**34  # so that whole places are whole
        index = {"floor": np.floor(place), "ceil": np.ceil(place), "round_prefer_floor": np.ceil(place - .5),
                 "round_prefer_ceil": np.floor(place + .5)}[rounding]
        x = np.take(x, np.clip(index, 0, n - 1).astype(np.int64), axis)
    return [x]


def wide_of_one(node, inputs, opset):
    coordinates = attribute(node, "coordinate_transformation_mode")
    wide = attribute(node, "mode") == "cubic" or attribute(node, "antialias", 0)
    return wide and coordinates == "pytorch_half_pixel"


def fraction_of_size(node, inputs, opset):
    by_size = attribute(node, "coordinate_transformation_mode") in ("align_corners", "pytorch_half_pixel")
    return bool(scales_of(inputs).size and by_size and not is_nearest(node))


def fraction_of_another_size(node, inputs, opset):
    return fraction_of_size(node, inputs, opset) and not same_sizes(inputs)


def pads_only(node, inputs, opset):
    return max(attribute(node, "dilations", [1])) > 1 and max(attribute(node, "pads", [0])) > 0


def dilated_double(node, inputs, opset):
    return inputs[0].dtype == np.float64 and not_finite(inputs[0]) and max(attribute(node, "dilations", [1])) > 1


def double_nan(node, inputs, opset):
    return inputs[0].dtype == np.float64 and has_nan(inputs[0])


def flattened_double(node, inputs, opset):
    return opset < 13 and inputs[0].dtype == np.float64


def no_inner(node, inputs, opset):
    return inputs[0].shape[0 if attribute(node, "transA", 0) else 1] == 0


def always(node, inputs, opset):
    return True


def far_below(node, inputs, opset):
    return bool((inputs[0] < -15).any())


def sigmoid(node, inputs):
    with np.errstate(all="ignore"):
        return [(1 / (1 + np.exp(-inputs[0].astype(np.float64)))).astype(inputs[0].dtype)]


erf = np.vectorize(math.erf, otypes=[np.float64])


def double_erf(node, inputs):
    return [erf(inputs[0])]


def gelu(node, inputs):
    x = inputs[0]
    if attribute(node, "approximate", "none") == "tanh":
        return [x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + .044715 * x**3)))]
    return [x / 2 * (1 + erf(x / math.sqrt(2)))]


def shrink(node, inputs):
    x, lambd, bias = inputs[0], attribute(node, "lambd", .5), attribute(node, "bias", 0.)
    return [np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0.))]


def squares_overflow(node, inputs, opset):
    with np.errstate(all="ignore"):
        return not_finite(np.sum(np.square(inputs[0])))


def partial_products_overflow(node, inputs, opset):
    """Whether the factors of a finite product are so large, or so small, that some order of them leaves the type's
    range."""
    x = inputs[0]
    if x.dtype.kind != "f":
        return False
    axes = inputs[1] if len(inputs) > 1 and inputs[1] is not None else attribute(node, "axes") or []
    if not len(axes) and attribute(node, "noop_with_empty_axes", 0):
        return False
    axes = tuple(int(a) for a in axes) or None
    with np.errstate(all="ignore"):
        exponents = np.log2(np.abs(x.astype(np.float64)))
        large, small = np.maximum(exponents, 0).sum(axes), np.maximum(-exponents, 0).sum(axes)
        limit = np.finfo(x.dtype).maxexp - 2
        return bool(((np.maximum(large, small) > limit) & (np.abs(large - small) < limit)).any())


def hard_swish(node, inputs):
    return [inputs[0] * np.clip(inputs[0] / 6 + .5, 0, 1)]


def scans_nothing(node, inputs):
    """Slices without elements, of a body that keeps their shape, as all do that are drawn."""
    start, x = inputs
    axis, at = (attribute(node, f"scan_{side}_axes", [0])[0] for side in ("input", "output"))
    slices = list(x.shape)
    slices.insert(at, slices.pop(axis))
    return [start, np.zeros(slices, x.dtype)]


def eye_like(node, inputs):
    to = attribute(node, "dtype")
    dtype = inputs[0].dtype if to is None else helper.tensor_dtype_to_np_dtype(to)
    return [np.eye(*inputs[0].shape, attribute(node, "k", 0), dtype=dtype)]


def one_hot(node, inputs):
    indices, depth, (off, on) = inputs[0].astype(np.int64), int(inputs[1].reshape(-1)[0]), inputs[2]
    hot = np.where(indices < 0, indices + depth, indices)[..., None] == np.arange(depth)
    return [np.moveaxis(np.where(hot, on, off), -1, attribute(node, "axis", -1))]


def lrn(node, inputs):
    x, size = inputs[0], attribute(node, "size")
    squares = x.astype(np.float64) ** 2
    sums = np.zeros_like(squares)
    for c in range(x.shape[1]):
        sums[:, c] = squares[:, max(0, c - (size - 1) // 2):c + size // 2 + 1].sum(1)
    base = attribute(node, "bias", 1.) + attribute(node, "alpha", 1e-4) / size * sums
    return [(x / base ** attribute(node, "beta", .75)).astype(x.dtype)]


REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
              "ReduceProd", "ReduceSum", "ReduceSumSquare", "ArgMax", "ArgMin")
FAULTS = (
    Fault(("ReduceMax", "ReduceMin", "ReduceLogSumExp"), any_nan, REFERENCE,
          "whether NaN is the result depends on the length of the vectors"),
    Fault(REDUCTIONS, empty, REFERENCE, "the shape of what is reduced of an empty tensor keeps axes, or ones"),
    Fault(("LSTM", "GRU", "RNN"), any_not_finite, SKIP,
          "its activations clamp their argument, which makes numbers of NaN"),
    Fault(("MaxPool", "GlobalMaxPool"), nan_or_least, SKIP,
          "begins with the lowest finite number and compares NaN away"),
    Fault(("Clip", ), open_clip, SKIP, "ONNX's text bounds infinities by the largest finite numbers where no bound is "
          "given, its reference leaves them as they are"),
    Fault(("HardSwish", ), is_double, hard_swish, "takes 1/6 rounded to float32"),
    Fault(("Shrink", ), is_double, shrink, "is computed in float32"),
    Fault(("InstanceNormalization", ), empty, REFERENCE, "it divides by the number of elements and dies, signal 11"),
    Fault(("Scan", ), moves_empty_slices, scans_nothing, "it divides by the elements of what it transposes: signal 8"),
    Fault(("Loop", ), no_trips, FIRST_TRIP,
          "a body that never runs: its open sizes are 0 in what it stacks, though the inputs tell them; ONNX is silent"),
    Fault(("BatchNormalization", "GroupNormalization", "InstanceNormalization", "LayerNormalization",
           "MeanVarianceNormalization"), squares_overflow, SKIP,
          "the variance is the mean of squares less the square of the mean: inf - inf"),
    Fault(("LRN", ), always, lrn, "adds to and takes from one sum as the window moves: large numbers leave a rest; "
          "onnx.reference sums another window at the last channels"),
    Fault(("DFT", "STFT"), any_not_finite, SKIP, "which infinities meet a zero depends on the algorithm"),
    Fault(("MatMulInteger", "QGemm", "QLinearMatMul", "MatMulIntegerToFloat"), sums_nothing, SKIP,
          "a product over no elements is left unwritten"),
    Fault(("FusedMatMul", ), empty, SKIP, "a product over no elements is left unwritten"),
    Fault(("Resize", "GridSample"), blends, SKIP, "whether an infinity of weight 0 counts depends on the algorithm"),
    Fault(("ReduceProd", ), partial_products_overflow, SKIP,
          "the first factors overflow in its order, and the product does not"),
    Fault(("Sigmoid", ), far_below, sigmoid, "is 0 where it is less than 1e-7 or so"),
    Fault(("Erf", ), is_double, double_erf, "is computed in float32"),
    Fault(("Gelu", ), is_double, gelu, "takes Erf, which it lacks for float64, and constants rounded to float32"),
    Fault(("Resize", ), rounded_places, REFERENCE, "0.5 / (1 / 7) - 0.5 is less than 3 in float32: another element"),
    Fault(("Resize", ), other_rounded_places, nearest, "as above"),
    Fault(("Resize", ), fraction_of_another_size, SKIP, "as below, and onnx.reference has another size"),
    Fault(("Resize", ), wide_of_one, REFERENCE,
          "cubic or with antialias: a size of 1 is not at 0, as pytorch_half_pixel has it"),
    Fault(("Resize", ), fraction_of_size, REFERENCE,
          "align_corners and pytorch_half_pixel by scales: the last corner is that of the whole size, and what is cut to a "
          "size of 1 has that size; in onnx.reference and ONNX's tests the size is a fraction"),
    Fault(("Conv", ), dilated_double, SKIP,
          "it has no kernel, and onnx.reference multiplies by zeros between the elements of a dilated kernel"),
    Fault(("Softmax", "LogSoftmax"), double_nan, SKIP, "numbers beside a NaN: the largest of a row leaves it out"),
    Fault(("AveragePool", ), double_nan, SKIP, "it has no kernel, and onnx.reference leaves NaN out"),
    Fault(("MaxPool", ), pads_only, SKIP, "a window that sees padding alone gives the lowest finite number"),
    Fault(("Hardmax", ), flattened_double, SKIP, "it has no kernel, and onnx.reference none that flattens"),
    Fault(("Gemm", ), no_inner, REFERENCE, "a product over no elements leaves C unscaled by beta"),
    Fault(("Attention", ), any_not_finite, SKIP, "whether a row whose scores are all -inf is NaN or 0 is open"),
    Fault(("OneHot", ), always, one_hot, "it lacks most types, and onnx.reference fails of a depth with one dimension"),
    Fault(("EyeLike", ), always, eye_like, "it lacks most types, and onnx.reference fails without dtype"),
    Fault(("MeanVarianceNormalization", ), always, REFERENCE, "leaves out what ONNX adds to the deviation: 0/0"),
)

# What ONNX Runtime looks up in a table or rounds at another place: one step of the result's type more or less is right.
ONE_STEP = ("QLinearSoftmax", )

# What it approximates: so many times as far off as what rounds once. Polynomials (1.2e-4 of tanh(2.9e-4)), and angles
# in float32 (2.5e-7 where a transform of ones is 0).
COARSE = {"RNN": 2.**6, "LSTM": 2.**6, "GRU": 2.**6, "DFT": 2.**4, "STFT": 2.**4}

# What it is off by at least, however small the result: tanh(1e-7) is 1.2e-7, as 1 was added on the way.
LEAST = {"RNN": 2.**-22, "LSTM": 2.**-22, "GRU": 2.**-22}

# What cancels within their bodies is not looked at node by node: numbers of the size of 1 are taken for it.
WITH_BODIES = ("If", "Loop", "Scan")


def held(node):
    """Inputs that are not moved: a whole exponent, without which powers of negative numbers are NaN; the scales of a
    Resize, of which ONNX Runtime wants some to be 1."""
    return set({"Pow": node.input[1:2], "Resize": node.input[1:]}.get(node.op_type, ()))


def of(node, inputs, opset):
    """The fault that this node shows, or None."""
    for fault in FAULTS:
        if node.op_type in fault.ops and fault.when(node, inputs, opset):
            return fault
    return None


def beyond(array, dtype):
    """Whether a cast of `array` to the integers `dtype` leaves their range."""
    if array.dtype.kind != "f" or dtype.kind not in "iu":
        return False
    limits = np.iinfo(dtype)
    wide = array.astype(np.float64)
    return not np.isfinite(wide).all() or bool((np.trunc(wide) < limits.min).any() or
                                               (np.trunc(wide) > limits.max).any())


def overflows(array):
    """Whether sums, squares or products of these integers may leave their type."""
    wide = np.abs(array.astype(np.float64))
    limit = float(np.iinfo(array.dtype).max)
    return bool((wide**2).sum() > limit or np.prod(np.maximum(wide, 1)) > limit)


def powers_overflow(base, exponent):
    """Whether powers of integers may leave their type: double to integer in ONNX Runtime, products that wrap
    elsewhere."""
    if base.dtype.kind not in "iu" or not base.size or not exponent.size:
        return False
    with np.errstate(all="ignore"):
        powers = np.abs(base.astype(np.float64)) ** exponent.astype(np.float64)
    return not (powers <= float(np.iinfo(base.dtype).max)).all()


def ties(node, array):
    """Whether a Hardmax finds two largest elements that a last place tells apart, if anything."""
    if array.dtype.kind != "f" or array.size == 0:
        return False
    axis = attribute(node, "axis", -1)
    first, second = (array.shape[:axis], array.shape[axis:]) if axis else ((), array.shape)
    for rows in (np.moveaxis(array, axis, -1), array.reshape(int(np.prod(first)), int(np.prod(second)))):
        top = np.sort(rows.astype(np.float64), axis=-1)[..., -2:]
        if top.shape[-1] == 2 and (top[..., 1] - top[..., 0] <= 1e-5 * np.abs(top[..., 1])).any():
            return True
    return False


def undefined(node, inputs, opset):
    """Whether what this node gives is not judged: ONNX leaves it open, or ONNX Runtime cannot say."""
    fault = of(node, inputs, opset)
    if fault and fault.by is SKIP:
        return True
    if node.op_type == "Cast":
        return beyond(inputs[0], helper.tensor_dtype_to_np_dtype(attribute(node, "to")))
    if node.op_type == "CastLike":
        return beyond(inputs[0], inputs[1].dtype)
    if node.op_type == "Pow" and inputs[1].size and (inputs[1] == .5).any():
        # -inf to the power of 0.5: inf in C, and NaN, a root, in PyTorch, which Berth follows
        return not_finite(inputs[0])
    if node.op_type == "Pow" and powers_overflow(*inputs):
        return True
    if node.op_type in REDUCTIONS and inputs[0].dtype.kind in "iu":
        return overflows(inputs[0])
    if node.op_type == "Hardmax" and ties(node, inputs[0]):
        return True
    if node.op_type in ("ArgMax", "ArgMin", "TopK", "Hardmax"):
        return has_nan(inputs[0])
    if node.op_type in ("QuantizeLinear", "DynamicQuantizeLinear"):
        return not_finite(inputs[0])
    return False
