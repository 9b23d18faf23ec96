// CpuBackend: runs delegates on the host, with constants in place and on the method's threads.
#pragma once

#include <string>

#include "backends/nested/nested_backend.h"

namespace berth {

/// "berth.cpu". One instance is enough for a process.
class CpuBackend final : public NestedBackend {
 public:
  CpuBackend();

  bool serves(DeviceType type) const override { return type == DeviceType::kCpu; }
};

/// Describes the available oneDNN: "oneDNN 3.2.0 avx512", "no oneDNN (libdnnl.so.3: cannot open shared object file)",
/// "built without oneDNN". Opens the library.
std::string describe_onednn();

}  // namespace berth
