// PluginKernels: the kernels of plug-ins' operators, for programs (plugin/load_plugin.h).
//
//     BERTH_ASSIGN_OR_RETURN(PluginKernels own, PluginKernels::make(plugins));
//     const KernelTable tables[] = {own.table(), portable::kernels()};
//     Result<Program> program = Program::load(loader, tables);
//
// Errors of a kernel are codes with its own sentence; an exception that leaves one is the error Internal.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "plugin/load_plugin.h"
#include "runtime/kernel.h"

namespace berth {

class PluginKernels {
 public:
  PluginKernels() = default;
  /// The kernels of `plugins`, which stay loaded until the process ends. InvalidArgument, with the plug-in and the
  /// operator as place, for a schema that is not one (runtime/signature.h), and for two kernels of one name.
  static Expected<PluginKernels> make(Span<const Plugin* const> plugins);

  PluginKernels(PluginKernels&&) = default;
  PluginKernels& operator=(PluginKernels&&) = default;

  /// Owned by this object, which must outlive the programs that use them.
  KernelTable table() const { return {entries_.data(), entries_.size()}; }

 private:
  struct Kernel {
    const berth_operator* op;
    std::string name;     // "my::gain.out"
    size_t first_output;  // among the arguments of a call
  };
  static Error call(KernelContext& context, Span<EValue* const> args);

  std::deque<Kernel> kernels_;
  std::vector<KernelEntry> entries_;
};

}  // namespace berth
