#include "compiler/fuse/integer_weight.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/math.h"
#include "compiler/eval/evaluate.h"
#include "compiler/fuse/wide_values.h"
#include "compiler/ir/arguments.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Node;
using ir::OpId;
using ir::ValueId;

// Between a constant and a product; of more, those that several paths lead to would be visited again and again.
constexpr int kMostNodes = 64;
constexpr int64_t kMostBytes = int64_t{1} << 32;

// A constant that need not be one of the module's.
struct Known {
  ir::TensorType type;
  ir::Blob blob;
};

std::vector<int64_t> sizes_of(const ir::TensorType& type) {
  std::vector<int64_t> sizes;
  for (const ir::Dim& d : type.shape) sizes.push_back(d.value);
  return sizes;
}

Known known_floats(const std::vector<int64_t>& sizes, const std::vector<float>& values) {
  Known made;
  made.type.shape = ir::dims(sizes);
  std::vector<uint8_t> bytes(values.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  made.blob = ir::Blob::owned(std::move(bytes));
  return made;
}

std::vector<float> floats_in(const Known& known) {
  std::vector<float> values(known.blob.size() / sizeof(float));
  known.blob.read(0, Span<uint8_t>(reinterpret_cast<uint8_t*>(values.data()), values.size() * sizeof(float)));
  return values;
}

std::vector<float> numbers_as_floats(const Known& known) {
  if (known.type.dtype == DType::kF32) return floats_in(known);
  const std::vector<uint8_t> bytes = known.blob.to_vector();
  std::vector<float> values(bytes.size() / element_size(known.type.dtype));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(passes::element_number(known.type.dtype, bytes, static_cast<int64_t>(i)));
  }
  return values;
}

int64_t count_of(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

/// Numbers that broadcast to the integers beside them.
struct Broadcast {
  std::vector<int64_t> sizes;
  std::vector<float> values;
};

// `given` as it is broadcast to `sizes`, which it fits.
Broadcast expanded(const Broadcast& given, const std::vector<int64_t>& sizes) {
  Broadcast wide = {sizes, std::vector<float>(count_of(sizes))};
  const size_t missing = sizes.size() - given.sizes.size();
  std::vector<int64_t> strides(sizes.size(), 0);
  int64_t stride = 1;
  for (size_t d = given.sizes.size(); d-- > 0;) {
    if (given.sizes[d] != 1) strides[missing + d] = stride;
    stride *= given.sizes[d];
  }
  std::vector<int64_t> index(sizes.size(), 0);
  int64_t at = 0;
  for (float& value : wide.values) {
    value = given.values[at];
    for (size_t d = sizes.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < sizes[d]) break;
      at -= strides[d] * sizes[d];
      index[d] = 0;
    }
  }
  return wide;
}

bool fits(const std::vector<int64_t>& part, const std::vector<int64_t>& whole) {
  if (part.size() > whole.size()) return false;
  for (size_t d = 0; d < part.size(); ++d) {
    if (part[d] != 1 && part[d] != whole[whole.size() - part.size() + d]) return false;
  }
  return true;
}

// Both broadcast to `sizes`, and so does the result; of no more elements than it needs.
template <typename F>
Broadcast combined(const Broadcast& a, const Broadcast& b, const std::vector<int64_t>& sizes, F&& f) {
  std::vector<int64_t> own(sizes.size(), 1);
  for (const Broadcast* one : {&a, &b}) {
    for (size_t d = 0; d < one->sizes.size(); ++d) {
      int64_t& size = own[sizes.size() - one->sizes.size() + d];
      size = std::max(size, one->sizes[d]);
    }
  }
  Broadcast result = expanded(a, own);
  const Broadcast other = expanded(b, own);
  for (size_t i = 0; i < result.values.size(); ++i) result.values[i] = f(result.values[i], other.values[i]);
  return result;
}

/// (integers - zero) · scale.
struct Affine {
  Known integers;
  Broadcast scale = {{}, {1}};
  Broadcast zero = {{}, {0}};
  bool scaled = false;

  std::vector<int64_t> sizes() const { return sizes_of(integers.type); }
};

