// Queue: the stream that kernels of this backend launch into, passed to them as KernelContext::user().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/kernel.h"

namespace berth::cuda {

class Libraries;

/// An error that a kernel detected on the device in elements that it read. The kernel cannot stop the program: it
/// stores the error in Queue::fault, uses 0 as the result's element, and continues. The next function that waits for
/// the stream reports it (CudaAllocator::synchronize and copies to the host).
enum Fault : uint32_t {
  kNoFault = 0,
  kIndexOutOfRange = 1,
  kDivisionByZero = 2,
};

/// A sentence for the log.
const char* to_string(Fault fault);

/// Words in Queue::tickets.
constexpr int kTickets = 256;

/// A stream of a device. Does not own its members.
struct Queue {
  /// A cudaStream_t.
  void* stream = nullptr;
  /// The device address of a word that the host can also read.
  uint32_t* fault = nullptr;
  /// Memory of the device for what a kernel keeps from one of its launches to the next; of no use after it.
  void* scratch = nullptr;
  size_t scratch_bytes = 0;
  /// kTickets words of the device, with which the blocks of a launch count each other. They are 0 before a launch, and
  /// a launch leaves them so. Null: none.
  uint32_t* tickets = nullptr;
  /// cuBLASLt and cuDNN, which work in the same memory; null when neither is available.
  Libraries* libraries = nullptr;
  /// The kernels that were queued so far; may be null.
  uint64_t* launches = nullptr;
};

/// Takes the loops that kernels are where nvcc did not compile them (kernels/launch.h), to run them as a device would:
/// for the tests' runtime on the host (fake/). Null: loops run at once.
inline void (*defer_launch)(void* stream, std::function<void()> loop) = nullptr;

/// Called for each kernel that is queued.
inline void count_launch(const Queue& queue) {
  if (queue.launches != nullptr) ++*queue.launches;
}

/// The queue of this call; if the context has none, the device's default stream.
inline Queue queue_of(const KernelContext& context) {
  return context.user() == nullptr ? Queue() : *static_cast<const Queue*>(context.user());
}

}  // namespace berth::cuda
