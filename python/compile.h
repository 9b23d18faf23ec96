// The compiler for Python: compile_models(), and the tool's subcommands as functions.
#pragma once

#include <nanobind/nanobind.h>

namespace berth::python {

void add_compile(nanobind::module_& module);

}  // namespace berth::python
