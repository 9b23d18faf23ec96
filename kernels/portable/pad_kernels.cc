// constant_pad_nd, reflection_pad1d to 3d, replication_pad1d to 3d.
#include "kernels/portable/create_scalar.h"
#include "kernels/portable/pad.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

template <typename Args>
Error pad_spatial(KernelContext& context, const Args& args, int spatial, PadMode mode) {
  const Tensor& self = args.self;
  Padding padding;
  BERTH_RETURN_IF_ERROR(read_spatial_padding(context, self, args.padding, spatial, &padding));
  return pad(context, self, padding, mode, nullptr, args.out);
}

}  // namespace

Error constant_pad_nd_out(KernelContext& context, const arguments::constant_pad_nd_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  Padding padding;
  BERTH_RETURN_IF_ERROR(read_padding(context, self, args.pad, &padding));
  Element value;
  BERTH_RETURN_IF_ERROR(read_element(context, args.value, out.dtype(), &value));
  return pad(context, self, padding, PadMode::kConstant, value.bytes, out);
}

Error reflection_pad1d_out(KernelContext& context, const arguments::reflection_pad1d_out& args) {
  return pad_spatial(context, args, 1, PadMode::kReflect);
}

Error reflection_pad2d_out(KernelContext& context, const arguments::reflection_pad2d_out& args) {
  return pad_spatial(context, args, 2, PadMode::kReflect);
}

Error reflection_pad3d_out(KernelContext& context, const arguments::reflection_pad3d_out& args) {
  return pad_spatial(context, args, 3, PadMode::kReflect);
}

Error replication_pad1d_out(KernelContext& context, const arguments::replication_pad1d_out& args) {
  return pad_spatial(context, args, 1, PadMode::kReplicate);
}

Error replication_pad2d_out(KernelContext& context, const arguments::replication_pad2d_out& args) {
  return pad_spatial(context, args, 2, PadMode::kReplicate);
}

Error replication_pad3d_out(KernelContext& context, const arguments::replication_pad3d_out& args) {
  return pad_spatial(context, args, 3, PadMode::kReplicate);
}

}  // namespace berth::portable
