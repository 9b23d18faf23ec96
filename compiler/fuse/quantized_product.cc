#include "compiler/fuse/quantized_product.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::OpId;
using ir::ValueId;

namespace place = arg::quantized_linear_out;

constexpr size_t kWindow = 4;
static_assert(size_t{arg::quantized_conv_out::packing} == size_t{place::packing} + kWindow);
static_assert(size_t{arg::quantized_conv_out::stride} == size_t{place::residual} + 1);

// Tiny and huge scales, 0 and NaN have IEEE's answers, which a product of sums does not give.
bool is_scale(double number) { return number > 0 && std::isnormal(static_cast<float>(number)); }

bool are_scales(const std::vector<float>& numbers) {
  return !numbers.empty() && std::all_of(numbers.begin(), numbers.end(), [](float x) { return is_scale(x); });
}

std::vector<float> narrowed(const std::vector<double>& numbers) {
  std::vector<float> result;
  for (const double number : numbers) result.push_back(static_cast<float>(number));
  return result;
}

ValueId bytes_constant(ir::Builder& build, DType dtype, const std::vector<int64_t>& sizes, std::vector<uint8_t> bytes,
                       const std::string& name) {
  ir::TensorType type;
  type.dtype = dtype;
  type.shape = ir::dims(sizes);
  return build.constant(type, ir::Blob::owned(std::move(bytes)), name);
}

// Known zero points; None where all are 0. REQUIRES: they are numbers of `dtype`.
Argument zero_constant(ir::Builder& build, const std::vector<double>& numbers, DType dtype) {
  if (std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == 0; })) return ir::None{};
  std::vector<uint8_t> bytes;
  for (const double number : numbers) bytes.push_back(static_cast<uint8_t>(static_cast<int64_t>(number)));
  const int64_t count = static_cast<int64_t>(bytes.size());
  return bytes_constant(build, dtype, {count}, std::move(bytes), "zero_points");
}

Expected<ValueId> cast_to(ir::Builder& build, ValueId value, DType to) {
  return build.one(OpId::to_dim_order_copy_out, {value, false, ir::None{}, Dim(static_cast<int64_t>(to))}, "");
}

// A zero point of the run, of the integers' type or i32.
Expected<ValueId> zero_of_run(Context& context, ir::Builder& build, ValueId value, DType integers) {
  if (const Node* cast = context.maker(value)) {
    const ValueId from = cast_input(context, value, context.type(value).dtype);
    if (cast->results.size() == 1 && from.valid() && context.type(from).dtype == integers) return from;
  }
  const DType own = build.method().tensor(value).dtype;
  if (own == integers || own == DType::kI32) return value;
  return cast_to(build, value, DType::kI32);
}

bool fits_columns(const Parameter& parameter, int columns) {
  return !parameter.known.empty() && (parameter.known.size() == 1 || parameter.axis == columns);
}

// Whether `value` is one number that the run makes.
bool is_one(const Context& context, ValueId value) {
  const ir::TensorType& type = context.type(value);
  return type.dtype == DType::kF32 && context.constant(Argument(value)) == nullptr &&
         std::all_of(type.shape.begin(), type.shape.end(), [](Dim d) { return d == Dim(1); });
}

}  // namespace

bool is_zero_point(double number, DType dtype) {
  return number == std::floor(number) && number >= static_cast<double>(least_of(dtype)) &&
         number <= static_cast<double>(most_of(dtype));
}

bool is_quantized_product(const Node& node) {
  return node.is(OpId::quantized_linear_out) || node.is(OpId::quantized_conv_out);
}

QuantizedProduct::QuantizedProduct(std::vector<Argument> window)
    : op_(window.empty() ? OpId::quantized_linear_out : OpId::quantized_conv_out) {
  args_.resize(place::residual + 1);
  args_.insert(args_.end(), window.begin(), window.end());
  args_.resize(index(place::packing) + 1);
  (*this)[place::activation] = std::string("none");
  for (const auto k : {place::alpha, place::beta, place::middle_scale}) (*this)[k] = 0.0;
  for (const auto k : {place::residual_scale, place::out_scale}) (*this)[k] = 1.0;
  for (const auto k :
       {place::middle_zero_point, place::residual_zero_point, place::out_zero_point, place::out_min, place::out_max}) {
    (*this)[k] = Dim(0);
  }
  (*this)[place::rounding] = std::string("divide");
  (*this)[place::dtype] = Dim(static_cast<int64_t>(DType::kF32));
  (*this)[place::packing] = std::string();
}

