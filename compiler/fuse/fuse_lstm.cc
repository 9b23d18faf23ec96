#include "compiler/fuse/fuse_lstm.h"

#include <array>
#include <map>

#include "compiler/fuse/replacements.h"
#include "compiler/fuse/strided.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// Of i, f, g, o: which quarter of a row holds each.
using GateOrder = std::array<int64_t, 4>;
constexpr GateOrder kOwnOrder = {0, 1, 2, 3};

struct Gate {
  ValueId base;
  int64_t column = 0;
  OpId function = OpId::kCount;  // sigmoid_out or tanh_out
};

struct CellStep {
  ValueId input;   // the input's part of the gates
  ValueId bias;    // a constant; may be invalid
  ValueId hidden;  // before
  ValueId cell;
  ValueId weight;
  GateOrder order{};
  ValueId new_cell;
};

class Matcher {
 public:
  explicit Matcher(const Context& context) : context_(context) {}

  // `node` as what gives the hidden state of a step.
  std::optional<CellStep> match(const Node& node) const {
    for (size_t k = 0; k < 2; ++k) {
      const auto step = match(node, value_argument(node, k), value_argument(node, 1 - k));
      if (step) return step;
    }
    return std::nullopt;
  }

 private:
  std::optional<CellStep> match(const Node& node, ValueId gate, ValueId squashed) const {
    const ir::TensorType& out = context_.type(node.results[0]);
    const Node* tanh = squashed.valid() ? context_.maker(squashed) : nullptr;
    if (tanh == nullptr || !tanh->is(OpId::tanh_out) || out.rank() < 2 || !is_plain(context_, node.results[0])) {
      return std::nullopt;
    }
    CellStep step;
    step.new_cell = value_argument(*tanh, 0);
    const Gate output = gate_of(gate);
    const Node* sum = context_.maker(step.new_cell);
    if (output.function != OpId::sigmoid_out || sum == nullptr || !sum->is(OpId::add_out)) return std::nullopt;
    const int64_t units = elements(node.results[0]);
    if (!is_plain(context_, step.new_cell) || elements(gate) != units || elements(step.new_cell) != units)
      return std::nullopt;
    if (context_.number(sum->args[arg::add_out::alpha]) != 1.0) return std::nullopt;
    const int64_t size = out.shape.back().value;
    for (size_t k = 0; k < 2; ++k) {
      if (!products(context_.maker(value_argument(*sum, k)), context_.maker(value_argument(*sum, 1 - k)), output, size,
                    &step))
        continue;
      if (!in_quarters(step.order) || !recurrence(output.base, size, &step)) return std::nullopt;
      return step;
    }
    return std::nullopt;
  }

  // forget * cell and input * candidate.
  bool products(const Node* kept, const Node* added, const Gate& output, int64_t size, CellStep* step) const {
    if (kept == nullptr || added == nullptr || !kept->is(OpId::mul_out) || !added->is(OpId::mul_out)) return false;
    for (size_t k = 0; k < 2; ++k) {
      for (size_t j = 0; j < 2; ++j) {
        const Gate forget = gate_of(value_argument(*kept, k));
        const Gate input = gate_of(value_argument(*added, j));
        const Gate candidate = gate_of(value_argument(*added, 1 - j));
        const ValueId cell = value_argument(*kept, 1 - k);
        const bool functions = forget.function == OpId::sigmoid_out && input.function == OpId::sigmoid_out &&
                               candidate.function == OpId::tanh_out;
        const bool bases = forget.base == output.base && input.base == output.base && candidate.base == output.base;
        if (!functions || !bases || !is_plain(context_, cell)) continue;
        // One number a unit each: none is stretched.
        const int64_t units = elements(step->new_cell);
        for (const ValueId gate :
             {value_argument(*kept, k), value_argument(*added, j), value_argument(*added, 1 - j)}) {
          if (elements(gate) != units) return false;
        }
        const int64_t columns[4] = {input.column, forget.column, candidate.column, output.column};
        for (size_t g = 0; g < 4; ++g) step->order[g] = columns[g] % size == 0 ? columns[g] / size : -1;
        step->cell = cell;
        return context_.type(cell).shape == context_.type(kept->results[0]).shape;
      }
    }
    return false;
  }

