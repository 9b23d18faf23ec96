#include "compiler/fuse/integer_weight.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/math.h"
#include "compiler/fuse/affine_integers.h"
#include "compiler/ir/arguments.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Node;
using ir::ValueId;

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

std::vector<int16_t> numbers_in(const KnownTensor& integers) {
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
  const std::optional<AffineIntegers> a = read_affine_integers(context, value, type);
  if (!a.has_value() || a->integers.type.rank() != 2) return std::nullopt;
  const std::vector<int64_t> sizes = a->sizes();
  if (sizes[0] < 1 || sizes[1] < 1) return std::nullopt;
  IntegerWeight made = narrow(sizes[0], sizes[1], numbers_in(a->integers), a->scale, a->zero);
  if (!is_worth(made, type)) return std::nullopt;
  return made;
}

std::optional<IntegerWeight> read_mixed_weight(Context& context, const Node& node) {
  namespace at = arg::mixed_linear_out;
  KnownReader reader(context);
  const std::optional<KnownTensor> integers = reader.known(value_argument(node, at::weight));
  if (!integers.has_value() || integers->type.rank() != 2 || integers->blob.is_splat()) return std::nullopt;
  const int64_t columns = integers->type.shape[0].value;
  const int64_t depth = integers->type.shape[1].value;
  if (depth < 1 || columns < 1) return std::nullopt;
  // Row [column, group] as [depth, column].
  const auto wide = [&](const Argument& argument) -> std::optional<Broadcast> {
    if (ir::is_none(argument)) return Broadcast{{}, {0}};
    const std::optional<KnownTensor> found = reader.known(std::get<ValueId>(argument));
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
