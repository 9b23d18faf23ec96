// constant_pad_nd, reflection_pad1d to 3d, replication_pad1d to 3d.
#include "kernels/portable/create_scalar.h"
#include "kernels/portable/pad.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

// `self` is [channels, spatial…] or [batch, channels, spatial…] with `spatial` dimensions that are padded.
Error pad_spatial(KernelContext& context, Span<EValue* const> args, int spatial, PadMode mode) {
  const Tensor& self = args[0]->tensor();
  Padding padding;
  BERTH_RETURN_IF_ERROR(read_padding(context, self, *args[1], &padding));
  if (args[1]->items().size() != 2 * static_cast<size_t>(spatial)) {
    return context.fail(Error::kInvalidArgument, "padding must have two entries for each spatial dimension");
  }
  if (self.rank() != spatial + 1 && self.rank() != spatial + 2) {
    return context.fail(Error::kInvalidArgument, "self must have channels, spatial dimensions, and perhaps a batch");
  }
  return pad(context, self, padding, mode, nullptr, args[2]->tensor());
}

}  // namespace

Error constant_pad_nd_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  Tensor& out = args[3]->tensor();
  Padding padding;
  BERTH_RETURN_IF_ERROR(read_padding(context, self, *args[1], &padding));
  Element value;
  BERTH_RETURN_IF_ERROR(read_element(context, *args[2], out.dtype(), &value));
  return pad(context, self, padding, PadMode::kConstant, value.bytes, out);
}

Error reflection_pad1d_out(KernelContext& context, Span<EValue* const> args) {
  return pad_spatial(context, args, 1, PadMode::kReflect);
}

Error reflection_pad2d_out(KernelContext& context, Span<EValue* const> args) {
  return pad_spatial(context, args, 2, PadMode::kReflect);
}

Error reflection_pad3d_out(KernelContext& context, Span<EValue* const> args) {
  return pad_spatial(context, args, 3, PadMode::kReflect);
}

Error replication_pad1d_out(KernelContext& context, Span<EValue* const> args) {
  return pad_spatial(context, args, 1, PadMode::kReplicate);
}

Error replication_pad2d_out(KernelContext& context, Span<EValue* const> args) {
  return pad_spatial(context, args, 2, PadMode::kReplicate);
}

Error replication_pad3d_out(KernelContext& context, Span<EValue* const> args) {
  return pad_spatial(context, args, 3, PadMode::kReplicate);
}

}  // namespace berth::portable