  static bool in_quarters(const GateOrder& order) {
    bool seen[4] = {};
    for (int64_t quarter : order) {
      if (quarter < 0 || quarter > 3 || seen[quarter]) return false;
      seen[quarter] = true;
    }
    return true;
  }

  // Through views, cuts of columns, and one sigmoid or tanh.
  Gate gate_of(ValueId value) const {
    Gate gate;
    for (int depth = 0; depth < 8; ++depth) {
      const Node* node = value.valid() ? context_.maker(value) : nullptr;
      gate.base = value;
      if (node == nullptr) return gate;
      const ValueId input = value_argument(*node, 0);
      if (!input.valid() || !is_plain(context_, input) || !is_plain(context_, value)) return gate;
      const auto& shape = context_.type(value).shape;
      const auto& from = context_.type(input).shape;
      const auto is_last = [&](const Argument& dim) {
        return dim == Argument(Dim(-1)) || dim == Argument(Dim(static_cast<int64_t>(from.size()) - 1));
      };
      if (node->is(OpId::sigmoid_out) || node->is(OpId::tanh_out)) {
        if (gate.function != OpId::kCount) return gate;
        gate.function = node->op->id;
      } else if (node->is(OpId::split_with_sizes_copy_out) &&
                 is_last(node->args[arg::split_with_sizes_copy_out::dim])) {
        for (int i = 0; i < context_.method().value(value).result; ++i) {
          gate.column += std::get<DimList>(node->args[arg::split_with_sizes_copy_out::split_sizes])[i].value;
        }
      } else if (node->is(OpId::slice_copy_Tensor_out) && is_last(node->args[arg::slice_copy_Tensor_out::dim]) &&
                 node->args[arg::slice_copy_Tensor_out::step] == Argument(Dim(1))) {
        const Dim* start = std::get_if<Dim>(&node->args[arg::slice_copy_Tensor_out::start]);
        if (start != nullptr && start->value < 0) return gate;
        gate.column += start == nullptr ? 0 : start->value;
      } else if (!node->op->is_reshape() || shape.empty() || from.empty() || shape.back() != from.back() ||
                 gate.function == OpId::kCount) {
        return gate;
      }
      value = input;
    }
    return {};
  }

  // The gates as input part + hidden * weight, with a bias perhaps.
  bool recurrence(ValueId gates, int64_t size, CellStep* step) const {
    const Node* node = context_.maker(gates);
    if (node == nullptr) return false;
    if (node->is(OpId::addmm_out)) {
      step->input = value_argument(*node, 0);
      return context_.type(step->input).shape == context_.type(gates).shape && product(*node, 1, size, step);
    }
    if (!node->is(OpId::add_out) || context_.number(node->args[arg::add_out::alpha]) != 1.0) return false;
    for (size_t k = 0; k < 2; ++k) {
      ValueId summand = value_argument(*node, k);
      while (is_view(context_.maker(summand))) summand = value_argument(*context_.maker(summand), 0);
      const Node* inner = context_.maker(summand);
      step->input = value_argument(*node, 1 - k);
      // The same rows, with or without leading dimensions of one place.
      const bool whole =
          step->input.valid() && is_plain(context_, step->input) && elements(step->input) == elements(gates);
      if (inner == nullptr || !whole) continue;
      step->bias = {};
      if (inner->is(OpId::mm_out) && product(*inner, 0, size, step)) return true;
      if (!inner->is(OpId::addmm_out) || context_.constant(inner->args[arg::addmm_out::self]) == nullptr) continue;
      if (context_.type(value_argument(*inner, 0)).rank() != 1 || !product(*inner, 1, size, step)) continue;
      step->bias = value_argument(*inner, 0);
      return true;
    }
    return false;
  }

  int64_t elements(ValueId value) const { return ir::max_numel(context_.type(value), {}); }
  static bool is_view(const Node* node) { return node != nullptr && node->op->is_reshape(); }

