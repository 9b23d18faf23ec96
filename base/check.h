// BERTH_CHECK: for bugs in Berth only. Whatever a user, a file or a device can cause is an Error.
#pragma once

namespace berth::internal {
/// Prints the broken condition with its place to standard error and ends the process.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace berth::internal

/// Ends the process when `condition` is false, in every build mode. The condition is evaluated exactly once.
#define BERTH_CHECK(condition) \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0) \
       : ::berth::internal::check_failed(#condition, __FILE__, __LINE__))
