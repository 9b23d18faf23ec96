"""Where ONNX Runtime's CPU kernels are known to differ from ONNX, and what ONNX does not define."""
import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Fault:
    """`when(node, inputs, opset)`: whether a node shows it. `by(node, inputs)`: its results as ONNX has them, a list;
    without, onnx.reference is asked. `reason`: what ONNX says and what ONNX Runtime does."""
    ops: tuple
    when: object
    reason: str
    by: object = None


def attribute(node, name, default=None):
    for a in node.attribute:
        if a.name == name:
            return {1: a.f, 2: a.i, 3: a.s.decode(), 6: list(a.floats), 7: list(a.ints)}.get(a.type, default)
    return default


def has_nan(array):
    return array is not None and array.dtype.kind == "f" and bool(np.isnan(array).any())


def not_finite(array):
    return array is not None and array.dtype.kind == "f" and not np.isfinite(array).all()


FAULTS = ()


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
    return not np.isfinite(wide).all() or bool((np.trunc(wide) < limits.min).any() or (np.trunc(wide) > limits.max).any())


def undefined(node, inputs):
    """Whether ONNX leaves open what this node gives."""
    from onnx import helper
    if node.op_type == "Cast":
        return beyond(inputs[0], helper.tensor_dtype_to_np_dtype(attribute(node, "to")))
    if node.op_type == "CastLike":
        return beyond(inputs[0], inputs[1].dtype)
    if node.op_type in ("ArgMax", "ArgMin", "TopK", "Hardmax"):
        return has_nan(inputs[0])
    if node.op_type in ("QuantizeLinear", "DynamicQuantizeLinear"):
        return not_finite(inputs[0])
    return False
