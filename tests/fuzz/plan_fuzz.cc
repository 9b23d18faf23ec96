// Random modules through passes, planners, judge and poisoned runs (tests/plan/random_plan.h): the first four bytes are
// the seed, which the failure names.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/plan/random_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint32_t seed = 0;
  if (size < sizeof seed) return -1;
  std::memcpy(&seed, data, sizeof seed);
  const berth::plan_test::Tried tried = berth::plan_test::try_random_plan(seed);
  if (tried.problem.empty()) return 0;
  std::fprintf(stderr, "BERTH_SEED=%u: %s\n", seed, tried.problem.c_str());
  std::abort();
}
