// Plug-ins in Python: paths of shared libraries, and berth.Plugin, whose parts are Python's.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "plugin/load_plugin.h"

namespace berth::python {

/// Of a list of paths and of _berth.Plugin, in order. Libraries are loaded, and stay so.
std::vector<const Plugin*> plugins_of(nanobind::handle list);

/// The class _berth.Plugin, and what makes it.
void add_plugins(nanobind::module_& module);

}  // namespace berth::python
