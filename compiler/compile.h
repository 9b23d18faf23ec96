// The compiler's public interface: reads a model, writes an ExecuTorch program.
//
//     BERTH_ASSIGN_OR_RETURN(ir::Module module, load_model("model.onnx", {}));
//     BERTH_ASSIGN_OR_RETURN(std::vector<uint8_t> program, compile(std::move(module), {}));
//
// The same module and options give the same bytes on every machine, but for weights that the cpu target packs for
// "native" (CompileOptions::cpu). Thread-safe: calls share no state.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/failure.h"
#include "compiler/emit/reports.h"
#include "compiler/import/options.h"
#include "compiler/ir/merge.h"
#include "compiler/ir/module.h"
#include "compiler/memory/packing/planner.h"
#include "compiler/placement/device_costs.h"
#include "plugin/load_plugin.h"

namespace berth {

/// Reads a model, detecting its format: one of docs/import.md, or IR text (docs/ir.md). NotFound, AccessFailed, or a
/// failure with the place in the model. Weights stay in the mapped file until the program is written: the file must not
/// change meanwhile.
Expected<ir::Module> load_model(const std::string& path, const ImportOptions& options);

/// A model among several that become one program.
struct ModelFile {
  std::string path;
  std::string method;  // what its one method is called; empty: what the model says ("forward" in ONNX and .pt2)
};

/// "METHOD=PATH" or "PATH". Text that is the path of a file is that file, and so is text with a '/' before the first
/// '='. InvalidArgument when method or path is empty.
Expected<ModelFile> parse_model_file(const std::string& text);

/// The models as one module with the methods of all (compiler/ir/merge.h says what they share). A name is for a model
/// with one method; without it the methods keep their names. Of ImportOptions, "METHOD:NAME" in `input_shapes` is an
/// input of that model, and has to be said where there are several models; `data_files` are for all that are programs.
/// Failures as load_model() and ir::merge(); InvalidArgument for a name for a model with several methods, and for no
/// model.
Expected<ir::Module> load_models(const std::vector<ModelFile>& models, const ImportOptions& options,
                                 const ir::MergeOptions& merging = {});

/// Whether `path` has the extension of a file that load_model() reads.
bool named_like_a_model(const std::string& path);

/// These extensions as part of a sentence: ".onnx, .pt2, .pte or .ir" when `conjunction` is " or ". `with_programs`
/// says whether ".pte" is one of them.
std::string model_extensions(const char* conjunction, bool with_programs = true);

/// The instruction sets that CompileOptions::cpu accepts.
std::vector<std::string> instruction_sets();
/// The same for CompileOptions::precision.
std::vector<std::string> precisions();
/// The same for CompileOptions::activations.
std::vector<std::string> activation_types();

using packing::Planner;

/// The options of one method that differ from those of the others; CompileOptions has the same names and explains them.
/// What is set here takes the place of what holds for all.
struct MethodSettings {
  std::optional<std::string> target;
  std::optional<bool> split;
  std::optional<bool> by_cost;
  std::optional<std::vector<std::string>> banks;
  std::optional<Planner> planner;
  std::optional<int64_t> alignment;
  std::optional<bool> in_place;
  std::optional<std::vector<std::string>> in_place_operators;
  std::optional<bool> alias;
  std::optional<bool> reorder;
  std::optional<std::string> overlap;
  /// Added behind those for all methods, so that these win.
  std::vector<std::string> place;
  std::vector<std::string> device_io;  // "NAME=DEVICE"
  std::vector<std::string> pins;
  std::vector<std::string> states;  // "INPUT=OUTPUT"
};

/// Of CompileOptions::segment_alignment and constant_alignment: 1 MiB.
constexpr uint32_t kMostFileAlignment = 1 << 20;

struct CompileOptions {
  /// The targets, in order of preference: "cuda:0,cpu" (compiler/targets/target.h). "portable" uses only operators of
  /// ExecuTorch's portable library, so copies between devices go through the host.
  std::string target = "portable";
  /// The instruction set that the `cpu` target packs weights for: "native" (this machine's), "generic" (none: dense
  /// weights), "avx2" or "avx512". Programs run on every machine; if its instruction set differs, weights are packed
  /// again at load. NotSupported where this build has no kernels for it (BERTH_INSTRUCTION_SETS).
  std::string cpu = "native";
  /// The element type in which the targets `cpu` and `vulkan` keep the constant weights of products and convolutions:
  /// "f32" (what the model says), "bf16" or "f16". With bf16 their inputs are rounded to bf16 too; sums and all else
  /// stay f32 (docs/precision.md). InvalidArgument when another one is asked for and no target is one of these.
  std::string precision = "f32";
  /// What the target `cpu` multiplies weights of 8 and 4 bits with, where activations are floats: "float" (as
  /// `precision` says), or "int8": rounded to 8 bits, in blocks with a scale of their own (docs/precision.md).
  /// InvalidArgument for "int8" when no target is `cpu`, or `cpu` is "generic", for which nothing is packed.
  std::string activations = "float";
  /// "GLOB=DEVICE": nodes whose name, or one of whose results' names, matches the glob run on that device; later ones
  /// win. It is an error if a glob matches no node, or if no target on the device supports a matching node.
  std::vector<std::string> place;
  /// The same as a function, which takes precedence: the device of a node, or nothing for no preference.
  std::function<std::optional<Device>(const ir::Method& method, const ir::Node& node)> node_device;
  /// Plug-ins whose targets may be named (plugin/load_plugin.h).
  std::vector<const Plugin*> plugins;
  /// "TARGET:KEY=VALUE": compile specs of the delegates of that target, "mine:0", or of all its indices, "mine".
  std::vector<std::string> specs;
  /// Splits each method into contiguous parts of about equal work, one for each target.
  bool split = false;
  /// Runs each part on that of the targets which take it where it is estimated to take less time, copies between
  /// devices counted (compiler/placement/by_cost.h); of equal ones on the first. In a module with quantised tensors
  /// only targets that compute in 8 bits are asked, if there are any. InvalidArgument together with `split`.
  bool by_cost = false;
  /// What work takes on targets, as `berth tune` measures it; for others it is estimated. InvalidArgument for costs
  /// that are not positive and finite, and for a target of a plug-in that has none where it is placed by cost.
  std::vector<placement::DeviceCosts> costs;
  /// "NAME=DEVICE": the input or output of this name is on that device, in the caller's memory. "METHOD.NAME=DEVICE" is
  /// for one method, without it for all. With "cpu" the caller's memory is on the host: it takes no bytes of an arena
  /// and is not copied. Inputs and outputs that are not named here are planned in an arena of the host (ExecuTorch's
  /// alloc_graph_input and alloc_graph_output).
  std::vector<std::string> device_io;
  /// "INPUT=OUTPUT": what the output is at the end of a call, the input is at the start of the next: a state of the
  /// program, zero at first, instead of an input and an output. Methods that have both share it; one that has only one
  /// of them is an error, and MethodSettings::states is for one method (compiler/passes/state_ports.h).
  std::vector<std::string> states;
  /// "NAME[=BYTES][@DEVICE][,slow]": named pieces of a device's memory, in order of preference; a device of which one
  /// is named has no other (compiler/memory/banks.h). Each is an arena of every method.
  std::vector<std::string> banks;
  /// "GLOB=BANK": values of this name lie in that bank; later ones win. It is an error if a glob matches no value that
  /// lies in an arena.
  std::vector<std::string> pins;
  Planner planner = Planner::kBest;
  /// What values in arenas of the host start at multiples of, at least, and the arenas themselves: a power of two from
  /// 16 to 2^30. Values on devices start at multiples of 256, or of this if it is more.
  int64_t alignment = 16;
  /// Whether results may be computed in place of dead inputs and of state.
  bool in_place = true;
  /// If not empty: only results of these operators, "aten::relu", and only in place of these arguments if some are
  /// named, "aten::add.Tensor=self+other" (compiler/memory/in_place_set.h). "+my::gain=self" comes beside those that
  /// are allowed anyway: what is said of an operator of one's own may be more than its maker says.
  std::vector<std::string> in_place_operators;
  /// Whether views, slices and parts of concatenations may share bytes instead of being copied.
  bool alias = true;
  /// Whether the schedule may differ from the model's order, to reduce memory.
  bool reorder = true;
  /// How much memory it may cost that devices work at the same time, beyond the least of the delegates as they are cut:
  /// bytes, "64K", or a part of the arenas, "25%". The order is the fastest by the estimate (`costs`, plan_overlap.h);
  /// above 0, delegates are cut where devices meet. Empty: the least memory. InvalidArgument with banks, without
  /// `reorder`, and with other planners than the best.
  std::string overlap;
  /// Whether operators may be fused, such as norms into convolutions.
  bool fusion = true;
  /// "FILE" or "GLOB=FILE": constants of this name lie in the data file FILE (.ptd) instead of in the program, under
  /// their names; later ones win. It is an error if a glob matches no constant. Only compile_to_file() writes data
  /// files.
  std::vector<std::string> external_constants;
  /// What each constant in the program's file starts at a multiple of, and each segment of it and of data files: powers
  /// of two from 16 to kMostFileAlignment. ExecuTorch's constant_tensor_alignment and segment_alignment. A segment
  /// starts at a multiple of both.
  uint32_t constant_alignment = 16;
  uint32_t segment_alignment = 128;
  /// The most seconds for planning; 0 for no limit in time, only in work, so that the result is the same everywhere.
  /// CompileReport::truncated says whether the limit ended planning early.
  double time_limit = 0;
  /// Called on the thread that compiles: when a step begins, such as "pass cse" or "memory of forward", and some 20
  /// times a second while memory is planned, with the part of all steps that is done, from 0 to 1. If it returns false
  /// the compilation ends with InvalidState, and writes nothing. May be empty.
  std::function<bool(const std::string& step, double done)> progress;
  /// Options of single methods, by the method's name. It is an error if the module has no such method.
  std::map<std::string, MethodSettings> methods;
  /// If not empty, writes the IR after every pass that changed it to numbered files in this folder, creating it.
  std::string dump_ir;
  /// Passes whose remarks are collected in CompileReport::why; "all" for every pass. "reuse": which value's bytes each
  /// value reuses, or why it does not.
  std::vector<std::string> why;
  /// Whether each instruction, those of delegates included, names the node of the model that it comes from, for
  /// profiles (MethodDesc::stacktrace, and names in nested programs). Without it only what a method computes outside of
  /// its delegates is named.
  bool stack_traces = false;
  /// Verify the IR after every pass. Always on in builds with assertions.
  bool verify_ir = false;
};

/// A data file that compile_to_file() wrote.
struct ExternalReport {
  std::string file;
  int64_t constants = 0;  // keys
  int64_t bytes = 0;      // equal ones once
};

/// A node of a method's body, when it runs by the estimate.
struct TaskReport {
  std::string name;  // of the delegate that it calls, or of its operator
  Device device;     // whose time it takes; of a copy between two, the target
  double begin = 0;  // seconds
  double end = 0;
};

/// What a run of a method is estimated to take, where CompileOptions::overlap is set.
struct RunReport {
  std::string method;
  double seconds = 0;
  double least_memory_seconds = 0;   // in the order of the least memory
  double critical_path_seconds = 0;  // the longest chain of nodes, if each device were there for each of them alone
  double at_least_seconds = 0;       // no order takes less: the critical path, and what each device and the host do
  int64_t bytes = 0;                 // more than the order of the least memory takes, of all arenas
  std::vector<std::pair<Device, double>> busy;
  std::vector<TaskReport> tasks;  // in their order, those that take time
};

struct CompileReport {
  std::vector<ArenaReport> arenas;
  std::vector<DelegateReport> delegates;
  std::vector<CopyReport> copies;
  std::vector<BankReport> banks;  // of each method and device with banks
  std::vector<RunReport> runs;    // of methods with CompileOptions::overlap
  std::vector<ExternalReport> external;
  int64_t instructions = 0;
  int64_t views = 0;           // values that are views of earlier ones, so that nothing is copied
  int64_t saved_by_order = 0;  // bytes of memory that the schedule saves compared with the model's own order
  int64_t in_place = 0;        // values that are computed into the bytes of an input or of state
  int64_t constant_bytes = 0;  // of the constants in the program, those of delegates included
  int64_t narrow_bytes = 0;    // of those among them that are weights in 16 bits
  double plan_ms = 0;
  bool truncated = false;      // the time limit ended planning early: another run may give other bytes
  bool order_optimal = false;  // it is proven that no other schedule needs less memory
  double total_ms = 0;
  std::vector<std::string> why;  // one line for each remark
};

/// Compiles `module` to the bytes of a program. `report` may be null. Failures name the node of the user's model.
/// InvalidArgument with CompileOptions::external_constants.
Expected<std::vector<uint8_t>> compile(ir::Module module, const CompileOptions& options,
                                       CompileReport* report = nullptr);

/// The same straight to a file, so that weights need no memory: written whole or not at all, data files before the
/// program. InvalidArgument when `path` or a data file is one of the files that the module was read from, when they are
/// the same, or a data file is not to be a regular file.
Status compile_to_file(ir::Module module, const CompileOptions& options, const std::string& path,
                       CompileReport* report = nullptr);

}  // namespace berth
