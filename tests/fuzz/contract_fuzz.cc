// Runs verified programs with kernels that access everything that a kernel may. Finds invalid memory that the runtime
// passes to kernels: missing, too small, or belonging to a constant or another value.
#include "runtime/contract_kernels_testing.h"
#include "tests/fuzz/run_program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  berth::fuzz::run_program(data, size, berth::contract::kKernels);
  return 0;
}
