// Runs verified programs with the portable kernels. Finds programs that pass every check and still make a kernel access
// invalid memory.
#include "kernels/portable/portable.h"
#include "tests/fuzz/run_program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  berth::fuzz::run_program(data, size, berth::portable::kernels());
  return 0;
}
