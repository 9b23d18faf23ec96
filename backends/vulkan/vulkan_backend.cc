#include "backends/vulkan/vulkan_backend.h"

#include "backends/vulkan/kernels/kernels.h"
#include "backends/vulkan/session.h"
#include "runtime/device_explanation.h"

namespace berth::vulkan {
namespace {

Session* of(void* session) { return static_cast<Session*>(session); }

}  // namespace

Error Session::run_steps() {
  if (steps.empty()) return stream->synchronize();
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Recording> recording, record_steps());
  const Error error = recording->submit(stream);
  // Also after an error: the recording must not be in use when it goes.
  const Error waited = stream->synchronize();
  return error == Error::kOk ? waited : error;
}

Result<std::unique_ptr<Recording>> Session::record_steps() {
  std::vector<Step> taken;
  taken.swap(steps);
  return Recording::make(gpu, taken, skipped_barrier);
}

VulkanBackend::VulkanBackend(VulkanAllocator* allocator)
    : NestedBackend("berth.vulkan", kernels()), allocator_(allocator) {}

Error VulkanBackend::reach(const DeviceUse& use, void* address, size_t bytes, void** reached) const {
  Place place;
  const Gpu* const gpu = allocator_->gpu(use.device.index);
  if (gpu == nullptr || !allocator_->blocks().find(address, bytes, gpu, &place)) return Error::kInvalidArgument;
  *reached = address;
  return Error::kOk;
}

Result<void*> VulkanBackend::open(const DelegateSource&, const DelegateLoad& load, format::Report* report) {
  Gpu* const gpu = allocator_->gpu(load.use.device.index);
  VulkanStream* const stream =
      gpu == nullptr || load.use.stream == nullptr ? nullptr : allocator_->stream(load.use.stream);
  if (stream == nullptr || stream->gpu() != gpu) {
    return format::fail(report, Error::kInvalidArgument, "delegate",
                        "the backend berth.vulkan needs a stream of its own allocator, for a device of this machine");
  }
  auto* const session = new Session;
  session->gpu = gpu;
  session->blocks = &allocator_->blocks();
  session->stream = stream;
  session->skipped_barrier = skipped_;
  return static_cast<void*>(session);
}

void VulkanBackend::close(void* session) {
  // The stream may still run what was replayed last.
  static_cast<void>(of(session)->stream->synchronize());
  delete of(session);
}

Error VulkanBackend::begin(void* session, KernelContext&) {
  of(session)->steps.clear();
  return Error::kOk;
}

Error VulkanBackend::end(void* session, KernelContext& context, Error result) {
  if (result != Error::kOk || of(session)->steps.empty()) return result;
  static_cast<void>(take_explanation());
  const Error error = of(session)->run_steps();
  if (error == Error::kOk) return error;
  const char* const why = take_explanation();
  return context.fail(error, why == nullptr ? "the device did not run the delegate's kernels" : why);
}

Error VulkanBackend::settle(void* session) { return of(session)->run_steps(); }

Error VulkanBackend::begin_recording(void* session) {
  of(session)->steps.clear();
  return Error::kOk;
}

Result<void*> VulkanBackend::end_recording(void* session) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<Recording> recording, of(session)->record_steps());
  return static_cast<void*>(recording.release());
}

Error VulkanBackend::replay(void* session, void* recording) {
  return static_cast<Recording*>(recording)->submit(of(session)->stream);
}

void VulkanBackend::discard(void* session, void* recording) {
  static_cast<void>(of(session)->stream->synchronize());
  delete static_cast<Recording*>(recording);
}

}  // namespace berth::vulkan
