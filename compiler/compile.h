// The one door of the compiler: a model in, an ExecuTorch program out.
//
//     BERTH_ASSIGN_OR_RETURN(ir::Module module, load_model("model.onnx", {}));
//     BERTH_ASSIGN_OR_RETURN(std::vector<uint8_t> program, compile(std::move(module), {}));
//
// The same module and options give the same bytes on every machine. Calls share nothing: several threads may compile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/failure.h"
#include "compiler/import/options.h"
#include "compiler/ir/module.h"

namespace berth {

/// Reads a model by what it contains: ONNX, an archive of torch.export.save, or IR text (docs/ir.md). NotFound,
/// AccessFailed, or a failure with the place in the model. Weights stay in the mapped file until the program is
/// written: the file must not change meanwhile.
Expected<ir::Module> load_model(const std::string& path, const ImportOptions& options);

enum class Planner : uint8_t {
  kNaive,   // no tensor shares bytes with another, views apart
  kGreedy,  // greedy by size
  kBest,    // the best of all planners that there are
};

struct CompileOptions {
  /// What runs the program. "portable": operators of ExecuTorch's portable library alone.
  std::string target = "portable";
  Planner planner = Planner::kBest;
  /// Whether operators may be merged into others, such as norms into convolutions.
  bool fusion = true;
  /// When not empty: the IR after every pass that changed it, as numbered files in this folder,
  /// which is made.
  std::string dump_ir;
  /// Passes whose decisions are wanted in CompileReport::why; "all" for every pass.
  std::vector<std::string> why;
  /// Verify the IR after every pass. Always on in builds with assertions.
  bool verify_ir = false;
};

struct ArenaReport {
  std::string method;
  int id = 1;  // ExecuTorch's memory id
  Device device;
  int64_t bytes = 0;
  int64_t lower_bound = 0;  // no plan of this schedule is smaller
  bool optimal = false;     // proven: bytes == lower_bound
};

struct CompileReport {
  std::vector<ArenaReport> arenas;
  int64_t instructions = 0;
  int64_t views = 0;           // values that are another name for bytes of one before
  int64_t constant_bytes = 0;  // in the file
  double plan_ms = 0;
  double total_ms = 0;
  std::vector<std::string> why;  // a line a decision
};

/// Compiles `module` to the bytes of a program. `report` may be null. Failures name the node of the user's model.
Expected<std::vector<uint8_t>> compile(ir::Module module, const CompileOptions& options,
                                       CompileReport* report = nullptr);

/// The same straight to a file, so that weights need no memory: written whole or not at all.
Status compile_to_file(ir::Module module, const CompileOptions& options, const std::string& path,
                       CompileReport* report = nullptr);

}  // namespace berth
