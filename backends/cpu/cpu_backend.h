// CpuBackend: delegates on the host: nested programs, their constants where the file has them, on the method's threads.
#pragma once

#include <string>

#include "backends/nested/nested_backend.h"

namespace berth {

/// "berth.cpu". One serves a whole process.
class CpuBackend final : public NestedBackend {
 public:
  CpuBackend();

  bool serves(DeviceType type) const override { return type == DeviceType::kCpu; }
};

/// Whether convolutions and products can go to oneDNN, in words: "oneDNN 3.2.0 avx512", "no oneDNN (libdnnl.so.3:
/// cannot open shared object file)", "built without oneDNN". Opens it, as the first call that wants it would.
std::string describe_onednn();

}  // namespace berth
