#include "compiler/fuse/affine_integers.h"

#include <utility>

#include "compiler/ir/arguments.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Node;
using ir::OpId;
using ir::ValueId;

bool is_narrow_type(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kU8 || dtype == DType::kI4 || dtype == DType::kU4;
}

class AffineReader {
 public:
  AffineReader(Context& context, DType type) : context_(context), type_(type), reader_(context) {}

  std::optional<AffineIntegers> affine(ValueId value) {
    if (!reader_.visit()) return std::nullopt;
    const Node* node = context_.maker(value);
    if (node == nullptr || node->results.size() != 1) return std::nullopt;
    switch (node->op->id) {
      case OpId::to_dim_order_copy_out:
      case OpId::to_copy_out: return cast(*node);
      case OpId::mul_out: return product(*node);
      case OpId::sub_out: return difference(*node);
      case OpId::mul_Scalar_out:
      case OpId::sub_Scalar_out:
      case OpId::add_Scalar_out: return with_number(*node);
      case OpId::dequantize_per_tensor_out: return dequantized(*node);
      case OpId::dequantize_per_channel_out: return dequantized_channels(*node);
      case OpId::permute_copy_out:
      case OpId::transpose_copy_int_out:
      case OpId::t_copy_out: return moved(*node, true);
      case OpId::slice_copy_Tensor_out:
      case OpId::expand_copy_out: return moved(*node, false);
      default: return node->op->is_reshape() ? moved(*node, false) : std::nullopt;
    }
  }

 private:
  const ir::TensorType& type(ValueId value) const { return context_.type(value); }
  bool is_float(ValueId value) const { return type(value).dtype == DType::kF32 || type(value).dtype == type_; }

  std::optional<Broadcast> factors(const Argument& argument) {
    if (const auto number = context_.number(argument)) return Broadcast{{}, {static_cast<float>(*number)}};
    const ValueId* value = std::get_if<ValueId>(&argument);
    if (value == nullptr || !is_float(*value)) return std::nullopt;
    const std::optional<KnownTensor> found = reader_.known(*value);
    if (!found.has_value()) return std::nullopt;
    return Broadcast{found->sizes(), found->floats()};
  }

  std::optional<AffineIntegers> cast(const Node& node) {
    const ValueId from = value_argument(node, 0);
    if (!is_float(node.results[0]) || !type(node.results[0]).is_contiguous()) return std::nullopt;
    return is_float(from) ? affine(from) : integers(from);
  }

  std::optional<AffineIntegers> integers(ValueId from) {
    if (!is_narrow_type(type(from).dtype)) return std::nullopt;
    std::optional<KnownTensor> found = reader_.known(from);
    if (!found.has_value() || found->blob.is_splat()) return std::nullopt;
    AffineIntegers made;
    made.integers = std::move(*found);
    return made;
  }

  bool scale(AffineIntegers& a, const Broadcast& by) const {
    if (!fits_broadcast(by.sizes, a.sizes())) return false;
    a.scale = combined(a.scale, by, a.sizes(), [](float x, float y) { return x * y; });
    a.scaled = true;
    return true;
  }

  bool shift(AffineIntegers& a, const Broadcast& by, float sign) const {
    if (a.scaled || !fits_broadcast(by.sizes, a.sizes())) return false;
    a.zero = combined(a.zero, by, a.sizes(), [&](float x, float y) { return x + sign * y; });
    return true;
  }

  std::optional<AffineIntegers> product(const Node& node) {
    for (size_t k = 0; k < 2; ++k) {
      std::optional<AffineIntegers> a = affine(value_argument(node, k));
      if (!a.has_value()) continue;
      const std::optional<Broadcast> by = factors(node.args[1 - k]);
      if (!by.has_value() || !scale(*a, *by)) return std::nullopt;
      return a;
    }
    return std::nullopt;
  }

  std::optional<AffineIntegers> difference(const Node& node) {
    std::optional<AffineIntegers> a = affine(value_argument(node, arg::sub_out::self));
    if (!a.has_value() || context_.number(node.args[arg::sub_out::alpha]) != 1.0) return std::nullopt;
    const std::optional<Broadcast> by = factors(node.args[arg::sub_out::other]);
    if (!by.has_value() || !shift(*a, *by, 1)) return std::nullopt;
    return a;
  }

