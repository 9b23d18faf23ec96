"""Operators of one's own, written in Python, and the plug-in that brings them."""

from __future__ import annotations

import os

from . import _berth
from ._errors import InvalidArgumentError
from ._models import path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Optional, Union

    import numpy as np

    # What a shape rule gives for one result.
    Type = Union["Value", tuple[str, Sequence[Union[int, "Size"]]]]


class Size:
    """A size that is only known when the program runs, of a tensor that a shape rule is asked about.

    It can be added to, multiplied with and divided (`//`) by whole numbers and other such sizes. Valid until the rule
    returns.
    """

    def __init__(self, scope, number):
        self._scope = scope
        self._number = number

    @staticmethod
    def by_contents(value: Value, most: Union[int, Size]) -> Size:
        """The size that depends on what the arguments of a call hold, from 0 to `most`; of an operator that is
        sized_by_contents. `value` is any of the call's."""
        return _size(value._scope, value._scope.contents(_number(most)))

    def __add__(self, other):
        return self._with("+", other)

    def __mul__(self, other):
        return self._with("*", other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __sub__(self, other):
        return self._with("+", -other.__index__())

    def __floordiv__(self, other):
        return self._with("/", other)

    def __eq__(self, other):
        return isinstance(other, Size) and self._number == other._number

    def __hash__(self):
        return hash(self._number)

    def _with(self, operation, other):
        return _size(self._scope, self._scope.compute(operation, self._number, _number(other)))

    def __repr__(self):
        return "berth.Size()"


# Sizes below this stand for those that are only known at run time (BERTH_NO_NUMBER of plugin/plugin.h).
_NO_NUMBER = -(1 << 62)


def _size(scope, number):
    return Size(scope, number) if number < _NO_NUMBER else number


def _number(size):
    return size._number if isinstance(size, Size) else size.__index__()


class Value:
    """A tensor, or a single number, that a shape rule is asked about. Valid until the rule returns.

    name         in the model; may be empty
    dtype        its element type: "f32", "i64", "bool"
    shape        a tuple of whole numbers, and of berth.Size where a size is only known when the program runs; None for
                 a number
    is_constant  whether its elements are known
    """

    def __init__(self, scope, index, name, dtype, sizes, is_constant):
        self._scope = scope
        self._index = index
        self.name = name
        self.dtype = dtype
        self.shape = None if sizes is None else tuple(_size(scope, size) for size in sizes)
        self.is_constant = is_constant

    @property
    def constant(self) -> Optional[np.ndarray]:
        """The elements of a constant, as an array of their own; None if they are not known."""
        return self._scope.constant(self._index) if self.is_constant and self.shape is not None else None

    def __repr__(self):
        shape = "" if self.shape is None else "[" + "x".join("?" if isinstance(d, Size) else str(d) for d in self.shape) + "]"
        return f"berth.Value({self.name}: {self.dtype}{shape})"


def _split(text):
    """The parts of a schema between commas that are in no brackets and no quotes."""
    parts, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter in "\"'"
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip() not in ("", "*")]


class Operator:
    """An operator that Berth does not have, as functions of Python's. A berth.Plugin brings it.

    name         "my::gain", or "my::gain.Tensor" of several overloads. A node of ONNX with the domain "my" and the type
                 "gain" is it, and torch.ops.my.gain of an exported program
    schema       "Tensor self, float factor=1 -> Tensor out"; docs/operators.md explains the language
    infer        the shape rule: a function of the call's arguments in the order of the schema, tensors as berth.Value,
                 which gives what the result is: a value whose type it has, or ("f32", (2, 3)); of several results a
                 list of these. It is for compiling; None: the plug-in has the kernel alone
    compute      the kernel: a function of the same arguments, tensors as arrays that are read-only and valid until it
                 returns, which gives an array, of several results a tuple of them; they are copied to where the program
                 has its results. It is for running; None: the plug-in has the shape rule alone
    in_place     names of arguments whose memory the result may have, where they are not read any more. It saves memory;
                 the kernel need not know
    has_effects  True: a call does more than compute its results, so that calls keep their order and none is dropped
    sized_by_contents  True: how long the first result is depends on what the arguments hold. Its first size is then
                 berth.Size.by_contents(x, most), up to a number or a size `most`; that of other results may be the same
    out_overload the overload of the kernel in programs; default: "out", or "Tensor_out" of "my::gain.Tensor"

    Exceptions that leave the functions are the cause of a berth.Error, with the node or the instruction as its place.
    """

    def __init__(
        self,
        name: str,
        schema: str,
        *,
        infer: Optional[Callable[..., Type | list[Type]]] = None,
        compute: Optional[Callable[..., Any]] = None,
        in_place: Sequence[str] = (),
        has_effects: bool = False,
        sized_by_contents: bool = False,
        out_overload: str = "",
    ):
        self.name = str(name)
        self.schema = str(schema)
        self.has_effects = bool(has_effects)
        self.sized_by_contents = bool(sized_by_contents)
        self._rule = infer
        self._infer = None if infer is None else self._results
        self._compute = compute
        self._out_overload = out_overload
        words = [part.split("=")[0].split() for part in _split(self.schema.split("->")[0])]
        names = [word[-1] for word in words if word]
        self._element_types = sum(1 << i for i, word in enumerate(words[:32]) if word[-2:-1] and word[-2].startswith("ScalarType"))
        self._in_place = 0
        for argument in [in_place] if isinstance(in_place, str) else in_place:
            if argument not in names[:32]:
                raise InvalidArgumentError(
                    "InvalidArgument", f"operator {self.name}", f"in_place names {argument}, which is not an argument of its schema"
                )
            self._in_place |= 1 << names.index(argument)

    def _results(self, *arguments):
        given = self._rule(*arguments)
        made = []
        for one in given if isinstance(given, list) else [given]:
            dtype, shape = (one.dtype, one.shape) if isinstance(one, Value) else one
            made.append((dtype, [_number(size) for size in shape]))
        return made

    def __repr__(self):
        return f"berth.Operator({self.name}({self.schema}))"


class Plugin:
    """Parts of one's own that are written in Python: `plugins=[plugin]` of compile(), load(), inspect() and verify().

    operators  any number of berth.Operator
    name       what messages call it

    A plug-in stays until the process ends: make one, and use it for all programs. Its functions run with the
    interpreter's lock, on the threads that compile and run.
    """

    def __init__(self, *operators: Operator, name: str = "of Python"):
        for one in operators:
            if not isinstance(one, Operator):
                raise InvalidArgumentError("InvalidArgument", f"plug-in {name}", f"takes berth.Operator, and was given {one!r}")
        self.name = str(name)
        self.operators = operators
        self._made = _berth.make_plugin(self.name, list(operators))

    def __repr__(self):
        return f"berth.Plugin({', '.join(one.name for one in self.operators)})"


def plugin_list(plugins):
    """One plug-in or several, each a berth.Plugin or the path of a shared library, as the extension takes them."""
    one = isinstance(plugins, (Plugin, str, os.PathLike))
    return [each._made if isinstance(each, Plugin) else path_text(each) for each in ([plugins] if one else plugins)]
