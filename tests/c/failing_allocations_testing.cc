#include "tests/c/failing_allocations_testing.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "tests/c/api_testing.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define BERTH_OWN_MALLOC 0
#else
#define BERTH_OWN_MALLOC 1
#endif

namespace {
std::atomic<bool> counts{false};
std::atomic<int64_t> live{0};  // blocks
thread_local bool is_tested = false;
int64_t until = -1;  // allocations until one fails; below zero: none will
bool all_from_there = false;
bool has_failed = false;

[[maybe_unused]] bool fails() {
  if (!counts || !is_tested || until < 0) return false;
  if (until > 0) {
    --until;
    return false;
  }
  if (!all_from_there) until = -1;
  has_failed = true;
  return true;
}
[[maybe_unused]] void* counted(void* memory) {
  if (counts && memory != nullptr) ++live;
  return memory;
}
}  // namespace

#if BERTH_OWN_MALLOC
extern "C" {
void* __libc_malloc(size_t size);                      // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(size_t count, size_t size);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* memory, size_t size);       // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(size_t alignment, size_t size);  // NOLINT(bugprone-reserved-identifier)
void __libc_free(void* memory);                        // NOLINT(bugprone-reserved-identifier)
void* malloc(size_t size) {
  if (!fails()) return counted(__libc_malloc(size));
  errno = ENOMEM;
  return nullptr;
}
void* calloc(size_t count, size_t size) { return fails() ? nullptr : counted(__libc_calloc(count, size)); }
void* realloc(void* memory, size_t size) {
  if (fails()) return nullptr;
  void* const moved = __libc_realloc(memory, size);
  return memory == nullptr ? counted(moved) : moved;
}
void* aligned_alloc(size_t alignment, size_t size) {
  return fails() ? nullptr : counted(__libc_memalign(alignment, size));
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (fails()) return ENOMEM;
  *memory = counted(__libc_memalign(alignment, size));
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  if (counts && memory != nullptr) --live;
  __libc_free(memory);
}
}
#endif

namespace berth::testing {

bool allocations_can_fail() { return BERTH_OWN_MALLOC != 0; }

Allocations with_failing(int64_t n, const std::function<void()>& call, Fails which) {
  is_tested = true;
  live = 0;
  until = n;
  all_from_there = which == Fails::kAllFromThere;
  has_failed = false;
  counts = true;
  call();
  counts = false;
  until = -1;
  return {live, has_failed};
}

void fail_each(const char* what, const std::function<int32_t(berth_error*)>& call, Fails which, int64_t stride) {
  if (!allocations_can_fail()) GTEST_SKIP() << "allocations cannot be made to fail in this build";
  CError error;
  ASSERT_EQ(call(error), BERTH_OK) << what << ": " << error.text();  // tables that are made once
  int64_t refused = 0;
  for (int64_t n = 0;; n += stride) {
    SCOPED_TRACE(std::string(what) + ": allocation " + std::to_string(n) + " fails");
    CError said;
    int32_t code = BERTH_OK;
    const Allocations seen = with_failing(
        n, [&] { code = call(said); }, which);
    ASSERT_EQ(seen.lost, 0) << "blocks are lost; " << said.text();
    if (code != BERTH_OK) {
      ++refused;
      ASSERT_EQ(code, BERTH_MEMORY_ALLOCATION_FAILED) << said.text();
      ASSERT_NE(said.message[0], '\0');
    }
    if (seen.failed) continue;
    ASSERT_EQ(code, BERTH_OK) << said.text();
    ASSERT_GT(n, 0) << "nothing was allocated";
    break;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace berth::testing
