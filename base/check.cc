#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace berth::internal {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: berth is wrong here: %s does not hold\n", file, line, condition);
  std::abort();
}

}  // namespace berth::internal
