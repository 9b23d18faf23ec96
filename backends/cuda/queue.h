// Queue: where the kernels of this room put their work, found in KernelContext::user().
#pragma once

#include <cstdint>

#include "runtime/kernel.h"

namespace berth::cuda {

class Libraries;

/// What a kernel on the device found wrong in the elements that it read. A kernel cannot stop the program from there:
/// it writes one of these into Queue::fault, 0 for the result's element, and goes on; whoever waits for the stream next
/// reports it (CudaAllocator::synchronize and the copies to the host).
enum Fault : uint32_t {
  kNoFault = 0,
  kIndexOutOfRange = 1,
  kDivisionByZero = 2,
};

/// A sentence for the log.
const char* to_string(Fault fault);

/// One stream of one device. The kernels' launches go into it; nothing here owns anything.
struct Queue {
  /// A cudaStream_t.
  void* stream = nullptr;
  /// A word that both sides can reach, at the device's address.
  uint32_t* fault = nullptr;
  /// cuBLASLt and cuDNN, and the memory that they work in; null when there are neither.
  Libraries* libraries = nullptr;
};

/// The queue of this call; one without a stream (the device's default one) where the context has none.
inline Queue queue_of(const KernelContext& context) {
  return context.user() == nullptr ? Queue() : *static_cast<const Queue*>(context.user());
}

}  // namespace berth::cuda
