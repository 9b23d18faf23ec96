// What is done plane by plane: pooling, resampling, pixel shuffles. A thread for each element of the result.
#include <type_traits>

#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/ops.h"
#include "backends/cuda/kernels/place.h"
#include "base/result.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/pixel_arguments.h"
#include "kernels/portable/pool_arguments.h"
#include "kernels/portable/upsample_arguments.h"

namespace berth::cuda {
namespace {

using portable::check_memory;
using portable::Pooling;
using portable::resize_out;
using portable::WindowAxis;

// Planes of one tensor, in its own strides.
struct Planes {
  int64_t batch_stride = 0;
  int64_t channel_stride = 0;
  int64_t row_stride = 0;
  int64_t column_stride = 0;

  Planes() = default;
  explicit Planes(const Tensor& tensor)
      : batch_stride(tensor.rank() == 4 ? tensor.stride(0) : 0),
        channel_stride(tensor.stride(tensor.rank() - 3)),
        row_stride(tensor.stride(tensor.rank() - 2)),
        column_stride(tensor.stride(tensor.rank() - 1)) {}
};

// Where an element of the result stands.
struct Spot {
  int64_t batch, channel, y, x;
};

struct Grid {
  int64_t channels;
  int64_t height;
  int64_t width;

  BERTH_HD Spot at(int64_t i) const {
    const Division by_x = divide(i, width);
    const Division by_y = divide(by_x.quotient, height);
    const Division by_channel = divide(by_y.quotient, channels);
    return {by_channel.quotient, by_channel.rest, by_y.rest, by_x.rest};
  }
};

BERTH_HD inline int64_t plane_of(const Planes& planes, const Spot& spot) {
  return spot.batch * planes.batch_stride + spot.channel * planes.channel_stride;
}
BERTH_HD inline int64_t place_of(const Planes& planes, const Spot& spot) {
  return plane_of(planes, spot) + spot.y * planes.row_stride + spot.x * planes.column_stride;
}

struct Window {
  const void* input;
  void* out;
  DType dtype;
  Grid grid;
  Planes in_planes;
  Planes out_planes;
  WindowAxis axis[2];
};

Window window_of(const Pooling& p) {
  return {p.input->raw(),   p.out->raw(),   p.out->dtype(),        {p.channels, p.axis[0].out, p.axis[1].out},
          Planes(*p.input), Planes(*p.out), {p.axis[0], p.axis[1]}};
}

// `body` of the type to compute in for a dtype; f16 and bf16 in float.
template <template <typename> class Body, typename Fill>
Error run_typed(KernelContext& context, const Window& window, int64_t count, Fill&& fill) {
  const auto run = [&](auto zero) {
    Body<decltype(zero)> body{};
    body.w = window;
    fill(body);
    return for_each(context, count, body);
  };
  if (window.dtype == DType::kF64) return run(0.0);
  if (is_floating(window.dtype)) return run(0.0f);
  return run(int64_t{0});
}

BERTH_HD inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
BERTH_HD inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

// The part of an averaging window that lies inside the input, and what it counts for.
struct Extent {
  int64_t first, end, counted;
};

BERTH_HD inline Extent extent_of(const WindowAxis& axis, int64_t place, bool count_include_pad) {
  const int64_t first = place * axis.stride - axis.padding;
  const int64_t end = smaller(first + axis.kernel, axis.in + axis.padding);
  Extent e{larger(first, 0), smaller(end, axis.in), 0};
  e.counted = count_include_pad ? end - first : e.end - e.first;
  return e;
}

template <typename T>
struct AverageBody {
  Window w;
  bool count_include_pad;
  int64_t divisor;

