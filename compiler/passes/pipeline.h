// The passes in the order in which they run, and the runner that alone times, verifies and dumps.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/span.h"
#include "compiler/passes/pass.h"

namespace berth::passes {

struct Pass {
  std::string_view name;
  std::function<Expected<Changed>(ir::Module& module, const Options& options)> run;
  /// Whether its failures are about what the user asked for: they are then shown without the name of the pass.
  bool answers_user = false;
};

/// Everything between an importer and the planner.
Span<const Pass> pipeline();

struct PassTime {
  std::string_view name;
  double ms = 0;
  Changed changed = Changed::kNo;
};

/// Runs `passes` in order. Failures, but those that answer the user, name the pass and, when dumps are on, a file with
/// the IR before it and the command that repeats it. The module is worth nothing after a failure. `times` may be null.
Status run(Span<const Pass> passes, ir::Module& module, const Options& options, std::vector<PassTime>* times = nullptr);

}  // namespace berth::passes
