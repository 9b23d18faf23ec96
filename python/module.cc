// The extension module berth._berth: what the Python package in berth/ is made on.
#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "base/version.h"
#include "python/casters.h"
#include "python/compile.h"
#include "python/errors.h"
#include "python/method.h"
#include "python/new_arrays.h"
#include "python/planner.h"
#include "python/plugins.h"
#include "python/program.h"
#include "tools/command_line.h"

namespace nb = nanobind;

namespace berth::python {
namespace {

// The command-line tool, as the command `berth` of the package.
int run_tool(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const nb::gil_scoped_release unlocked;
  return tool::run_tool(static_cast<int>(arguments.size()), argv.data());
}

}  // namespace
}  // namespace berth::python

NB_MODULE(_berth, module) {
  using namespace berth::python;
  module.attr("version") = BERTH_VERSION;
  module.def("tool", &run_tool);
  add_errors(module);
  add_arrays(module);
  add_program(module);
  add_method(module);
  add_compile(module);
  add_planner(module);
  add_plugins(module);
}
