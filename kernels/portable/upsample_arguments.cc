#include "kernels/portable/upsample_arguments.h"

namespace berth::portable {

Error read_upsampling(KernelContext& context, const Tensor& input, const std::optional<IntList>& output_size,
                      const std::optional<Span<const double>>& scale_factors, Tensor& out, Upsampling* u) {
  BERTH_RETURN_IF_ERROR(read_planes(context, input, out, u));
  if (input.dtype() != out.dtype()) {
    return context.fail(Error::kInvalidArgument, "an upsampling's input and output must have one dtype");
  }
  if (output_size.has_value() == scale_factors.has_value()) {
    return context.fail(Error::kInvalidArgument, "an upsampling needs output_size or scale_factors, and not both");
  }
  Integers sizes;
  BERTH_RETURN_IF_ERROR(read_integers(context, output_size, &sizes));
  if ((scale_factors.has_value() ? scale_factors->size() : static_cast<size_t>(sizes.count)) != 2) {
    return context.fail(Error::kInvalidArgument, "an upsampling's list needs two entries");
  }
  for (int i = 0; i < 2; ++i) {
    double size = 0;
    if (scale_factors.has_value()) {
      u->factor[i] = (*scale_factors)[i];
      size = static_cast<double>(u->axis[i].in) * u->factor[i];
    } else {
      size = static_cast<double>(sizes[i]);
    }
    // Also false for NaN.
    if (!(size >= 1 && size <= INT32_MAX)) {
      return context.fail(Error::kInvalidArgument, "an upsampling's result would have no or too many elements");
    }
    u->axis[i].out = static_cast<int64_t>(size);
  }
  return Error::kOk;
}

}  // namespace berth::portable
