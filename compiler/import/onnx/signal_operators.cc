// Windows, Fourier transforms and mel weights: constants, and products with them.
#include <algorithm>
#include <cmath>

#include "compiler/import/lowering/matmul.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/quantize.h"

namespace berth::onnx {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kMaxSignalWindow = 1 << 20;
constexpr int64_t kMaxMatrix = 1 << 22;

bool may_make(NodeContext& n, int64_t elements) {
  if (n.state().literals.reserve(elements * sizeof(double))) return true;
  n.fail(Error::kOutOfResources, "the model's constants would take more than 2 × the file + 64 MB");
  return false;
}

// a₀ - a₁ cos(2πi / m) + a₂ cos(4πi / m), with m the size, or one less where the window is symmetric.
void window(NodeContext& n, double a0, double a1, double a2) {
  const int64_t size = n.known_integer(0, "the size");
  const bool periodic = n.integer("periodic", 1) != 0;
  DType type = DType::kF32;
  if (!dtype_of(static_cast<int32_t>(n.integer("output_datatype", 1)), &type)) n.unsupported("an unknown type");
  if (n.ok() && (size < 0 || size > kMaxSignalWindow)) n.invalid("the size must be from 0 to 2^20");
  if (!n.ok() || !may_make(n, size)) return;
  std::vector<double> numbers;
  const double m = static_cast<double>(periodic ? size : size - 1);
  for (int64_t i = 0; i < size; ++i) {
    const double angle = m == 0 ? 0 : 2 * kPi * static_cast<double>(i) / m;
    numbers.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  n.output(0, n.Lowering::numbers(type, numbers, 1, 0));
}

void import_hann(NodeContext& n) { window(n, 0.5, 0.5, 0); }
void import_hamming(NodeContext& n) { window(n, 25.0 / 46.0, 21.0 / 46.0, 0); }
void import_blackman(NodeContext& n) { window(n, 0.42, 0.5, 0.08); }

/// cos and sin of 2π · row · column / `length`, [rows, 2 · columns]: what a row of numbers becomes, real parts first.
/// `rows` beyond `length` do not occur; those of a shorter signal are left out.
ValueId fourier(NodeContext& n, DType type, int64_t rows, int64_t length, int64_t columns, double sign, double scale) {
  if (n.ok() && (rows < 1 || length < 1 || columns < 1)) n.invalid("a transform of nothing");
  if (n.ok() && rows > kMaxMatrix / (2 * columns)) {
    n.fail(Error::kOutOfResources, "the transform's matrix would have more than 2^22 elements");
  }
  if (!n.ok() || !may_make(n, rows * columns * 2)) return {};
  std::vector<double> numbers(rows * columns * 2);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const double angle = 2 * kPi * static_cast<double>((r * c) % length) / static_cast<double>(length);
      const size_t at = r * columns * 2 + c;
      numbers[at] = scale * std::cos(angle);
      numbers[at + columns] = sign * scale * std::sin(angle);
    }
  }
  return n.view(n.Lowering::numbers(type, numbers, 1, 0), {Dim(rows), Dim(2 * columns)});
}

/// Rows of `length` numbers, or of as many pairs, times a matrix of `columns`: [..., columns, 2].
ValueId transformed(NodeContext& n, ValueId real, ValueId imaginary, ValueId matrix, int64_t columns) {
  const ValueId r = lowering::matmul(n, real, matrix);
  const int last = n.rank(r) - 1;
  ValueId a = n.slice(r, last, 0, columns);
  ValueId b = n.slice(r, last, columns, 2 * columns);
  if (imaginary.valid()) {
    const ValueId i = lowering::matmul(n, imaginary, matrix);
    a = n.op(OpId::sub_out, {a, n.slice(i, last, columns, 2 * columns)});
    b = n.op(OpId::add_out, {b, n.slice(i, last, 0, columns)});
  }
  return n.op(OpId::stack_out, {ValueList{a, b}, Dim(-1)});
}

std::vector<int64_t> swapped(int rank, int a, int b) {
  std::vector<int64_t> order;
  for (int i = 0; i < rank; ++i) order.push_back(i == a ? b : i == b ? a : i);
  return order;
}

