#include "compiler/passes/pick_first.h"

#include <algorithm>

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
using ir::ValueList;

constexpr char kPickFirst[] = "pick_first";
// Between a constant and a pick; of more, those that several paths lead to would be visited again and again.
constexpr int kMostNodes = 64;

/// What a node picks: of its first argument, along `axis`, the rows that `index` or [start, end) in steps name, or one.
struct Pick {
  enum Kind { kIndex, kSlice, kSelect } kind = kIndex;
  ValueId table;
  int axis = 0;
  ValueId index;             // kIndex
  std::vector<Dim> picked;   // the dimensions that take the place of `axis`
  std::vector<Argument> at;  // kSlice: start, end, step; kSelect: which
};

int wrapped(Dim d, int rank) { return static_cast<int>(d.value < 0 ? d.value + rank : d.value); }

class Picker {
 public:
  Picker(ir::Module& module, ir::Method& method, const Options& options)
      : module_(module), method_(method), options_(options) {}

  Expected<Action> visit(ir::Builder& build, ir::NodeId id, bool* changed) {
    const Node node = method_.node(id);
    const std::optional<Pick> pick = read(node);
    if (!pick.has_value() || defining_node(method_, pick->table) == nullptr) return Action::keep();
    left_ = kMostNodes;
    if (!is_constant(pick->table)) return Action::keep();
    const ir::Type wanted = method_.value(node.results[0]).type;  // values move when others are added
    if (elements(node.results[0]) >= elements(pick->table)) return why(node, PickReason::kNotFewer);
    if (!may_pick(pick->table, *pick)) return why(node, PickReason::kNotElements);
    build_ = &build;
    source_ = node.source;
    BERTH_ASSIGN_OR_RETURN(const ValueId picked, picked_first(pick->table, *pick));
    *changed = true;
    if (method_.value(picked).type != wanted) return Action::keep();
    why(node, PickReason::kPicked);
    return Action::replace(picked);
  }

 private:
  Action why(const Node& node, PickReason reason) const {
    remark(options_, kPickFirst, method_, node, to_string(reason));
    return Action::keep();
  }

  const ir::TensorType& type(ValueId v) const { return method_.tensor(v); }
  int64_t elements(ValueId v) const { return ir::max_numel(type(v), module_.symbols); }
  static ValueId value(const Node& node, size_t i) {
    const ValueId* id = std::get_if<ValueId>(&node.args[i]);
    return id == nullptr ? ValueId() : *id;
  }

  std::optional<Pick> read(const Node& node) const {
    Pick pick;
    switch (node.op->id) {
      case OpId::embedding_out: return by_index(node, 0, value(node, arg::embedding_out::indices));
      case OpId::index_select_out: {
        const int rank = type(value(node, 0)).rank();
        const int axis = wrapped(std::get<Dim>(node.args[arg::index_select_out::dim]), rank);
        return by_index(node, axis, value(node, arg::index_select_out::index));
      }
      case OpId::index_Tensor_out: {
        const ValueList& indices = std::get<ValueList>(node.args[arg::index_Tensor_out::indices]);
        const auto first = std::find_if(indices.begin(), indices.end(), [](ValueId v) { return v.valid(); });
        if (first == indices.end() || std::any_of(first + 1, indices.end(), [](ValueId v) { return v.valid(); })) {
          return std::nullopt;
        }
        return by_index(node, static_cast<int>(first - indices.begin()), *first);
      }
      case OpId::slice_copy_Tensor_out:
        pick.kind = Pick::kSlice;
        pick.axis = wrapped(std::get<Dim>(node.args[arg::slice_copy_Tensor_out::dim]), type(value(node, 0)).rank());
        pick.at.assign(node.args.begin() + arg::slice_copy_Tensor_out::start, node.args.end());
        pick.picked = {type(node.results[0]).shape[pick.axis]};
        break;
      case OpId::select_copy_int_out:
        pick.kind = Pick::kSelect;
        pick.axis = wrapped(std::get<Dim>(node.args[arg::select_copy_int_out::dim]), type(value(node, 0)).rank());
        pick.at = {node.args[arg::select_copy_int_out::index]};
        break;
      default: return std::nullopt;
    }
    pick.table = value(node, 0);
    return pick;
  }

