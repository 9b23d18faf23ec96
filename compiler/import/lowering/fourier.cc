#include "compiler/import/lowering/fourier.h"

#include <algorithm>
#include <cmath>

#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/lowering/matmul.h"

namespace berth::lowering {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kMaxLength = int64_t{1} << 20;
// Longer ones are two shorter ones with factors between them.
constexpr int64_t kDirect = 512;
constexpr int64_t kMaxMatrix = int64_t{1} << 22;
constexpr int64_t kMaxMade = int64_t{1} << 26;

/// The largest factor of `length` that is not above its root.
int64_t factor_of(int64_t length) {
  for (int64_t f = static_cast<int64_t>(std::sqrt(static_cast<double>(length))); f > 1; --f) {
    if (length % f == 0) return f;
  }
  return 1;
}

std::vector<int64_t> swapped(int rank, int a, int b) {
  std::vector<int64_t> order(rank);
  for (int i = 0; i < rank; ++i) order[i] = i == a ? b : i == b ? a : i;
  return order;
}

template <typename F>
Complex each(Complex x, F&& f) {
  x.real = f(x.real);
  if (x.imaginary.valid()) x.imaginary = f(x.imaginary);
  return x;
}

Complex transposed(Lowering& n, Complex x, int a, int b) {
  if (!n.ok()) return x;
  const std::vector<int64_t> order = swapped(n.rank(x.real), a, b);
  return each(x, [&](ValueId v) { return n.permute(v, order); });
}

Complex viewed(Lowering& n, Complex x, const std::vector<Dim>& shape) {
  return each(x, [&](ValueId v) { return n.view(v, shape); });
}

class Transform {
 public:
  Transform(Lowering& n, FourierConstants& constants, bool inverse) : n_(n), constants_(constants), inverse_(inverse) {}

  /// Of the last dimension, of `length` numbers.
  Complex rows(Complex x, int64_t length, int64_t bins) {
    const int64_t a = length > kDirect ? factor_of(length) : 1;
    if (!n_.ok()) return x;
    return a == 1 ? product(x, length, bins) : factored(x, a, length / a, bins);
  }

 private:
  Complex product(Complex x, int64_t length, int64_t bins) {
    const bool pairs = x.imaginary.valid();
    const ValueId matrix = constants_.matrix(n_, n_.dtype(x.real), length, bins, inverse_, pairs);
    ValueId in = x.real;
    if (pairs) in = n_.op(OpId::cat_out, {ValueList{x.real, x.imaginary}, Dim(-1)});
    const ValueId y = matmul(n_, in, matrix);
    const int last = n_.rank(y) - 1;
    const ValueId real = n_.slice(y, last, Dim(0), Dim(bins));
    return {real, n_.slice(y, last, Dim(bins), Dim(2 * bins))};
  }

  // Number t is at row t / b, column t % b; number k of the result comes from row k % a of the columns' transforms, and
  // is number k / a of that row's.
  Complex factored(Complex x, int64_t a, int64_t b, int64_t bins) {
    std::vector<Dim> shape = n_.shape(x.real);
    std::vector<Dim> grid = shape;
    grid.back() = Dim(a);
    grid.emplace_back(b);
    const int row = static_cast<int>(shape.size()) - 1;
    Complex y = transposed(n_, viewed(n_, x, grid), row, row + 1);
    y = rows(y, a, a);  // [..., b, a]
    y = multiply(n_, y, constants_.factors(n_, n_.dtype(x.real), b, a, inverse_));
    y = rows(transposed(n_, y, row, row + 1), b, b);  // [..., a, b]
    shape.back() = Dim(a * b);
    y = viewed(n_, transposed(n_, y, row, row + 1), shape);
    if (bins == a * b) return y;
    return each(y, [&](ValueId v) { return n_.slice(v, row, Dim(0), Dim(bins)); });
  }

