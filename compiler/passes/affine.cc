#include "compiler/passes/affine.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/arguments.h"
#include "compiler/passes/rewrite.h"

namespace berth::passes {
namespace {

using ir::Argument;
using ir::Constant;
using ir::Node;
using ir::OpId;
using ir::ValueId;

// One number a channel from a constant that broadcasts against `rank` dimensions; empty when it varies within one.
std::vector<double> per_channel(const Constant& constant, int rank, int channel_dim, int64_t channels) {
  if (!is_floating(constant.type.dtype) || !constant.type.is_contiguous()) return {};
  const std::vector<ir::Dim>& shape = constant.type.shape;
  if (shape.size() > static_cast<size_t>(rank)) return {};
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool is_channel = static_cast<int>(i) + rank - static_cast<int>(shape.size()) == channel_dim;
    if (shape[i] != ir::Dim(1) && !(is_channel && shape[i] == ir::Dim(channels))) return {};
  }
  std::vector<double> numbers = numbers_of(constant);
  if (numbers.size() == 1) numbers.resize(channels, numbers[0]);
  return numbers;
}

struct Reader {
  const ir::Module& module;
  const ir::Method& method;
  const Node& node;
  int channel_dim;
  size_t channels;
  Affine& out;

  void start(const Argument& input) {
    out = Affine();
    out.input = std::get<ValueId>(input);
    out.scale.assign(channels, 1);
    out.shift.assign(channels, 0);
  }

  // Numbers from literal or constant argument `a`.
  AffineReason numbers(const Argument& a, std::vector<double>* list) const {
    if (!std::holds_alternative<ValueId>(a)) {
      const std::optional<double> number = uniform_number(module, method, a);
      if (!number.has_value()) return AffineReason::kNotConstant;
      list->assign(channels, *number);
      return AffineReason::kAffine;
    }
    const Constant* constant = ir::constant_of(module, method, a);
    if (constant == nullptr) return AffineReason::kNotConstant;
    *list = per_channel(*constant, method.tensor(node.results[0]).rank(), channel_dim, static_cast<int64_t>(channels));
    return list->empty() && channels > 0 ? AffineReason::kNotPerChannel : AffineReason::kAffine;
  }

  // The argument that is not a constant comes first.
  void order(const Argument** x, const Argument** c) const {
    if (ir::constant_of(module, method, **x) != nullptr) std::swap(*x, *c);
  }

  // add and sub, of tensors and of scalars, have the same arguments.
  AffineReason sum(double sign, bool commutes) {
    const Argument* x = &node.args[arg::add_out::self];
    const Argument* c = &node.args[arg::add_out::other];
    const std::optional<double> alpha = uniform_number(module, method, node.args[arg::add_out::alpha]);
    if (commutes && alpha == 1.0) order(&x, &c);
    std::vector<double> list;
    const AffineReason reason = numbers(*c, &list);
    if (reason != AffineReason::kAffine) return reason;
    if (!alpha.has_value()) return AffineReason::kNotConstant;
    start(*x);
    for (size_t i = 0; i < channels; ++i) out.shift[i] = sign * *alpha * list[i];
    return AffineReason::kAffine;
  }

  // mul and div, of tensors and of scalars, have the same arguments.
  AffineReason product(bool divides) {
    const Argument* x = &node.args[arg::mul_out::self];
    const Argument* c = &node.args[arg::mul_out::other];
    if (!divides) order(&x, &c);
    std::vector<double> list;
    const AffineReason reason = numbers(*c, &list);
    if (reason != AffineReason::kAffine) return reason;
    start(*x);
    for (size_t i = 0; i < channels; ++i) {
      if (divides && list[i] == 0) return AffineReason::kNotPerChannel;
      out.scale[i] = divides ? 1 / list[i] : list[i];
    }
    out.scales = true;
    return AffineReason::kAffine;
  }

  AffineReason batch_norm() {
    using namespace arg::native_batch_norm_legit_no_training_out;
    std::vector<double> parts[4];  // weight, bias, mean, variance
    for (size_t i = 0; i < 4; ++i) {
      const Argument& a = node.args[weight + i];
      parts[i].assign(channels, i == 0 ? 1 : 0);
      if (ir::is_none(a)) continue;
      const Constant* constant = ir::constant_of(module, method, a);
      if (constant == nullptr) return AffineReason::kNotConstant;
      parts[i] = numbers_of(*constant);
      if (parts[i].size() != channels) return AffineReason::kNotPerChannel;
    }
    const double epsilon = std::get<double>(node.args[eps]);
    start(node.args[input]);
    out.scales = true;
    for (size_t i = 0; i < channels; ++i) {
      out.scale[i] = parts[0][i] / std::sqrt(parts[3][i] + epsilon);
      out.shift[i] = parts[1][i] - parts[2][i] * out.scale[i];
      if (!std::isfinite(out.scale[i])) return AffineReason::kNotPerChannel;
    }
    return AffineReason::kAffine;
  }
};

}  // namespace

std::vector<double> numbers_of(const Constant& constant) {
  const size_t size = element_size(constant.type.dtype);
  const size_t count = constant.blob.size() / size;
  std::vector<double> numbers(count);
  if (constant.blob.is_splat()) {
    std::fill(numbers.begin(), numbers.end(), element_number(constant.type.dtype, constant.blob.element(), 0));
    return numbers;
  }
  for (size_t i = 0; i < count; ++i) numbers[i] = element_number(constant.type.dtype, constant.blob.bytes(), i);
  return numbers;
}

AffineReason read_affine(const ir::Module& module, const ir::Method& method, const Node& node, int channel_dim,
                         int64_t channels, Affine* out) {
  Reader reader{module, method, node, channel_dim, static_cast<size_t>(channels), *out};
  AffineReason reason = AffineReason::kOther;
  switch (node.op->id) {
    case OpId::add_out: reason = reader.sum(1, true); break;
    case OpId::add_Scalar_out: reason = reader.sum(1, false); break;
    case OpId::sub_out:
    case OpId::sub_Scalar_out: reason = reader.sum(-1, false); break;
    case OpId::mul_out:
    case OpId::mul_Scalar_out: reason = reader.product(false); break;
    case OpId::div_out:
    case OpId::div_Scalar_out: reason = reader.product(true); break;
    case OpId::native_batch_norm_legit_no_training_out: reason = reader.batch_norm(); break;
    default: break;
  }
  return reason;
}

ir::ValueId constant_of_numbers(ir::Builder& build, DType dtype, const std::vector<ir::Dim>& shape,
                                Span<const double> numbers, const std::string& name) {
  std::vector<uint8_t> bytes;
  for (const double number : numbers) {
    const std::vector<uint8_t> element = ir::element_bytes(dtype, number);
    bytes.insert(bytes.end(), element.begin(), element.end());
  }
  ir::TensorType type;
  type.dtype = dtype;
  type.shape = shape;
  return build.constant(std::move(type), ir::Blob::owned(std::move(bytes)), name);
}

}  // namespace berth::passes