  std::optional<Pick> by_index(const Node& node, int axis, ValueId index) const {
    const DType dtype = type(index).dtype;
    if (dtype != DType::kI64 && dtype != DType::kI32) return std::nullopt;  // a mask
    Pick pick;
    pick.table = value(node, 0);
    pick.axis = axis;
    pick.index = index;
    pick.picked = type(index).shape;
    if (node.is(OpId::index_select_out) && pick.picked.empty()) return std::nullopt;
    return pick;
  }

  bool is_constant(ValueId v) const {
    if (method_.value(v).kind == ir::ValueKind::kConstant) return true;
    if (--left_ < 0) return false;
    const Node* node = defining_node(method_, v);
    if (node == nullptr || node->op->infer == nullptr || node->results.size() != 1) return false;
    bool constant = true;
    bool any = false;
    for (const Argument& a : node->args) {
      ir::for_each_value(a, [&](const ValueId& input) {
        any = true;
        constant = constant && is_constant(input);
      });
    }
    return constant && any;
  }

  // Whether each element of the result depends on elements at the same place of the arguments alone.
  static bool is_elementwise(const ir::Operator& op) {
    if (op.outputs.size() != 1 || op.output_is_list) return false;
    switch (op.id) {
      case OpId::to_dim_order_copy_out:
      case OpId::to_copy_out:
      case OpId::dequantize_per_tensor_out: return true;
      default: return op.in_place == ir::InPlaceClass::kElement;
    }
  }

  // Whether `v`, of the table's rank and size along the axis, can be picked from before it is computed.
  bool may_pick(ValueId v, const Pick& pick) const {
    if (method_.value(v).kind == ir::ValueKind::kConstant) return true;
    const Node& node = *defining_node(method_, v);
    const std::vector<Dim>& shape = type(v).shape;
    const auto rows_are = [&](ValueId part) {
      const std::vector<Dim>& s = type(part).shape;
      return static_cast<int>(s.size()) > pick.axis && s[pick.axis] == shape[pick.axis];
    };
    bool fits = true;
    switch (node.op->id) {
      case OpId::view_copy_out:
      case OpId::expand_copy_out: return pick.axis == 0 && rows_are(value(node, 0)) && may_pick(value(node, 0), pick);
      case OpId::stack_out:
      case OpId::cat_out: {
        const int rank = static_cast<int>(shape.size());
        if (wrapped(std::get<Dim>(node.args[arg::cat_out::dim]), rank) <= pick.axis) return false;
        for (ValueId part : std::get<ValueList>(node.args[arg::cat_out::tensors])) {
          fits = fits && rows_are(part) && may_pick(part, pick);
        }
        return fits;
      }
      case OpId::slice_copy_Tensor_out: {
        const int dim = wrapped(std::get<Dim>(node.args[arg::slice_copy_Tensor_out::dim]), type(v).rank());
        return dim > pick.axis && may_pick(value(node, 0), pick);
      }
      default: break;
    }
    if (!is_elementwise(*node.op)) return false;
    for (const Argument& a : node.args) {
      ir::for_each_value(a, [&](const ValueId& input) {
        const std::optional<int> axis = axis_of(input, v, pick);
        Pick inner = pick;
        inner.axis = axis.value_or(0);
        fits = fits && (!axis.has_value() || may_pick(input, inner));
      });
    }
    return fits;
  }

  // Which dimension of `input`, which broadcasts to `v`, is the picked one; nothing where it is of size 1 or not there.
  std::optional<int> axis_of(ValueId input, ValueId v, const Pick& pick) const {
    const int axis = pick.axis - (type(v).rank() - type(input).rank());
    if (axis < 0 || type(input).shape[axis] != type(v).shape[pick.axis]) return std::nullopt;
    if (type(v).shape[pick.axis] == Dim(1)) return std::nullopt;
    return axis;
  }

  Expected<ValueId> append(OpId id, std::vector<Argument> args) const {
    return build_->one(id, std::move(args), source_);
  }

