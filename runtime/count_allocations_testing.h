// For tests that code does not allocate: a malloc and an operator new that count.
//
// Not part of any library: included by the one source file of a test program, outside all namespaces.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

// Sanitizers have their own malloc, and C libraries other than glibc no second name for theirs: there nothing is
// counted.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BERTH_OWN_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define BERTH_OWN_MALLOC 0
#endif
#endif
#ifndef BERTH_OWN_MALLOC
#ifdef __GLIBC__
#define BERTH_OWN_MALLOC 1
#else
#define BERTH_OWN_MALLOC 0
#endif
#endif

namespace berth::testing {

/// The number of allocations since the program began. Not atomic: these tests have one thread.
inline size_t allocations = 0;

/// Skipped where allocations cannot be counted.
class NoHeap : public ::testing::Test {
 protected:
  void SetUp() override {
    if (BERTH_OWN_MALLOC == 0) GTEST_SKIP() << "allocations cannot be counted in this build";
  }
};

}  // namespace berth::testing

#if BERTH_OWN_MALLOC
extern "C" void* __libc_malloc(size_t size);  // NOLINT(bugprone-reserved-identifier)
extern "C" void* malloc(size_t size) {
  ++berth::testing::allocations;
  return __libc_malloc(size);
}
void* operator new(size_t size) {
  ++berth::testing::allocations;
  return __libc_malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif
