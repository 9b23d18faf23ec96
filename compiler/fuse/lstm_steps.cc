#include "compiler/fuse/lstm_steps.h"

#include "compiler/fuse/strided.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::OpId;
using ir::ValueId;

class LstmMatcher {
 public:
  /// `gates`: whatever makes the sums of the gates.
  LstmMatcher(const Context& context, bool gates) : context_(context), gates_(gates) {}

  // `node` as what gives the hidden state of a step.
  std::optional<LstmStep> match(const Node& node) const {
    for (size_t k = 0; k < 2; ++k) {
      const auto step = match(node, value_argument(node, k), value_argument(node, 1 - k));
      if (step) return step;
    }
    return std::nullopt;
  }

 private:
  std::optional<LstmStep> match(const Node& node, ValueId gate, ValueId squashed) const {
    const ir::TensorType& out = context_.type(node.results[0]);
    const Node* tanh = squashed.valid() ? context_.maker(squashed) : nullptr;
    if (tanh == nullptr || !tanh->is(OpId::tanh_out) || out.rank() < 2 || !is_plain(context_, node.results[0])) {
      return std::nullopt;
    }
    LstmStep step;
    step.new_cell = value_argument(*tanh, 0);
    const Gate output = gate_of(context_, gate);
    const Node* sum = context_.maker(step.new_cell);
    if (output.function != OpId::sigmoid_out || sum == nullptr || !sum->is(OpId::add_out)) return std::nullopt;
    const int64_t units = elements(node.results[0]);
    if (!is_plain(context_, step.new_cell) || elements(gate) != units || elements(step.new_cell) != units)
      return std::nullopt;
    if (context_.number(sum->args[arg::add_out::alpha]) != 1.0) return std::nullopt;
    const int64_t size = out.shape.back().value;
    if (size == 0) return std::nullopt;
    for (size_t k = 0; k < 2; ++k) {
      if (!products(context_.maker(value_argument(*sum, k)), context_.maker(value_argument(*sum, 1 - k)), output, size,
                    &step))
        continue;
      if (!in_quarters(step.order)) return std::nullopt;
      if (!(gates_ ? four_gates(output.base, size, &step) : recurrence(output.base, size, &step))) return std::nullopt;
      return step;
    }
    return std::nullopt;
  }

  // forget * cell and input * candidate.
  bool products(const Node* kept, const Node* added, const Gate& output, int64_t size, LstmStep* step) const {
    if (kept == nullptr || added == nullptr || !kept->is(OpId::mul_out) || !added->is(OpId::mul_out)) return false;
    for (size_t k = 0; k < 2; ++k) {
      for (size_t j = 0; j < 2; ++j) {
        const Gate forget = gate_of(context_, value_argument(*kept, k));
        const Gate input = gate_of(context_, value_argument(*added, j));
        const Gate candidate = gate_of(context_, value_argument(*added, 1 - j));
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

  // The gates as rows of four.
  bool four_gates(ValueId gates, int64_t size, LstmStep* step) const {
    step->input = gates;
    const ir::TensorType& type = context_.type(gates);
    return is_plain(context_, gates) && type.rank() >= 1 && type.shape.back() == Dim(4 * size) &&
           elements(gates) == 4 * elements(step->cell);
  }

  // The gates as input part + hidden * weight, with a bias perhaps.
  bool recurrence(ValueId gates, int64_t size, LstmStep* step) const {
    const Node* node = context_.maker(gates);
    if (node == nullptr) return false;
    if (node->is(OpId::addmm_out)) {
      step->input = value_argument(*node, 0);
      return context_.type(step->input).shape == context_.type(gates).shape && product(*node, 1, size, step);
    }
    if (!node->is(OpId::add_out) || context_.number(node->args[arg::add_out::alpha]) != 1.0) return false;
    for (size_t k = 0; k < 2; ++k) {
      const Node* inner = context_.maker(behind_views(context_, value_argument(*node, k)));
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

  bool product(const Node& node, size_t first, int64_t size, LstmStep* step) const {
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
  bool gates_;
};

}  // namespace

std::optional<LstmStep> match_lstm_step(const Context& context, const Node& node) {
  return LstmMatcher(context, false).match(node);
}

std::optional<LstmStep> match_lstm_gates(const Context& context, const Node& node) {
  return LstmMatcher(context, true).match(node);
}

}  // namespace berth::fuse
