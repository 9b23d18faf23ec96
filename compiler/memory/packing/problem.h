// Problem: what a planner is asked. A set of buffers, each alive for a while, to be laid into spaces so that no two
// that are live at once share a byte. It knows no graph, no tensor and no device: compiler/memory/liveness.h turns a
// method into a Problem, csv.h reads one from a file.
//
//     bytes ^                        one letter a buffer; time to the right, bytes upward.
//         8 |  . B B B B . .         A lives in [0, 3) and has 4 bytes at offset 0,
//         4 |  A A A . C C C         B lives in [1, 5) and lies on it at offset 4,
//         0 +--0-1-2-3-4-5-6--> step C takes A's place when A is dead.
//
// Time counts the steps of a schedule. Live ranges are half-open: a buffer with [2, 5) is live in steps 2, 3 and 4, and
// one with [5, 7) may take its bytes. The schedule is a line even where the program branches: the steps of two branches
// of which one runs are disjoint, so their buffers may share bytes like any others.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/failure.h"

namespace berth::packing {

/// Of an offset: the planner chooses.
inline constexpr int64_t kAnywhere = -1;
/// Of a capacity: as much as it takes.
inline constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
/// The most bytes that a problem may hold in all, alignment included, and the largest alignment.
inline constexpr int64_t kMaxBytes = int64_t{1} << 60;
inline constexpr int64_t kMaxAlignment = int64_t{1} << 30;

/// Bytes that may hold several values of a program, one after the other or as views of each other.
struct Buffer {
  int64_t size = 0;       // bytes; none at all is legal and needs no place
  int64_t alignment = 1;  // a power of two that the offset is a multiple of
  int64_t lower = 0;      // alive in [lower, upper)
  int64_t upper = 0;
  int32_t space = 0;          // index into Problem::spaces
  int64_t fixed = kAnywhere;  // the only offset that is allowed, or kAnywhere
};

/// One arena: memory with addresses of its own.
struct Space {
  int64_t capacity = kUnlimited;  // bytes
};

/// Of Candidate::all_or_none: the candidate is decided by itself.
inline constexpr int32_t kAlone = -1;

/// An alias candidate: buffer `from` may lie in the bytes of buffer `to`, its first byte `offset` bytes after to's
/// first. The planner takes it or leaves it (Plan::taken), whatever makes the plan lower; at equal height it takes as
/// many as it can.
///
///     in place     y = relu(x), x dies here:    {from y, to x}
///                  z = add(x, y), both die:     {from z, to x} and {from z, to y}; one at most can be taken
///     concatenate  c = cat(a, b):               {from a, to c, 0, all_or_none 7} and {from b, to c, a.size, …, 7}
///     split        a, b = split(c):             the same
///
/// A candidate that is taken means two things, and nothing else:
///   - offset(from) = offset(to) + Candidate::offset;
///   - these two buffers may share bytes although both are alive in some step.
/// Every other pair of buffers stays apart in every step in which both are alive, each with its own bytes for its own
/// life: this also holds for two that lie in the same third one, so a buffer has one successor in place at most, and a
/// successor that would destroy bytes which a further buffer still holds is never taken.
struct Candidate {
  int32_t from = -1;  // indices into Problem::buffers, of one space
  int32_t to = -1;
  int64_t offset = 0;            // bytes, not negative
  int64_t alignment = 0;         // what from's offset is a multiple of when it lies there; 0: its Buffer::alignment
  int32_t all_or_none = kAlone;  // candidates of one number, which is not negative, are taken together or not at all
};

struct Problem {
  std::vector<Buffer> buffers;
  std::vector<Space> spaces = {Space{}};
  std::vector<Candidate> candidates;
};

/// InvalidArgument with the first buffer that is malformed: a negative size, an alignment that is not a power of two or
/// over kMaxAlignment, an empty lifetime, a space that is not there, a fixed offset that is negative or unaligned; or
/// when all sizes together exceed kMaxBytes. Likewise with the first candidate that is malformed: a buffer that is not
/// there, one buffer twice, buffers (or an all-or-none group) of two spaces, a negative offset, an alignment as above.
/// Planners check this themselves.
Status check(const Problem& problem);

}  // namespace berth::packing
