#include "compiler/fuse/gru_steps.h"

#include <algorithm>
#include <cmath>

#include "compiler/fuse/strided.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::OpId;
using ir::ValueId;

int64_t elements(const Context& context, ValueId value) { return ir::max_numel(context.type(value), {}); }

bool is_plain_sum(const Context& context, const Node* node) {
  return node != nullptr && node->is(OpId::add_out) && context.number(node->args[arg::add_out::alpha]) == 1.0;
}

// What the state adds to the gates of a step, as far as the compiler knows it.
class KnownPart {
 public:
  // `hidden` before the first step, in the layer of `next`.
  KnownPart(const Context& context, const ir::Constant& hidden, const GruStep& next)
      : columns_(3 * next.size(context)), numbers_(elements(context, next.new_hidden) * 3) {
    const int64_t size = next.size(context);
    const std::vector<float> weight = dense_gru_weight(context, next);
    const std::vector<float> before = floats_of(hidden);
    std::vector<float> bias(columns_);
    if (next.bias.valid()) bias = floats_of(*context.constant(Argument(next.bias)));
    for (size_t i = 0; i < numbers_.size(); ++i) {
      const int64_t row = static_cast<int64_t>(i) / columns_;
      const int64_t column = static_cast<int64_t>(i) % columns_;
      double sum = static_cast<double>(bias[column]);
      for (int64_t k = 0; k < size; ++k) {
        sum += static_cast<double>(before[row * size + k]) * static_cast<double>(weight[k * columns_ + column]);
      }
      numbers_[i] = sum;
    }
  }

  // Whether `constant` holds columns [from, from + size) of it in its own from `column` on, but for rounding.
  bool holds(const ir::Constant& constant, int64_t column, int64_t from, int64_t size) const {
    const ir::TensorType& type = constant.type;
    const int64_t rows = static_cast<int64_t>(numbers_.size()) / columns_;
    if (type.dtype != DType::kF32 || !type.is_contiguous() || type.rank() < 1) return false;
    const int64_t width = type.shape.back().value;
    if (ir::max_numel(type, {}) != rows * width || column + size > width) return false;
    const std::vector<float> found = floats_of(constant);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t j = 0; j < size; ++j) {
        const double expected = numbers_[row * columns_ + from + j];
        const double is = static_cast<double>(found[row * width + column + j]);
        if (!(std::fabs(is - expected) <= 1e-5 * (1 + std::fabs(expected)))) return false;
      }
    }
    return true;
  }

 private:
  int64_t columns_;
  std::vector<double> numbers_;  // [rows, columns]
};

// h' = n + z * (h - n), or (1 - z) * n + z * h.
struct Blend {
  ValueId update, candidate, hidden;
};

class GruMatcher {
 public:
  // `next`, where the state's part may be known.
  explicit GruMatcher(const Context& context, const GruStep* next = nullptr) : context_(context), next_(next) {}

  std::optional<GruStep> match(const Node& node) const {
    if (!is_plain_sum(context_, &node) || !is_plain(context_, node.results[0])) return std::nullopt;
    for (const Blend& blend : blends_of(node)) {
      const auto step = match(node.results[0], blend);
      if (step) return step;
    }
    return std::nullopt;
  }

 private:
  std::vector<Blend> blends_of(const Node& sum) const {
    std::vector<Blend> found;
    for (size_t k = 0; k < 2; ++k) {
      const ValueId first = value_argument(sum, k);
      const Node* second = made_by(context_, value_argument(sum, 1 - k), OpId::mul_out);
      if (second == nullptr) continue;
      const Node* shares = made_by(context_, first, OpId::mul_out);
      for (size_t j = 0; j < 2; ++j) {
        const ValueId update = value_argument(*second, j);
        const ValueId other = value_argument(*second, 1 - j);
        const Node* difference = made_by(context_, other, OpId::sub_out);
        if (difference != nullptr && value_argument(*difference, 1) == first &&
            context_.number(difference->args[arg::sub_out::alpha]) == 1.0) {
          found.push_back({update, first, value_argument(*difference, 0)});
        }
        for (size_t i = 0; i < 2 && shares != nullptr; ++i) {
          if (is_rest_of(value_argument(*shares, i), update)) {
            found.push_back({update, value_argument(*shares, 1 - i), other});
          }
        }
      }
    }
    return found;
  }