  Lowering& n_;
  FourierConstants& constants_;
  const bool inverse_;
};

/// The number of elements along `axis`, from 1 to 2^20.
int64_t length_of(Lowering& n, Complex x, int axis) {
  const int64_t length = n.fixed(n.dim(x.real, axis), "the length of a signal that is transformed");
  if (n.ok() && (length < 1 || length > kMaxLength)) n.unsupported("transforms are of 1 to 2^20 numbers");
  return length;
}

}  // namespace

bool FourierConstants::reserve(Lowering& n, int64_t elements) {
  made_ += elements;
  if (made_ > kMaxMade) {
    n.fail(Error::kOutOfResources, "the model's transforms would need constants of more than 2^26 elements");
  }
  return n.ok();
}

ValueId FourierConstants::matrix(Lowering& n, DType type, int64_t length, int64_t bins, bool inverse, bool pairs) {
  if (!n.ok()) return {};
  const auto key = std::make_tuple(type, length, bins, inverse, pairs);
  if (const auto found = matrices_.find(key); found != matrices_.end()) return found->second;
  const int64_t rows = pairs ? 2 * length : length;
  if (bins < 1 || rows > kMaxMatrix / (2 * bins)) {
    n.fail(Error::kOutOfResources, "a transform of " + std::to_string(length) +
                                       " numbers needs a matrix of more than 2^22 elements, since " +
                                       std::to_string(length) + " has no smaller factors");
  }
  if (!n.ok() || !reserve(n, rows * 2 * bins)) return {};
  const double sign = inverse ? 1 : -1;
  std::vector<double> numbers(rows * 2 * bins);
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t k = 0; k < bins; ++k) {
      const double turn = 2 * kPi * static_cast<double>(t * k % length) / static_cast<double>(length);
      const double cosine = std::cos(turn);
      const double sine = sign * std::sin(turn);
      numbers[t * 2 * bins + k] = cosine;
      numbers[t * 2 * bins + bins + k] = sine;
      if (!pairs) continue;
      numbers[(length + t) * 2 * bins + k] = -sine;
      numbers[(length + t) * 2 * bins + bins + k] = cosine;
    }
  }
  return matrices_[key] = n.view(n.numbers(type, numbers, 1, 0), {Dim(rows), Dim(2 * bins)});
}

ValueId FourierConstants::half_matrix(Lowering& n, DType type, int64_t length) {
  if (!n.ok()) return {};
  const auto key = std::make_tuple(type, length);
  if (const auto found = half_matrices_.find(key); found != half_matrices_.end()) return found->second;
  const int64_t half = length / 2 + 1;
  if (!reserve(n, 2 * half * length)) return {};
  std::vector<double> numbers(2 * half * length);
  for (int64_t k = 0; k < half; ++k) {
    const double twice = k == 0 || 2 * k == length ? 1 : 2;  // these alone have no mirror image
    for (int64_t t = 0; t < length; ++t) {
      const double turn = 2 * kPi * static_cast<double>(k * t % length) / static_cast<double>(length);
      numbers[k * length + t] = twice * std::cos(turn);
      numbers[(half + k) * length + t] = -twice * std::sin(turn);
    }
  }
  return half_matrices_[key] = n.view(n.numbers(type, numbers, 1, 0), {Dim(2 * half), Dim(length)});
}

Complex FourierConstants::factors(Lowering& n, DType type, int64_t rows, int64_t columns, bool inverse) {
  if (!n.ok() || !reserve(n, 2 * rows * columns)) return {};
  std::vector<double> real, imaginary;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const double turn = 2 * kPi * static_cast<double>(r * c) / static_cast<double>(rows * columns);
      real.push_back(std::cos(turn));
      imaginary.push_back(inverse ? std::sin(turn) : -std::sin(turn));
    }
  }
  const std::vector<Dim> shape = {Dim(rows), Dim(columns)};
  const ValueId first = n.view(n.numbers(type, real, 1, 0), shape);
  return {first, n.view(n.numbers(type, imaginary, 1, 0), shape)};
}

