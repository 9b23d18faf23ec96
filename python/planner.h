// The memory planner alone for Python: plan() of the module _berth.
#pragma once

#include <nanobind/nanobind.h>

namespace berth::python {

void add_planner(nanobind::module_& module);

}  // namespace berth::python
