// CpuBackend: delegates on the host: nested programs, their constants where the file has them, on the method's threads.
#pragma once

#include "backends/nested/nested_backend.h"

namespace berth {

/// "berth.cpu". One serves a whole process.
class CpuBackend final : public NestedBackend {
 public:
  CpuBackend();

  bool serves(DeviceType type) const override { return type == DeviceType::kCpu; }
};

}  // namespace berth
