// What passes share: walking the nodes of a method while replacing some, and asking about numbers.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/passes/pass.h"

namespace berth::passes {

/// What becomes of a visited node: kept, or removed with other values in place of its results.
struct Action {
  std::vector<ir::ValueId> replacements;  // one a result; an invalid one: that result is not used
  bool remove = false;

  static Action keep() { return {}; }
  static Action replace(ir::ValueId value) { return {{value}, true}; }
  static Action replace(std::vector<ir::ValueId> values) { return {std::move(values), true}; }
};

/// Visits every node of the method in order, regions before the node that holds them. Arguments are already replaced
/// when a node is visited. New nodes that `visit` appends through the builder stand where the visited node stood; they
/// are not visited. `visit` may change the node's arguments in place and says so by `*changed`. References to nodes and
/// values do not outlive a call of the builder. A replacement takes the name of what it replaces when that was an
/// output.
using Visitor = std::function<Expected<Action>(ir::Builder& build, ir::NodeId id, bool* changed)>;
Expected<Changed> rewrite(ir::Module& module, ir::Method& method, const Visitor& visit);
/// The same for every method.
Expected<Changed> rewrite(ir::Module& module,
                          const std::function<Visitor(ir::Module& module, ir::Method& method)>& visitor_of);

/// The values that a method gives, while a pass replaces some.
class OutputSet {
 public:
  explicit OutputSet(const ir::Method& method);

  bool contains(ir::ValueId value) const { return flags_.contains(value) && flags_[value]; }
  /// Whether `a` is an output and `b` is one as well, an input or a constant: then `b` must not take a's place, because
  /// the caller would get one tensor where the model has two.
  bool must_stay_apart(const ir::Method& method, ir::ValueId a, ir::ValueId b) const;
  /// To be called when `with` takes the place of `old`: it is an output if `old` was.
  void replace(ir::ValueId old, ir::ValueId with);
  /// The same, and an output keeps its name, because that is what the caller knows it by. Only rewrite() and passes
  /// that do without it need this.
  void replace_and_rename(ir::Method& method, ir::ValueId old, ir::ValueId with);

 private:
  IdVector<ir::ValueId, bool> flags_;
};

/// The node that defines `value`, or null.
const ir::Node* defining_node(const ir::Method& method, ir::ValueId value);
/// The node that defines the value that argument `a` is, if it is one.
const ir::Node* defining_node(const ir::Method& method, const ir::Argument& a);

/// The order in which `node`, a permutation or transposition, takes the dimensions of its input; empty for others, and
/// for a tensor without dimensions.
std::vector<int64_t> permutation(const ir::Method& method, const ir::Node& node);

/// The one number that `argument` stands for: a literal, or a constant whose elements are all equal. Not for complex
/// numbers and integers beyond 2^53.
std::optional<double> uniform_number(const ir::Module& module, const ir::Method& method, const ir::Argument& argument);

/// Element `i` of real or bool bytes as a double; unsigned and 64-bit integers beyond 2^53 lose bits.
double element_number(DType dtype, Span<const uint8_t> bytes, size_t i);

/// How often each constant is mentioned, in all methods together.
IdVector<ir::ConstantId, int> count_constant_uses(const ir::Module& module);

/// Forgets the contents of constants that no method reads, so that their memory is free, and renumbers the others.
/// Returns how many went.
size_t drop_unused_constants(ir::Module& module);

}  // namespace berth::passes
