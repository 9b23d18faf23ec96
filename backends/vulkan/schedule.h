// The order in which a delegate's kernels run on the device, and where they must wait for each other. Private to
// backends/vulkan/.
//
// Two steps that touch the same bytes, one of them writing, must run one after the other: a read after a write, a write
// after a read, a write after a write; but for writes that may come in any order. A step's level is one more than the
// highest level of the earlier steps that it must follow, so that steps of one level may run at once. They are run
// level by level, with one barrier between two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/span.h"

namespace berth::vulkan {

/// Bytes [begin, end) of a block that a step reads or writes.
struct Access {
  uint64_t block = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  bool writes = false;
  bool in_any_order = false;  // a write by atomic operations, which may come before or after others of this kind
};

using Accesses = std::vector<Access>;

struct Schedule {
  std::vector<uint32_t> order;     // the steps, as they run
  std::vector<uint32_t> barriers;  // positions in `order`, ascending: there is a barrier before each
};

/// REQUIRES: less than 2^32 steps.
Schedule schedule(Span<const Accesses> steps);

/// Whether the schedule keeps every order that the steps, one after the other, have; else `*hazard` says which two it
/// does not: "step 3 writes what step 1 reads, without a barrier". Shares nothing with schedule().
bool keeps_order(Span<const Accesses> steps, const Schedule& schedule, std::string* hazard);

}  // namespace berth::vulkan
