// Gives any program file a better plan. The fears: a file that no budget holds, a copy that is not the file, a plan
// that does not hold. What comes out is looked at by replan() itself, and once more here: nothing is left to be saved.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "compiler/memory/replan/replan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using berth::Error;
  // At a multiple of 16, as std::vector's memory is.
  std::vector<uint8_t> file(data, data + size);
  const auto once = berth::replan::replan(file);
  if (!once.ok()) {
    if (once.error().code == Error::kInternal) __builtin_trap();
    return 0;
  }
  std::vector<uint8_t> smaller;
  if (!once->program.write(berth::format::append_to(&smaller)).ok()) __builtin_trap();
  const auto twice = berth::replan::replan(smaller);
  if (!twice.ok() && twice.error().code != Error::kOutOfResources) __builtin_trap();
  if (twice.ok() && twice->after() > once->after()) __builtin_trap();
  return 0;
}
