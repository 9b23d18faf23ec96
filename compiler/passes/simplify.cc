#include "compiler/passes/simplify.h"

#include <algorithm>
#include <limits>

#include "compiler/ir/arguments.h"
#include "compiler/passes/rewrite.h"

namespace berth::passes {
namespace {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::OpId;
using ir::ValueId;

constexpr char kSimplify[] = "simplify";

struct Found {
  ValueId value;  // what the result equals
  SimplifyReason reason = SimplifyReason::kIdentity;
};

class Simplifier {
 public:
  Simplifier(ir::Module& module, ir::Method& method, const Options& options)
      : module_(module), method_(method), options_(options), outputs_(method) {}

  Expected<Action> visit(ir::Builder& build, ir::NodeId id, bool* changed) {
    join(id, changed);
    const Node& node = method_.node(id);
    if (node.is(OpId::scan) && std::get<Dim>(node.args[arg::scan::length]) == Dim(0)) return without_turns(build, id);
    if (node.is(OpId::bmm_out)) return one_matrix(build, id);
    const std::optional<Found> found = equal_value(node);
    if (!found.has_value()) return Action::keep();
    const ir::Value& result = method_.value(node.results[0]);
    if (result.type != method_.value(found->value).type) return Action::keep();
    if (outputs_.must_stay_apart(method_, node.results[0], found->value)) {
      why(node, SimplifyReason::kKeepGraphOutput);
      return Action::keep();
    }
    why(node, found->reason);
    outputs_.replace(node.results[0], found->value);
    return Action::replace(found->value);
  }

 private:
  void why(const Node& node, SimplifyReason reason) const {
    remark(options_, kSimplify, method_, node, to_string(reason));
  }

  static ValueId operand(const Node& node, size_t i) {
    const ValueId* id = std::get_if<ValueId>(&node.args[i]);
    return id == nullptr ? ValueId() : *id;
  }

  bool is(const Argument& a, double number) const {
    const std::optional<double> found = uniform_number(module_, method_, a);
    return found.has_value() && *found == number;
  }

  // A loop's results without a turn. A stack is empty, whatever its slices would be, but its other sizes count.
  Expected<Action> without_turns(ir::Builder& build, ir::NodeId id) {
    const Node node = method_.node(id);
    const ir::ValueList carried = std::get<ir::ValueList>(node.args[arg::scan::carried]);
    std::vector<ValueId> results;
    for (size_t k = 0; k < node.results.size(); ++k) {
      const bool is_stack = k >= carried.size();
      const bool copy = !is_stack && outputs_.must_stay_apart(method_, node.results[k], carried[k]);
      if (is_stack) {
        BERTH_ASSIGN_OR_RETURN(results.emplace_back(), empty_stack(build, node.results[k], node.source));
      } else if (copy) {
        BERTH_ASSIGN_OR_RETURN(results.emplace_back(), build.one(OpId::clone_out, {carried[k]}, node.source));
      } else {
        results.push_back(carried[k]);
      }
      outputs_.replace(node.results[k], results[k]);
    }
    why(node, SimplifyReason::kNoTurns);
    return Action::replace(std::move(results));
  }

  Expected<ValueId> empty_stack(ir::Builder& build, ValueId stack, const std::string& source) const {
    const ir::TensorType type = method_.tensor(stack);
    return build.one(OpId::full_out, {DimList(type.shape), Dim(0), Dim(static_cast<int64_t>(type.dtype))}, source);
  }

