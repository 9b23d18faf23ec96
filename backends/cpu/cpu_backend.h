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

/// The instruction sets of x86-64 that kernels are compiled for: "all", or that of the machine that the build is for,
/// such as "avx512" (BERTH_INSTRUCTION_SETS); other machines then run plain code.
std::string compiled_instruction_sets();

}  // namespace berth