  // Whether `value` is 1 - `share`.
  bool is_rest_of(ValueId value, ValueId share) const {
    const Node* node = value.valid() ? context_.maker(value) : nullptr;
    if (node == nullptr) return false;
    if (node->is(OpId::rsub_Scalar_out)) {
      return value_argument(*node, 0) == share && context_.number(node->args[arg::rsub_Scalar_out::other]) == 1.0 &&
             context_.number(node->args[arg::rsub_Scalar_out::alpha]) == 1.0;
    }
    return node->is(OpId::sub_out) && value_argument(*node, 1) == share && context_.number(node->args[0]) == 1.0 &&
           context_.number(node->args[arg::sub_out::alpha]) == 1.0;
  }

  std::optional<GruStep> match(ValueId result, const Blend& blend) const {
    GruStep step;
    step.new_hidden = result;
    const int64_t units = elements(context_, result);
    if (units == 0) return std::nullopt;
    for (const ValueId value : {blend.update, blend.candidate, blend.hidden}) {
      // One number a unit each: none is stretched.
      if (!value.valid() || !is_plain(context_, value) || elements(context_, value) != units) return std::nullopt;
    }
    const ValueId hidden = behind_views(context_, blend.hidden);
    step.hidden = is_plain(context_, hidden) ? hidden : blend.hidden;
    const Node* tanh = made_by(context_, blend.candidate, OpId::tanh_out);
    const Node* sum = tanh == nullptr ? nullptr : context_.maker(value_argument(*tanh, 0));
    if (sum == nullptr || context_.type(result).rank() < 2) return std::nullopt;
    const Gate update = gate_of(context_, blend.update);
    if (update.function != OpId::sigmoid_out) return std::nullopt;
    const bool matched =
        sum->is(OpId::addmm_out) ? before_product(*sum, update, &step) : after_product(*sum, update, &step);
    if (!matched || !has_whole_input(step)) return std::nullopt;
    return step;
  }

  // n = tanh(x + (r * h) W).
  bool before_product(const Node& sum, const Gate& update, GruStep* step) const {
    const int64_t size = step->size(context_);
    const Gate from_x = gate_of(context_, value_argument(sum, 0));
    const Node* kept = made_by(context_, value_argument(sum, 1), OpId::mul_out);
    const Node* gates = update.base.valid() ? context_.maker(update.base) : nullptr;
    if (kept == nullptr || gates == nullptr || !gates->is(OpId::addmm_out) || next_ != nullptr) return false;
    step->candidate_weight = weight_of(sum, 1, {Dim(size), Dim(size)});
    step->weight = weight_of(*gates, 1, {Dim(size), Dim(2 * size)});
    const Gate x_of_gates = gate_of(context_, value_argument(*gates, 0));
    if (!step->candidate_weight.valid() || !step->weight.valid() || !is_hidden(value_argument(*gates, 1), *step)) {
      return false;
    }
    step->input = from_x.base;
    if (!is_cut(from_x, step->input, 2 * size) || !is_cut(x_of_gates, step->input, 0)) return false;
    for (size_t k = 0; k < 2; ++k) {
      if (!is_hidden(value_argument(*kept, k), *step)) continue;
      const Gate reset = gate_of(context_, value_argument(*kept, 1 - k));
      if (reset.function != OpId::sigmoid_out || reset.base != update.base || !is_whole(*kept, *step)) continue;
      return in_order(reset.column, update.column, step);
    }
    return false;
  }