  bool product(const Node& node, size_t first, int64_t size, CellStep* step) const {
    if (first == 1 && (context_.number(node.args[arg::addmm_out::beta]) != 1.0 ||
                       context_.number(node.args[arg::addmm_out::alpha]) != 1.0))
      return false;
    const ir::Constant* weight = context_.constant(node.args[first + 1]);
    if (weight == nullptr || !weight->type.is_contiguous() || weight->type.dtype != DType::kF32) return false;
    step->hidden = value_argument(node, first);
    step->weight = value_argument(node, first + 1);
    return weight->type.shape == std::vector<Dim>{Dim(size), Dim(4 * size)} && is_plain(context_, step->hidden) &&
           elements(step->hidden) == elements(step->cell);
  }

  const Context& context_;
};

class RegionLstm {
 public:
  RegionLstm(ir::Module& module, ir::Method& method, const passes::Options& options, Graph& graph)
      : method_(method), graph_(graph), build_(module, method, graph), context_(module, method, options) {}

  Expected<bool> run() {
    const std::vector<NodeId> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (NodeId id : old) {
      replaced_.apply(&method_.node(id).args);
      bool done = false;
      if (method_.node(id).is(OpId::mul_out)) {
        BERTH_ASSIGN_OR_RETURN(done, step(id));
      }
      if (!done) graph_.nodes.push_back(id);
    }
    replaced_.apply(&graph_.outputs);
    return changed_;
  }

 private:
  Expected<bool> step(NodeId id) {
    const auto found = Matcher(context_).match(method_.node(id));
    if (!found) return false;
    const CellStep& step = *found;
    BERTH_ASSIGN_OR_RETURN(const ValueId input, gates_in_order(step));
    context_.remark(method_.node(id), input.valid() ? Reason::kFused : Reason::kOrder, "berth::lstm_cell");
    if (!input.valid()) return false;
    const std::string source = method_.node(id).source;
    const ValueId weight = columns_in_order(step.weight, step.order);
    const std::vector<Dim> rows = method_.tensor(step.hidden).shape;
    const std::vector<Dim> wide = {rows[0], method_.tensor(weight).shape[1]};
    BERTH_ASSIGN_OR_RETURN(const ValueId gates, with_shape(context_, build_, input, wide, source));
    BERTH_ASSIGN_OR_RETURN(const ValueId cell, with_shape(context_, build_, step.cell, rows, source));
    BERTH_ASSIGN_OR_RETURN(
        const std::vector<ValueId> made,
        build_.create(OpId::fused_lstm_cell_out, {gates, step.hidden, cell, weight, std::string()}, source));
    // What stands between the sum of the new cell and here goes on reading that.
    const ValueId old[] = {method_.node(id).results[0], step.new_cell};
    for (size_t i = 0; i < 2; ++i) {
      // The model may have more dimensions, of one place each.
      const std::vector<Dim> shape = method_.tensor(old[i]).shape;
      BERTH_ASSIGN_OR_RETURN(const ValueId result, with_shape(context_, build_, made[i], shape, source));
      replaced_.add(old[i], result);
    }
    changed_ = true;
    return true;
  }

  // A constant of [.., 4 * size] with its quarters in the order of lstm_cell.
  ValueId columns_in_order(ValueId constant, const GateOrder& order) {
    if (order == kOwnOrder) return constant;
    const auto key = std::make_pair(constant, order);
    const auto memo = turned_.find(key);
    if (memo != turned_.end()) return memo->second;
    const ir::Constant& from = *context_.constant(Argument(constant));
    const std::vector<float> elements = floats_of(from);
    std::vector<float> turned(elements.size());
    const size_t row = from.type.shape.back().value;
    const size_t size = row / 4;
    for (size_t i = 0; i < turned.size(); ++i) {
      const size_t gate = i % row / size;
      turned[i] = elements[i / row * row + order[gate] * size + i % size];
    }
    std::vector<int64_t> sizes;
    for (Dim dim : from.type.shape) sizes.push_back(dim.value);
    return turned_[key] = float_constant(build_, sizes, turned, from.name + "_ifgo");
  }

