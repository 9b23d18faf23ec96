#include "compiler/fuse/rounded_products.h"

#include <algorithm>
#include <cmath>

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::OpId;
using ir::ValueId;
using Rounding = Quantized::Rounding;

namespace place = arg::quantized_linear_out;

const char* text_of(Rounding rounding) { return rounding == Rounding::kInverse ? "inverse" : "divide"; }

// round(number / scale) + zero point, within the limits, as the kernels round.
int64_t rounded(double number, float scale, const Quantized& q) {
  const double whole = std::nearbyint(static_cast<float>(number) / scale) + *q.zero_point.number();
  if (!(whole > static_cast<double>(q.low))) return q.low;
  return whole < static_cast<double>(q.high) ? static_cast<int64_t>(whole) : q.high;
}

// Passes scale and bias of `product` through `by`; false where a scale is no longer one.
template <typename By>
bool rescale(const Context& context, ir::Builder& build, By&& by, QuantizedProduct* product) {
  const auto changed = [&](const Argument& numbers) {
    std::vector<float> result = floats_of(*context.constant(numbers));
    for (float& number : result) number = by(number);
    return result;
  };
  const std::vector<float> scales = changed((*product)[place::scale]);
  if (!std::all_of(scales.begin(), scales.end(), [](float x) { return std::isnormal(x); })) return false;
  (*product)[place::scale] = line_constant(build, scales, "scale");
  const ir::Constant* bias = context.constant((*product)[place::bias]);
  if (bias != nullptr && bias->type.dtype == DType::kF32) {
    (*product)[place::bias] = line_constant(build, changed((*product)[place::bias]), "bias");
  }
  return true;
}

}  // namespace

bool multiply_scale(const Context& context, ir::Builder& build, float factor, QuantizedProduct* product) {
  return rescale(
      context, build, [factor](float number) { return number * factor; }, product);
}

void set_rounding(const Quantized& q, double scale, int64_t low, int64_t high, QuantizedProduct* product) {
  (*product)[place::out_scale] = scale;
  (*product)[place::out_zero_point] = Dim(static_cast<int64_t>(*q.zero_point.number()));
  (*product)[place::out_min] = Dim(low);
  (*product)[place::out_max] = Dim(high);
  (*product)[place::rounding] = std::string(text_of(q.rounding));
  (*product)[place::dtype] = Dim(static_cast<int64_t>(q.dtype));
}

bool set_fast_rounding(const Context& context, ir::Builder& build, const Quantized& q, QuantizedProduct* product) {
  const float scale = static_cast<float>(*q.scale.number());
  int64_t low = q.low;
  int64_t high = q.high;
  const std::string activation = std::get<std::string>((*product)[place::activation]);
  if (!ir::is_none((*product)[place::residual])) return false;
  if (activation != "none") {
    const bool limits = activation == "relu" || activation == "clamp";
    if (!limits || q.rounding == Rounding::kFactor) return false;
    low = rounded(activation == "relu" ? 0 : std::get<double>((*product)[place::alpha]), scale, q);
    high = activation == "relu" ? q.high : rounded(std::get<double>((*product)[place::beta]), scale, q);
  }
  const bool factor = q.rounding == Rounding::kFactor;
  const auto fold = [&](float number) { return factor ? number * scale : number / scale; };
  if (!rescale(context, build, fold, product)) return false;
  (*product)[place::activation] = std::string("none");
  (*product)[place::alpha] = 0.0;
  (*product)[place::beta] = 0.0;
  set_rounding(q, 1.0, low, high, product);
  return true;
}

bool is_read_once(const Context& context, ValueId value, ValueId integers) {
  while (value != integers) {
    const Node* node = context.maker(value);
    if (node == nullptr || context.uses(value) != 1) return false;
    const ValueId left = value_argument(*node, 0);
    const ValueId right = node->is(OpId::mul_out) ? value_argument(*node, 1) : ValueId{};
    const bool turned = right.valid() && context.constant(Argument(left)) != nullptr;
    value = turned ? right : left;
  }
  return context.uses(integers) == 1;
}

std::optional<RoundedSum> RoundedProducts::sum_of(const Context& context, const Quantized& q) const {
  const Node* node = context.maker(q.input);
  ActivationOf activation{q.input, "none", 0, 0};
  if (node != nullptr && !node->is(OpId::add_out)) {
    const auto found = activation_of(context, *node);
    if (!found || context.uses(q.input) != 1) return std::nullopt;
    activation = *found;
    node = context.maker(activation.input);
  }
  if (node == nullptr || !node->is(OpId::add_out) || context.uses(activation.input) != 1) return std::nullopt;
  if (context.number(node->args[arg::add_out::alpha]) != 1.0) return std::nullopt;
  std::optional<RoundedSum> best;
  int32_t latest = -1;
  for (size_t k = 0; k < 2; ++k) {
    const ValueId value = value_argument(*node, k);
    const ValueId other = value_argument(*node, 1 - k);
    if (!value.valid() || !other.valid() || context.type(value).shape != context.type(other).shape) continue;
    auto middle = middle_product(context, value, q);
    if (!middle) continue;
    const int32_t at = dequantized(context, value)->integers.index;
    if (at <= latest) continue;
    latest = at;
    best = RoundedSum{std::move(middle->product), middle->steps, activation, other};
  }
  return best;
}

std::optional<RoundedProducts::Middle> RoundedProducts::middle_product(const Context& context, ValueId value,
                                                                       const Quantized& q) const {
  const auto pair = dequantized(context, value);
  if (!pair || !pair->scale.number() || !pair->zero_point.number() || !is_read_once(context, value, pair->integers)) {
    return std::nullopt;
  }
  const auto found = unrounded_.find(pair->integers);
  if (found == unrounded_.end()) return std::nullopt;
  const Unrounded& before = found->second;
  const bool whole = before.rounding.low == least_of(q.dtype) && before.rounding.high == most_of(q.dtype);
  if (before.rounding.dtype != q.dtype || !whole || !pair->zero_point.is(*before.rounding.zero_point.number())) {
    return std::nullopt;
  }
  if (text_of(before.rounding.rounding) != std::string(text_of(q.rounding))) return std::nullopt;
  QuantizedProduct product = before.product;
  const std::string activation = std::get<std::string>(product[place::activation]);
  // A relu whose limit is that of the integers does nothing more.
  const bool limited = activation == "relu" && pair->zero_point.is(static_cast<double>(least_of(q.dtype)));
  if (activation != "none" && !limited) return std::nullopt;
  // Without a scale of its own what was rounded is in steps of the result already.
  const bool in_steps = before.rounding.scale.is(1);
  if (!in_steps && !before.rounding.scale.is(*pair->scale.number())) return std::nullopt;
  if (!in_steps && before.rounding.rounding == Rounding::kFactor) return std::nullopt;
  product[place::activation] = std::string("none");
  product[place::middle_scale] = *pair->scale.number();
  product[place::middle_zero_point] = Dim(static_cast<int64_t>(*pair->zero_point.number()));
  return Middle{product, in_steps ? static_cast<float>(*pair->scale.number()) : 1};
}

}  // namespace berth::fuse
