#include "base/delegate_specs.h"

#include <cstring>

namespace berth {
namespace {

// The decimal number from 0 to `most` that the text is; -1 for any other text.
int64_t parse(const void* value, size_t size, int64_t most) {
  const char* text = static_cast<const char*>(value);
  if (size == 0 || size > 18) return -1;
  int64_t number = 0;
  for (size_t i = 0; i < size; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    number = number * 10 + (text[i] - '0');
  }
  return number <= most ? number : -1;
}

}  // namespace

void DelegateSpecs::read(const char* key, const void* value, size_t size) {
  if (std::strcmp(key, kAlignmentSpec) == 0) {
    const int64_t number = parse(value, size, kMostDelegateAlignment);
    alignment = number > 0 && (number & (number - 1)) == 0 ? number : 0;
  } else if (std::strcmp(key, kPaddingSpec) == 0) {
    const int64_t number = parse(value, size, kMostDelegatePadding);
    padding = number > 0 ? number : 0;
  } else if (std::strcmp(key, kScratchSpec) == 0) {
    const int64_t number = parse(value, size, INT32_MAX);
    scratch = number > 0 ? number : 0;
  } else if (std::strcmp(key, kPureSpec) == 0) {
    pure = parse(value, size, 1) == 1;
  }
}

}  // namespace berth
