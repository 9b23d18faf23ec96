// Fourier transforms: torch.fft, stft, istft.
#include <cmath>

#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

using lowering::fourier;

/// What a transform is multiplied by: of `length` numbers, by the argument 'norm'.
double norm_factor(NodeContext& n, int64_t length, bool inverse) {
  const std::string norm = n.text("norm", "backward");
  const double whole = 1 / static_cast<double>(length);
  if (norm == "ortho") return std::sqrt(whole);
  return (norm == "forward") != inverse ? whole : 1;
}

/// The same for torch's own transforms: 'normalization' is 0 for none, 1 for the root, 2 for the whole.
double numbered_factor(NodeContext& n, int64_t length) {
  const int64_t kind = n.integer("normalization", 0);
  const double whole = 1 / static_cast<double>(length);
  return kind == 0 ? 1 : kind == 1 ? std::sqrt(whole) : whole;
}

int64_t length_of(NodeContext& n, const Complex& x, int axis) {
  return n.fixed(n.dim(x.real, axis), "the length of a signal that is transformed");
}

/// The dimensions that a transform is over, and the lengths that it gives them; -1 for those that they have.
struct Extents {
  std::vector<int> axes;
  std::vector<int64_t> lengths;
};

/// `last`: two, of transforms over the last two; none, of those over all.
Extents extents_of(NodeContext& n, const Complex& x, std::vector<int64_t> last) {
  const int rank = n.rank(x.real);
  Extents e;
  e.lengths = n.integers("s");
  std::vector<int64_t> dims = n.has("dim") ? n.integers("dim") : std::move(last);
  if (dims.empty()) {
    const int count = e.lengths.empty() ? rank : static_cast<int>(e.lengths.size());
    for (int i = rank - count; i < rank; ++i) dims.push_back(i);
  }
  e.axes = n.axes(dims, rank);
  if (e.lengths.empty()) e.lengths.assign(e.axes.size(), -1);
  if (n.ok() && (e.axes.empty() || e.lengths.size() != e.axes.size())) n.invalid("'s' and 'dim' differ in length");
  return e;
}

Extents one_extent(NodeContext& n, const Complex& x) {
  const int axis = n.axis(n.integer("dim", -1), n.rank(x.real));
  return {{axis}, {n.has("n") ? n.integer("n", -1) : -1}};
}

/// `x` transformed over dimension i of `e`; `half`: the numbers up to length / 2 alone.
Complex one_transform(NodeContext& n, Complex x, const Extents& e, size_t i, bool inverse, bool half) {
  if (e.lengths[i] >= 0) x = lowering::resized(n, x, e.axes[i], e.lengths[i]);
  const int64_t length = length_of(n, x, e.axes[i]);
  if (!n.ok()) return x;
  const double factor = norm_factor(n, std::max<int64_t>(length, 1), inverse);
  return fourier(n, n.state().transforms, x, e.axes[i], half ? length / 2 + 1 : length, inverse, factor);
}

void transform(NodeContext& n, Complex x, const Extents& e, bool inverse) {
  for (size_t i = e.axes.size(); i-- > 0 && n.ok();) x = one_transform(n, x, e, i, inverse, false);
  n.output(0, x);
}

void transform_of_real(NodeContext& n, Complex x, const Extents& e) {
  for (size_t i = e.axes.size(); i-- > 0 && n.ok();) x = one_transform(n, x, e, i, false, i + 1 == e.axes.size());
  n.output(0, x);
}

void transform_to_real(NodeContext& n, Complex x, const Extents& e) {
  for (size_t i = 0; i + 1 < e.axes.size() && n.ok(); ++i) x = one_transform(n, x, e, i, true, false);
  if (!n.ok()) return;
  const int axis = e.axes.back();
  const int64_t length = e.lengths.back() >= 0 ? e.lengths.back() : 2 * (length_of(n, x, axis) - 1);
  if (n.ok() && length < 1) return n.invalid("a signal of no numbers");
  if (!n.ok()) return;
  n.output(lowering::inverse_of_half(n, n.state().transforms, x, axis, length, norm_factor(n, length, true)));
}

void import_fft(NodeContext& n) {
  const Complex x = n.complex("self");
  transform(n, x, one_extent(n, x), false);
}
void import_ifft(NodeContext& n) {
  const Complex x = n.complex("self");
  transform(n, x, one_extent(n, x), true);
}
void import_rfft(NodeContext& n) {
  const Complex x = n.complex("self");
  transform_of_real(n, x, one_extent(n, x));
}
void import_irfft(NodeContext& n) {
  const Complex x = n.complex("self");
  transform_to_real(n, x, one_extent(n, x));
}

template <bool inverse>
void import_fft2(NodeContext& n) {
  const Complex x = n.complex("self");
  transform(n, x, extents_of(n, x, {-2, -1}), inverse);
}
template <bool inverse>
void import_fftn(NodeContext& n) {
  const Complex x = n.complex("self");
  transform(n, x, extents_of(n, x, {}), inverse);
}
void import_rfft2(NodeContext& n) {
  const Complex x = n.complex("self");
  transform_of_real(n, x, extents_of(n, x, {-2, -1}));
}
void import_rfftn(NodeContext& n) {
  const Complex x = n.complex("self");
  transform_of_real(n, x, extents_of(n, x, {}));
}
void import_irfft2(NodeContext& n) {
  const Complex x = n.complex("self");
  transform_to_real(n, x, extents_of(n, x, {-2, -1}));
}
void import_irfftn(NodeContext& n) {
  const Complex x = n.complex("self");
  transform_to_real(n, x, extents_of(n, x, {}));
}

// What run_decompositions() leaves of them.
void import_complex_to_complex(NodeContext& n) {
  Complex x = n.complex("self");
  const std::vector<int> axes = n.axes(n.integers("dim"), n.rank(x.real));
  const bool inverse = !n.truth("forward", true);
  for (int axis : axes) {
    const int64_t length = length_of(n, x, axis);
    if (!n.ok()) return;
    x = fourier(n, n.state().transforms, x, axis, length, inverse, numbered_factor(n, length));
  }
  n.output(0, x);
}

void import_real_to_complex(NodeContext& n) {
  Complex x = n.complex("self");
  const std::vector<int> axes = n.axes(n.integers("dim"), n.rank(x.real));
  const bool half = n.truth("onesided", true);
  for (size_t i = axes.size(); i-- > 0;) {
    const int64_t length = length_of(n, x, axes[i]);
    if (!n.ok()) return;
    const int64_t bins = half && i + 1 == axes.size() ? length / 2 + 1 : length;
    x = fourier(n, n.state().transforms, x, axes[i], bins, false, numbered_factor(n, length));
  }
  n.output(0, x);
}

void import_complex_to_real(NodeContext& n) {
  Complex x = n.complex("self");
  const std::vector<int> axes = n.axes(n.integers("dim"), n.rank(x.real));
  const int64_t last = n.integer("last_dim_size", 0);
  if (n.ok() && (axes.empty() || last < 1)) return n.invalid("a transform over nothing");
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    const int64_t length = length_of(n, x, axes[i]);
    if (!n.ok()) return;
    x = fourier(n, n.state().transforms, x, axes[i], length, true, numbered_factor(n, length));
  }
  if (!n.ok()) return;
  n.output(lowering::inverse_of_half(n, n.state().transforms, x, axes.back(), last, numbered_factor(n, last)));
}

/// The numbers of stft and istft.
struct Frames {
  int64_t size, step;
  ValueId window;  // of `size` elements; not valid: ones
};

// A window that is shorter than a frame lies in its middle.
Frames read_frames(NodeContext& n) {
  Frames f{n.integer("n_fft", 0), 0, {}};
  f.step = n.integer("hop_length", f.size / 4);
  const int64_t length = n.integer("win_length", f.size);
  constexpr int64_t kMaxSize = int64_t{1} << 20;
  if (n.ok() && (f.size < 1 || f.size > kMaxSize || f.step < 1 || length < 1 || length > f.size)) {
    n.invalid("frames are of 1 to 2^20 numbers, with windows that are not longer");
  }
  if (!n.ok()) return f;
  if (n.has("window")) f.window = n.tensor("window");
  if (!f.window.valid() && length < f.size) f.window = n.splat(DType::kF32, {Dim(length)}, 1);
  if (!f.window.valid() || length == f.size) return f;
  const int64_t left = (f.size - length) / 2;
  f.window = n.op(OpId::constant_pad_nd_out, {f.window, DimList{Dim(left), Dim(f.size - length - left)}, Dim(0)});
  return f;
}

// [..., samples] → [..., bins, frames]
void import_stft(NodeContext& n) {
  Complex x = n.complex("self");
  const Frames f = read_frames(n);
  if (n.truth("center", false))
    return n.unsupported("with 'center' is read as torch.export writes it, with a pad before it");
  const bool half = n.truth("onesided", !x.imaginary.valid());
  const bool complex = n.truth("return_complex", false);
  const double factor = n.truth("normalized", false) ? 1 / std::sqrt(static_cast<double>(f.size)) : 1;
  const auto cut = [&](ValueId v) {
    if (!v.valid() || !n.ok()) return v;
    const ValueId frames = n.op(OpId::unfold_copy_out, {v, Dim(-1), Dim(f.size), Dim(f.step)});
    return f.window.valid() ? n.op(OpId::mul_out, {frames, f.window}) : frames;
  };
  x = {cut(x.real), cut(x.imaginary)};
  if (!n.ok()) return;
  const int last = n.rank(x.real) - 1;
  x = fourier(n, n.state().transforms, x, last, half ? f.size / 2 + 1 : f.size, false, factor);
  if (!n.ok()) return;
  std::vector<int64_t> order(last + 1);
  for (int i = 0; i <= last; ++i) order[i] = i;
  std::swap(order[last], order[last - 1]);
  const ValueId real = n.permute(x.real, order);
  const Complex y{real, n.permute(x.imaginary, order)};
  if (complex) return n.output(0, y);
  n.output(lowering::as_last_dimension(n, y));
}

