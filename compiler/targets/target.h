// Target: something that runs parts of a graph: which nodes it takes, and why it does not take the others.
//
// A list of targets, in order of preference, is what `--target` names: "cuda:0,cpu". Each is one device with one
// backend; the partitioner asks them node by node and makes delegates of what they take
// (compiler/placement/partition.h). "portable" is the program itself: what it takes stays outside of delegates.
//
// This is how the compiler sees a target. What a target says of itself is a berth_target (plugin/plugin.h), Berth's own
// (compiler/targets/own/) as well as those of plug-ins and applications.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/device.h"
#include "base/dtype.h"
#include "base/failure.h"
#include "base/span.h"
#include "compiler/ir/module.h"
#include "plugin/load_plugin.h"

namespace berth::targets {

/// Whether a target runs a node, or why not. All but kSupported leave it to the next target, and in the end to the
/// program itself.
enum class Support : uint8_t {
  kSupported,          // takes
  kOperator,           // operator: it has no kernel for it
  kControlFlow,        // control-flow: the program decides what runs
  kState,              // state: state is read and written by the program
  kCopy,               // copy: a copy between devices
  kDelegated,          // delegated: a delegate already
  kScalar,             // scalar: reads or gives a number that is not a tensor
  kRandom,             // random: its numbers come from the program's generator
  kDataDependentSize,  // data-dependent-size: how large its result is depends on what its inputs hold
  kSymbolUnknown,      // symbol-unknown: it needs a size that no input of the delegate has as a dimension
  kPlacedElsewhere,    // placed-elsewhere: it was asked to run on another device
  kViewsOnly,          // views-only: nothing around it runs there, and it computes nothing
  kLastView,           // last-view: a name of what a delegate computes, or of its copy on the host
  kRefused,            // refused: the target does not take it, and says why
  kEffects,            // effects: its calls keep their order in the program
  kLimit,              // limit: alone it has more inputs or outputs than a delegate of the target may have
  kTogether,           // together: not with what its target wants in the same delegate
};

/// "takes", "operator", "data-dependent-size"…
const char* to_string(Support support);

/// A target's answer for one node.
struct Answer {
  Support support = Support::kSupported;
  std::string reason;  // of kRefused: the target's own words
};

/// A node that a target is asked about.
struct AskedNode {
  const ir::Module& module;
  const ir::Method& method;
  const IdVector<ir::ValueId, int>& uses;  // ir::count_uses(method)
  ir::NodeId id;
  const ir::Node& node;
  const std::vector<ir::CompileSpec>& specs;  // of the target
};

/// The operators and element types of one kind of target. The failure ends the compilation. REQUIRES of the node: an
/// operator with a kernel, on tensors, whose sizes do not depend on data.
using TakesNode = std::function<Expected<Answer>(const AskedNode& node)>;

/// What a delegate of the target may have at most.
struct Limits {
  size_t nodes = SIZE_MAX;
  size_t inputs = SIZE_MAX;
  size_t outputs = SIZE_MAX;

  bool any() const { return nodes != SIZE_MAX || inputs != SIZE_MAX || outputs != SIZE_MAX; }
};

/// What a delegate keeps from one call to the next.
struct KeptState {
  std::string name;  // empty: no other delegate's
  int64_t bytes = 0;
  std::optional<ir::Blob> initial;  // nothing: zeros
};

/// A delegate that its target has compiled.
struct Compiled {
  std::vector<uint8_t> payload;
  std::vector<ir::CompileSpec> specs;  // beside those that it has
  std::vector<ir::NamedData> named_data;
  int64_t scratch_bytes = 0;
  std::optional<KeptState> state;
};

/// Compiles the region of `call`, a delegate of the target, whose inputs are tensors.
using CompileRegion =
    std::function<Expected<Compiled>(const ir::Module& module, const ir::Method& method, const ir::Node& call)>;

/// Nodes that are in one delegate or in none, and nodes that are in none.
struct NodeSets {
  std::vector<std::vector<ir::NodeId>> together;  // without a node in two of them
  std::vector<ir::NodeId> left;
};

/// Asked about all nodes of a graph that the target gets. `uses` are ir::count_uses(method).
using MarkNodes = std::function<Expected<NodeSets>(
    const ir::Module& module, const ir::Method& method, const IdVector<ir::ValueId, int>& uses,
    const std::vector<ir::NodeId>& nodes, const std::vector<ir::CompileSpec>& specs)>;

struct Target {
  std::string name;     // "cuda:0"
  std::string backend;  // the name that the runtime finds it by, "berth.cuda"; empty: no delegates
  Device device;
  TakesNode takes;                // null: all of them
  MarkNodes marks;                // null: any node may be in any delegate
  bool fuses = false;             // has kernels for fused operators ("berth::conv", …)
  bool channels_last = false;     // computes faster with the channels innermost
  bool depth_last = false;        // and with what a product sums over innermost in its weight
  std::string isa;                // weights are packed for this instruction set ("native", …); empty: never
  bool narrow_weights = false;    // its kernels of products take weights of bf16 and f16
  bool narrow_tensors = false;    // all its kernels take tensors of these, so that products need no casts
  DType weights = DType::kF32;    // of products, bf16 or f16 instead: `--precision`
  bool byte_activations = false;  // weights of 8 and 4 bits are multiplied with 8 bits: `--activations`
  Limits limits;
  /// The compile specs of its delegates, beside the device: those of `--spec`, and what base/delegate_specs.h reads.
  std::vector<ir::CompileSpec> specs;
  CompileRegion compile;  // null: delegates are nested programs, for kernels of Berth's interface

  bool is_portable() const { return backend.empty(); }
};

/// Whether `target` takes `node`, with what every target asks (the reasons above from kControlFlow on, as far as one
/// node shows them) and what its operators are.
Expected<Answer> supports(const Target& target, const ir::Module& module, const ir::Method& method,
                          const IdVector<ir::ValueId, int>& uses, ir::NodeId node);

/// Whether `key` is that of a compile spec which the target itself writes: "target_device", and those of
/// base/delegate_specs.h that name no bank.
bool is_reserved_spec(std::string_view key);

/// What a target may be called: "portable", "cpu", "cuda:N", …: Berth's own and the targets of `plugins`.
std::vector<std::string> target_names(Span<const Plugin* const> plugins = {});

/// "cuda:0,cpu" to its targets: names among target_names(), in any case, between commas. InvalidArgument for anything
/// else, with the list of what there is, for one that stands twice, for two plug-ins with a target of one name, and for
/// one with a target that is called like one of Berth's own.
/// The plug-ins must outlive the targets.
Expected<std::vector<Target>> parse_targets(std::string_view list, Span<const Plugin* const> plugins = {});

/// Adds `TARGET:KEY=VALUE`, the option `--spec`, to the specs of the targets that it names: "mine:0" one, "mine" all
/// indices. Whether there is one that makes delegates. InvalidArgument for other text, for a key that the target has
/// already, and for one that it writes itself (is_reserved_spec).
Expected<bool> add_spec(std::string_view text, std::vector<Target>* targets);

/// The symbols of sizes in `dim`, operands of computed ones included: sets `flags[id]` of each.
/// REQUIRES: flags has one entry a symbol.
void mark_symbols(const ir::Symbols& symbols, ir::Dim dim, IdVector<ir::SymbolId, bool>* flags);

}  // namespace berth::targets
