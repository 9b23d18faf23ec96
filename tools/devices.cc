// berth devices: what this build and this machine have.
#include <fmt/format.h>

#include <memory>
#include <thread>

#include "kernels/portable/portable.h"
#include "tools/tool.h"

namespace berth::tool {

void add_devices(CLI::App& app, Session&) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("devices", "List the devices and targets of this build and this machine");
  command->add_flag("--json", *json, "one JSON object instead of a list");
  command->callback([json] {
    const unsigned threads = std::thread::hardware_concurrency();
    const size_t kernels = portable::kernels().size();
    if (*json) {
      const Json device = {{"name", "cpu"}, {"threads", threads}, {"targets", {"portable"}}, {"kernels", kernels}};
      fmt::print("{}\n", Json{{"devices", {device}}}.dump());
      return;
    }
    fmt::print("cpu   {} hardware threads; target portable, {} kernels\n", threads, kernels);
  });
}

}  // namespace berth::tool