  // A matrix that is repeated for each product of a batch: one product of all rows.
  Expected<Action> one_matrix(ir::Builder& build, ir::NodeId id) {
    const Node node = method_.node(id);
    const Node* repeated = defining_node(method_, node.args[arg::bmm_out::mat2]);
    if (repeated == nullptr || !repeated->is(OpId::expand_copy_out)) return Action::keep();
    ValueId matrix = operand(*repeated, arg::expand_copy_out::self);
    const std::vector<Dim> sizes = method_.tensor(matrix).shape;
    if (sizes.size() != 2 && (sizes.size() != 3 || sizes[0] != Dim(1))) return Action::keep();
    const std::vector<Dim> shape = method_.tensor(node.results[0]).shape;
    const Dim depth = method_.tensor(operand(node, arg::bmm_out::self)).shape.back();
    if (sizes[sizes.size() - 2] != depth || sizes.back() != shape.back()) return Action::keep();
    const Dim all = module_.symbols.mul(shape[0], shape[1]);
    if (module_.symbols.upper(all) > std::numeric_limits<int32_t>::max()) return Action::keep();
    why(node, SimplifyReason::kOneMatrix);
    const auto view = [&](ValueId value, DimList to) {
      return build.one(OpId::view_copy_out, {value, std::move(to)}, node.source);
    };
    BERTH_ASSIGN_OR_RETURN(const ValueId rows, view(operand(node, arg::bmm_out::self), {all, depth}));
    if (sizes.size() == 3) {
      BERTH_ASSIGN_OR_RETURN(matrix, view(matrix, {depth, shape.back()}));
    }
    BERTH_ASSIGN_OR_RETURN(const ValueId product, build.one(OpId::mm_out, {rows, matrix}, node.source));
    BERTH_ASSIGN_OR_RETURN(const ValueId result, view(product, shape));
    return Action::replace(result);
  }

  // The value that the node's only result equals, if it has the same type.
  std::optional<Found> equal_value(const Node& node) const {
    if (node.results.size() != 1 || node.args.empty()) return std::nullopt;
    if (node.op->is_reshape()) return copies(node);
    switch (node.op->id) {
      case OpId::clone_out:
      case OpId::clone_dim_order_out:
      case OpId::to_dim_order_copy_out:
      case OpId::expand_copy_out: return copies(node);
      case OpId::permute_copy_out:
      case OpId::transpose_copy_int_out:
      case OpId::t_copy_out: return is_identity(permutation(method_, node)) ? copies(node) : std::nullopt;
      case OpId::slice_copy_Tensor_out:
        return is(node.args[arg::slice_copy_Tensor_out::step], 1) ? copies_whole(node) : std::nullopt;
      case OpId::narrow_copy_out: return copies_whole(node);
      case OpId::repeat_out: return all_of(node.args[arg::repeat_out::repeats], 1) ? copies(node) : std::nullopt;
      case OpId::constant_pad_nd_out:
        return all_of(node.args[arg::constant_pad_nd_out::pad], 0) ? copies(node) : std::nullopt;
      case OpId::flip_out:
        return std::get<DimList>(node.args[arg::flip_out::dims]).empty() ? copies(node) : std::nullopt;
      case OpId::roll_out: return all_of(node.args[arg::roll_out::shifts], 0) ? copies(node) : std::nullopt;
      case OpId::cat_out: return single(node);
      case OpId::where_self_out: return chosen(node);
      default: return neutral(node);
    }
  }

  std::optional<Found> copies(const Node& node) const { return Found{operand(node, 0), SimplifyReason::kIdentity}; }

  // A slice as long as what it is taken from takes all of it. A symbolic size proves that only if it is the same
  // symbol, which comparing the types does.
  std::optional<Found> copies_whole(const Node& node) const { return copies(node); }

  static bool all_of(const Argument& list, int64_t number) {
    const DimList& dims = std::get<DimList>(list);
    return std::all_of(dims.begin(), dims.end(), [&](Dim d) { return d == Dim(number); });
  }

  // Where all come from one side.
  std::optional<Found> chosen(const Node& node) const {
    const Argument& condition = node.args[arg::where_self_out::condition];
    for (const auto& [number, side] : {std::pair{1.0, arg::where_self_out::self}, {0.0, arg::where_self_out::other}}) {
      if (is(condition, number) && operand(node, side).valid()) {
        return Found{operand(node, side), SimplifyReason::kIdentity};
      }
    }
    return std::nullopt;
  }

  static std::optional<Found> single(const Node& node) {
    const ir::ValueList& parts = std::get<ir::ValueList>(node.args[arg::cat_out::tensors]);
    if (parts.size() != 1) return std::nullopt;
    return Found{parts[0], SimplifyReason::kIdentity};
  }