// Real numbers of the half of their spectrum: the other half is its mirror image, so each bin counts twice, but for the
// first and, of an even length, the last.
void inverse_of_one_side(NodeContext& n, ValueId x, int axis, int64_t parts) {
  const int rank = n.rank(x);
  const int64_t size = n.fixed(n.dim(x, axis), "the signal's length");
  const int64_t length = n.has_input(1) ? n.known_integer(1, "dft_length") : 2 * (size - 1);
  if (n.ok() && parts != 2) return n.invalid("the inverse of one side needs complex numbers, found " + n.type_text(x));
  if (n.ok() && (length < 1 || length > kMaxSignalWindow)) return n.invalid("the length must be from 1 to 2^20");
  if (!n.ok()) return;
  const int64_t bins = std::min(size, length / 2 + 1);
  std::vector<double> real;
  std::vector<double> imaginary;
  if (!n.state().literals.reserve(bins * length * 16)) return n.fail(Error::kOutOfResources, "too long a signal");
  for (int64_t k = 0; k < bins; ++k) {
    const double twice = k == 0 || 2 * k == length ? 1 : 2;
    for (int64_t t = 0; t < length; ++t) {
      const double angle = 2 * kPi * static_cast<double>(k * t % length) / static_cast<double>(length);
      real.push_back(twice * std::cos(angle) / static_cast<double>(length));
      imaginary.push_back(-twice * std::sin(angle) / static_cast<double>(length));
    }
  }
  const auto matrix = [&](const std::vector<double>& numbers) {
    return n.view(n.Lowering::numbers(n.dtype(x), numbers, 1, 0), {Dim(bins), Dim(length)});
  };
  if (bins < size) x = n.slice(x, axis, 0, bins);
  const auto one = [&](int64_t i) {
    const ValueId p = n.op(OpId::select_copy_int_out, {x, Dim(rank - 1), Dim(i)});
    return n.permute(p, swapped(rank - 1, axis, rank - 2));
  };
  const ValueId y =
      n.op(OpId::add_out, {lowering::matmul(n, one(0), matrix(real)), lowering::matmul(n, one(1), matrix(imaginary))});
  const ValueId back = n.permute(y, swapped(rank - 1, axis, rank - 2));
  std::vector<Dim> shape = n.shape(back);
  shape.emplace_back(1);
  n.output(0, n.view(back, shape));
}

void import_dft(NodeContext& n) {
  ValueId x = n.input(0);
  const int rank = n.rank(x);
  if (n.ok() && rank < 2) return n.invalid("expected a signal and its parts, found " + n.type_text(x));
  int64_t named = n.integer("axis", n.opset() < 20 ? 1 : -2);
  if (n.has_input(2)) named = n.known_integer(2, "axis");
  const int axis = n.axis(named, rank);
  const int64_t parts = n.fixed(n.dim(x, rank - 1), "the number of parts");
  const bool inverse = n.integer("inverse", 0) != 0;
  const bool onesided = n.integer("onesided", 0) != 0;
  if (n.ok() && (axis == rank - 1 || parts < 1 || parts > 2)) {
    return n.invalid("needs an axis before the last, which holds one or two parts; found " + n.type_text(x));
  }
  if (inverse && onesided) return inverse_of_one_side(n, x, axis, parts);
  const int64_t size = n.fixed(n.dim(x, axis), "the signal's length");
  const int64_t length = n.has_input(1) ? n.known_integer(1, "dft_length") : size;
  if (n.ok() && (length < 1 || length > kMaxSignalWindow)) return n.invalid("the length must be from 1 to 2^20");
  const int64_t columns = onesided ? length / 2 + 1 : length;
  const int64_t rows = std::min(size, length);
  const double scale = inverse ? 1 / static_cast<double>(length) : 1;
  const ValueId matrix = fourier(n, n.dtype(x), rows, length, columns, inverse ? 1 : -1, scale);
  if (!n.ok()) return;
  if (rows < size) x = n.slice(x, axis, 0, rows);
  const auto one = [&](int64_t i) {
    const ValueId p = n.op(OpId::select_copy_int_out, {x, Dim(rank - 1), Dim(i)});
    return n.permute(p, swapped(rank - 1, axis, rank - 2));
  };
  const ValueId y = transformed(n, one(0), parts == 2 ? one(1) : ValueId(), matrix, columns);
  n.output(0, n.permute(y, swapped(rank, axis, rank - 2)));
}

// Frames of the signal, times the window, transformed: [batch, frames, bins, 2].
void import_stft(NodeContext& n) {
  ValueId x = n.input(0);
  const int64_t step = n.known_integer(1, "frame_step");
  if (n.ok() && n.rank(x) == 3 && n.dim(x, 2) == Dim(1)) x = n.view(x, {n.dim(x, 0), n.dim(x, 1)});
  if (n.ok() && n.rank(x) != 2) return n.unsupported("only signals of real numbers, found " + n.type_text(x));
  const ValueId window = optional_input(n, 2);
  int64_t length = 0;
  if (n.has_input(3)) length = n.known_integer(3, "frame_length");
  if (length == 0 && window.valid()) length = n.fixed(n.dim(window, 0), "the window's length");
  if (n.ok() && (length < 1 || length > kMaxSignalWindow || step < 1 || step > kMaxSignalWindow)) {
    return n.invalid("frames and their steps must be from 1 to 2^20 long");
  }
  const int64_t columns = n.integer("onesided", 1) != 0 ? length / 2 + 1 : length;
  const ValueId matrix = fourier(n, n.dtype(x), length, length, columns, -1, 1);
  ValueId frames = n.op(OpId::unfold_copy_out, {x, Dim(1), Dim(length), Dim(step)});
  if (window.valid()) frames = n.op(OpId::mul_out, {frames, window});
  n.output(0, transformed(n, frames, {}, matrix, columns));
}

constexpr OperatorRow kSignalRows[] = {
    {"BlackmanWindow", 1, 1, import_blackman}, {"DFT", 1, 3, import_dft},   {"HammingWindow", 1, 1, import_hamming},
    {"HannWindow", 1, 1, import_hann},         {"STFT", 2, 4, import_stft},
};

}  // namespace

OperatorTable signal_operators() { return kSignalRows; }

}  // namespace berth::onnx
