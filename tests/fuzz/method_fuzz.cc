// Runs what verifies with the portable kernels. The fear: a program that passes every check and still makes a kernel
// read or write where it must not.
#include "kernels/portable/portable.h"
#include "tests/fuzz/run_program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  berth::fuzz::run_program(data, size, berth::portable::kernels());
  return 0;
}