  BERTH_HD void operator()(int64_t i) const {
    const Spot spot = w.grid.at(i);
    const Extent rows = extent_of(w.axis[0], spot.y, count_include_pad);
    const Extent columns = extent_of(w.axis[1], spot.x, count_include_pad);
    using S = std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, T>;
    const int64_t plane = plane_of(w.in_planes, spot);
    S sum = 0;
    for (int64_t y = rows.first; y < rows.end; ++y) {
      for (int64_t x = columns.first; x < columns.end; ++x) {
        sum += static_cast<S>(
            load<T>(w.input, w.dtype, plane + y * w.in_planes.row_stride + x * w.in_planes.column_stride));
      }
    }
    const bool empty = rows.first >= rows.end || columns.first >= columns.end;
    const int64_t by = divisor != 0 ? divisor : rows.counted * columns.counted;
    T result = T(0);
    if constexpr (std::is_same_v<T, int64_t>) {
      if (!empty) result = ops::whole_quotient(static_cast<int64_t>(sum), by);
    } else {
      if (!empty) result = sum / static_cast<T>(by);
    }
    store(w.out, w.dtype, place_of(w.out_planes, spot), result);
  }
};

// The taps of a window that lie inside the input: from `first` on, in steps of the dilation, below `end`.
struct Inside {
  int64_t first, end;
};

BERTH_HD inline Inside inside_of(const WindowAxis& axis, int64_t place) {
  int64_t first = place * axis.stride - axis.padding;
  const int64_t end = smaller(axis.in, first + (axis.kernel - 1) * axis.dilation + 1);
  if (first < 0) first += (-first + axis.dilation - 1) / axis.dilation * axis.dilation;
  return {first, end};
}

template <typename T>
struct MaxBody {
  Window w;
  int64_t* indices;  // may be null
  Planes index_planes;
  T lowest;

  BERTH_HD void operator()(int64_t i) const {
    const Spot spot = w.grid.at(i);
    const Inside rows = inside_of(w.axis[0], spot.y);
    const Inside columns = inside_of(w.axis[1], spot.x);
    const int64_t plane = plane_of(w.in_planes, spot);
    T most = lowest;
    int64_t place = rows.first * w.axis[1].in + columns.first;
    for (int64_t y = rows.first; y < rows.end; y += w.axis[0].dilation) {
      for (int64_t x = columns.first; x < columns.end; x += w.axis[1].dilation) {
        const T value = load<T>(w.input, w.dtype, plane + y * w.in_planes.row_stride + x * w.in_planes.column_stride);
        if (value > most || value != value) {
          most = value;
          place = y * w.axis[1].in + x;
        }
      }
    }
    store(w.out, w.dtype, place_of(w.out_planes, spot), most);
    if (indices != nullptr) indices[place_of(index_planes, spot)] = place;
  }
};

// What stands for no element: minus infinity, and the smallest number of a whole dtype.
template <typename T>
T lowest_of(DType dtype) {
  if constexpr (std::is_same_v<T, int64_t>) {
    const int64_t bits = static_cast<int64_t>(element_size(dtype)) * 8;
    const bool is_signed = dtype >= DType::kI8 && dtype <= DType::kI64;
    return is_signed ? static_cast<int64_t>(~uint64_t{0} << (bits - 1)) : 0;
  } else {
    return -static_cast<T>(HUGE_VAL);
  }
}

template <typename T>
struct AdaptiveBody {
  Window w;

  BERTH_HD void operator()(int64_t i) const {
    const Spot spot = w.grid.at(i);
    int64_t first[2];
    int64_t end[2];
    const int64_t place[2] = {spot.y, spot.x};
    for (int k = 0; k < 2; ++k) {
      first[k] = place[k] * w.axis[k].in / w.axis[k].out;
      end[k] = ((place[k] + 1) * w.axis[k].in + w.axis[k].out - 1) / w.axis[k].out;
    }
    const int64_t plane = plane_of(w.in_planes, spot);
    T sum = 0;
    for (int64_t y = first[0]; y < end[0]; ++y) {
      for (int64_t x = first[1]; x < end[1]; ++x) {
        sum += load<T>(w.input, w.dtype, plane + y * w.in_planes.row_stride + x * w.in_planes.column_stride);
      }
    }
    const T mean = sum / static_cast<T>(end[0] - first[0]) / static_cast<T>(end[1] - first[1]);
    store(w.out, w.dtype, place_of(w.out_planes, spot), mean);
  }
};

// A global average: planes are rows.
struct GlobalAverageBody {
  using State = double;
  using Row = int64_t;
  static constexpr bool kWrites = false;