  Expected<ValueId> pick_constant(ValueId v, const Pick& pick) const {
    switch (pick.kind) {
      case Pick::kIndex: {
        ValueList indices(pick.axis);
        indices.push_back(pick.index);
        return append(OpId::index_Tensor_out, {v, indices});
      }
      case Pick::kSlice:
        return append(OpId::slice_copy_Tensor_out, {v, Dim(pick.axis), pick.at[0], pick.at[1], pick.at[2]});
      case Pick::kSelect: return append(OpId::select_copy_int_out, {v, Dim(pick.axis), pick.at[0]});
    }
    return v;
  }

  // The shape of `v` with what is picked in the place of the axis.
  std::vector<Dim> picked_shape(ValueId v, const Pick& pick) const {
    std::vector<Dim> shape = type(v).shape;
    shape.erase(shape.begin() + pick.axis);
    shape.insert(shape.begin() + pick.axis, pick.picked.begin(), pick.picked.end());
    return shape;
  }

  // An argument that has one row for all: it must meet as many dimensions as the others now have.
  Expected<ValueId> spread(ValueId input, ValueId v, const Pick& pick) const {
    const int axis = pick.axis - (type(v).rank() - type(input).rank());
    if (axis < 0 || pick.picked.size() == 1) return input;
    std::vector<Dim> shape = type(input).shape;
    shape.erase(shape.begin() + axis);
    shape.insert(shape.begin() + axis, pick.picked.size(), Dim(1));
    return append(OpId::view_copy_out, {input, shape});
  }

  // REQUIRES: may_pick(v, pick).
  Expected<ValueId> picked_first(ValueId v, const Pick& pick) const {
    if (method_.value(v).kind == ir::ValueKind::kConstant) return pick_constant(v, pick);
    const Node node = *defining_node(method_, v);
    std::vector<Argument> args = node.args;
    const int more = static_cast<int>(pick.picked.size()) - 1;
    switch (node.op->id) {
      case OpId::view_copy_out:
      case OpId::expand_copy_out: args[arg::view_copy_out::size] = picked_shape(v, pick); break;
      case OpId::stack_out:
      case OpId::cat_out:
        args[arg::cat_out::dim] = Dim(wrapped(std::get<Dim>(args[arg::cat_out::dim]), type(v).rank()) + more);
        break;
      case OpId::slice_copy_Tensor_out:
        args[arg::slice_copy_Tensor_out::dim] =
            Dim(wrapped(std::get<Dim>(args[arg::slice_copy_Tensor_out::dim]), type(v).rank()) + more);
        break;
      case OpId::to_dim_order_copy_out: args[arg::to_dim_order_copy_out::dim_order] = ir::None(); break;
      default: break;
    }
    std::optional<Failure> failure;
    const bool pointwise = is_elementwise(*node.op) && !node.op->is_reshape();
    for (Argument& a : args) {
      ir::for_each_value(a, [&](ValueId& input) {
        if (failure.has_value()) return;
        const std::optional<int> axis = pointwise ? axis_of(input, v, pick) : std::optional<int>(pick.axis);
        Pick inner = pick;
        inner.axis = axis.value_or(0);
        const Expected<ValueId> one = axis.has_value() ? picked_first(input, inner) : spread(input, v, pick);
        if (one.ok()) {
          input = *one;
        } else {
          failure = one.error();
        }
      });
    }
    if (failure.has_value()) return *failure;
    return append(node.op->id, std::move(args));
  }

  ir::Module& module_;
  ir::Method& method_;
  const Options& options_;
  ir::Builder* build_ = nullptr;
  std::string source_;
  mutable int left_ = 0;  // nodes that may be looked at yet
};

}  // namespace

const char* to_string(PickReason reason) {
  switch (reason) {
    case PickReason::kPicked: return "picked before it is computed";
    case PickReason::kNotFewer: return "keep: not fewer";
    case PickReason::kNotElements: return "keep: rows are mixed";
  }
  return "?";
}

Expected<Changed> pick_first(ir::Module& module, const Options& options) {
  return rewrite(module, [&](ir::Module& m, ir::Method& method) -> Visitor {
    return [picker = Picker(m, method, options)](ir::Builder& build, ir::NodeId id, bool* changed) mutable {
      return picker.visit(build, id, changed);
    };
  });
}

}  // namespace berth::passes
