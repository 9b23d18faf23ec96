#include "tools/memory_needed.h"

#include <cstddef>
#include <vector>

#include "kernels/portable/portable.h"
#include "runtime/host/file_loader.h"
#include "runtime/host/plugin_kernels.h"
#include "runtime/program.h"
#include "tools/machine.h"

namespace berth::tool {

void add_memory_needed(const std::string& path, Span<const Plugin* const> plugins, Json& methods) {
  auto loader = MappedFileLoader::open(path.c_str());
  if (!loader.ok()) return;
  Machine machine;
  const auto own = PluginKernels::make(plugins);
  if (!own.ok() || !machine.add_plugins(plugins).ok()) return;
  LoadOptions options;
  options.registry = &machine.registry();
  options.backends = machine.backends();
  const KernelTable tables[] = {own->table(), portable::kernels()};
  const auto program = Program::load(*loader, tables, options);
  if (!program.ok()) return;
  for (Json& method : methods) {
    const std::string name = method["name"].get<std::string>();
    const auto least = program->memory_needed(name.c_str());
    if (!least.ok()) continue;
    std::vector<std::max_align_t> scratch(least->method_bytes / sizeof(std::max_align_t) + 1);
    const auto needed =
        program->memory_needed(name.c_str(), {reinterpret_cast<uint8_t*>(scratch.data()), least->method_bytes});
    if (!needed.ok() || needed->temp_bytes == MemoryNeeded::kUnknown) continue;
    method["method_bytes"] = needed->method_bytes;
    method["temp_bytes"] = needed->temp_bytes;
  }
}

}  // namespace berth::tool
