// aten::convolution: forward and transposed, 1 to 3 spatial axes, any dtype but bool, any dimension orders.
#include <algorithm>

#include "kernels/portable/conv_arguments.h"
#include "kernels/portable/conv_depthwise.h"
#include "kernels/portable/conv_depthwise_last.h"
#include "kernels/portable/conv_transposed.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

// With more phases than this the scratch memory is not worked out phase by phase.
constexpr int64_t kMaxPhasesCounted = 64;

int64_t phases_of(const Convolution::Axis& axis) { return std::min(axis.stride, axis.out); }

template <typename F>
void for_each_phase(const Convolution& c, F&& f) {
  for (int64_t z = 0; z < phases_of(c.axis[0]); ++z) {
    for (int64_t y = 0; y < phases_of(c.axis[1]); ++y) {
      for (int64_t x = 0; x < phases_of(c.axis[2]); ++x) f(transposed_product(c, {z, y, x}));
    }
  }
}

size_t transposed_scratch_bytes(const Convolution& c, int threads) {
  int64_t phases = 1;
  for (const Convolution::Axis& axis : c.axis) {
    if (phases <= kMaxPhasesCounted) phases *= phases_of(axis);
  }
  if (phases > kMaxPhasesCounted) return max_product_scratch_bytes(threads);
  size_t most = 0;
  for_each_phase(c, [&](const Product& p) { most = std::max(most, product_scratch_bytes(p, threads)); });
  return most;
}

size_t scratch_bytes(const Convolution& c, int threads) {
  if (c.transposed) return transposed_scratch_bytes(c, threads);
  if (is_fast_depthwise(c)) return depthwise_scratch_bytes(c, threads);
  if (is_depthwise_last(c)) return depthwise_last_scratch_bytes(c, threads);
  return product_scratch_bytes(forward_product(c), threads);
}

bool is_static(const Tensor& tensor) { return tensor.dynamism() == ShapeDynamism::kStatic; }

}  // namespace

Error run_convolution(KernelContext& context, Convolution c) {
  BERTH_RETURN_IF_ERROR(resize_out(context, *c.out, convolution_sizes(c).span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, *c.input, *c.weight));
  BERTH_RETURN_IF_ERROR(check_memory(context, *c.out));
  if (c.bias != nullptr) BERTH_RETURN_IF_ERROR(check_memory(context, *c.bias));
  if (c.out->numel() == 0) return Error::kOk;
  read_convolution_strides(&c);
  void* scratch = context.allocate_temp(scratch_bytes(c, context.threads()));
  if (scratch == nullptr) return Error::kMemoryAllocationFailed;
  if (c.transposed && !is_finite(*c.weight)) {
    run_transposed_by_definition(context, c);
  } else if (c.transposed) {
    for_each_phase(c, [&](const Product& p) { run_product(context, p, scratch); });
  } else if (is_fast_depthwise(c)) {
    run_depthwise(context, c, scratch);
  } else if (is_depthwise_last(c)) {
    run_depthwise_last(context, c, scratch);
  } else {
    run_product(context, forward_product(c), scratch);
  }
  return Error::kOk;
}

size_t run_convolution_temp_bytes(Convolution c, int threads) {
  if (!is_static(*c.input) || !is_static(*c.weight) || !is_static(*c.out)) {
    return std::max({max_product_scratch_bytes(threads), max_depthwise_scratch_bytes(threads),
                     max_depthwise_last_scratch_bytes(threads)}) +
           kTempPadding;
  }
  // Numbers that contradict the tensors would overflow here; the call refuses them.
  if (c.out->numel() == 0 || convolution_sizes(c).span() != c.out->sizes()) return 0;
  read_convolution_strides(&c);
  return scratch_bytes(c, threads) + kTempPadding;
}

Error convolution_out(KernelContext& context, const arguments::convolution_out& args) {
  Convolution c;
  BERTH_RETURN_IF_ERROR(read_convolution(context, args, args.bias, args.out, &c));
  return run_convolution(context, c);
}

size_t convolution_temp_bytes(const arguments::convolution_out& args, int threads) {
  KernelContext context({}, nullptr);
  Convolution c;
  if (read_convolution(context, args, args.bias, args.out, &c) != Error::kOk) return 0;
  return run_convolution_temp_bytes(c, threads);
}

}  // namespace berth::portable
