// Operators that make tensors from attributes and sizes.
#include <cmath>
#include <cstring>

#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

Known known_integers(const std::vector<int64_t>& numbers, bool scalar) {
  Known known;
  known.dtype = DType::kI64;
  if (!scalar) known.shape = {static_cast<int64_t>(numbers.size())};
  for (int64_t number : numbers) known.elements.push_back({Dim(number), 0});
  return known;
}

Known known_reals(const std::vector<float>& numbers, bool scalar) {
  Known known;
  known.dtype = DType::kF32;
  if (!scalar) known.shape = {static_cast<int64_t>(numbers.size())};
  for (float number : numbers) known.elements.push_back({Dim(), static_cast<double>(number)});
  return known;
}

template <typename T>
ValueId vector_constant(NodeContext& n, DType dtype, const std::vector<T>& numbers) {
  ir::TensorType type;
  type.dtype = dtype;
  type.shape = {Dim(static_cast<int64_t>(numbers.size()))};
  std::vector<uint8_t> bytes(numbers.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return n.constant(std::move(type), ir::Blob::owned(std::move(bytes)));
}

void import_constant(NodeContext& n) {
  if (const Attribute* a = n.attribute("value_int")) return n.output(0, known_integers({a->i}, true));
  if (const Attribute* a = n.attribute("value_float")) return n.output(0, known_reals({a->f}, true));
  if (const Attribute* a = n.attribute("value_ints")) {
    if (a->ints.size() <= kMaxKnownIntegers) return n.output(0, known_integers(a->ints, false));
    return n.output(0, vector_constant(n, DType::kI64, a->ints));
  }
  if (const Attribute* a = n.attribute("value_floats")) {
    if (a->floats.size() <= kMaxKnownReals) return n.output(0, known_reals(a->floats, false));
    return n.output(0, vector_constant(n, DType::kF32, a->floats));
  }
  if (n.has_attribute("value_string") || n.has_attribute("value_strings")) {
    return n.unsupported("strings are not supported");
  }
  n.output_literal();
}

/// The one element that ConstantOfShape repeats; f32 zero when it is not given.
Known fill_value(NodeContext& n) {
  Known zero;
  zero.dtype = DType::kF32;
  zero.elements = {Number()};
  if (!n.has_attribute("value")) return zero;
  std::optional<Known> value = n.known_attribute("value");
  if (value.has_value() && value->elements.size() == 1) return *value;
  n.invalid("attribute 'value' must be a tensor of one element");
  return zero;
}

// Whether the element that is repeated is of a type whose elements are never known: then it is the result as well.
bool repeat_constant(NodeContext& n, const DimList& shape) {
  if (!n.ok() || !n.has_attribute("value") || n.known_attribute("value").has_value()) return false;
  const ValueId one = n.constant_attribute("value");
  if (!n.ok() || n.product(n.shape(one), 0, n.rank(one)) != Dim(1)) return false;
  n.output(0, n.expand(n.view(one, {}), std::vector<Dim>(shape.begin(), shape.end())));
  return true;
}

void import_constant_of_shape(NodeContext& n) {
  const DimList shape = n.known_dims(0, "the shape");
  if (repeat_constant(n, shape)) return;
  const Known value = fill_value(n);
  if (!n.ok()) return;
  ir::TensorType type;
  type.dtype = value.dtype;
  type.shape = shape;
  for (Dim d : shape) {
    if (d.is_constant() && (d.value < 0 || d.value > INT32_MAX)) {
      return n.invalid("the shape has the size " + std::to_string(d.value));
    }
  }
  const Number number = value.elements[0];
  if (!type.is_static()) {
    const Argument fill = value.floating() ? Argument(number.real) : Argument(number.whole);
    return n.output(0, n.op(OpId::full_out, {shape, fill, Dim(static_cast<int64_t>(value.dtype))}));
  }
  const int64_t count = ir::max_numel(type, n.symbols());
  if (count > kMaxElements) return n.invalid("the shape has more than 2^40 elements");
  if (shape.size() <= 1 && !value.floating() && may_be_known(value.dtype, count)) {
    Known known{value.dtype, {}, std::vector<Number>(count, number)};
    for (Dim d : shape) known.shape.push_back(d.value);
    return n.output(0, std::move(known));
  }
  const std::vector<uint8_t> element = bytes_of(value);
  n.output(0, n.constant(std::move(type), ir::Blob::splat(element, count)));
}

void import_eye_like(NodeContext& n) {
  const ValueId x = n.input(0);
  DType dtype = n.dtype(x);
  if (n.has_attribute("dtype") && !dtype_of(static_cast<int32_t>(n.integer("dtype", 1)), &dtype)) {
    return n.unsupported("attribute 'dtype' names a type that no operator takes");
  }
  if (n.rank(x) != 2) return n.invalid("needs a matrix, found " + n.type_text(x));
  const Dim i64(static_cast<int64_t>(DType::kI64));
  const ValueId rows = n.op(OpId::arange_start_out, {Dim(0), n.dim(x, 0), Dim(1), i64});
  const ValueId columns = n.op(OpId::arange_start_out, {Dim(0), n.dim(x, 1), Dim(1), i64});
  const ValueId shifted = n.op(OpId::add_Scalar_out, {rows, Dim(n.integer("k", 0))});
  const ValueId same = n.op(OpId::eq_Tensor_out, {n.view(shifted, {n.dim(x, 0), Dim(1)}), columns});
  n.output(0, n.cast(same, dtype));
}

// Elements that a Range of known numbers has: ceil((limit - start) / delta), at least 0.
int64_t range_count(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  return count > 0 && count < 2e9 ? static_cast<int64_t>(count) : count > 0 ? INT32_MAX : 0;
}

void known_range(NodeContext& n, DType dtype, const Number (&bounds)[3]) {
  const bool real = is_floating(dtype);
  const auto number = [&](int i) { return real ? bounds[i].real : static_cast<double>(bounds[i].whole.value); };
  if (number(2) == 0) return n.invalid("delta must not be 0");
  const int64_t count = range_count(number(0), number(1), number(2));
  if (count < INT32_MAX && may_be_known(dtype, count)) {
    Known known{dtype, {count}, {}};
    for (int64_t i = 0; i < count; ++i) {
      // Numbers near the ends of 64 bits wrap, as they would in the operator.
      const uint64_t whole = static_cast<uint64_t>(bounds[0].whole.value) +
                             static_cast<uint64_t>(i) * static_cast<uint64_t>(bounds[2].whole.value);
      const Number element = real ? Number{Dim(), bounds[0].real + static_cast<double>(i) * bounds[2].real}
                                  : Number{Dim(static_cast<int64_t>(whole)), 0};
      known.elements.push_back(rounded(dtype, element));
    }
    return n.output(0, std::move(known));
  }
  const auto argument = [&](int i) { return real ? Argument(bounds[i].real) : Argument(bounds[i].whole); };
  n.output(0, n.op(OpId::arange_start_out, {argument(0), argument(1), argument(2), Dim(static_cast<int64_t>(dtype))}));
}

// Of symbols, or of reals that are symbols: whole numbers are counted, and then cast.
void open_range(NodeContext& n) {
  std::optional<Dim> bounds[3];
  for (size_t i = 0; i < 3 && n.ok(); ++i) {
    bounds[i] = n.known_whole(i);
    if (!bounds[i]) {
      n.unsupported("start, limit and delta must be known when the model is compiled; input " + std::to_string(i) +
                    " depends on the data");
    }
  }
  if (!n.ok()) return;
  const Dim i64(static_cast<int64_t>(DType::kI64));
  const DType dtype = n.dtype(n.input(0));
  const ValueId counted = n.op(OpId::arange_start_out, {*bounds[0], *bounds[1], *bounds[2], i64});
  n.output(0, dtype == DType::kI64 ? counted : n.cast(counted, dtype));
}

void import_range(NodeContext& n) {
  Number bounds[3];
  DType dtype = DType::kI64;
  bool constant = true;
  for (size_t i = 0; i < 3; ++i) {
    const std::optional<Known> known = n.known(i);
    if (!n.ok()) return;
    if (!known.has_value() || known->elements.size() != 1) return open_range(n);
    dtype = known->dtype;
    constant = constant && known->is_constant();
    bounds[i] = known->elements[0];
  }
  constant ? known_range(n, dtype, bounds) : open_range(n);
}

constexpr OperatorRow kConstantRows[] = {
    {"Constant", 0, 0, import_constant},
    {"ConstantOfShape", 1, 1, import_constant_of_shape},
    {"EyeLike", 1, 1, import_eye_like},
    {"Range", 3, 3, import_range},
};

}  // namespace

OperatorTable constant_operators() { return kConstantRows; }

}  // namespace berth::onnx
