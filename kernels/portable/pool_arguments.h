// The arguments of a pooling over two axes, checked and in numbers.
#pragma once

#include "kernels/portable/arguments.h"
#include "kernels/portable/conv_window.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"

namespace berth::portable {

/// Planes of height by width; the input is N,C,H,W or C,H,W.
struct Pooling {
  int64_t batch = 1, channels = 1;
  WindowAxis axis[2];
  const Tensor* input = nullptr;
  Tensor* out = nullptr;

  int64_t planes() const { return batch * channels; }
  /// Element offset in `tensor` (input, or an output) of a plane.
  int64_t plane_offset(const Tensor& tensor, int64_t plane) const;
  int64_t row_stride(const Tensor& tensor) const { return tensor.stride(tensor.rank() - 2); }
  int64_t column_stride(const Tensor& tensor) const { return tensor.stride(tensor.rank() - 1); }
};

/// The input's planes; the output's sizes are left 1. InvalidArgument for other ranks and for empty planes.
Error read_planes(KernelContext& context, const Tensor& input, Tensor& out, Pooling* pooling);

/// A window's lists hold one number for both axes, or two; an empty stride is the kernel. Without `dilation` it is 1.
struct WindowLists {
  IntList kernel;
  IntList stride;
  IntList padding;
  std::optional<IntList> dilation;
  bool ceil_mode;
};

/// Checks and fills in all of `*pooling`, so that what follows neither overflows nor divides by zero. Does not look at
/// the sizes of `out`.
Error read_pooling(KernelContext& context, const Tensor& input, const WindowLists& lists, Tensor& out,
                   Pooling* pooling);

/// Reads the planes and sizes, and gives `out`, which has the input's
/// floating dtype, the sizes of the result.
Error prepare_adaptive_pooling(KernelContext& context, const arguments::adaptive_avg_pool2d_out& args,
                               Pooling* pooling);

/// The sizes of the result.
Sizes pooling_sizes(const Pooling& pooling);

/// Whether the planes are f32 and their rows contiguous, and Window takes this pooling; then `*window` is planned.
bool plan_fast_pooling(const Pooling& pooling, Window* window);

/// The bytes of scratch memory for that, on up to `threads` threads.
size_t pooling_scratch_bytes(const Pooling& pooling, const Window& window, int threads);

/// The bound of what a pooling with these arguments, which read_pooling() has checked, takes of temporary memory,
/// padding included (temp_bytes.h).
size_t pooling_temp_bytes(const Pooling& pooling, int threads);

int pooling_slots(const Pooling& pooling, const Window& window, int threads);

/// Calls f(scratch, plane, tile) for all tiles of all planes, on the context's threads.
template <typename F>
void for_each_pooling_tile(KernelContext& context, const Pooling& pooling, const Window& window, void* scratch, F&& f) {
  const int64_t tiles = window.tiles();
  for_each_item(
      context, pooling_slots(pooling, window, context.threads()), pooling.planes() * tiles,
      [&](float* own, int64_t item) { f(own, item / tiles, window.tile(item % tiles)); },
      [&](int64_t slot) { return static_cast<float*>(scratch) + slot * window.scratch_floats(); });
}

/// Calls f(TypeTag<T>, plane) for all planes, on the context's threads, where T is the result's element type; it is an
/// integer or floating one.
template <typename F>
Error for_each_plane(KernelContext& context, const Pooling& pooling, F&& f) {
  const auto run = [&](auto tag) {
    const int64_t elements = pooling.axis[0].in * pooling.axis[1].in;
    context.parallel_for(pooling.planes(), grain_of(elements), [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) f(tag, plane);
    });
    return Error::kOk;
  };
  const DType dtype = pooling.out->dtype();
  return is_floating(dtype) ? dispatch_floating(context, dtype, run) : dispatch_integer(context, dtype, run);
}

}  // namespace berth::portable
