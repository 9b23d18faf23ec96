// Copies between the host and devices, and between devices: whole tensors, on the streams that the Method has there.
#include "kernels/portable/portable.h"
#include "runtime/arrivals.h"
#include "runtime/device_explanation.h"
#include "runtime/observer.h"
#include "runtime/pending_reads.h"

namespace berth::portable {
namespace {

// Everything but the copy itself; `*copies` is false when there is nothing to copy. ExecuTorch's kernel resizes first,
// so that a tensor below its bound moves only the bytes that it has.
Error prepare(KernelContext& context, const Tensor& self, Tensor& out, bool* copies) {
  *copies = false;
  if (self.dtype() != out.dtype()) return context.fail(Error::kInvalidArgument, "self and out have different dtypes");
  if (self.rank() != out.rank()) return context.fail(Error::kInvalidArgument, "self and out have different ranks");
  if (self.dim_order() != out.dim_order()) {
    return context.fail(Error::kInvalidArgument, "self and out have different dimension orders");
  }
  if (out.resize(self.sizes()) != Error::kOk) {
    return context.fail(Error::kInvalidArgument, "self does not fit into out");
  }
  *copies = self.nbytes() != 0;
  static_cast<void>(take_explanation());  // of what was before the copy
  return Error::kOk;
}

const DeviceUse* device_of(KernelContext& context, const Tensor& tensor) {
  const DeviceUse* use = context.devices().find(tensor.device());
  return use == nullptr || use->allocator == nullptr ? nullptr : use;
}

Error no_allocator(KernelContext& context) {
  return context.fail(Error::kNotFound, "no allocator is registered for the tensor's device");
}

Error checked(KernelContext& context, Error error) {
  if (error == Error::kOk) return error;
  const char* const why = take_explanation();
  return context.fail(error, why == nullptr ? "the device's allocator could not copy" : why);
}

Error no_wait(KernelContext& context, Error error) {
  return context.fail(error, "one device's stream cannot wait for the other's");
}

/// What is begun on `after` from now on waits for what was begun on `before` until now.
Error follow(KernelContext& context, const DeviceUse& before, const DeviceUse& after) {
  if (before.stream == after.stream) return Error::kOk;
  DeviceAllocator& allocator = *after.allocator;
  Error error = allocator.record(before.stream, before.device.index);
  if (error == Error::kOk) {
    error = allocator.wait(after.stream, after.device.index, before.stream, before.device.index);
  }
  return error == Error::kOk ? error : no_wait(context, error);
}

}  // namespace

Error h2d_copy_out(KernelContext& context, const arguments::h2d_copy_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  if (!self.device().is_cpu()) return context.fail(Error::kInvalidArgument, "self is not on the host");
  if (out.device().is_cpu()) return context.fail(Error::kInvalidArgument, "out is not on a device");
  bool copies = false;
  if (const Error error = prepare(context, self, out, &copies); error != Error::kOk) return error;
  if (!copies) return Error::kOk;
  const DeviceUse* use = device_of(context, out);
  if (use == nullptr) return no_allocator(context);
  return checked(context, use->allocator->copy_host_to_device(out.raw(), self.raw(), self.nbytes(), use->device.index,
                                                              use->stream));
}

Error d2h_copy_out(KernelContext& context, const arguments::d2h_copy_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  if (self.device().is_cpu()) return context.fail(Error::kInvalidArgument, "self is not on a device");
  if (!out.device().is_cpu()) return context.fail(Error::kInvalidArgument, "out is not on the host");
  bool copies = false;
  if (const Error error = prepare(context, self, out, &copies); error != Error::kOk) return error;
  if (!copies) return Error::kOk;
  const DeviceUse* use = device_of(context, self);
  if (use == nullptr) return no_allocator(context);
  // A Method's run sees to it that what has not arrived is not used; an observer may look at it at once.
  Arrivals* const arrivals = static_cast<Arrivals*>(context.state());
  const bool waits = context.observer() != nullptr && context.observer()->sees_values();
  if (arrivals != nullptr && !waits) {
    return checked(context, arrivals->begin(*use, out.raw(), self.raw(), self.nbytes()));
  }
  return checked(context, use->allocator->copy_device_to_host(out.raw(), self.raw(), self.nbytes(), use->device.index,
                                                              use->stream));
}

Error d2d_copy_out(KernelContext& context, const arguments::d2d_copy_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  if (self.device().is_cpu()) return context.fail(Error::kInvalidArgument, "self is not on a device");
  if (out.device().type != self.device().type) {
    return context.fail(Error::kInvalidArgument, "self and out are on devices of different types");
  }
  bool copies = false;
  if (const Error error = prepare(context, self, out, &copies); error != Error::kOk) return error;
  if (!copies) return Error::kOk;
  const DeviceUse* from = device_of(context, self);
  const DeviceUse* to = device_of(context, out);
  if (from == nullptr || to == nullptr) return no_allocator(context);
  DeviceAllocator& allocator = *to->allocator;
  // A Method's run sees to it that what is read is not overwritten, so that the source's device may go on.
  PendingReads* const pending = from->stream == to->stream ? nullptr : static_cast<PendingReads*>(context.state());
  if (pending != nullptr) {
    if (const Error error = pending->before_mark(*from); error != Error::kOk) return no_wait(context, error);
  }
  if (const Error error = follow(context, *from, *to); error != Error::kOk) return error;
  const Error copied = allocator.copy_device_to_device(out.raw(), to->device.index, self.raw(), from->device.index,
                                                       self.nbytes(), to->stream);
  if (copied != Error::kOk) return checked(context, copied);
  // The plan gives the source's bytes to others after this instruction: they must wait until they were read.
  if (pending == nullptr) return follow(context, *to, *from);
  const Error error = pending->add(*from, *to, self.raw(), self.nbytes());
  return error == Error::kOk ? error : no_wait(context, error);
}

}  // namespace berth::portable
