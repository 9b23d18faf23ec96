// For tests of this room: problems in a few words. Not part of any library.
#pragma once

#include "compiler/memory/packing/problem.h"

namespace berth::packing {

inline Buffer buffer(int64_t size, int64_t lower, int64_t upper, int64_t alignment = 1, int32_t space = 0) {
  Buffer s;
  s.size = size;
  s.lower = lower;
  s.upper = upper;
  s.alignment = alignment;
  s.space = space;
  return s;
}

inline Candidate candidate(int32_t from, int32_t to, int64_t offset = 0, int32_t group = kAlone) {
  Candidate m;
  m.from = from;
  m.to = to;
  m.offset = offset;
  m.all_or_none = group;
  return m;
}

}  // namespace berth::packing