  Window w;
  int64_t length;

  BERTH_HD Row row(int64_t i) const { return i; }
  BERTH_HD State start() const { return 0; }
  BERTH_HD void take(State& state, Row row, int64_t k) const {
    const Division at = divide(k, w.axis[1].in);
    state += load<double>(w.input, w.dtype,
                          plane_of(w.in_planes, w.grid.at(row)) + at.quotient * w.in_planes.row_stride +
                              at.rest * w.in_planes.column_stride);
  }
  BERTH_HD void merge(State& state, const State& other) const { state += other; }
  BERTH_HD void finish(Row row, const State& total) const {
    store(w.out, w.dtype, place_of(w.out_planes, w.grid.at(row)), total / static_cast<double>(length));
  }
};

struct NearestBody {
  Window w;
  int bytes;
  float step[2];

  BERTH_HD int64_t source_of(int k, int64_t place) const {
    const WindowAxis& axis = w.axis[k];
    if (axis.out == axis.in) return place;
    if (axis.out == 2 * axis.in) return place / 2;
    const float source = static_cast<float>(place) * step[k];
    return source < static_cast<float>(axis.in - 1) ? static_cast<int64_t>(source) : axis.in - 1;
  }
  BERTH_HD void operator()(int64_t i) const {
    const Spot spot = w.grid.at(i);
    const int64_t from = plane_of(w.in_planes, spot) + source_of(0, spot.y) * w.in_planes.row_stride +
                         source_of(1, spot.x) * w.in_planes.column_stride;
    move_element(w.input, from, w.out, place_of(w.out_planes, spot), bytes);
  }
};

template <typename T>
struct BilinearBody {
  Window w;
  bool align_corners;
  T step[2];

  struct Between {
    int64_t first, second;
    T weight;
  };

  BERTH_HD Between between(int k, int64_t place) const {
    const T last = static_cast<T>(w.axis[k].in - 1);
    const T exact =
        align_corners ? step[k] * static_cast<T>(place) : step[k] * (static_cast<T>(place) + T(0.5)) - T(0.5);
    const T source = exact < 0 ? T(0) : exact > last ? last : exact;
    Between b;
    b.first = smaller(static_cast<int64_t>(source), w.axis[k].in - 1);
    b.second = smaller(b.first + 1, w.axis[k].in - 1);
    const T weight = source - static_cast<T>(b.first);
    b.weight = weight < 0 ? T(0) : weight > 1 ? T(1) : weight;
    return b;
  }
  BERTH_HD void operator()(int64_t i) const {
    if constexpr (!std::is_same_v<T, int64_t>) {
      const Spot spot = w.grid.at(i);
      const Between row = between(0, spot.y);
      const Between column = between(1, spot.x);
      const int64_t plane = plane_of(w.in_planes, spot);
      const int64_t above = plane + row.first * w.in_planes.row_stride;
      const int64_t below = plane + row.second * w.in_planes.row_stride;
      const int64_t left = column.first * w.in_planes.column_stride;
      const int64_t right = column.second * w.in_planes.column_stride;
      const T keep = 1 - column.weight;
      const T top =
          keep * load<T>(w.input, w.dtype, above + left) + column.weight * load<T>(w.input, w.dtype, above + right);
      const T bottom =
          keep * load<T>(w.input, w.dtype, below + left) + column.weight * load<T>(w.input, w.dtype, below + right);
      store(w.out, w.dtype, place_of(w.out_planes, spot), (1 - row.weight) * top + row.weight * bottom);
    }
  }
};

struct ShuffleBody {
  const void* from;
  void* to;
  int bytes;
  bool to_large;
  int64_t factor;
  int64_t channels;  // of the large side
  int64_t height;    // of the large side
  int64_t width;
  Places<2> blocks;  // large, small: dimensions before the channels
  int64_t large[3];  // strides of channel, row, column
  int64_t small[3];

