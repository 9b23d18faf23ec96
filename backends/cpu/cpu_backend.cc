#include "backends/cpu/cpu_backend.h"

#include "kernels/portable/portable.h"

namespace berth {

CpuBackend::CpuBackend() : NestedBackend("berth.cpu", portable::kernels()) {}

}  // namespace berth