  // n = tanh(x + r * (h W + b)).
  bool after_product(const Node& sum, const Gate& update, GruStep* step) const {
    if (!is_plain_sum(context_, &sum)) return false;
    const int64_t size = step->size(context_);
    step->linear_before_reset = true;
    for (size_t k = 0; k < 2; ++k) {
      const Node* scaled = made_by(context_, value_argument(sum, 1 - k), OpId::mul_out);
      const Gate from_x = gate_of(context_, value_argument(sum, k));
      if (scaled == nullptr || !is_whole(*scaled, *step)) continue;
      for (size_t j = 0; j < 2; ++j) {
        const Gate reset = gate_of(context_, value_argument(*scaled, j));
        const Gate from_h = gate_of(context_, value_argument(*scaled, 1 - j));
        if (reset.function != OpId::sigmoid_out || !from_h.base.valid()) continue;
        step->input = from_x.base;
        if (!is_cut(from_x, step->input, 2 * size) || !reads_state(from_h.base, step)) continue;
        if (!is_state(from_h, 2, *step, from_h.base)) continue;
        const int64_t reset_at = column_of(reset, *step, from_h.base);
        const int64_t update_at = column_of(update, *step, from_h.base);
        if (in_order(reset_at, update_at, step)) return true;
      }
    }
    return false;
  }

  // Takes weight and bias of the product that makes `value`, or of the step behind.
  bool reads_state(ValueId value, GruStep* step) const {
    const int64_t size = step->size(context_);
    if (next_ != nullptr) {
      if (context_.constant(Argument(step->hidden)) == nullptr || !next_->linear_before_reset) return false;
      step->weight = next_->weight;
      step->bias = next_->bias;
      return next_->size(context_) == size;
    }
    const Node* product = context_.maker(behind_views(context_, value));
    if (product == nullptr) return false;
    const std::vector<Dim> wide = {Dim(size), Dim(3 * size)};
    if (product->is(OpId::mm_out)) {
      step->weight = weight_of(*product, 0, wide);
      return step->weight.valid() && is_hidden(value_argument(*product, 0), *step);
    }
    if (!product->is(OpId::addmm_out) || !is_hidden(value_argument(*product, 1), *step)) return false;
    step->weight = weight_of(*product, 1, wide);
    step->bias = value_argument(*product, 0);
    const ir::Constant* bias = context_.constant(product->args[arg::addmm_out::self]);
    return step->weight.valid() && bias != nullptr && bias->type.dtype == DType::kF32 &&
           bias->type.shape == std::vector<Dim>{Dim(3 * size)};
  }

  // Whether `value` is the state before the step, perhaps in another shape. Before the first one both may be zeros of
  // their own.
  bool is_hidden(ValueId value, const GruStep& step) const {
    if (!value.valid() || !is_plain(context_, value)) return false;
    if (elements(context_, value) != elements(context_, step.hidden)) return false;
    if (behind_views(context_, value) == behind_views(context_, step.hidden)) return true;
    const auto number = context_.number(Argument(value));
    return number && number == context_.number(Argument(step.hidden));
  }

  // The weight of a product; invalid where it is not a constant of that shape.
  ValueId weight_of(const Node& node, size_t first, const std::vector<Dim>& shape) const {
    if (first == 1 && (context_.number(node.args[arg::addmm_out::beta]) != 1.0 ||
                       context_.number(node.args[arg::addmm_out::alpha]) != 1.0)) {
      return {};
    }
    const ir::Constant* weight = context_.constant(node.args[first + 1]);
    const bool fits = weight != nullptr && weight->type.is_contiguous() && weight->type.dtype == DType::kF32 &&
                      weight->type.shape == shape;
    return fits ? value_argument(node, first + 1) : ValueId{};
  }

  // The column at which a gate, a sigmoid of a sum, begins in the input's part, and in the state's; -1 where they
  // differ.
  int64_t column_of(const Gate& gate, const GruStep& step, ValueId product) const {
    const Node* sum = gate.base.valid() ? context_.maker(gate.base) : nullptr;
    if (!is_plain_sum(context_, sum)) return -1;
    const int64_t size = step.size(context_);
    for (size_t k = 0; k < 2; ++k) {
      Gate from_x = gate_of(context_, value_argument(*sum, k));
      Gate from_h = gate_of(context_, value_argument(*sum, 1 - k));
      from_x.column += gate.column;
      from_h.column += gate.column;
      if (from_x.column % size != 0 || from_x.column < 0 || from_x.column > size) continue;
      const int64_t at = from_x.column / size;
      if (is_cut(from_x, step.input, from_x.column) && is_state(from_h, at, step, product)) return from_x.column;
    }
    return -1;
  }

