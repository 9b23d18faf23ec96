#include "python/plugins.h"

#include <deque>
#include <memory>
#include <string>

#include "python/casters.h"
#include "python/errors.h"
#include "python/own_operators.h"

namespace nb = nanobind;

namespace berth::python {
namespace {

/// A plug-in, which stays until the process ends.
struct PluginObject {
  const Plugin* plugin = nullptr;
};

/// The parts of one berth.Plugin.
struct Parts {
  std::string name;
  std::deque<OwnOperator> operators;
  std::vector<const berth_operator*> tables;
};

// Never destroyed: Berth refers to plug-ins until the process ends.
std::vector<std::unique_ptr<Parts>>& kept() {
  static auto* const all = new std::vector<std::unique_ptr<Parts>>;
  return *all;
}

PluginObject make_plugin(const std::string& name, nb::list operators) {
  auto parts = std::make_unique<Parts>();
  parts->name = name;
  for (const nb::handle description : operators) parts->operators.emplace_back(description);
  for (const OwnOperator& op : parts->operators) parts->tables.push_back(op.table());
  const auto fill = [&](const berth_host*, berth_plugin* plugin) -> int32_t {
    plugin->name = parts->name.c_str();
    plugin->operators = parts->tables.data();
    plugin->num_operators = parts->tables.size();
    return BERTH_OK;
  };
  const Plugin* plugin = value_or_raise(Plugin::make(fill, name));
  kept().push_back(std::move(parts));
  return {plugin};
}

// Functions refer to modules, which the interpreter takes apart when it ends.
void forget_plugins() {
  for (const std::unique_ptr<Parts>& parts : kept()) {
    for (OwnOperator& op : parts->operators) op.forget();
  }
}

}  // namespace

std::vector<const Plugin*> plugins_of(nb::handle list) {
  std::vector<const Plugin*> plugins;
  for (const nb::handle one : nb::cast<nb::list>(list)) {
    PluginObject made;
    const bool is_made = nb::try_cast(one, made);
    plugins.push_back(is_made ? made.plugin : value_or_raise(Plugin::open(nb::cast<std::string>(one))));
  }
  return plugins;
}

void add_plugins(nb::module_& module) {
  nb::class_<PluginObject>(module, "Plugin");
  module.def("make_plugin", &make_plugin);
  add_own_operators(module);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&forget_plugins));
}

}  // namespace berth::python