  // i counts the elements of the large side in row-major order.
  BERTH_HD void operator()(int64_t i) const {
    const Division by_x = divide(i, width);
    const Division by_y = divide(by_x.quotient, height);
    const Division by_channel = divide(by_y.quotient, channels);
    int64_t at[2];
    blocks.at(by_channel.quotient, at);
    const Division y = divide(by_y.rest, factor);
    const Division x = divide(by_x.rest, factor);
    const int64_t narrow = (by_channel.rest * factor + y.rest) * factor + x.rest;
    const int64_t in_large = at[0] + by_channel.rest * large[0] + by_y.rest * large[1] + by_x.rest * large[2];
    const int64_t in_small = at[1] + narrow * small[0] + y.quotient * small[1] + x.quotient * small[2];
    move_element(from, to_large ? in_small : in_large, to, to_large ? in_large : in_small, bytes);
  }
};

Error run_shuffle(KernelContext& context, const Tensor& small, const Tensor& large, int64_t factor, bool to_large) {
  if (large.numel() == 0) return Error::kOk;
  const int channel = large.rank() - 3;
  ShuffleBody body{};
  body.from = to_large ? small.raw() : large.raw();
  body.to = to_large ? large.raw() : small.raw();
  body.bytes = static_cast<int>(element_size(large.dtype()));
  body.to_large = to_large;
  body.factor = factor;
  body.channels = large.size(channel);
  body.height = large.size(channel + 1);
  body.width = large.size(channel + 2);
  portable::Walk walk(2);
  for (int d = 0; d < channel; ++d) {
    const int64_t strides[] = {large.stride(d), small.stride(d)};
    walk.add(large.size(d), strides);
  }
  body.blocks = Places<2>(walk);
  for (int k = 0; k < 3; ++k) {
    body.large[k] = large.stride(channel + k);
    body.small[k] = small.stride(channel + k);
  }
  return for_each(context, large.numel(), body);
}

bool is_number(DType dtype) { return is_floating(dtype) || is_integer(dtype); }

}  // namespace

Error avg_pool2d_out(KernelContext& context, const arguments::avg_pool2d_out& args) {
  Tensor& out = args.out;
  Pooling p;
  const portable::WindowLists lists = {args.kernel_size, args.stride, args.padding, std::nullopt, args.ceil_mode};
  BERTH_RETURN_IF_ERROR(portable::read_pooling(context, args.self, lists, out, &p));
  if (p.input->dtype() != out.dtype() || !is_number(out.dtype())) {
    return context.fail(Error::kInvalidArgument, "average pooling needs one integer or floating dtype");
  }
  const int64_t divisor = args.divisor_override.value_or(0);
  if (divisor == 0 && args.divisor_override.has_value()) {
    return context.fail(Error::kInvalidArgument, "average pooling's divisor is 0");
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, out, portable::pooling_sizes(p).span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, *p.input, out));
  return run_typed<AverageBody>(context, window_of(p), out.numel(), [&](auto& body) {
    body.count_include_pad = args.count_include_pad;
    body.divisor = divisor;
  });
}

Error max_pool2d_with_indices_out(KernelContext& context, const arguments::max_pool2d_with_indices_out& args) {
  Tensor& out = args.out;
  Tensor& indices = args.indices;
  Pooling p;
  const portable::WindowLists lists = {args.kernel_size, args.stride, args.padding, args.dilation, args.ceil_mode};
  BERTH_RETURN_IF_ERROR(portable::read_pooling(context, args.self, lists, out, &p));
  if (p.input->dtype() != out.dtype() || !is_number(out.dtype())) {
    return context.fail(Error::kInvalidArgument, "max pooling needs one integer or floating dtype");
  }
  if (indices.dtype() != DType::kI64 || indices.rank() != out.rank()) {
    return context.fail(Error::kInvalidArgument, "max pooling's indices are i64, of the output's rank");
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, out, portable::pooling_sizes(p).span()));
  BERTH_RETURN_IF_ERROR(resize_out(context, indices, portable::pooling_sizes(p).span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, *p.input, out));
  return run_typed<MaxBody>(context, window_of(p), out.numel(), [&](auto& body) {
    body.indices = indices.data<int64_t>();
    body.index_planes = Planes(indices);
    body.lowest = lowest_of<std::decay_t<decltype(body.lowest)>>(out.dtype());
  });
}

