// For tests of this room: problems in a few words. Not part of any library.
#pragma once

#include "compiler/memory/packing/problem.h"

namespace berth::packing {

inline Buffer buffer(int64_t size, int64_t lower, int64_t upper, int64_t alignment = 1, int32_t space = 0) {
  Buffer b;
  b.size = size;
  b.lower = lower;
  b.upper = upper;
  b.alignment = alignment;
  b.space = space;
  return b;
}

inline Candidate candidate(int32_t from, int32_t to, int64_t offset = 0, int32_t group = kAlone) {
  Candidate c;
  c.from = from;
  c.to = to;
  c.offset = offset;
  c.all_or_none = group;
  return c;
}

}  // namespace berth::packing