size_t QuantizedProduct::index(size_t place) const {
  return place > place::residual && is_convolution() ? place + kWindow : place;
}

bool QuantizedProduct::is_open() const {
  return (*this)[place::activation] == Argument(std::string("none")) && ir::is_none((*this)[place::residual]) &&
         (*this)[place::middle_scale] == Argument(0.0) &&
         (*this)[place::dtype] == Argument(Dim(static_cast<int64_t>(DType::kF32)));
}

std::optional<ProductInput> product_input(const Context& context, ValueId value) {
  ProductInput result;
  result.shape = context.type(value).shape;
  auto pair = dequantized(context, value);
  const Node* node = context.maker(value);
  if (!pair && node != nullptr && node->is(OpId::constant_pad_nd_out)) {
    if (context.number(node->args[arg::constant_pad_nd_out::value]) != 0.0) return std::nullopt;
    pair = dequantized(context, value_argument(*node, 0));
    if (pair && !pair->zero_point.number()) return std::nullopt;
    result.padding = node->args[arg::constant_pad_nd_out::pad];
  } else if (!pair) {
    // Rows stay rows where the last dimension stays.
    while (!pair && node != nullptr && node->op->is_reshape()) {
      const ValueId base = value_argument(*node, 0);
      if (context.type(base).rank() == 0 || result.shape.empty()) return std::nullopt;
      if (context.type(base).shape.back() != result.shape.back()) return std::nullopt;
      pair = dequantized(context, base);
      node = context.maker(base);
    }
  }
  if (!pair || !product_input(context, *pair)) return std::nullopt;
  result.pair = std::move(*pair);
  return result;
}

std::optional<ProductInput> product_input(const Context& context, const Dequantized& pair) {
  if (!is_byte(context.type(pair.integers).dtype)) return std::nullopt;
  if (pair.scale.known.size() > 1 || pair.zero_point.known.size() > 1) return std::nullopt;
  return ProductInput{pair, ir::None{}, context.type(pair.integers).shape};
}

std::optional<ProductScale> product_scale(const Parameter& input, const Parameter& weight, int columns) {
  ProductScale result;
  if (!fits_columns(weight, columns)) return std::nullopt;
  result.numbers = narrowed(weight.known);
  result.input = input.value;
  if (const auto number = input.number()) {
    for (float& scale : result.numbers) scale = static_cast<float>(*number) * scale;
  } else if (!input.value.valid()) {
    return std::nullopt;
  }
  return are_scales(result.numbers) ? std::optional<ProductScale>(result) : std::nullopt;
}

std::optional<ProductScale> factor_scale(const Context& context, const Argument& factor, const ir::TensorType& type,
                                         int columns) {
  const auto along_columns = [&](const Argument& argument) -> std::vector<float> {
    const auto numbers = broadcast(context, argument, type);
    return numbers && fits_columns(*numbers, columns) ? narrowed(numbers->known) : std::vector<float>();
  };
  ProductScale result;
  result.numbers = along_columns(factor);
  const ValueId* run = std::get_if<ValueId>(&factor);
  if (!result.numbers.empty()) run = nullptr;
  if (run != nullptr && is_one(context, *run)) {
    result.input = *run;
    result.numbers = {1};
  }
  // A scale of the run and known ones, as dynamic quantisation has it.
  const Node* node = run == nullptr ? nullptr : context.maker(*run);
  for (size_t k = 0; node != nullptr && node->is(OpId::mul_out) && k < 2; ++k) {
    const ValueId own = value_argument(*node, k);
    std::vector<float> known = along_columns(node->args[1 - k]);
    if (known.empty() || !own.valid() || !is_one(context, own)) continue;
    result.input = own;
    result.numbers = std::move(known);
    break;
  }
  return are_scales(result.numbers) ? std::optional<ProductScale>(result) : std::nullopt;
}