Error adaptive_avg_pool2d_out(KernelContext& context, const arguments::adaptive_avg_pool2d_out& args) {
  Tensor& out = args.out;
  Pooling p;
  BERTH_RETURN_IF_ERROR(portable::prepare_adaptive_pooling(context, args, &p));
  if (out.numel() == 0) return Error::kOk;
  if (p.axis[0].out == 1 && p.axis[1].out == 1) {
    const GlobalAverageBody body{window_of(p), p.axis[0].in * p.axis[1].in};
    return for_rows(context, p.planes(), false, body);
  }
  return run_typed<AdaptiveBody>(context, window_of(p), out.numel(), [](auto&) {});
}

Error upsample_nearest2d_vec_out(KernelContext& context, const arguments::upsample_nearest2d_vec_out& args) {
  Tensor& out = args.out;
  portable::Upsampling u;
  BERTH_RETURN_IF_ERROR(portable::read_upsampling(context, args.input, args.output_size, args.scale_factors, out, &u));
  BERTH_RETURN_IF_ERROR(resize_out(context, out, portable::pooling_sizes(u).span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, *u.input, out));
  NearestBody body{window_of(u), static_cast<int>(element_size(out.dtype())), {}};
  for (int k = 0; k < 2; ++k) {
    body.step[k] = u.factor[k] > 0 ? static_cast<float>(1.0 / u.factor[k])
                                   : static_cast<float>(u.axis[k].in) / static_cast<float>(u.axis[k].out);
  }
  return for_each(context, out.numel(), body);
}

Error upsample_bilinear2d_vec_out(KernelContext& context, const arguments::upsample_bilinear2d_vec_out& args) {
  Tensor& out = args.out;
  portable::Upsampling u;
  BERTH_RETURN_IF_ERROR(portable::read_upsampling(context, args.input, args.output_size, args.scale_factors, out, &u));
  if (!is_floating(out.dtype())) return portable::unsupported_dtype(context);
  BERTH_RETURN_IF_ERROR(resize_out(context, out, portable::pooling_sizes(u).span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, *u.input, out));
  const bool align_corners = args.align_corners;
  return run_typed<BilinearBody>(context, window_of(u), out.numel(), [&](auto& body) {
    using T = std::decay_t<decltype(body.step[0])>;
    body.align_corners = align_corners;
    for (int k = 0; k < 2; ++k) {
      const T in = static_cast<T>(u.axis[k].in);
      const T size = static_cast<T>(u.axis[k].out);
      if (align_corners) {
        body.step[k] = u.axis[k].out > 1 ? (in - 1) / (size - 1) : T(0);
      } else {
        body.step[k] = u.factor[k] > 0 ? static_cast<T>(1.0 / u.factor[k]) : in / size;
      }
    }
  });
}

Error pixel_shuffle_out(KernelContext& context, const arguments::pixel_shuffle_out& args) {
  int64_t factor = 1;
  BERTH_RETURN_IF_ERROR(portable::prepare_pixel_shuffle(context, args, &factor));
  return run_shuffle(context, args.self, args.out, factor, true);
}

Error pixel_unshuffle_out(KernelContext& context, const arguments::pixel_unshuffle_out& args) {
  int64_t factor = 1;
  BERTH_RETURN_IF_ERROR(portable::prepare_pixel_unshuffle(context, args, &factor));
  return run_shuffle(context, args.out, args.self, factor, false);
}

}  // namespace berth::cuda
