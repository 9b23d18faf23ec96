// What the passes of this room share: which nodes they may touch, who reads what, numbers.
//
// Fusion works within the regions of delegates alone, and of those whose target has kernels for fused operators
// (targets::Target::fuses). A visitor of this room is called for such nodes only.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/fuse/reason.h"
#include "compiler/passes/rewrite.h"
#include "compiler/targets/target.h"

namespace berth::fuse {

using Targets = std::vector<targets::Target>;

using NodeTargets = IdVector<ir::NodeId, const targets::Target*>;

/// The target of each node of `method`, by NodeId: the one that runs the delegate whose region the node stands in; null
/// outside of delegates and for delegates of other backends.
NodeTargets targets_of_nodes(const ir::Module& module, const ir::Method& method, const Targets& targets);

/// Whether the kernels of `target` for fused operators take integers of 8 bits, as those of cpu and sim do. Those of
/// cuda are for f32, and plug-ins know no others.
bool takes_bytes(const targets::Target& target);

/// Those of `targets` that take bytes.
Targets targets_of_bytes(const Targets& targets);

/// Whether `target` multiplies integers of 8 bits (berth::quantized_conv and quantized_linear, of constant weights) and
/// moves them: those that take bytes, and vulkan. Its other fused operators are for floats.
bool multiplies_bytes(const targets::Target& target);

/// Those of `targets` that multiply bytes.
Targets targets_of_byte_products(const Targets& targets);

/// A method while a pass rewrites it.
class Context {
 public:
  /// Without `targets`, target() is not to be called.
  Context(ir::Module& module, ir::Method& method, const passes::Options& options, NodeTargets targets = {});

  ir::Module& module() { return module_; }
  /// Arithmetic on sizes adds to them, and to nothing else.
  ir::Symbols& symbols() const { return module_.symbols; }
  const ir::Method& method() const { return method_; }
  ir::Method& method() { return method_; }

  const ir::Node& node(ir::NodeId id) const { return method_.node(id); }
  const ir::TensorType& type(ir::ValueId id) const { return method_.tensor(id); }
  /// The node that makes the value of argument `k` of `node`; null when no node does or the argument is not a value.
  const ir::Node* maker(const ir::Node& node, size_t k) const { return passes::defining_node(method_, node.args[k]); }
  const ir::Node* maker(ir::ValueId value) const { return passes::defining_node(method_, value); }

  /// The target of a node that the pass visits.
  const targets::Target& target(ir::NodeId id) const { return *targets_[id]; }

  /// How often `value` is read.
  int uses(ir::ValueId value) const;
  /// To be called when `with` takes the place of `old`.
  void replaced(ir::ValueId old, ir::ValueId with);
  /// replaced(), and the action for rewrite(). For nodes of one result.
  passes::Action replace(ir::NodeId old, ir::ValueId with);

  /// The number that `argument` is, as a literal or a constant of equal elements.
  std::optional<double> number(const ir::Argument& argument) const {
    return passes::uniform_number(module_, method_, argument);
  }
  const ir::Constant* constant(const ir::Argument& argument) const {
    return ir::constant_of(module_, method_, argument);
  }

  /// The line that `--why fusion` prints: what became of `node`, and what it was fused `into`.
  void remark(const ir::Node& node, Reason reason, const char* into = "") const;

 private:
  ir::Module& module_;
  ir::Method& method_;
  const passes::Options& options_;
  NodeTargets targets_;
  IdVector<ir::ValueId, int> uses_;
};

using Visit = std::function<Expected<passes::Action>(Context& context, ir::Builder& build, ir::NodeId id)>;

/// passes::rewrite() over the nodes whose target fuses. `visit_of` makes the visitor of one method.
Expected<passes::Changed> rewrite_regions(ir::Module& module, const Targets& targets, const passes::Options& options,
                                          const std::function<Visit()>& visit_of);

/// Calls `f` for the region of each delegate that one of `targets` runs. References to nodes do not outlive a change.
Expected<passes::Changed> for_each_region(
    ir::Module& module, const Targets& targets,
    const std::function<Expected<bool>(ir::Method& method, const targets::Target& target, ir::Graph& region)>& f);

/// The value that is argument `k` of `node`; invalid when the argument is something else.
inline ir::ValueId value_argument(const ir::Node& node, size_t k) {
  const ir::ValueId* value = std::get_if<ir::ValueId>(&node.args[k]);
  return value == nullptr ? ir::ValueId{} : *value;
}

/// The node that makes `value`, if it is an `op`; null otherwise, and where `value` is invalid.
const ir::Node* made_by(const Context& context, ir::ValueId value, ir::OpId op);

/// The value that is the base of `value` through views that only regroup dimensions, each read once; `value` itself
/// when there is none.
ir::ValueId through_views(const Context& context, ir::ValueId value);
/// The same, however often each is read.
ir::ValueId behind_views(const Context& context, ir::ValueId value);

/// `value` with the sizes `shape`: itself, or a view that is appended.
Expected<ir::ValueId> with_shape(Context& context, ir::Builder& build, ir::ValueId value,
                                 const std::vector<ir::Dim>& shape, const std::string& source);

/// The row-major constant that `value` is; null otherwise, and where it has no contents.
const ir::Constant* known_constant(const Context& context, ir::ValueId value);

/// Elements of a constant as f32. REQUIRES: it is f32, bf16 or f16, and row-major.
std::vector<float> floats_of(const ir::Constant& constant);
/// A row-major constant of f32.
ir::ValueId float_constant(ir::Builder& build, const std::vector<int64_t>& sizes, const std::vector<float>& elements,
                           const std::string& name);

}  // namespace berth::fuse