Expected<bool> set_operands(Context& context, ir::Builder& build, const ProductInput& input,
                            const DequantizedConstant& weight, int columns, const ProductScale& scale,
                            QuantizedProduct* product) {
  const DType own = context.type(input.pair.integers).dtype;
  const DType dtype = weight.type.dtype;
  const auto fits = [](const Parameter& zeros, DType of) {
    return std::all_of(zeros.known.begin(), zeros.known.end(), [&](double z) { return is_zero_point(z, of); });
  };
  if (!is_byte(dtype) || !fits_columns(weight.zero_point, columns)) return false;
  if (!fits(weight.zero_point, dtype) || !fits(input.pair.zero_point, own)) return false;
  ValueId integers = input.pair.integers;
  Argument zero;
  if (const auto number = input.pair.zero_point.number()) {
    zero = zero_constant(build, {*number}, own);
    if (!ir::is_none(input.padding)) {
      BERTH_ASSIGN_OR_RETURN(integers, build.one(OpId::constant_pad_nd_out,
                                                 {integers, input.padding, Dim(static_cast<int64_t>(*number))}, ""));
    }
  } else {
    BERTH_ASSIGN_OR_RETURN(zero, zero_of_run(context, build, input.pair.zero_point.value, own));
  }
  BERTH_ASSIGN_OR_RETURN(integers, with_shape(context, build, integers, input.shape, ""));
  (*product)[place::input] = integers;
  (*product)[place::input_zero_point] = zero;
  if (scale.input.valid()) {
    ValueId own_scale = scale.input;
    if (build.method().tensor(own_scale).dtype != DType::kF32) {
      BERTH_ASSIGN_OR_RETURN(own_scale, cast_to(build, own_scale, DType::kF32));
    }
    (*product)[place::input_scale] = own_scale;
  }
  ValueId dense = weight.integers;
  if (!dense.valid()) dense = build.constant(weight.type, ir::Blob::owned(weight.bytes), "weight");
  (*product)[place::weight] = dense;
  (*product)[place::weight_zero_point] = zero_constant(build, weight.zero_point.known, dtype);
  (*product)[place::scale] = line_constant(build, scale.numbers, "scale");
  return true;
}

Argument product_bias(ir::Builder& build, const std::vector<double>& bias, size_t columns, const ProductScale& scale) {
  std::vector<double> steps;
  std::vector<float> numbers;
  bool whole = !scale.input.valid();
  for (size_t c = 0; c < columns; ++c) {
    const double number = bias[bias.size() == 1 ? 0 : c];
    const double exact = number / scale.numbers[scale.numbers.size() == 1 ? 0 : c];
    const double step = std::nearbyint(exact);
    whole = whole && std::fabs(step) < INT32_MAX && std::fabs(exact - step) <= 1e-6 * std::fabs(step);
    steps.push_back(step);
    numbers.push_back(static_cast<float>(number));
  }
  if (whole) return whole_bias(build, steps, columns);
  if (std::all_of(numbers.begin(), numbers.end(), [](float x) { return x == 0; })) return ir::None{};
  return line_constant(build, numbers, "bias");
}

Argument whole_bias(ir::Builder& build, const std::vector<double>& bias, size_t columns) {
  if (std::all_of(bias.begin(), bias.end(), [](double x) { return x == 0; })) return ir::None{};
  std::vector<uint8_t> bytes(columns * sizeof(int32_t));
  for (size_t c = 0; c < columns; ++c) {
    const int32_t number = static_cast<int32_t>(bias[bias.size() == 1 ? 0 : c]);
    std::memcpy(&bytes[c * sizeof number], &number, sizeof number);
  }
  return bytes_constant(build, DType::kI32, {static_cast<int64_t>(columns)}, std::move(bytes), "bias");
}

ValueId line_constant(ir::Builder& build, const std::vector<float>& elements, const std::string& name) {
  return float_constant(build, {static_cast<int64_t>(elements.size())}, elements, name);
}

}  // namespace berth::fuse
