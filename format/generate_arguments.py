#!/usr/bin/env python3
"""Writes the headers that name operators' arguments, from the schemas in format/operators.def.

  format/generate_arguments.py          writes format/arguments.h and kernels/portable/arguments.h
  format/generate_arguments.py --check  fails when a header is not what the table says (ctest: format.arguments)

Run it after a change of a schema, and commit what it writes.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROW = re.compile(r'^OP\((\w+),\s*"([^"]*)",\s*"[^"]*",\s*"([^"]*)",\s*((?:"[^"]*"\s*)+),', re.MULTILINE)


class Parameter:
    """One parameter of a schema, "int? dim=None": its type and name, and whether only the functional form has it."""

    def __init__(self, text):
        self.functional_only = text.startswith("@")
        self.type, self.name = text.lstrip("@").partition("=")[0].split(" ")


class Operator:
    """One row of the table: its identifier, its arguments, and the outputs that a kernel is given behind them."""

    def __init__(self, identifier, name, out_overload, schema):
        self.identifier = identifier
        self.name = f"{name}.{out_overload}" if out_overload else name
        arguments, _, outputs = schema.partition(" -> ")
        self.arguments = [Parameter(text) for text in arguments.split(", ")] if arguments else []
        # "Tensor(self)" is the argument of that name, and has no place of its own.
        outputs = outputs.split(", ")
        self.written = {text[len("Tensor("):-1] for text in outputs if text.startswith("Tensor(")}
        self.outputs = [Parameter(text) for text in outputs if not text.startswith("Tensor(")]
        only = [parameter.functional_only for parameter in self.arguments]
        if only != sorted(only):
            sys.exit(f"{identifier}: an argument of the functional form alone must be the last, so that the others "
                     "have one position in both forms")


def read_operators():
    text = (ROOT / "format/operators.def").read_text()
    rows = [(*names, "".join(re.findall(r'"([^"]*)"', schema))) for *names, schema in ROW.findall(text)]
    if len(rows) != text.count("\nOP("):
        sys.exit("format/operators.def has a row that this script does not understand")
    return [Operator(*row) for row in rows]


def wrap(head, names, tail, width=120):
    """`head name, name, … tail` in lines of at most `width` characters, the names aligned behind the head."""
    lines, line = [], head
    for index, name in enumerate(names):
        piece = name + (tail if index == len(names) - 1 else ",")
        if len(line) + 1 + len(piece) > width:
            lines.append(line)
            line = "   "
        line += " " + piece
    return "\n".join(lines + [line])


POSITIONS = """\
// Operators' arguments by name: the position of each in a call, generated from the schemas in format/operators.def by
// format/generate_arguments.py. Do not edit.
//
//   node.args[arg::convolution_out::groups]
//
// There is a namespace for each row of the table, named like its OpId and its portable kernel, with an enumerator for
// each argument. The positions are those of the functional form and of the out variant: an argument that only the
// functional form has is its last. Outputs are not counted: a node's are in Node::results.
#pragma once

#include <cstddef>

namespace berth::arg {
// clang-format off

%s

// clang-format on
}  // namespace berth::arg
"""


def positions(operators):
    return POSITIONS % "\n".join(
        wrap(f"namespace {operator.identifier} {{ enum : size_t {{", [p.name for p in operator.arguments], " }; }")
        for operator in operators if operator.arguments)


STRUCTURES = """\
// The arguments of every operator's kernel by name and type, generated from the schemas in format/operators.def by
// format/generate_arguments.py. Do not edit.
//
//   Error convolution_out(KernelContext& context, const arguments::convolution_out& args) {
//     if (args.groups < 1 || (args.bias != nullptr && args.bias->rank() != 1)) …
//
// There is a structure for each row of the table, named like its kernel: the arguments of the out variant, then the
// outputs. kOperator is the registered name. runtime/arguments.h says which type stands for which of the schema's, and
// makes a KernelEntry's functions of functions on such structures. A structure is made for one call, from all values of
// that call: REQUIRES: as many as the schema has arguments and outputs; the loader has seen to it.
#pragma once

#include "runtime/arguments.h"

namespace berth::arguments {
// clang-format off

%s
// clang-format on
}  // namespace berth::arguments
"""

TYPES = {
    "Tensor": "const Tensor&",
    "Tensor?": "const Tensor*",
    "Tensor[]": "TensorList",
    "Tensor?[]": "OptionalTensorList",
    "Scalar": "const EValue&",
    "Scalar?": "const EValue&",
    "int": "int64_t",
    "ScalarType": "int64_t",
    "MemoryFormat": "int64_t",
    "float": "double",
    "bool": "bool",
    "str": "StringRef",
    "int[]": "IntList",
    "float[]": "Span<const double>",
    "bool[]": "Span<const bool>",
}


def type_of(schema_type, written):
    if written and schema_type == "Tensor":
        return "Tensor&"
    return TYPES.get(schema_type) or f"std::optional<{TYPES[schema_type.rstrip('?')]}>"


def structure(operator):
    fields = [(p.name, type_of(p.type, p.name in operator.written))
              for p in operator.arguments if not p.functional_only]
    fields += [(p.name, type_of(p.type, True)) for p in operator.outputs]
    lines = [f"struct {operator.identifier} : Arguments {{", "  using Arguments::Arguments;",
             f'  static constexpr const char* kOperator = "{operator.name}";']
    lines += [f"  {type} {name} = next<{type}>();" for name, type in fields]
    return "\n".join(lines + ["};", ""])


def structures(operators):
    return STRUCTURES % "\n".join(structure(operator) for operator in operators)


HEADERS = {"format/arguments.h": positions, "kernels/portable/arguments.h": structures}


def main():
    operators = read_operators()
    stale = False
    for path, generate in HEADERS.items():
        text = generate(operators)
        file = ROOT / path
        if "--check" not in sys.argv:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            print(f"{path} is not what format/operators.def says; run format/generate_arguments.py", file=sys.stderr)
            stale = True
    sys.exit(stale)


if __name__ == "__main__":
    main()
