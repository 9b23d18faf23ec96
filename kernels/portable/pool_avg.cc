// aten::avg_pool2d. A window's sum is divided by the positions that it covers, padding included or not, or by the
// number given.
#include "kernels/portable/pool_arguments.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

struct AveragePooling : Pooling {
  bool count_include_pad = true;
  int64_t divisor = 0;  // 0 when none is given

  // The part of a window that lies inside the input, and what it counts for.
  struct Extent {
    int64_t first, end, counted;
  };
  Extent extent(const WindowAxis& axis, int64_t position) const {
    Extent e;
    const int64_t first = position * axis.stride - axis.padding;
    const int64_t end = std::min(first + axis.kernel, axis.in + axis.padding);
    e.first = std::max<int64_t>(first, 0);
    e.end = std::min(end, axis.in);
    e.counted = count_include_pad ? end - first : e.end - e.first;
    return e;
  }
};

Error read_arguments(KernelContext& context, const arguments::avg_pool2d_out& args, AveragePooling* p) {
  Tensor& out = args.out;
  const WindowLists lists = {args.kernel_size, args.stride, args.padding, std::nullopt, args.ceil_mode};
  BERTH_RETURN_IF_ERROR(read_pooling(context, args.self, lists, out, p));
  if (p->input->dtype() != out.dtype() || (!is_floating(out.dtype()) && !is_integer(out.dtype()))) {
    return context.fail(Error::kInvalidArgument, "average pooling needs one integer or floating dtype");
  }
  p->count_include_pad = args.count_include_pad;
  if (!args.divisor_override.has_value()) return Error::kOk;
  p->divisor = *args.divisor_override;
  if (p->divisor == 0) return context.fail(Error::kInvalidArgument, "average pooling's divisor is 0");
  return Error::kOk;
}

void run_fast(KernelContext& context, const AveragePooling& p, const Window& window, void* scratch) {
  float ones[Window::kMaxTaps];
  std::fill(ones, ones + Window::kMaxTaps, 1.0f);
  const float* input = p.input->data<float>();
  float* result = p.out->data<float>();
  for_each_pooling_tile(context, p, window, scratch, [&](float* own, int64_t plane, const Window::Tile& tile) {
    window.load(tile, input + p.plane_offset(*p.input, plane), p.row_stride(*p.input), 0, own);
    window.sum(tile, ones, 0, own);
    for (int64_t y = 0; y < tile.rows; ++y) {
      const float* row = window.result_row(own, y);
      float* out = result + p.plane_offset(*p.out, plane) + (tile.y + y) * p.row_stride(*p.out) + tile.x;
      const int64_t height = p.extent(p.axis[0], tile.y + y).counted;
      if (p.divisor != 0) {
        for (int64_t x = 0; x < tile.columns; ++x) out[x] = row[x] / static_cast<float>(p.divisor);
      } else {
        for (int64_t x = 0; x < tile.columns; ++x) {
          const int64_t counted = height * p.extent(p.axis[1], tile.x + x).counted;
          out[x] = row[x] / static_cast<float>(counted);
        }
      }
    }
  });
}

template <typename T>
void pool_plane(const AveragePooling& p, int64_t plane) {
  using S = std::conditional_t<std::is_integral_v<T>, int64_t, std::conditional_t<std::is_same_v<T, double>, T, float>>;
  const T* input = p.input->data<T>() + p.plane_offset(*p.input, plane);
  T* out = p.out->data<T>() + p.plane_offset(*p.out, plane);
  for (int64_t oy = 0; oy < p.axis[0].out; ++oy) {
    const AveragePooling::Extent rows = p.extent(p.axis[0], oy);
    for (int64_t ox = 0; ox < p.axis[1].out; ++ox) {
      const AveragePooling::Extent columns = p.extent(p.axis[1], ox);
      S sum{};
      for (int64_t y = rows.first; y < rows.end; ++y) {
        for (int64_t x = columns.first; x < columns.end; ++x) {
          const auto promoted = +input[y * p.row_stride(*p.input) + x * p.column_stride(*p.input)];
          const S value = static_cast<S>(promoted);
          if constexpr (std::is_integral_v<T>) {
            sum = static_cast<S>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(value));
          } else {
            sum += value;
          }
        }
      }
      const int64_t divisor = p.divisor != 0 ? p.divisor : rows.counted * columns.counted;
      const bool empty = rows.first >= rows.end || columns.first >= columns.end;
      // Dividing the smallest integer by -1 would trap.
      if constexpr (std::is_integral_v<T>) {
        if (divisor == -1) sum = static_cast<S>(-static_cast<uint64_t>(sum));
      }
      const bool divided = std::is_integral_v<T> && divisor == -1;
      out[oy * p.row_stride(*p.out) + ox * p.column_stride(*p.out)] =
          static_cast<T>(empty     ? S{}
                         : divided ? sum
                                   : static_cast<S>(sum / static_cast<S>(divisor)));
    }
  }
}

}  // namespace

Error avg_pool2d_out(KernelContext& context, const arguments::avg_pool2d_out& args) {
  AveragePooling p;
  BERTH_RETURN_IF_ERROR(read_arguments(context, args, &p));
  BERTH_RETURN_IF_ERROR(resize_out(context, *p.out, pooling_sizes(p).span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, *p.input, *p.out));
  if (p.out->numel() == 0) return Error::kOk;
  Window window;
  if (plan_fast_pooling(p, &window)) {
    void* scratch = context.allocate_temp(pooling_scratch_bytes(p, window, context.threads()));
    if (scratch == nullptr) return Error::kMemoryAllocationFailed;
    run_fast(context, p, window, scratch);
    return Error::kOk;
  }
  return for_each_plane(context, p,
                        [&](auto tag, int64_t plane) { pool_plane<typename decltype(tag)::type>(p, plane); });
}

size_t avg_pool2d_temp_bytes(const arguments::avg_pool2d_out& args, int threads) {
  KernelContext context({}, nullptr);
  AveragePooling p;
  return read_arguments(context, args, &p) == Error::kOk ? pooling_temp_bytes(p, threads) : 0;
}

}  // namespace berth::portable
