// berth devices: lists the devices and targets of this build, this machine and plug-ins, and operators of plug-ins.
#include <fmt/format.h>

#include <memory>
#include <thread>

#include "backends/cpu/cpu_backend.h"
#include "kernels/portable/portable.h"
#include "tools/machine.h"
#include "tools/plugins.h"
#include "tools/tool.h"

namespace berth::tool {

void add_devices(CLI::App& app, Session& session) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "devices", "List the devices and targets of this build, this machine and plug-ins, and operators of plug-ins");
  command->add_flag("--json", *json, "one JSON object instead of a list");
  auto plugins = std::make_shared<std::vector<std::string>>();
  add_plugins(*command, *plugins);
  command->callback([json, plugins, &session] {
    Machine machine;
    auto opened = open_plugins(*plugins);
    const Status added = opened.ok() ? machine.add_plugins(*opened) : opened.error();
    if (!added.ok()) {
      session.exit_code = report(added.error());
      return;
    }
    const unsigned threads = std::thread::hardware_concurrency();
    const size_t kernels = portable::kernels().size();
    const std::string onednn = describe_onednn();
    const std::string sets = compiled_instruction_sets();
    Json list = {{{"name", "cpu"},
                  {"count", 1},
                  {"threads", threads},
                  {"targets", {"portable", "cpu"}},
                  {"kernels", kernels},
                  {"onednn", onednn},
                  {"instruction_sets", sets}}};
    for (const DeviceKind& kind : machine.kinds()) {
      const std::string name = to_string(kind.type);
      list.push_back({{"name", name}, {"count", kind.count}, {"note", kind.note}, {"targets", {name + ":N"}}});
    }
    Json operators = Json::array();
    for (const Plugin* plugin : *opened) {
      for (const berth_operator& op : plugin->operators()) operators.push_back(op.name);
    }
    if (*json) {
      fmt::print("{}\n", Json{{"devices", list}, {"operators", operators}}.text());
      return;
    }
    fmt::print("cpu   {}; targets portable ({} kernels) and cpu; {}{}\n", counted(threads, "hardware thread"), kernels,
               onednn, sets == "all" ? "" : "; built for machines with " + sets + " alone, slow elsewhere");
    for (const DeviceKind& kind : machine.kinds()) {
      fmt::print("{:<5} {}: {}; target {}:N\n", to_string(kind.type), counted(kind.count, "device"), kind.note,
                 to_string(kind.type));
    }
    for (const Json& name : operators) fmt::print("operator {} of a plug-in\n", name.get<std::string>());
  });
}

}  // namespace berth::tool
