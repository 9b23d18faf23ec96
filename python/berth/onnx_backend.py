"""Berth as a backend of the onnx package, for onnx.backend.test and for code that is written against that interface.

    import berth.onnx_backend
    import onnx.backend.test

    tests = onnx.backend.test.BackendTest(berth.onnx_backend, __name__)
    globals().update(tests.enable_report().test_cases)

A model that Berth does not support is skipped by these tests, with the sentence that says why. Needs the onnx package.
"""

import numpy as np
from onnx import ModelProto, TensorProto, helper
from onnx.backend.base import Backend, BackendRep
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt

import berth


class Prepared(BackendRep):
    """A model; compiled when it is prepared if its inputs have fixed sizes, and otherwise for the sizes of each run."""

    def __init__(self, model, target):
        self._model = model
        self._target = target
        constants = {tensor.name for tensor in model.graph.initializer}
        self._inputs = [value for value in model.graph.input if value.name not in constants]
        self._methods = {}
        if all(map(_has_fixed_sizes, self._inputs)):
            self._method_for({})

    def run(self, inputs, **kwargs):
        """The outputs for these inputs, a list or a dict of arrays, as a tuple of arrays."""
        names = [value.name for value in self._inputs]
        named = inputs if isinstance(inputs, dict) else dict(zip(names, inputs))
        for name, value in named.items():
            if value is None or isinstance(value, list):
                raise BackendIsNotSupposedToImplementIt(f"input {name} is a sequence or optional")
        shapes = {
            value.name: np.shape(named[value.name])
            for value in self._inputs
            if value.name in named and not _has_fixed_sizes(value)
        }
        method = self._method_for(shapes)
        types = {port["name"]: port["dtype"] for port in method.inputs}
        results = method(**{name: _widened(value, types[name]) for name, value in named.items() if name in types})
        return tuple(_declared(result, value) for result, value in zip(results, self._model.graph.output))

    def _method_for(self, shapes):
        key = tuple(sorted(shapes.items()))
        if key not in self._methods:
            try:
                program = berth.compile(self._model, target=self._target, input_shapes=shapes)
                self._methods[key] = program.method()
            except berth.NotSupportedError as error:
                raise BackendIsNotSupposedToImplementIt(str(error)) from error
        return self._methods[key]


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


def _widened(value, dtype):
    """Numbers of 4 and 2 bits as the bytes that a method takes for them."""
    narrow = getattr(getattr(value, "dtype", None), "name", "") in ("int4", "uint4", "int2", "uint2")
    return value.astype({"i8": np.int8, "u8": np.uint8}[dtype]) if narrow and dtype in ("i8", "u8") else value


def _declared(result, value):
    """A result as an array of the element type that the model declares."""
    array = result.numpy() if isinstance(result, berth.Tensor) else np.asarray(result)
    kind = value.type.tensor_type.elem_type
    if kind in (TensorProto.INT4, TensorProto.UINT4):
        return array.astype(helper.tensor_dtype_to_np_dtype(kind))
    return array


def _has_fixed_sizes(value):
    if not value.type.HasField("tensor_type"):
        return True
    if not value.type.tensor_type.HasField("shape"):
        return False
    return all(dim.HasField("dim_value") and dim.dim_value >= 0 for dim in value.type.tensor_type.shape.dim)


prepare = BerthBackend.prepare
run_model = BerthBackend.run_model
run_node = BerthBackend.run_node
supports_device = BerthBackend.supports_device
is_compatible = BerthBackend.is_compatible
