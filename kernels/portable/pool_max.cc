// aten::max_pool2d_with_indices. NaN is the largest of all. The indices count from the start of each input plane; they
// may come without memory, and are then left out.
#include <limits>

#include "kernels/portable/pool_arguments.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

Error read_arguments(KernelContext& context, const arguments::max_pool2d_with_indices_out& args, Pooling* pooling) {
  Tensor& out = args.out;
  const Tensor& indices = args.indices;
  const WindowLists lists = {args.kernel_size, args.stride, args.padding, args.dilation, args.ceil_mode};
  BERTH_RETURN_IF_ERROR(read_pooling(context, args.self, lists, out, pooling));
  if (pooling->input->dtype() != out.dtype() || (!is_floating(out.dtype()) && !is_integer(out.dtype()))) {
    return context.fail(Error::kInvalidArgument, "max pooling needs one integer or floating dtype");
  }
  if (indices.dtype() != DType::kI64 || indices.rank() != out.rank()) {
    return context.fail(Error::kInvalidArgument, "max pooling's indices are i64, of the output's rank");
  }
  return Error::kOk;
}

bool is_fast(const Pooling& p, const Tensor& indices, Window* window) {
  return indices.raw() == nullptr && plan_fast_pooling(p, window);
}

void run_fast(KernelContext& context, const Pooling& p, const Window& window, void* scratch) {
  const float* input = p.input->data<float>();
  float* result = p.out->data<float>();
  for_each_pooling_tile(context, p, window, scratch, [&](float* own, int64_t plane, const Window::Tile& tile) {
    window.load(tile, input + p.plane_offset(*p.input, plane), p.row_stride(*p.input),
                -std::numeric_limits<float>::infinity(), own);
    window.max(tile, own);
    float* out = result + p.plane_offset(*p.out, plane) + tile.x;
    for (int64_t y = 0; y < tile.rows; ++y) {
      const float* row = window.result_row(own, y);
      std::copy(row, row + tile.columns, out + (tile.y + y) * p.row_stride(*p.out));
    }
  });
}

// The taps of a window that lie inside the input: from `first` on, in steps of the dilation, below `end`.
struct Inside {
  int64_t first, end;

  Inside(const WindowAxis& axis, int64_t position) {
    first = position * axis.stride - axis.padding;
    end = std::min(axis.in, first + (axis.kernel - 1) * axis.dilation + 1);
    if (first < 0) first += (-first + axis.dilation - 1) / axis.dilation * axis.dilation;
  }
};

template <typename T>
T smallest() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::lowest();
  } else {
    return static_cast<T>(-std::numeric_limits<float>::infinity());
  }
}

template <typename T>
void pool_plane(const Pooling& p, const Tensor& indices, int64_t plane) {
  const T* input = p.input->data<T>() + p.plane_offset(*p.input, plane);
  T* out = p.out->data<T>() + p.plane_offset(*p.out, plane);
  int64_t* positions = static_cast<int64_t*>(indices.raw());
  if (positions != nullptr) positions += p.plane_offset(indices, plane);
  for (int64_t oy = 0; oy < p.axis[0].out; ++oy) {
    for (int64_t ox = 0; ox < p.axis[1].out; ++ox) {
      const Inside rows(p.axis[0], oy);
      const Inside columns(p.axis[1], ox);
      T most = smallest<T>();
      int64_t position = rows.first * p.axis[1].in + columns.first;
      for (int64_t y = rows.first; y < rows.end; y += p.axis[0].dilation) {
        for (int64_t x = columns.first; x < columns.end; x += p.axis[1].dilation) {
          const T value = input[y * p.row_stride(*p.input) + x * p.column_stride(*p.input)];
          if (value > most || value != value) {
            most = value;
            position = y * p.axis[1].in + x;
          }
        }
      }
      out[oy * p.row_stride(*p.out) + ox * p.column_stride(*p.out)] = most;
      if (positions != nullptr) positions[oy * p.row_stride(indices) + ox * p.column_stride(indices)] = position;
    }
  }
}

}  // namespace

Error max_pool2d_with_indices_out(KernelContext& context, const arguments::max_pool2d_with_indices_out& args) {
  Pooling p;
  BERTH_RETURN_IF_ERROR(read_arguments(context, args, &p));
  Tensor& indices = args.indices;
  BERTH_RETURN_IF_ERROR(resize_out(context, *p.out, pooling_sizes(p).span()));
  BERTH_RETURN_IF_ERROR(resize_out(context, indices, pooling_sizes(p).span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, *p.input, *p.out));
  if (p.out->numel() == 0) return Error::kOk;
  Window window;
  if (is_fast(p, indices, &window)) {
    void* scratch = context.allocate_temp(pooling_scratch_bytes(p, window, context.threads()));
    if (scratch == nullptr) return Error::kMemoryAllocationFailed;
    run_fast(context, p, window, scratch);
    return Error::kOk;
  }
  return for_each_plane(context, p,
                        [&](auto tag, int64_t plane) { pool_plane<typename decltype(tag)::type>(p, indices, plane); });
}

size_t max_pool2d_temp_bytes(const arguments::max_pool2d_with_indices_out& args, int threads) {
  KernelContext context({}, nullptr);
  Pooling p;
  return read_arguments(context, args, &p) == Error::kOk ? pooling_temp_bytes(p, threads) : 0;
}

}  // namespace berth::portable
