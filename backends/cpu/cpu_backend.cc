#include "backends/cpu/cpu_backend.h"

#include "kernels/cpu/kernels.h"
#include "kernels/portable/instruction_sets.h"
#include "kernels/portable/portable.h"
#ifdef BERTH_ONEDNN
#include "kernels/cpu/onednn.h"
#endif

namespace berth {

namespace {

struct Tables {
  const KernelTable list[2] = {cpu::kernels(), portable::kernels()};
};

}  // namespace

// Earlier tables take precedence.
CpuBackend::CpuBackend() : NestedBackend("berth.cpu", Span<const KernelTable>(Tables().list, 2)) {}

std::string describe_onednn() {
#ifdef BERTH_ONEDNN
  const std::string missing = cpu::onednn_missing();
  if (!missing.empty()) return "no oneDNN (" + missing + ")";
  return "oneDNN" + cpu::onednn_source().substr(std::string("onednn").size());
#else
  return "built without oneDNN";
#endif
}

std::string compiled_instruction_sets() { return BERTH_KERNELS_FOR; }

}  // namespace berth
