#include "compiler/placement/operator_work.h"

#include <algorithm>
#include <iterator>

#include "compiler/ir/arguments.h"

namespace berth::placement {
namespace {

using ir::Method;
using ir::Module;
using ir::Node;
using ir::OpId;
using ir::ValueId;

constexpr double kMostTurns = 1e6;

class Sizes {
 public:
  Sizes(const Module& module, const Method& method, const Node& node) : module_(module), method_(method), node_(node) {}

  double elements(ValueId id) const { return static_cast<double>(ir::max_numel(method_.tensor(id), module_.symbols)); }
  double result_elements() const { return elements(node_.results[0]); }
  ValueId tensor(size_t argument) const { return std::get<ValueId>(node_.args[argument]); }
  double size(ValueId id, size_t dimension) const {
    const ir::TensorType& type = method_.tensor(id);
    return dimension < type.shape.size() ? static_cast<double>(module_.symbols.upper(type.shape[dimension])) : 1;
  }
  double last_size(ValueId id) const { return size(id, method_.tensor(id).shape.size() - 1); }

 private:
  const Module& module_;
  const Method& method_;
  const Node& node_;
};

// Each element of the result is a sum over what the weight holds for its channel; of a transposed convolution each
// element of the input goes into as many.
Work convolution(const Node& node, const Sizes& sizes) {
  namespace at = arg::convolution_out;
  const ValueId input = sizes.tensor(at::input);
  const ValueId weight = sizes.tensor(at::weight);
  const bool* transposed = std::get_if<bool>(&node.args[at::transposed]);
  const double taps = sizes.elements(weight) / std::max(1.0, sizes.size(weight, 0));
  const bool is_transposed = transposed != nullptr && *transposed;
  const double outer = is_transposed ? sizes.elements(input) : sizes.result_elements();
  const auto* groups = std::get_if<ir::Dim>(&node.args[at::groups]);
  const bool depthwise = groups != nullptr && groups->is_constant() && groups->value > 1 &&
                         static_cast<double>(groups->value) == sizes.size(input, 1);
  return {depthwise ? WorkKind::kDepthwise : WorkKind::kConvolution, 2 * outer * taps, 0};
}

Work arithmetic_of(const Node& node, const Sizes& sizes) {
  const auto product = [&](size_t first) {
    return Work{WorkKind::kProduct, 2 * sizes.result_elements() * sizes.last_size(sizes.tensor(first)), 0};
  };
  switch (node.op->id) {
    case OpId::mm_out:
    case OpId::bmm_out: return product(arg::mm_out::self);
    case OpId::addmm_out: return product(arg::addmm_out::mat1);
    case OpId::convolution_out: return convolution(node, sizes);
    default: break;
  }
  const bool moves = node.op->elements == ir::ElementUse::kMoves || node.op->elements == ir::ElementUse::kConverts;
  return {moves || is_elementwise(node) ? WorkKind::kElementwise : WorkKind::kReduction, 0, 0};
}

}  // namespace

int picked_argument(OpId id) {
  constexpr int kReads[] = {
#define WHOLE -1
#define PICKED(i) i
#define OP(identifier, name, functional, out, schema, rule, in_place, view, unplaced, layout, elements, reads, ...) \
  reads,
#include "format/operators.def"
#undef OP
#undef PICKED
#undef WHOLE
  };
  const auto row = static_cast<size_t>(id);
  return row < std::size(kReads) ? kReads[row] : -1;
}

bool is_elementwise(const Node& node) { return node.op->in_place == ir::InPlaceClass::kElement; }

double bytes_of(const Module& module, const Method& method, ValueId value) {
  const ir::TensorType* type = method.value(value).tensor();
  return type == nullptr ? 8 : static_cast<double>(ir::max_bytes(*type, module.symbols));
}

Work work_at(const Module& module, const Method& method, const Node& node) {
  const bool computes = node.op->infer != nullptr && !node.results.empty() && !node.op->is_reshape() &&
                        method.value(node.results[0]).tensor() != nullptr;
  if (!computes) return {};
  Work work = arithmetic_of(node, Sizes(module, method, node));
  const double made = bytes_of(module, method, node.results[0]);
  for (size_t k = 0; k < node.args.size(); ++k) {
    const bool picks = static_cast<int>(k) == picked_argument(node.op->id);
    ir::for_each_value(node.args[k], [&](ValueId id) {
      const double all = bytes_of(module, method, id);
      work.bytes += picks ? std::min(all, made) : all;
    });
  }
  for (const ValueId result : node.results) work.bytes += bytes_of(module, method, result);
  return work;
}

double turns_of(const Module& module, const Node& node) {
  if (node.is(OpId::while_)) return kWhileTurns;
  if (!node.is(OpId::scan)) return 1;
  const auto* length = std::get_if<ir::Dim>(&node.args[arg::scan::length]);
  return length == nullptr ? kWhileTurns : std::min(kMostTurns, static_cast<double>(module.symbols.upper(*length)));
}

}  // namespace berth::placement
