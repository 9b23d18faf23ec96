// FirstRuns: kernels that run for the first time, on nothing, as some drivers compile when a kernel first runs. They
// are compiled one after the other while the host goes on, to make the next ones. Private to backends/vulkan/.
#pragma once

#include <memory>
#include <vector>

#include "backends/vulkan/gpu.h"

namespace berth::vulkan {

class FirstRuns {
 public:
  explicit FirstRuns(Gpu* gpu);
  /// Waits for all of them.
  ~FirstRuns();
  FirstRuns(const FirstRuns&) = delete;
  FirstRuns& operator=(const FirstRuns&) = delete;

  /// Queues the kernel's first run. `types` are those of its tensors (Gpu::pipeline).
  Error add(ShaderId shader, Span<const uint32_t> types, const Pipeline& pipeline);

 private:
  struct Run;

  Gpu* const gpu_;
  std::vector<std::unique_ptr<Run>> runs_;
};

}  // namespace berth::vulkan