Complex fourier(Lowering& n, FourierConstants& constants, Complex x, int axis, int64_t bins, bool inverse,
                double factor) {
  const int64_t length = length_of(n, x, axis);
  if (!n.ok()) return {};
  const int last = n.rank(x.real) - 1;
  Complex y = transposed(n, x, axis, last);
  y = scale(n, Transform(n, constants, inverse).rows(y, length, bins), factor);
  return transposed(n, y, axis, last);
}

ValueId inverse_of_half(Lowering& n, FourierConstants& constants, Complex x, int axis, int64_t length, double factor) {
  if (n.ok() && (length < 1 || length > kMaxLength)) n.unsupported("transforms are of 1 to 2^20 numbers");
  if (!n.ok()) return {};
  const int64_t half = length / 2 + 1;
  x = with_both(n, resized(n, x, axis, half));
  if (length <= kDirect) {
    const int last = n.rank(x.real) - 1;
    x = transposed(n, x, axis, last);
    const ValueId row = n.op(OpId::cat_out, {ValueList{x.real, x.imaginary}, Dim(-1)});
    const ValueId y = matmul(n, row, constants.half_matrix(n, n.dtype(row), length));
    return transposed(n, scale(n, {y, {}}, factor), axis, last).real;
  }
  // Numbers 1 to length - half, backwards, are the other half.
  const auto mirrored = [&](ValueId part) {
    return n.op(OpId::flip_out, {n.slice(part, axis, Dim(1), Dim(1 + length - half)), DimList{Dim(axis)}});
  };
  const auto whole = [&](ValueId part, ValueId other) {
    return n.op(OpId::cat_out, {ValueList{part, other}, Dim(axis)});
  };
  const Complex other = conjugate(n, {mirrored(x.real), mirrored(x.imaginary)});
  x = {whole(x.real, other.real), whole(x.imaginary, other.imaginary)};
  return fourier(n, constants, x, axis, length, true, factor).real;
}

Complex resized(Lowering& n, Complex x, int axis, int64_t length) {
  const int64_t size = n.fixed(n.dim(x.real, axis), "the length of a signal that is transformed");
  if (n.ok() && (length < 1 || length > kMaxLength)) n.unsupported("transforms are of 1 to 2^20 numbers");
  if (!n.ok() || size == length) return x;
  return each(x, [&](ValueId v) {
    if (length < size) return n.slice(v, axis, Dim(0), Dim(length));
    DimList pads(2 * (n.rank(v) - axis), Dim(0));  // from the last dimension to `axis`, begin and end of each
    pads.back() = Dim(length - size);
    return n.op(OpId::constant_pad_nd_out, {v, pads, Dim(0)});
  });
}

// Windows are cut into pieces of `step`: piece i of each is added i steps further on.
ValueId overlapped(Lowering& n, ValueId frames, int64_t step) {
  const int rank = n.rank(frames);
  const int64_t size = n.fixed(n.dim(frames, rank - 1), "the length of a window");
  constexpr int64_t kMaxPieces = 1024;
  if (n.ok() && (step < 1 || (size + step - 1) / step > kMaxPieces)) n.unsupported("windows that are this close");
  if (!n.ok()) return {};
  const int64_t pieces = (size + step - 1) / step;
  const ValueId padded = resized(n, {frames, {}}, rank - 1, pieces * step).real;
  ValueId sum;
  for (int64_t i = 0; i < pieces; ++i) {
    const ValueId piece = n.slice(padded, rank - 1, Dim(i * step), Dim((i + 1) * step));
    const DimList pads = {Dim(0), Dim(0), Dim(i), Dim(pieces - 1 - i)};
    const ValueId placed = n.op(OpId::constant_pad_nd_out, {piece, pads, Dim(0)});
    sum = sum.valid() ? add(n, sum, placed) : placed;
  }
  std::vector<Dim> shape = n.shape(sum);
  if (!n.ok() || shape.size() < 2) return {};
  const Dim length = n.symbols().mul(shape[rank - 2], Dim(step));
  shape.pop_back();
  shape.back() = length;
  const Dim kept = n.symbols().add(length, Dim(size - pieces * step));
  return n.slice(n.view(sum, shape), rank - 2, Dim(0), kept);
}

}  // namespace berth::lowering
