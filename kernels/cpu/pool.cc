#include "kernels/cpu/pool.h"

#include <algorithm>

#include "kernels/cpu/channels_last.h"
#include "kernels/cpu/pool_bytes.h"
#include "kernels/cpu/pool_last.h"
#include "kernels/cpu/pool_planes.h"
#include "kernels/portable/pool_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::cpu {
namespace {

constexpr int64_t kGrainElements = 1 << 16;

LastPooling last_pooling(const portable::Pooling& p, LastPooling::Kind kind) {
  LastPooling last;
  last.kind = kind;
  last.in = p.input->data<float>();
  last.out = p.out->data<float>();
  last.batch = p.batch;
  last.channels = p.channels;
  last.height = p.axis[0];
  last.width = p.axis[1];
  return last;
}

// REQUIRES: are_dense_f32() of both, to be run.
PlanePooling plane_pooling(const portable::Pooling& p) {
  PlanePooling planes;
  planes.in = static_cast<const float*>(p.input->raw());
  planes.out = static_cast<float*>(p.out->raw());
  planes.planes = p.planes();
  planes.height = p.axis[0];
  planes.width = p.axis[1];
  return planes;
}

// Calls f(pooling, begin, end) for all rows of the result, on the context's threads.
template <typename Pooling>
Error run(KernelContext& context, const Pooling& pooling, void (*f)(const Pooling&, int64_t, int64_t)) {
  const int64_t grain = std::max<int64_t>(1, kGrainElements / std::max<int64_t>(1, pooling.row_work()));
  context.parallel_for(pooling.rows(), grain, [&](int64_t begin, int64_t end) { f(pooling, begin, end); });
  return Error::kOk;
}

Error run_small(KernelContext& context, const portable::Pooling& p) {
  SmallPooling small;
  small.type = p.out->dtype();
  small.in = p.input->raw();
  small.out = p.out->raw();
  small.batch = p.batch;
  small.channels = p.channels;
  small.height = p.axis[0];
  small.width = p.axis[1];
  const int64_t row_bytes = small.row_work() * static_cast<int64_t>(element_size(small.type));
  const int64_t grain = std::max<int64_t>(1, 4 * kGrainElements / std::max<int64_t>(1, row_bytes));
  context.parallel_for(small.rows(), grain, [&](int64_t begin, int64_t end) { pool_small_rows(small, begin, end); });
  return Error::kOk;
}

// Resizes the outputs; false when there is nothing to compute or `*error` says why not.
bool begin_pooling(KernelContext& context, const portable::Pooling& p, Error* error) {
  *error = portable::resize_out(context, *p.out, portable::pooling_sizes(p).span());
  if (*error == Error::kOk) *error = portable::check_memory(context, *p.input, *p.out);
  return *error == Error::kOk && p.out->numel() > 0;
}

}  // namespace

Error max_pool2d_out(KernelContext& context, const arguments::max_pool2d_with_indices_out& args) {
  const Tensor& input = args.self;
  Tensor& out = args.out;
  Tensor& indices = args.indices;
  portable::Pooling p;
  const portable::WindowLists lists = {args.kernel_size, args.stride, args.padding, args.dilation, args.ceil_mode};
  const DType type = out.dtype();
  const bool ours = type == DType::kF32 || type == DType::kBF16 || is_byte(type);
  const bool last = ours && input.dtype() == type && is_channels_last(input) && is_channels_last(out);
  if ((!last && !are_dense_f32(input, out)) || indices.raw() != nullptr || indices.dtype() != DType::kI64 ||
      indices.rank() != out.rank() || portable::read_pooling(context, input, lists, out, &p) != Error::kOk) {
    return portable::max_pool2d_with_indices_out(context, args);
  }
  PlanePooling planes = plane_pooling(p);
  if (!last && !planes.is_short()) return portable::max_pool2d_with_indices_out(context, args);
  Error error = portable::resize_out(context, indices, portable::pooling_sizes(p).span());
  if (error != Error::kOk || !begin_pooling(context, p, &error)) return error;
  if (!last) return run(context, planes, plane_rows);
  return type == DType::kF32 ? run(context, last_pooling(p, LastPooling::kMax), pool_rows) : run_small(context, p);
}

Error avg_pool2d_out(KernelContext& context, const arguments::avg_pool2d_out& args) {
  const Tensor& input = args.self;
  Tensor& out = args.out;
  portable::Pooling p;
  const portable::WindowLists lists = {args.kernel_size, args.stride, args.padding, std::nullopt, args.ceil_mode};
  const int64_t divisor = args.divisor_override.value_or(0);
  const bool last = is_channels_last_f32(input) && is_channels_last_f32(out);
  if ((!last && !are_dense_f32(input, out)) || (args.divisor_override.has_value() && divisor == 0) ||
      portable::read_pooling(context, input, lists, out, &p) != Error::kOk) {
    return portable::avg_pool2d_out(context, args);
  }
  PlanePooling planes = plane_pooling(p);
  if (!last && !planes.is_short()) return portable::avg_pool2d_out(context, args);
  planes.is_max = false;
  planes.count_include_pad = args.count_include_pad;
  planes.divisor = divisor;
  Error error = Error::kOk;
  if (!begin_pooling(context, p, &error)) return error;
  if (!last) return run(context, planes, plane_rows);
  LastPooling pooling = last_pooling(p, LastPooling::kAverage);
  pooling.count_include_pad = args.count_include_pad;
  pooling.divisor = divisor;
  return run(context, pooling, pool_rows);
}

Error adaptive_avg_pool2d_out(KernelContext& context, const arguments::adaptive_avg_pool2d_out& args) {
  const Tensor& input = args.self;
  Tensor& out = args.out;
  portable::Pooling p;
  portable::Integers sizes;
  const bool fast = is_channels_last_f32(input) && is_channels_last_f32(out) &&
                    portable::read_planes(context, input, out, &p) == Error::kOk &&
                    portable::read_integers(context, args.output_size, &sizes) == Error::kOk && sizes.count == 2 &&
                    std::min(sizes[0], sizes[1]) >= 1 && std::max(sizes[0], sizes[1]) <= INT32_MAX;
  if (!fast) return portable::adaptive_avg_pool2d_out(context, args);
  p.axis[0].out = sizes[0];
  p.axis[1].out = sizes[1];
  Error error = Error::kOk;
  if (!begin_pooling(context, p, &error)) return error;
  LastPooling last = last_pooling(p, LastPooling::kAdaptive);
  last.height.kernel = (p.axis[0].in + sizes[0] - 1) / sizes[0];
  last.width.kernel = (p.axis[1].in + sizes[1] - 1) / sizes[1];
  return run(context, last, pool_rows);
}

}  // namespace berth::cpu
