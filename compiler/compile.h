// The one door of the compiler: a model in, an ExecuTorch program out.
//
//     BERTH_ASSIGN_OR_RETURN(ir::Module module, load_model("model.onnx", {}));
//     BERTH_ASSIGN_OR_RETURN(std::vector<uint8_t> program, compile(std::move(module), {}));
//
// The same module and options give the same bytes on every machine, but for weights that the cpu target packs for
// "native" (CompileOptions::cpu). Calls share nothing: several threads may compile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/failure.h"
#include "compiler/import/options.h"
#include "compiler/ir/module.h"

namespace berth {

/// Reads a model by what it contains: ONNX, an archive of torch.export.save, a program (.pte), or IR text
/// (docs/ir.md). NotFound, AccessFailed, or a failure with the place in the model. Weights stay in the mapped file
/// until the program is written: the file must not change meanwhile.
Expected<ir::Module> load_model(const std::string& path, const ImportOptions& options);

/// Whether `path` has the extension of a file that load_model() reads: .onnx, .pt2, .pte or .ir.
bool named_like_a_model(const std::string& path);

enum class Planner : uint8_t {
  kNaive,   // no tensor shares bytes with another, views apart
  kGreedy,  // greedy by size
  kBest,    // the best of all planners that there are
};

struct CompileOptions {
  /// What runs the program: targets in order of preference, "cuda:0,cpu" (compiler/targets/target.h). "portable":
  /// operators of ExecuTorch's portable library alone; so devices copy to each other through the host.
  std::string target = "portable";
  /// The instruction set that the `cpu` target packs weights for: "native" (this machine's), "generic" (none: dense
  /// weights), "avx2" or "avx512". Programs run on every machine; on another they order the weights anew at load.
  std::string cpu = "native";
  /// "GLOB=DEVICE": nodes whose source, or one of whose results' names, is like the glob run there; later ones win. One
  /// that is like no node, and a node that no target on that device takes, fail the compilation.
  std::vector<std::string> place;
  /// The same as a function, which is asked before them: where a node shall run; nothing when it does not mind.
  std::function<std::optional<Device>(const ir::Method& method, const ir::Node& node)> node_device;
  /// Each target gets one of as many contiguous parts of each method, of about equal work.
  bool split = false;
  /// "NAME=DEVICE": the methods' input or output of this name ("method.name": that method's) lives there, in memory of
  /// the caller's. On "cpu" too: no arena then has bytes for it and nothing is copied, where inputs and outputs of the
  /// host otherwise are planned (ExecuTorch's alloc_graph_input and alloc_graph_output).
  std::vector<std::string> device_io;
  Planner planner = Planner::kBest;
  /// Whether results may be computed into the bytes of inputs that die, and of state.
  bool in_place = true;
  /// When not empty: of these operators alone, "aten::relu", or only into the bytes of these arguments,
  /// "aten::add.Tensor=self+other" (compiler/emit/in_place_set.h).
  std::vector<std::string> in_place_operators;
  /// Whether values may be names of bytes that are there already: views, and parts in their wholes.
  bool alias = true;
  /// Whether nodes may run in another order than the model has them, where that needs less memory.
  bool reorder = true;
  /// Whether operators may be merged into others, such as norms into convolutions.
  bool fusion = true;
  /// Seconds for planning; 0: as long as it takes, which is counted in nodes, so that the bytes are the same
  /// everywhere. A limit only cuts short what would be done without it, and CompileReport::truncated says whether it
  /// did.
  double time_limit = 0;
  /// When not empty: the IR after every pass that changed it, as numbered files in this folder,
  /// which is made.
  std::string dump_ir;
  /// Passes whose decisions are wanted in CompileReport::why; "all" for every pass. "reuse": whose bytes each value has
  /// taken, or why it has its own.
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

/// One call of a delegate, or all calls of one that was compiled elsewhere.
struct DelegateReport {
  std::string method;
  std::string name;
  std::string backend;
  Device device;
  int64_t nodes = 0;  // of its region; 0 when it was compiled elsewhere
  int64_t payload_bytes = 0;
  int64_t scratch_bytes = 0;
  int64_t own_scratch_bytes = 0;  // it would take if nothing lay in the bytes of results until they are written
};

/// What one run of a method copies from one device to another, with every symbol at its upper end. A scan counts as
/// often as it turns; of the branches of an `if`, the one that copies more; a `while` as one turn.
struct CopyReport {
  std::string method;
  Device from;
  Device to;
  int64_t count = 0;
  int64_t bytes = 0;
  int64_t per_turn = 0;  // of `count`: those in `while` loops, which each further turn makes again
};

struct CompileReport {
  std::vector<ArenaReport> arenas;
  std::vector<DelegateReport> delegates;
  std::vector<CopyReport> copies;
  int64_t instructions = 0;
  int64_t views = 0;           // values that are another name for bytes of one before
  int64_t saved_by_order = 0;  // bytes of memory
  int64_t in_place = 0;        // values that are computed into the bytes of an input or of state
  int64_t constant_bytes = 0;  // in the file, those of delegates included
  double plan_ms = 0;
  bool truncated = false;      // the time limit cut planning short: another run may give other bytes
  bool order_optimal = false;  // proven: no order of the nodes has a lower plan
  double total_ms = 0;
  std::vector<std::string> why;  // a line a decision
};

/// Compiles `module` to the bytes of a program. `report` may be null. Failures name the node of the user's model.
Expected<std::vector<uint8_t>> compile(ir::Module module, const CompileOptions& options,
                                       CompileReport* report = nullptr);

/// The same straight to a file, so that weights need no memory: written whole or not at all. InvalidArgument when
/// `path` is one of the files that the module was read from.
Status compile_to_file(ir::Module module, const CompileOptions& options, const std::string& path,
                       CompileReport* report = nullptr);

}  // namespace berth
