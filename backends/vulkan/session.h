// Session: the stream of a delegate, and what its kernels have asked for so far: KernelContext::user() of kernels of
// this room. Private to backends/vulkan/.
#pragma once

#include <vector>

#include "backends/vulkan/recorder.h"

namespace berth::vulkan {

struct Session {
  Gpu* gpu = nullptr;
  const Blocks* blocks = nullptr;
  VulkanStream* stream = nullptr;
  std::vector<Step> steps;
  size_t skipped_barrier = SIZE_MAX;  // for tests

  /// Submits the steps and waits until they are done; none are left.
  Error run_steps();
  /// Makes a recording of the steps; none are left.
  Result<std::unique_ptr<Recording>> record_steps();
};

}  // namespace berth::vulkan
