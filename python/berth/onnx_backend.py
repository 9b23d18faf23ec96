"""Berth as a backend of the onnx package, for onnx.backend.test and for code that is written against that interface.

    import berth.onnx_backend
    import onnx.backend.test

    tests = onnx.backend.test.BackendTest(berth.onnx_backend, __name__)
    globals().update(tests.enable_report().test_cases)

A model that Berth does not support is skipped by these tests, with the sentence that says why. Needs the onnx package.
"""

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.backend.base import Backend, BackendRep
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt

import berth

# Which inputs are compiled as constants where Berth says that it must know one: none, then sizes and axes, then every
# list, then all.
_CONSTANTS = (
    lambda i, array: False,
    lambda i, array: i > 0 and array.ndim <= (1 if array.dtype.kind in "iub" else 0),
    lambda i, array: i > 0 and array.ndim <= 1,
    lambda i, array: True,
)


class Prepared(BackendRep):
    """A model; compiled when it is prepared if its inputs have fixed sizes, and otherwise for the sizes of each run.

    Where Berth must know an input when it compiles, such as the shape of a Reshape, the model is compiled for the value
    that a run gives. Sequences and optional values are those of the run as well.
    """

    def __init__(self, model, target):
        self._model = model
        self._target = target
        constants = {tensor.name for tensor in model.graph.initializer}
        self._inputs = [value for value in model.graph.input if value.name not in constants]
        self._methods = {}
        if all(map(_has_fixed_sizes, self._inputs)):
            self._compiled(model, {}, waits=bool(self._inputs))

    def run(self, inputs, **kwargs):
        """The outputs for these inputs, a list or a dict of arrays, as a tuple of arrays."""
        names = [value.name for value in self._inputs]
        named = inputs if isinstance(inputs, dict) else dict(zip(names, inputs))
        for which in _CONSTANTS:
            method = self._method_for(named, which)
            if method is not None:
                break
        ports = {port["name"] for port in method.inputs}
        flat = {port: array for name, value in named.items() for port, array in _flat(name, value) if port in ports}
        results = dict(zip((port["name"] for port in method.outputs), method(**flat)))
        return tuple(_gathered(results, value) for value in self._model.graph.output)

    def _method_for(self, named, which):
        """A method for these inputs, some of them constants; None where Berth must know more of them."""
        constants = {}
        shapes = {}
        for i, value in enumerate(self._inputs):
            given = named.get(value.name)
            if value.type.HasField("tensor_type") and given is not None and which(i, np.asarray(given)):
                constants[value.name] = np.asarray(given)
            elif value.name in named and not _has_fixed_sizes(value):
                shapes.update(_shapes(value, given))
        key = (*sorted(shapes.items()), *((name, array.tobytes()) for name, array in constants.items()))
        if key not in self._methods:
            waits = which is not _CONSTANTS[-1]
            self._methods[key] = self._compiled(_with_constants(self._model, constants), shapes, waits)
        return self._methods[key]

    def _compiled(self, model, shapes, waits):
        """None if an input must be known and the caller `waits` for that."""
        try:
            return berth.compile(model, target=self._target, input_shapes=shapes).method()
        except berth.Error as error:
            if waits and "must be" in str(error):
                return None
            if not isinstance(error, berth.NotSupportedError):
                raise
            raise BackendIsNotSupposedToImplementIt(str(error)) from error


class BerthBackend(Backend):
    """The functions of this module as a class."""

    @classmethod
    def prepare(cls, model, device="CPU", target="cpu", **kwargs):
        """`model`: an onnx.ModelProto. `target` as berth.compile's."""
        if not cls.supports_device(device):
            raise ValueError(f"Berth's backend of onnx runs on the CPU, not on {device}")
        return Prepared(model, target)

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, opset_version=None, **kwargs):
        """One node on arrays; its outputs' types are what Berth infers."""
        given = [name for name in node.input if name]
        types = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.asarray(value).dtype), np.shape(value))
            for name, value in zip(given, inputs)
        ]
        results = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in node.output if name]
        graph = helper.make_graph([node], "node", types, results)
        opsets = [helper.make_opsetid(node.domain, opset_version)] if opset_version else None
        return cls.run_model(helper.make_model(graph, opset_imports=opsets), inputs, device, **kwargs)

    @classmethod
    def supports_device(cls, device):
        return device.split(":")[0].upper() == "CPU"

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        """Whether Berth compiles the model."""
        try:
            return isinstance(model, ModelProto) and cls.prepare(model, device, **kwargs) is not None
        except (BackendIsNotSupposedToImplementIt, berth.Error):
            return False


def _flat(name, value):
    """An input as the arrays that a method takes for it: the elements of a sequence are name[0] and so on."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [(f"{name}[{i}]", np.asarray(element)) for i, element in enumerate(value)]
    return [(name, np.asarray(value))]


def _shapes(value, given):
    """What `input_shapes` says of an input whose sizes, or whose elements, only the run knows."""
    flat = _flat(value.name, given)
    if not flat and not value.type.HasField("tensor_type"):
        return {value.name: "none"}
    return {name: "x".join(map(str, array.shape)) or "scalar" for name, array in flat}


def _with_constants(model, constants):
    if not constants:
        return model
    clone = ModelProto()
    clone.CopyFrom(model)
    for value in list(clone.graph.input):
        if value.name in constants:
            constant = numpy_helper.from_array(constants[value.name], value.name)
            constant.data_type = value.type.tensor_type.elem_type
            clone.graph.initializer.append(constant)
            clone.graph.input.remove(value)
    return clone


def _gathered(results, value):
    """An output of the model out of a method's, whose names are the keys: a sequence as a list."""
    kind = value.type
    if kind.HasField("optional_type"):
        kind = kind.optional_type.elem_type
    if kind.HasField("sequence_type"):
        of = kind.sequence_type.elem_type
        prefix = value.name + "["
        return [_declared(array, of) for name, array in results.items() if name.startswith(prefix)]
    return _declared(results[value.name], kind)


def _declared(result, kind):
    """A result as an array of the element type that the model declares."""
    array = result.numpy() if isinstance(result, berth.Tensor) else np.asarray(result)
    narrow = kind.tensor_type.elem_type in (TensorProto.INT4, TensorProto.UINT4, TensorProto.INT2, TensorProto.UINT2)
    return array.astype(helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type)) if narrow else array


def _has_fixed_sizes(value):
    if not value.type.HasField("tensor_type"):
        return False
    if not value.type.tensor_type.HasField("shape"):
        return False
    return all(dim.HasField("dim_value") and dim.dim_value >= 0 for dim in value.type.tensor_type.shape.dim)


prepare = BerthBackend.prepare
run_model = BerthBackend.run_model
run_node = BerthBackend.run_node
supports_device = BerthBackend.supports_device
is_compatible = BerthBackend.is_compatible