  // Whether `part` is what the state adds to gate `at`: columns of `product`, or known.
  bool is_state(const Gate& part, int64_t at, const GruStep& step, ValueId product) const {
    const int64_t size = step.size(context_);
    if (part.function != OpId::kCount || !part.base.valid()) return false;
    if (next_ == nullptr) {
      return part.base == product && part.column == at * size;
    }
    const ir::Constant* constant = context_.constant(Argument(part.base));
    const ir::Constant* hidden = context_.constant(Argument(step.hidden));
    if (constant == nullptr || hidden == nullptr || hidden->type.dtype != DType::kF32 ||
        !hidden->type.is_contiguous()) {
      return false;
    }
    return KnownPart(context_, *hidden, *next_).holds(*constant, part.column, at * size, size);
  }

  static bool is_cut(const Gate& part, ValueId base, int64_t column) {
    return part.function == OpId::kCount && part.base.valid() && part.base == base && part.column == column;
  }

  bool in_order(int64_t reset, int64_t update, GruStep* step) const {
    const int64_t size = step->size(context_);
    step->reset_first = reset == 0;
    return reset + update == size && (reset == 0 || update == 0);
  }

  bool is_whole(const Node& node, const GruStep& step) const {
    for (size_t k = 0; k < 2; ++k) {
      const ValueId value = value_argument(node, k);
      if (!value.valid() || elements(context_, value) != elements(context_, step.new_hidden)) return false;
    }
    return true;
  }

  bool has_whole_input(const GruStep& step) const {
    if (!is_plain(context_, step.input) || context_.type(step.input).shape.empty()) return false;
    return context_.type(step.input).shape.back() == Dim(3 * step.size(context_)) &&
           elements(context_, step.input) == 3 * elements(context_, step.new_hidden);
  }

  const Context& context_;
  const GruStep* next_;
};

}  // namespace

bool GruStep::same_layer(const GruStep& other) const {
  return weight == other.weight && candidate_weight == other.candidate_weight && bias == other.bias &&
         reset_first == other.reset_first && linear_before_reset == other.linear_before_reset;
}

std::optional<GruStep> match_gru_step(const Context& context, const Node& node) {
  return GruMatcher(context).match(node);
}

std::optional<GruStep> match_first_gru_step(const Context& context, const Node& node, const GruStep& next) {
  auto step = GruMatcher(context, &next).match(node);
  if (step && !step->same_layer(next)) step.reset();
  return step;
}

std::vector<float> dense_gru_weight(const Context& context, const GruStep& step) {
  std::vector<float> dense = floats_of(*context.constant(Argument(step.weight)));
  if (!step.candidate_weight.valid()) return dense;
  const std::vector<float> candidate = floats_of(*context.constant(Argument(step.candidate_weight)));
  const int64_t size = step.size(context);
  std::vector<float> joined;
  joined.reserve(dense.size() + candidate.size());
  for (int64_t k = 0; k < size; ++k) {
    joined.insert(joined.end(), dense.begin() + k * 2 * size, dense.begin() + (k + 1) * 2 * size);
    joined.insert(joined.end(), candidate.begin() + k * size, candidate.begin() + (k + 1) * size);
  }
  return joined;
}

Expected<ValueId> GruWeights::layer(ir::Builder& build, const GruStep& step, ValueId gates, ValueId hidden,
                                    bool reverse, const std::string& source) {
  std::vector<Argument> args = {
      gates, hidden, in_blocks(build, step), ir::None(), step.reset_first, step.linear_before_reset, reverse};
  if (step.bias.valid()) args[arg::fused_gru_out::bias] = step.bias;
  return build.one(OpId::fused_gru_out, std::move(args), source);
}

ValueId GruWeights::in_blocks(ir::Builder& build, const GruStep& step) {
  const auto key = std::make_pair(step.weight, step.candidate_weight);
  const auto memo = made_.find(key);
  if (memo != made_.end()) return memo->second;
  const std::string name = context_.constant(Argument(step.weight))->name + "_blocks";
  return made_[key] = fuse::in_blocks(build, dense_gru_weight(context_, step), step.size(context_), 3, name);
}

}  // namespace berth::fuse