// [..., bins, frames] → [..., samples]: frames are added up, and divided by the sum of the windows' squares there.
void import_istft(NodeContext& n) {
  Complex x = n.complex("self");
  const Frames f = read_frames(n);
  const int rank = n.rank(x.real);
  if (n.truth("return_complex", false)) return n.unsupported("is read for real signals");
  if (n.ok() && (rank < 2 || !x.imaginary.valid())) return n.invalid("needs complex numbers, [..., bins, frames]");
  if (!n.truth("onesided", true)) return n.unsupported("is read for the half of a spectrum ('onesided')");
  if (!n.ok()) return;
  std::vector<int64_t> order(rank);
  for (int i = 0; i < rank; ++i) order[i] = i;
  std::swap(order[rank - 1], order[rank - 2]);
  const ValueId real = n.permute(x.real, order);
  x = {real, n.permute(x.imaginary, order)};
  const bool normalized = n.truth("normalized", false);
  const double whole = 1 / static_cast<double>(f.size);
  ValueId y =
      lowering::inverse_of_half(n, n.state().transforms, x, rank - 1, f.size, normalized ? std::sqrt(whole) : whole);
  if (f.window.valid()) y = n.op(OpId::mul_out, {y, f.window});
  const Dim frames = n.dim(y, rank - 2);
  y = lowering::overlapped(n, y, f.step);
  const ValueId window = f.window.valid() ? f.window : n.splat(n.dtype(y), {Dim(f.size)}, 1);
  const ValueId square = n.op(OpId::mul_out, {window, window});
  const ValueId weights = lowering::overlapped(n, n.expand(square, {frames, Dim(f.size)}), f.step);
  const Dim start(n.truth("center", true) ? f.size / 2 : 0);
  const Dim length = n.dim(y, rank - 2);
  Dim end = n.symbols().add(length, Dim(-start.value));
  if (n.has("length")) end = n.symbols().add(start, n.dim("length", Dim(0)));
  if (n.ok() && n.symbols().upper(end) > n.symbols().upper(length))
    return n.unsupported("a 'length' beyond the last frame");
  const ValueId part = n.slice(y, rank - 2, start, end);
  n.output(n.op(OpId::div_out, {part, n.slice(weights, 0, start, end)}));
}

constexpr OperatorRow kFourierRows[] = {
    {"_fft_c2c", import_complex_to_complex},
    {"_fft_c2r", import_complex_to_real},
    {"_fft_r2c", import_real_to_complex},
    {"fft_fft", import_fft},
    {"fft_fft2", import_fft2<false>},
    {"fft_fftn", import_fftn<false>},
    {"fft_ifft", import_ifft},
    {"fft_ifft2", import_fft2<true>},
    {"fft_ifftn", import_fftn<true>},
    {"fft_irfft", import_irfft},
    {"fft_irfft2", import_irfft2},
    {"fft_irfftn", import_irfftn},
    {"fft_rfft", import_rfft},
    {"fft_rfft2", import_rfft2},
    {"fft_rfftn", import_rfftn},
    {"istft", import_istft},
    {"stft", import_stft},
};

/// Half a turn of each dimension: the zero frequency is in the middle, or comes back from there.
template <bool back>
void import_shift(NodeContext& n) {
  const ValueId x = n.tensor("self");
  std::vector<int64_t> dims = n.integers("dim");
  if (!n.has("dim")) {
    for (int i = 0; i < n.rank(x); ++i) dims.push_back(i);
  }
  DimList shifts, axes;
  for (int axis : n.axes(dims, n.rank(x))) {
    const int64_t size = n.fixed(n.dim(x, axis), "the length of a signal that is shifted");
    shifts.emplace_back(back ? (size + 1) / 2 : size / 2);
    axes.emplace_back(axis);
  }
  n.output(axes.empty() ? x : n.op(OpId::roll_out, {x, shifts, axes}));
}

/// The frequencies of a transform's numbers, of all or of half.
template <bool half>
void import_frequencies(NodeContext& n) {
  const int64_t size = n.integer("n", 0);
  const double step = n.number("d", 1);
  constexpr int64_t kMaxSize = int64_t{1} << 20;
  if (n.ok() && (size < 1 || size > kMaxSize)) return n.unsupported("transforms are of 1 to 2^20 numbers");
  std::vector<double> numbers;
  const int64_t count = half ? size / 2 + 1 : size;
  for (int64_t i = 0; i < count && n.ok(); ++i) {
    const int64_t turn = half || i < (size + 1) / 2 ? i : i - size;
    numbers.push_back(static_cast<double>(turn) / (static_cast<double>(size) * step));
  }
  n.output(n.Lowering::numbers(n.dtype("dtype", DType::kF32), numbers, 1, 0));
}

constexpr OperatorRow kFrequencyRows[] = {
    {"fft_fftfreq", import_frequencies<false>},
    {"fft_fftshift", import_shift<false>},
    {"fft_ifftshift", import_shift<true>},
    {"fft_rfftfreq", import_frequencies<true>},
};

}  // namespace

OperatorTable fourier_operators() { return kFourierRows; }
OperatorTable frequency_operators() { return kFrequencyRows; }

}  // namespace berth::pt2
