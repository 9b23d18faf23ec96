// Runs what verifies with kernels that use all that a kernel may. The fear: that the runtime hands a kernel memory that
// is not there, too small, a constant's or another's.
#include "runtime/contract_kernels.h"
#include "tests/fuzz/run_program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  berth::fuzz::run_program(data, size, berth::contract::kKernels);
  return 0;
}
