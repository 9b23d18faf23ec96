#include "backends/cpu/cpu_backend.h"

#include "kernels/cpu/kernels.h"
#include "kernels/portable/portable.h"

namespace berth {

namespace {

struct Tables {
  const KernelTable list[2] = {cpu::kernels(), portable::kernels()};
};

}  // namespace

// A kernel is looked for in the first table first.
CpuBackend::CpuBackend() : NestedBackend("berth.cpu", Span<const KernelTable>(Tables().list, 2)) {}

}  // namespace berth
