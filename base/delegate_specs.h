// DelegateSpecs: what a delegate asks of the program around it, in its compile specs. A target writes them, so that the
// facts travel with the file: the compiler, `replan` and the importer of programs read them here.
//
//   berth.alignment = "64"     its inputs and outputs begin at multiples of this many bytes
//   berth.padding = "128"      bytes behind each arena of a method that calls it, which its kernels may read
//   berth.scratch = "4096"     the last argument of its call is a tensor of as many bytes on its device
//   berth.pure = "1"           a call only computes its outputs; without it, calls keep their order and none is dropped
//
// Values are decimal numbers in text. Anything else counts as absent: only what the text says is promised.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth {

/// What the keys of Berth's own specs begin with.
inline constexpr char kBerthSpec[] = "berth.";
inline constexpr char kAlignmentSpec[] = "berth.alignment";
inline constexpr char kPaddingSpec[] = "berth.padding";
inline constexpr char kScratchSpec[] = "berth.scratch";
inline constexpr char kPureSpec[] = "berth.pure";

inline constexpr int64_t kMostDelegateAlignment = 4096;
inline constexpr int64_t kMostDelegatePadding = 1 << 20;

struct DelegateSpecs {
  int64_t alignment = 0;  // a power of two up to kMostDelegateAlignment; 0: not said
  int64_t padding = 0;    // up to kMostDelegatePadding
  int64_t scratch = 0;    // bytes
  bool pure = false;

  /// Reads one compile spec; other keys are ignored. `value` is `size` bytes of text without a final zero, and may be
  /// null when `size` is 0. REQUIRES: `key` is null-terminated.
  void read(const char* key, const void* value, size_t size);
};

}  // namespace berth
