#include "kernels/portable/pool_arguments.h"

#include <algorithm>

#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

// No kernel, step or padding that makes sense is larger; products of two such numbers stay below 2^62.
constexpr int64_t kMost = INT32_MAX;
constexpr double kSerialWork = 1 << 16;

// One number for both axes, or two.
Error read_pair(KernelContext& context, IntList list, int64_t least, int64_t WindowAxis::*field, Pooling* pooling) {
  Integers numbers;
  BERTH_RETURN_IF_ERROR(read_integers(context, list, &numbers));
  if (numbers.count != 1 && numbers.count != 2) {
    return context.fail(Error::kInvalidArgument, "a pooling's list needs one entry or two");
  }
  for (int i = 0; i < 2; ++i) {
    const int64_t x = numbers[numbers.count == 1 ? 0 : i];
    if (x < least || x > kMost) {
      return context.fail(Error::kInvalidArgument, "a pooling's kernel, stride, padding or dilation is out of range");
    }
    pooling->axis[i].*field = x;
  }
  return Error::kOk;
}

Error find_out_size(KernelContext& context, bool ceil_mode, WindowAxis* axis) {
  const int64_t reach = axis->dilation * (axis->kernel - 1) + 1;
  if (axis->padding > reach / 2) {
    return context.fail(Error::kInvalidArgument, "a pooling's padding is more than half of its window");
  }
  const int64_t room = axis->in + 2 * axis->padding - reach;
  // Towards minus infinity, for a room below 0 may still end at 0 by rounding up.
  const int64_t steps = ceil_mode ? room + axis->stride - 1 : room;
  axis->out = (steps >= 0 ? steps / axis->stride : -((-steps + axis->stride - 1) / axis->stride)) + 1;
  // No window starts in the padding behind the input.
  if (ceil_mode && (axis->out - 1) * axis->stride >= axis->in + axis->padding) --axis->out;
  if (axis->out < 1 || axis->out > kMost) {
    return context.fail(Error::kInvalidArgument, "a pooling's result would have no or too many elements");
  }
  return Error::kOk;
}

}  // namespace

int64_t Pooling::plane_offset(const Tensor& tensor, int64_t plane) const {
  const int rank = tensor.rank();
  return (rank == 4 ? plane / channels * tensor.stride(0) : 0) + plane % channels * tensor.stride(rank - 3);
}

Error read_planes(KernelContext& context, const Tensor& input, Tensor& out, Pooling* pooling) {
  const int rank = input.rank();
  if ((rank != 3 && rank != 4) || out.rank() != rank) {
    return context.fail(Error::kInvalidArgument, "this operator takes tensors of rank 3 or 4, its output alike");
  }
  pooling->input = &input;
  pooling->out = &out;
  pooling->batch = rank == 4 ? input.size(0) : 1;
  pooling->channels = input.size(rank - 3);
  for (int i = 0; i < 2; ++i) {
    pooling->axis[i].in = input.size(rank - 2 + i);
    if (pooling->axis[i].in < 1) return context.fail(Error::kInvalidArgument, "an input plane is empty");
  }
  return Error::kOk;
}

Error read_pooling(KernelContext& context, const Tensor& input, const WindowLists& lists, Tensor& out,
                   Pooling* pooling) {
  BERTH_RETURN_IF_ERROR(read_planes(context, input, out, pooling));
  BERTH_RETURN_IF_ERROR(read_pair(context, lists.kernel, 1, &WindowAxis::kernel, pooling));
  const IntList stride = lists.stride.empty() ? lists.kernel : lists.stride;
  BERTH_RETURN_IF_ERROR(read_pair(context, stride, 1, &WindowAxis::stride, pooling));
  BERTH_RETURN_IF_ERROR(read_pair(context, lists.padding, 0, &WindowAxis::padding, pooling));
  if (lists.dilation.has_value()) {
    BERTH_RETURN_IF_ERROR(read_pair(context, *lists.dilation, 1, &WindowAxis::dilation, pooling));
  }
  for (WindowAxis& axis : pooling->axis) BERTH_RETURN_IF_ERROR(find_out_size(context, lists.ceil_mode, &axis));
  return Error::kOk;
}

Error prepare_adaptive_pooling(KernelContext& context, const arguments::adaptive_avg_pool2d_out& args,
                               Pooling* pooling) {
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(read_planes(context, args.self, out, pooling));
  Integers sizes;
  BERTH_RETURN_IF_ERROR(read_integers(context, args.output_size, &sizes));
  if (sizes.count != 2 || sizes[0] < 0 || sizes[1] < 0 || sizes[0] > INT32_MAX || sizes[1] > INT32_MAX) {
    return context.fail(Error::kInvalidArgument, "output_size needs two sizes that are not negative");
  }
  pooling->axis[0].out = sizes[0];
  pooling->axis[1].out = sizes[1];
  if (pooling->input->dtype() != out.dtype() || !is_floating(out.dtype())) {
    return context.fail(Error::kInvalidArgument, "adaptive average pooling needs one floating dtype");
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, out, pooling_sizes(*pooling).span()));
  return check_memory(context, *pooling->input, out);
}

Sizes pooling_sizes(const Pooling& pooling) {
  Sizes sizes;
  if (pooling.input->rank() == 4) push_size(&sizes, pooling.batch);
  push_size(&sizes, pooling.channels);
  for (const WindowAxis& axis : pooling.axis) push_size(&sizes, axis.out);
  return sizes;
}

bool plan_fast_pooling(const Pooling& p, Window* window) {
  return p.out->dtype() == DType::kF32 && p.column_stride(*p.input) == 1 && p.column_stride(*p.out) == 1 &&
         window->plan(p.axis[0], p.axis[1]);
}

int pooling_slots(const Pooling& p, const Window& window, int threads) {
  const double work = static_cast<double>(p.out->numel()) * window.taps();
  return slots_for(threads, p.planes() * window.tiles(), work, kSerialWork);
}

size_t pooling_scratch_bytes(const Pooling& p, const Window& window, int threads) {
  return (pooling_slots(p, window, threads) * window.scratch_floats()) * sizeof(float);
}

size_t pooling_temp_bytes(const Pooling& p, int threads) {
  if (p.input->dynamism() != ShapeDynamism::kStatic || p.out->dynamism() != ShapeDynamism::kStatic) {
    const int64_t most = std::clamp(threads, 1, kMaxSlots) * Window::kMaxScratchFloats;
    return most * sizeof(float) + kTempPadding;
  }
  // Numbers that contradict the tensors would overflow here; the call refuses them.
  if (p.out->numel() == 0 || pooling_sizes(p).span() != p.out->sizes()) return 0;
  Window window;
  return plan_fast_pooling(p, &window) ? pooling_scratch_bytes(p, window, threads) + kTempPadding : 0;
}

}  // namespace berth::portable
