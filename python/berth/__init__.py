"""Berth compiles neural networks ahead of time to programs whose memory is planned to the byte, and runs them.

    program = berth.compile("model.onnx", target="cpu", input_shapes={"x": "1x3x224x224"})
    program.save("model.pte")
    method = berth.load("model.pte").method("forward", threads=2)
    y, = method(x)

docs/python.md explains all of it. Failures are exceptions of berth.Error.
"""

from . import _berth
from ._berth import Arenas, Tensor
from ._compile import compile, inspect, plan, quantize, replan, report, verify
from ._errors import (
    AccessError,
    Error,
    FailedError,
    InvalidArgumentError,
    InvalidTypeError,
    MissingFileError,
    NotFoundError,
    NotSupportedError,
    OutOfMemoryError,
)
from ._plugin import Operator, Plugin, Size, Value
from ._program import Method, Program, load

__version__ = _berth.version

__all__ = [
    "AccessError",
    "Arenas",
    "Error",
    "FailedError",
    "InvalidArgumentError",
    "InvalidTypeError",
    "Method",
    "MissingFileError",
    "NotFoundError",
    "NotSupportedError",
    "Operator",
    "OutOfMemoryError",
    "Plugin",
    "Program",
    "Size",
    "Tensor",
    "Value",
    "compile",
    "inspect",
    "load",
    "plan",
    "quantize",
    "replan",
    "report",
    "verify",
]
