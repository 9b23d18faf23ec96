// Target: something that runs parts of a graph: which nodes it takes, and why it does not take the others.
//
// A list of targets, in order of preference, is what `--target` names: "cuda:0,cpu". Each is one device with one
// backend; the partitioner asks them node by node and makes delegates of what they take (compiler/placement/partition.h).
// "portable" is the program itself: what it takes stays outside of delegates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/device.h"
#include "base/failure.h"
#include "compiler/ir/module.h"

namespace berth::targets {

/// Whether a target runs a node, or why not. All but kSupported leave it to the next target, and in the end to the program itself.
enum class Support : uint8_t {
  kSupported,          // takes
  kOperator,           // operator: it has no kernel for it
  kDType,              // dtype: not for tensors of these types
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
  kLastView,           // last-view: a name of what a delegate computes in the program's own memory
};

/// "takes", "operator", "data-dependent-size"…
const char* to_string(Support support);

/// The operators and element types of one kind of target. REQUIRES of `node`: an operator with a kernel, on tensors.
using TakesOperator = Support (*)(const ir::Method& method, const ir::Node& node);

struct Target {
  std::string name;     // "cuda:0"
  std::string backend;  // the name that the runtime finds it by, "berth.cuda"; empty: no delegates
  Device device;
  TakesOperator takes_operator = nullptr;  // null: all of them
  bool fuses = false;                      // has kernels for fused operators ("berth::conv", …)
  bool channels_last = false;              // computes faster with the channels innermost
  std::string isa;                         // weights are packed for this instruction set ("native", …); empty: never

  bool is_portable() const { return backend.empty(); }
};

/// Whether `target` takes `node`, with what every target asks (the reasons above from kControlFlow on, as far as one
/// node shows them) and what its operators are.
Support supports(const Target& target, const ir::Module& module, const ir::Method& method, const ir::Node& node);

/// What a target may be called: "portable", "cpu", "cuda:N", …: one for each type of device, and the program itself.
std::vector<std::string> target_names();

/// "cuda:0,cpu" to its targets: names among target_names(), in any case, between commas. InvalidArgument for anything
/// else, with the list of what there is, and for one that stands twice.
Expected<std::vector<Target>> parse_targets(std::string_view list);

/// The symbols of sizes in `dim`, operands of computed ones included: sets `flags[id]` of each.
/// REQUIRES: flags has one entry a symbol.
void mark_symbols(const ir::Symbols& symbols, ir::Dim dim, IdVector<ir::SymbolId, bool>* flags);

}  // namespace berth::targets