  std::optional<AffineIntegers> with_number(const Node& node) {
    namespace places = arg::add_Scalar_out;  // those of sub and mul, too
    std::optional<AffineIntegers> a = affine(value_argument(node, places::self));
    const auto number = context_.number(node.args[places::other]);
    if (!a.has_value() || !number.has_value()) return std::nullopt;
    const Broadcast by = {{}, {static_cast<float>(*number)}};
    if (node.is(OpId::mul_Scalar_out)) {
      if (!scale(*a, by)) return std::nullopt;
      return a;
    }
    if (context_.number(node.args[places::alpha]) != 1.0 || !shift(*a, by, node.is(OpId::sub_Scalar_out) ? 1 : -1)) {
      return std::nullopt;
    }
    return a;
  }

  std::optional<AffineIntegers> dequantized(const Node& node) {
    namespace at = arg::dequantize_per_tensor_out;
    std::optional<AffineIntegers> a = integers(value_argument(node, at::input));
    const auto by = context_.number(node.args[at::scale]);
    const auto zero = context_.number(node.args[at::zero_point]);
    if (!a.has_value() || type(node.results[0]).dtype != DType::kF32 || !by.has_value() || !zero.has_value() ||
        !shift(*a, {{}, {static_cast<float>(*zero)}}, 1) || !scale(*a, {{}, {static_cast<float>(*by)}})) {
      return std::nullopt;
    }
    return a;
  }

  std::optional<AffineIntegers> dequantized_channels(const Node& node) {
    namespace at = arg::dequantize_per_channel_out;
    std::optional<AffineIntegers> a = integers(value_argument(node, at::input));
    if (!a.has_value() || type(node.results[0]).dtype != DType::kF32) return std::nullopt;
    const auto axis = context_.number(node.args[at::axis]);
    const auto rank = static_cast<double>(a->sizes().size());
    if (!axis.has_value() || *axis < -rank || *axis >= rank) return std::nullopt;
    const auto along = [&](const Argument& argument) -> std::optional<Broadcast> {
      const ValueId* value = std::get_if<ValueId>(&argument);
      const std::optional<KnownTensor> found = value == nullptr ? std::nullopt : reader_.known(*value);
      if (!found.has_value() || found->type.rank() != 1 || !is_real(found->type.dtype)) return std::nullopt;
      Broadcast made;
      made.sizes.assign(a->sizes().size(), 1);
      const auto dim = static_cast<int64_t>(*axis < 0 ? *axis + rank : *axis);
      made.sizes[dim] = found->type.shape[0].value;
      const std::vector<uint8_t> bytes = found->blob.to_vector();
      for (int64_t i = 0; i < found->type.shape[0].value; ++i) {
        made.values.push_back(static_cast<float>(passes::element_number(found->type.dtype, bytes, i)));
      }
      return made;
    };
    const std::optional<Broadcast> by = along(node.args[at::scales]);
    if (!by.has_value()) return std::nullopt;
    if (!ir::is_none(node.args[at::zero_points])) {
      const std::optional<Broadcast> zero = along(node.args[at::zero_points]);
      if (!zero.has_value() || !shift(*a, *zero, 1)) return std::nullopt;
    }
    if (!scale(*a, *by)) return std::nullopt;
    return a;
  }

  // Elements are moved: the integers, and what stands beside each. Where dimensions stay whole, numbers that stand for
  // several need not be written out.
  std::optional<AffineIntegers> moved(const Node& node, bool keeps_dimensions) {
    std::optional<AffineIntegers> a = affine(value_argument(node, 0));
    if (!a.has_value()) return std::nullopt;
    const std::vector<int64_t> sizes = a->sizes();
    for (Broadcast* one : {&a->scale, &a->zero}) {
      if (one->values.size() == 1) continue;
      std::vector<int64_t> own(sizes.size() - one->sizes.size(), 1);
      own.insert(own.end(), one->sizes.begin(), one->sizes.end());
      *one = keeps_dimensions ? Broadcast{own, one->values} : expanded(*one, sizes);
      const std::optional<KnownTensor> result = reader_.run(node, {known_floats(one->sizes, one->values)});
      if (!result.has_value()) return std::nullopt;
      *one = {result->sizes(), result->floats()};
    }
    std::optional<KnownTensor> result = reader_.run(node, {a->integers});
    if (!result.has_value() || result->blob.is_splat()) return std::nullopt;
    a->integers = std::move(*result);
    return a;
  }

  Context& context_;
  DType type_;
  KnownReader reader_;
};

}  // namespace

std::optional<AffineIntegers> read_affine_integers(Context& context, ValueId value, DType type) {
  return AffineReader(context, type).affine(value);
}

}  // namespace berth::fuse