  // x + 0, x - 0, x * 1, x / 1 and the like.
  std::optional<Found> neutral(const Node& node) const {
    const auto other_is = [&](double number, size_t kept) -> std::optional<Found> {
      if (!is(node.args[1 - kept], number) || !operand(node, kept).valid()) return std::nullopt;
      return Found{operand(node, kept), SimplifyReason::kNeutralElement};
    };
    switch (node.op->id) {
      case OpId::add_out: {
        const std::optional<Found> left = other_is(0, 0);
        if (left.has_value() || !is(node.args[arg::add_out::alpha], 1)) return left;
        return other_is(0, 1);
      }
      case OpId::mul_out: {
        const std::optional<Found> left = other_is(1, 0);
        return left.has_value() ? left : other_is(1, 1);
      }
      case OpId::sub_out:
      case OpId::add_Scalar_out:
      case OpId::sub_Scalar_out: return other_is(0, 0);
      case OpId::mul_Scalar_out:
      case OpId::div_out:
      case OpId::div_Scalar_out:
      case OpId::pow_Tensor_Scalar_out: return other_is(1, 0);
      default: return std::nullopt;
    }
  }

  static bool is_identity(const std::vector<int64_t>& order) { return std::is_sorted(order.begin(), order.end()); }

  // Lets a view or reordering read what the one before it reads.
  void join(ir::NodeId id, bool* changed) {
    Node& node = method_.node(id);
    if (node.args.empty()) return;
    const Node* inner = defining_node(method_, node.args[0]);
    if (inner == nullptr) return;
    if (node.is(OpId::view_copy_out) && inner->op->is_reshape()) {
      if (!method_.tensor(operand(*inner, 0)).is_contiguous()) return;
      if (!method_.tensor(node.results[0]).is_contiguous() || !view_instead(node, operand(*inner, 0))) return;
      why(node, SimplifyReason::kViewOfView);
      *changed = true;
      return;
    }
    const std::vector<int64_t> outer = permutation(method_, node);
    const std::vector<int64_t> first = permutation(method_, *inner);
    if (outer.empty() || first.empty()) return;
    DimList joined;
    for (int64_t d : outer) joined.push_back(Dim(first[d]));
    why(node, SimplifyReason::kPermuteOfPermute);
    node.op = &ir::operator_of(OpId::permute_copy_out);
    node.args = {inner->args[arg::permute_copy_out::self], joined};
    *changed = true;
  }

  // Lets a view read `source` instead, if its type stays what it is: the view between may have said what a symbol is,
  // and a size of -1 may be another without it. Numbers say it then. Where they cannot, as the size is none or as no
  // run gets past the view between, that view stays.
  bool view_instead(Node& node, ValueId source) const {
    const ir::Type& type = method_.value(node.results[0]).type;
    std::vector<Argument> sizes = {node.args[arg::view_copy_out::size]};
    if (method_.tensor(node.results[0]).is_static()) sizes.emplace_back(DimList(method_.tensor(node.results[0]).shape));
    for (Argument& wanted : sizes) {
      std::vector<Argument> args = {source, std::move(wanted)};
      const auto types = ir::infer_types(module_, method_, *node.op, args);
      if (!types.ok() || !ir::types_agree(*node.op, types->front(), type)) continue;
      node.args = std::move(args);
      return true;
    }
    return false;
  }

  ir::Module& module_;
  ir::Method& method_;
  const Options& options_;
  OutputSet outputs_;
};

}  // namespace

const char* to_string(SimplifyReason reason) {
  switch (reason) {
    case SimplifyReason::kIdentity: return "gone: identity";
    case SimplifyReason::kNeutralElement: return "gone: neutral-element";
    case SimplifyReason::kViewOfView: return "joined: view-of-view";
    case SimplifyReason::kPermuteOfPermute: return "joined: permute-of-permute";
    case SimplifyReason::kOneMatrix: return "now one product of all rows";
    case SimplifyReason::kNoTurns: return "gone: no-turns";
    case SimplifyReason::kKeepGraphOutput: return "keep: graph-output";
  }
  return "?";
}

Expected<Changed> simplify(ir::Module& module, const Options& options) {
  return rewrite(module, [&](ir::Module& m, ir::Method& method) -> Visitor {
    return [simplifier = Simplifier(m, method, options)](ir::Builder& build, ir::NodeId id, bool* changed) mutable {
      return simplifier.visit(build, id, changed);
    };
  });
}

}  // namespace berth::passes