  // The input's part with its quarters in order and the step's bias added; invalid when that would take an instruction
  // more a step.
  Expected<ValueId> gates_in_order(const CellStep& step) {
    if (step.order == kOwnOrder && !step.bias.valid()) return step.input;
    // Back to the product that serves all steps.
    std::vector<NodeId> chain;
    ValueId value = step.input;
    for (;;) {
      const Node* node = context_.maker(value);
      if (node == nullptr || chain.size() > 8) return ValueId{};
      if (node->is(OpId::addmm_out)) break;
      const bool moves = node->op->is_reshape() || (node->op->view == ir::ViewKind::kPart && !node->op->output_is_list);
      const ValueId input = value_argument(*node, 0);
      if (!moves || !is_plain(context_, value) || !is_plain(context_, input)) return ValueId{};
      if (context_.type(value).shape.empty() ||
          context_.type(value).shape.back() != context_.type(input).shape.back()) {
        return ValueId{};
      }
      chain.push_back(context_.method().value(value).node);
      value = input;
    }
    BERTH_ASSIGN_OR_RETURN(ValueId moved, shared_product(value, step));
    for (size_t i = chain.size(); i-- > 0 && moved.valid();) {
      const ValueId old = method_.node(chain[i]).results[0];
      const auto key = std::make_pair(moved, old);
      const auto memo = moved_.find(key);
      if (memo != moved_.end()) {
        moved = memo->second;
        continue;
      }
      std::vector<Argument> args = method_.node(chain[i]).args;
      args.front() = moved;
      const OpId op = method_.node(chain[i]).op->id;
      const std::string source = method_.node(chain[i]).source;
      BERTH_ASSIGN_OR_RETURN(moved, build_.one(op, std::move(args), source));
      moved_[key] = moved;
    }
    return moved;
  }

  Expected<ValueId> shared_product(ValueId value, const CellStep& step) {
    const auto key = std::make_tuple(value, step.bias, step.order);
    const auto memo = products_.find(key);
    if (memo != products_.end()) return memo->second;
    const Node& node = *context_.maker(value);
    const ir::Constant* bias = context_.constant(node.args[arg::addmm_out::self]);
    const ir::Constant* weight = context_.constant(node.args[arg::addmm_out::mat2]);
    if (bias == nullptr || weight == nullptr || bias->type.rank() != 1 || weight->type.dtype != DType::kF32 ||
        !weight->type.is_contiguous() || context_.number(node.args[arg::addmm_out::beta]) != 1.0 ||
        context_.number(node.args[arg::addmm_out::alpha]) != 1.0) {
      return ValueId{};
    }
    std::vector<float> sum = floats_of(*bias);
    if (step.bias.valid()) {
      const std::vector<float> more = floats_of(*context_.constant(Argument(step.bias)));
      if (more.size() != sum.size()) return ValueId{};
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
    }
    const ValueId input = value_argument(node, 1);
    const ValueId old_weight = value_argument(node, 2);
    const std::string source = node.source;
    const ValueId added = float_constant(build_, {static_cast<int64_t>(sum.size())}, sum, bias->name + "_sum");
    BERTH_ASSIGN_OR_RETURN(
        const ValueId made,
        build_.one(OpId::addmm_out,
                   {columns_in_order(added, step.order), input, columns_in_order(old_weight, step.order)}, source));
    products_[key] = made;
    return made;
  }

  ir::Method& method_;
  Graph& graph_;
  ir::Builder build_;
  Context context_;
  Replacements replaced_;
  std::map<std::pair<ValueId, GateOrder>, ValueId> turned_;
  std::map<std::pair<ValueId, ValueId>, ValueId> moved_;  // by new input and old value
  std::map<std::tuple<ValueId, ValueId, GateOrder>, ValueId> products_;
  bool changed_ = false;
};

}  // namespace

Expected<passes::Changed> fuse_lstm(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return for_each_region(module, targets, [&](ir::Method& method, const targets::Target& target, Graph& region) {
    return target.fuses ? RegionLstm(module, method, options, region).run() : Expected<bool>(false);
  });
}

}  // namespace berth::fuse