bool is_narrow_type(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kU8 || dtype == DType::kI4 || dtype == DType::kU4;
}

class NarrowReader {
 public:
  /// Of weights of `type`: what a model in 16 bits rounds on the way is not rounded.
  explicit NarrowReader(Context& context, DType type = DType::kF32) : context_(context), type_(type) {}

  std::optional<Affine> affine(ValueId value) {
    if (--left_ < 0) return std::nullopt;
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

  /// What `value` is, if it depends on constants alone.
  std::optional<Known> known(ValueId value) {
    if (--left_ < 0) return std::nullopt;
    if (const ir::Constant* constant = context_.constant(Argument(value))) {
      if (!constant->type.is_contiguous()) return std::nullopt;
      return Known{constant->type, constant->blob};
    }
    const Node* node = context_.maker(value);
    const bool plain = node != nullptr && node->results.size() == 1 && node->op->infer != nullptr &&
                       node->op->own == nullptr && !node->op->is_random() && node->regions.empty();
    if (!plain) return std::nullopt;
    std::vector<Known> inputs;
    bool all = true;
    for (const Argument& a : node->args) {
      ir::for_each_value(a, [&](const ValueId& v) {
        std::optional<Known> input = all && v.valid() ? known(v) : std::nullopt;
        all = all && input.has_value();
        if (all) inputs.push_back(std::move(*input));
      });
    }
    return all && !inputs.empty() ? run(*node, inputs) : std::nullopt;
  }

 private:
  const ir::TensorType& type(ValueId value) const { return context_.type(value); }
  bool is_float(ValueId value) const { return type(value).dtype == DType::kF32 || type(value).dtype == type_; }

  // `node` on other tensors: one for each value among its arguments.
  std::optional<Known> run(const Node& node, const std::vector<Known>& inputs) {
    ir::Module scratch;
    scratch.methods.emplace_back();
    ir::Method& method = scratch.methods[0];
    ir::Builder build(scratch, method, method.body);
    std::vector<Argument> args = node.args;
    size_t next = 0;
    for (Argument& a : args) {
      ir::for_each_value(a, [&](ValueId& v) {
        v = build.constant(inputs[next].type, inputs[next].blob);
        ++next;
      });
    }
    auto made = build.create(*node.op, std::move(args), "");
    if (!made.ok() || made->size() != 1 || method.value((*made)[0]).tensor() == nullptr) return std::nullopt;
    const ir::TensorType result = method.tensor((*made)[0]);
    if (!result.is_static() || !result.is_contiguous()) return std::nullopt;
    auto blobs = eval::evaluate_node(scratch, method, method.nodes.back(), kMostBytes);
    if (!blobs.ok() || static_cast<int64_t>((*blobs)[0].size()) != ir::max_bytes(result, scratch.symbols)) {
      return std::nullopt;
    }
    return Known{result, (*blobs)[0]};
  }

  std::optional<Broadcast> factors(const Argument& argument) {
    if (const auto number = context_.number(argument)) return Broadcast{{}, {static_cast<float>(*number)}};
    const ValueId* value = std::get_if<ValueId>(&argument);
    if (value == nullptr || !is_float(*value)) return std::nullopt;
    const std::optional<Known> found = known(*value);
    if (!found.has_value()) return std::nullopt;
    return Broadcast{sizes_of(found->type), numbers_as_floats(*found)};
  }

  std::optional<Affine> cast(const Node& node) {
    const ValueId from = value_argument(node, 0);
    if (!is_float(node.results[0]) || !type(node.results[0]).is_contiguous()) return std::nullopt;
    return is_float(from) ? affine(from) : integers(from);
  }

  std::optional<Affine> integers(ValueId from) {
    if (!is_narrow_type(type(from).dtype)) return std::nullopt;
    std::optional<Known> found = known(from);
    if (!found.has_value() || found->blob.is_splat()) return std::nullopt;
    Affine made;
    made.integers = std::move(*found);
    return made;
  }

  bool scale(Affine& a, const Broadcast& by) const {
    if (!fits(by.sizes, a.sizes())) return false;
    a.scale = combined(a.scale, by, a.sizes(), [](float x, float y) { return x * y; });
    a.scaled = true;
    return true;
  }

  bool shift(Affine& a, const Broadcast& by, float sign) const {
    if (a.scaled || !fits(by.sizes, a.sizes())) return false;
    a.zero = combined(a.zero, by, a.sizes(), [&](float x, float y) { return x + sign * y; });
    return true;
  }

  std::optional<Affine> product(const Node& node) {
    for (size_t k = 0; k < 2; ++k) {
      std::optional<Affine> a = affine(value_argument(node, k));
      if (!a.has_value()) continue;
      const std::optional<Broadcast> by = factors(node.args[1 - k]);
      if (!by.has_value() || !scale(*a, *by)) return std::nullopt;
      return a;
    }
    return std::nullopt;
  }

  std::optional<Affine> difference(const Node& node) {
    std::optional<Affine> a = affine(value_argument(node, arg::sub_out::self));
    if (!a.has_value() || context_.number(node.args[arg::sub_out::alpha]) != 1.0) return std::nullopt;
    const std::optional<Broadcast> by = factors(node.args[arg::sub_out::other]);
    if (!by.has_value() || !shift(*a, *by, 1)) return std::nullopt;
    return a;
  }

  std::optional<Affine> with_number(const Node& node) {
    namespace places = arg::add_Scalar_out;  // those of sub and mul, too
    std::optional<Affine> a = affine(value_argument(node, places::self));
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

  std::optional<Affine> dequantized(const Node& node) {
    namespace at = arg::dequantize_per_tensor_out;
    std::optional<Affine> a = integers(value_argument(node, at::input));
    const auto by = context_.number(node.args[at::scale]);
    const auto zero = context_.number(node.args[at::zero_point]);
    if (!a.has_value() || type(node.results[0]).dtype != DType::kF32 || !by.has_value() || !zero.has_value() ||
        !shift(*a, {{}, {static_cast<float>(*zero)}}, 1) || !scale(*a, {{}, {static_cast<float>(*by)}})) {
      return std::nullopt;
    }
    return a;
  }

  std::optional<Affine> dequantized_channels(const Node& node) {
    namespace at = arg::dequantize_per_channel_out;
    std::optional<Affine> a = integers(value_argument(node, at::input));
    if (!a.has_value() || type(node.results[0]).dtype != DType::kF32) return std::nullopt;
    const auto axis = context_.number(node.args[at::axis]);
    const auto rank = static_cast<double>(a->sizes().size());
    if (!axis.has_value() || *axis < -rank || *axis >= rank) return std::nullopt;
    const auto along = [&](const Argument& argument) -> std::optional<Broadcast> {
      const ValueId* value = std::get_if<ValueId>(&argument);
      const std::optional<Known> found = value == nullptr ? std::nullopt : known(*value);
      if (!found.has_value() || found->type.rank() != 1 || !is_real(found->type.dtype)) return std::nullopt;
      Broadcast made;
      made.sizes.assign(a->sizes().size(), 1);
      made.sizes[static_cast<size_t>(*axis < 0 ? *axis + rank : *axis)] = found->type.shape[0].value;
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
  std::optional<Affine> moved(const Node& node, bool keeps_dimensions) {
    std::optional<Affine> a = affine(value_argument(node, 0));
    if (!a.has_value()) return std::nullopt;
    const std::vector<int64_t> sizes = a->sizes();
    for (Broadcast* one : {&a->scale, &a->zero}) {
      if (one->values.size() == 1) continue;
      std::vector<int64_t> own(sizes.size() - one->sizes.size(), 1);
      own.insert(own.end(), one->sizes.begin(), one->sizes.end());
      *one = keeps_dimensions ? Broadcast{own, one->values} : expanded(*one, sizes);
      const std::optional<Known> result = run(node, {known_floats(one->sizes, one->values)});
      if (!result.has_value()) return std::nullopt;
      *one = {sizes_of(result->type), floats_in(*result)};
    }
    std::optional<Known> result = run(node, {a->integers});
    if (!result.has_value() || result->blob.is_splat()) return std::nullopt;
    a->integers = std::move(*result);
    return a;
  }

  Context& context_;
  DType type_;
  int left_ = kMostNodes;
};

// Element [k, j] of a matrix of numbers of which 1 stands for all rows or columns.
class Matrix {
 public:
  Matrix(const Broadcast& factors, float less) : less_(less), values_(factors.values) {
    const size_t rank = factors.sizes.size();
    rows_ = rank < 2 ? 1 : factors.sizes[rank - 2];
    columns_ = rank < 1 ? 1 : factors.sizes[rank - 1];
  }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  float operator()(int64_t k, int64_t j) const {
    return values_[(rows_ == 1 ? 0 : k) * columns_ + (columns_ == 1 ? 0 : j)] - less_;
  }
  bool same_rows(int64_t a, int64_t b) const {
    return rows_ == 1 || std::memcmp(&values_[a * columns_], &values_[b * columns_], columns_ * sizeof(float)) == 0;
  }

 private:
  float less_;
  int64_t rows_, columns_;
  const std::vector<float>& values_;
};

// The most rows in a row that have equal numbers, as blocks from row 0 on.
int64_t block_of(int64_t depth, const Matrix& scale, const Matrix& zero) {
  int64_t block = 0;
  for (int64_t k = 1; k < depth && block != 1; ++k) {
    if (!scale.same_rows(k - 1, k) || !zero.same_rows(k - 1, k)) block = std::gcd(block, k);
  }
  return block == 0 ? std::max<int64_t>(depth, 1) : block;
}

IntegerWeight::Numbers numbers_of(const Matrix& matrix, int64_t depth, int64_t block) {
  IntegerWeight::Numbers made;
  made.rows = matrix.rows() == 1 ? 1 : ceil_div(depth, block);
  made.columns = matrix.columns();
  for (int64_t b = 0; b < made.rows; ++b) {
    for (int64_t j = 0; j < made.columns; ++j) made.values.push_back(matrix(b * block, j));
  }
  return made;
}

// What is taken off all integers, so that they are in the range of as few bits as can be.
int range_of(const std::vector<int16_t>& numbers, int64_t* bits) {
  int low = 0;
  int high = 0;
  for (const int16_t n : numbers) {
    low = std::min<int>(low, n);
    high = std::max<int>(high, n);
  }
  *bits = 4;
  if (low >= 0 && high <= 15) return 8;
  if (low >= -8 && high <= 7) return 0;
  *bits = 8;
  return high > 127 ? 128 : 0;
}

IntegerWeight narrow(int64_t depth, int64_t columns, const std::vector<int16_t>& numbers, const Broadcast& scale,
                     const Broadcast& zero) {
  IntegerWeight made;
  made.depth = depth;
  made.columns = columns;
  const int less = range_of(numbers, &made.bits);
  const Matrix scales(scale, 0);
  const Matrix zeros(zero, static_cast<float>(less));
  made.block = block_of(depth, scales, zeros);
  made.scales = numbers_of(scales, depth, made.block);
  IntegerWeight::Numbers points = numbers_of(zeros, depth, made.block);
  if (std::any_of(points.values.begin(), points.values.end(), [](float z) { return z != 0; })) {
    made.zero_points = std::move(points);
  }
  if (made.bits == 8) {
    for (const int16_t n : numbers) made.bytes.push_back(static_cast<uint8_t>(n - less));
    return made;
  }
  made.bytes.assign(ceil_div<int64_t>(depth, 2) * columns, 0);
  for (int64_t i = 0; i < depth * columns; ++i) {
    const int64_t k = i / columns;
    const auto half = static_cast<uint8_t>(numbers[i] - less + 8);
    made.bytes[k / 2 * columns + i % columns] |= static_cast<uint8_t>(k % 2 == 0 ? half : half << 4);
  }
  return made;
}

// Less than three quarters of the same in `type`, with a number a column in each block, as fast kernels have them.
bool is_worth(const IntegerWeight& weight, DType type) {
  const int64_t rows = weight.scales.rows + (weight.zero_points ? weight.zero_points->rows : 0);
  const int64_t bytes = static_cast<int64_t>(weight.bytes.size()) + 4 * rows * weight.columns;
  return 4 * bytes < 3 * static_cast<int64_t>(element_size(type)) * weight.depth * weight.columns;
}

std::vector<int16_t> numbers_in(const Known& integers) {
  const std::vector<uint8_t> bytes = integers.blob.to_vector();
  std::vector<int16_t> numbers(bytes.size());
  const DType dtype = integers.type.dtype;
  for (size_t i = 0; i < bytes.size(); ++i) {
    // One of 4 bits has a byte; what counts are its lower four.
    const int low = bytes[i] & 15;
    numbers[i] = static_cast<int16_t>(dtype == DType::kI8   ? static_cast<int8_t>(bytes[i])
                                      : dtype == DType::kU8 ? bytes[i]
                                      : dtype == DType::kU4 ? low
                                                            : (low ^ 8) - 8);
  }
  return numbers;
}

}  // namespace

bool IntegerWeight::has_whole_zeros() const {
  const float low = bits == 8 ? -128 : -8;
  const float high = bits == 8 ? 127 : 7;
  return zero_points.has_value() && std::all_of(zero_points->values.begin(), zero_points->values.end(),
                                                [&](float z) { return z >= low && z <= high && z == std::floor(z); });
}

std::optional<IntegerWeight> read_integer_weight(Context& context, ValueId value) {
  const DType type = context.type(value).dtype;
  const std::optional<Affine> a = NarrowReader(context, type).affine(value);
  if (!a.has_value() || a->integers.type.rank() != 2) return std::nullopt;
  const std::vector<int64_t> sizes = a->sizes();
  if (sizes[0] < 1 || sizes[1] < 1) return std::nullopt;
  IntegerWeight made = narrow(sizes[0], sizes[1], numbers_in(a->integers), a->scale, a->zero);
  if (!is_worth(made, type)) return std::nullopt;
  return made;
}

std::optional<IntegerWeight> read_mixed_weight(Context& context, const Node& node) {
  namespace at = arg::mixed_linear_out;
  NarrowReader reader(context);
  const std::optional<Known> integers = reader.known(value_argument(node, at::weight));
  if (!integers.has_value() || integers->type.rank() != 2 || integers->blob.is_splat()) return std::nullopt;
  const int64_t columns = integers->type.shape[0].value;
  const int64_t depth = integers->type.shape[1].value;
  if (depth < 1 || columns < 1) return std::nullopt;
  // Row [column, group] as [depth, column].
  const auto wide = [&](const Argument& argument) -> std::optional<Broadcast> {
    if (ir::is_none(argument)) return Broadcast{{}, {0}};
    const std::optional<Known> found = reader.known(std::get<ValueId>(argument));
    if (!found.has_value() || !is_floating(found->type.dtype) || found->type.rank() < 1 || found->type.rank() > 2 ||
        found->type.shape[0] != ir::Dim(columns)) {
      return std::nullopt;
    }
    const int64_t groups = found->type.rank() == 2 ? found->type.shape[1].value : 1;
    if (groups < 1 || depth % groups != 0) return std::nullopt;
    const std::vector<uint8_t> bytes = found->blob.to_vector();
    Broadcast made = {{depth, columns}, {}};
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t i = j * groups + k / (depth / groups);
        made.values.push_back(static_cast<float>(passes::element_number(found->type.dtype, bytes, i)));
      }
    }
    return made;
  };
  const std::optional<Broadcast> scale = wide(node.args[at::weight_scales]);
  const std::optional<Broadcast> zero = wide(node.args[at::weight_zero_points]);
  if (!scale.has_value() || !zero.has_value()) return std::nullopt;
  const std::vector<int16_t> given = numbers_in(*integers);
  std::vector<int16_t> turned(given.size());
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t k = 0; k < depth; ++k) turned[k * columns + j] = given[j * depth + k];
  }
  IntegerWeight made = narrow(depth, columns, turned, *scale, *zero);
  if (!is_worth(made, DType::kF32)) return std::nullopt;
  return made;
}

}  // namespace berth::fuse
